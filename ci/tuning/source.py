"""The tuned table as C++: a line for each rate and choice, so that a diff shows what moved."""

from __future__ import annotations

from collections.abc import Sequence

from ci.records import Samples
from ci.tuning.choose import Choice, Rate

_FILE = """\
// The rates and choices of `dispatch`, measured. Written by `gemmwatch tune`: to change them, tune
// again with scripts/tune.
//
{origin}
#include "kernels/dispatch/pick.hpp"

namespace gemm::dispatch {{

const Table& tuned() {{
  using enum Precision;
  using enum Layout;
  // clang-format off
  static const Table table{{
      .rates = {{
{rates}
      }},
      .choices = {{
{choices}
      }}}};
  // clang-format on
  return table;
}}

}}  // namespace gemm::dispatch
"""

# Where it is from, as the file says it, and the facts of a run that tell.
_ORIGIN = {
    "device": "gpu",
    "driver": "driver",
    "nvcc": "nvcc",
    "protocol": "harness",
    "commit": "commit",
    "trials": "trials",
}


def source(samples: Samples, rates: Sequence[Rate], choices: Sequence[Choice]) -> str:
    """The text of the file. It says where it was measured and not when, so that equal runs on equal
    machines are equal files."""
    facts = {**samples.fingerprint, **samples.environment, "trials": str(samples.trials)}
    origin = [
        f"// {name + ':':<9} {' '.join(facts.get(fact, 'unknown').split())}"
        for name, fact in _ORIGIN.items()
    ]
    return _FILE.format(
        origin="\n".join(origin),
        rates="\n".join(
            f'          {{"{rate.kernel}", {rate.precision}, {rate.tflops}}},' for rate in rates
        ),
        choices="\n".join(map(_choice, choices)),
    )


def _choice(choice: Choice) -> str:
    precision, layout, shape = choice.problem.id.split("/")
    sides = ", ".join(shape.split("x"))
    return f'          {{{precision}, {layout}, {{{sides}}}, "{choice.kernel}"}},'
