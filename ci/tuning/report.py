"""What a tuned table is worth beside the vendor's kernels, and the model alone beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from ci.records import Samples
from ci.tuning.choose import Choice, unsound_kernels


def report(samples: Samples, choices: Sequence[Choice]) -> Iterator[str]:
    """The lines."""
    for kernel, why in unsound_kernels(samples).items():
        yield f"left out: {kernel}: {why}"
    beside = list(dict.fromkeys(name for choice in choices for name in choice.speeds))
    yield from _table(choices, beside)
    groups: dict[str, list[Choice]] = defaultdict(list)
    for choice in choices:
        groups[f"{choice.problem.precision} {choice.problem.layout}"].append(choice)
    for group, members in groups.items():
        for vendor in beside:
            yield from _beside(group, vendor, members)
    yield from _regret(choices)


def _table(choices: Sequence[Choice], beside: Sequence[str]) -> Iterator[str]:
    """A line for each problem; speeds beside the vendor's kernels, above 1 for faster."""
    heads = [f"× {vendor}" for vendor in beside]
    widths = [max(len(choice.problem.id) for choice in choices)]
    widths.append(max(len(choice.kernel) for choice in choices))
    yield "  ".join(
        [
            f"{'problem':<{widths[0]}}",
            f"{'kernel':<{widths[1]}}",
            "TFLOP/s",
            *heads,
            "the model alone",
        ]
    )
    for choice in choices:
        speeds = [
            f"{choice.speeds[vendor]:.3f}" if vendor in choice.speeds else "-" for vendor in beside
        ]
        yield "  ".join(
            [
                f"{choice.problem.id:<{widths[0]}}",
                f"{choice.kernel:<{widths[1]}}",
                f"{choice.tflops:7.4g}",
                *(f"{speed:>{len(head)}}" for speed, head in zip(speeds, heads, strict=True)),
                _model(choice),
            ]
        )


def _model(choice: Choice) -> str:
    if choice.regret is None:
        return f"{choice.model or 'picks none'}, not measured here"
    return f"{choice.model}, {choice.regret:+.1%}"


def _beside(group: str, vendor: str, choices: Sequence[Choice]) -> Iterator[str]:
    known = [choice for choice in choices if vendor in choice.speeds]
    if known:
        mean = float(np.exp(np.mean(np.log([choice.speeds[vendor] for choice in known]))))
        worst = min(known, key=lambda choice: choice.speeds[vendor])
        yield (
            f"{group}: × {vendor} {mean:.3f} (geometric mean of {len(known)}), "
            f"worst {worst.speeds[vendor]:.3f} at {worst.problem.id}"
        )


def _regret(choices: Sequence[Choice]) -> Iterator[str]:
    known = [(choice.regret, choice) for choice in choices if choice.regret is not None]
    if known:
        mean = float(np.mean([regret for regret, _ in known]))
        worst, where = max(known, key=lambda pair: pair[0])
        yield (
            f"the model alone loses {mean:.1%} of the time of the fastest on average over "
            f"{len(known)} problems, at worst {worst:.1%} at {where.problem.id}"
        )
