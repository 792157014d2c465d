"""The model of dispatch, which is C++ (kernels/dispatch/pick.cpp), asked through gemmwatch-pick."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from ci.errors import BadInput
from ci.tuning.choose import Rate


def picks(
    build: Path, multiprocessors: int, rates: Iterable[Rate], problems: Sequence[str]
) -> list[str | None]:
    """The kernel that the model picks for each problem, given these rates and no measured choice.

    Raises BadInput if the build has no such program, or not the kernels that have a rate.
    """
    program = build / "kernels" / "gemmwatch-pick"
    lines = [f"multiprocessors {multiprocessors}"]
    lines += [f"rate {rate.kernel} {rate.precision} {rate.tflops}" for rate in rates]
    lines += [f"problem {problem}" for problem in problems]
    try:
        done = subprocess.run(
            [program], input="\n".join(lines), capture_output=True, text=True, check=False
        )
    except OSError as error:
        way_out = f"build what was measured there with `cmake --build {build}`, or give --build DIR"
        raise BadInput(program, f"cannot be run ({error.strerror})", way_out) from error
    if done.returncode != 0:
        way_out = "give --build the folder of the build that was measured"
        raise BadInput(program, done.stderr.strip(), way_out)
    answers = zip(problems, done.stdout.splitlines(), strict=True)
    return [None if answer == "none" else answer for _, answer in answers]
