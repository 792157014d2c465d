"""Which kernel dispatch shall use for a problem, from what all of them reached on it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import exp, expm1

from ci.catalog import Problem, kernel_of
from ci.estimate import compare_matched, locate
from ci.records import Outcome, PointSamples, Run, Samples
from ci.scoreboard import tflops

# On a problem: the samples of each kernel.
Measured = Mapping[Problem, Mapping[str, PointSamples]]

_DISPATCH = "dispatch"  # the stage of the kernel that is not picked but picks


@dataclass(frozen=True, slots=True)
class Rate:
    """What a kernel reached at best in a precision, which the model takes for its full waves."""

    kernel: str
    precision: str
    tflops: float


@dataclass(frozen=True, slots=True)
class Choice:
    problem: Problem
    kernel: str
    tflops: float
    speeds: Mapping[str, float]  # beside each vendor kernel; above 1 beats it
    model: str | None  # what the model of dispatch would have picked
    regret: float | None  # the share of time that this loses; None if it was not measured here


def unsound_kernels(samples: Samples) -> dict[str, str]:
    """Kernels that were wrong or failed anywhere, each with a point and what became of it."""
    found: dict[str, str] = {}
    for point, outcome in samples.outcomes.items():
        if outcome not in (Outcome.passed, Outcome.refused):
            found.setdefault(kernel_of(point), f"{outcome} at {point}: {samples.reasons[point]}")
    return found


def candidates(run: Run) -> Measured:
    """What dispatch may pick. A kernel that is unsound anywhere is picked nowhere."""
    unsound = unsound_kernels(run.samples)
    return _measured(
        run,
        [
            kernel.name
            for kernel in run.catalog.kernels
            if not kernel.vendor and kernel.stage != _DISPATCH and kernel.name not in unsound
        ],
    )


def vendors(run: Run) -> Measured:
    """The vendor's kernels but for the control, beside which everything is measured anyway."""
    return _measured(run, [k.name for k in run.catalog.kernels if k.vendor and not k.control])


def rates(measured: Measured) -> list[Rate]:
    """The best over problems and layouts: on that one the kernel's waves were the fullest.

    To reckon out what partial waves cost would need the tiles, and be another model.
    """
    best: dict[tuple[str, str], float] = {}
    for problem, kernels in measured.items():
        for kernel, samples in kernels.items():
            key = (kernel, problem.precision)
            best[key] = max(best.get(key, 0.0), tflops(problem, samples))
    return [Rate(*key, float(f"{rate:.4g}")) for key, rate in best.items()]


def choose(
    problem: Problem,
    kernels: Mapping[str, PointSamples],
    model: str | None,
    vendor: Mapping[str, float],
    alpha: float,
) -> Choice:
    """The kernel that was measured to be the fastest beside the control.

    One that is not proven slower (one-sided, at level alpha, trial by trial) takes its place if the
    model picks it: chance then does not decide, and the table stays as it is from run to run.
    vendor: ln(vendor kernel / control) of each vendor kernel.
    """
    effects = {name: locate(samples.log_ratio).effect for name, samples in kernels.items()}
    best = min(effects, key=effects.__getitem__)
    chosen, regret = best, None
    if model in effects:
        regret = expm1(effects[model] - effects[best])
        behind = compare_matched(kernels[best].log_ratio, kernels[model].log_ratio, day_std=0.0)
        if behind.low(alpha) <= 0:
            chosen = model
    return Choice(
        problem=problem,
        kernel=chosen,
        tflops=tflops(problem, kernels[chosen]),
        speeds={name: exp(effect - effects[chosen]) for name, effect in vendor.items()},
        model=model,
        regret=regret,
    )


def _measured(run: Run, names: Collection[str]) -> Measured:
    """By precision, then layout; kernels in the order of the ladder.

    FP16 takes the lines of BF16, and a choice is for one plain product: the rest is not for tuning.
    """
    order = list(dict.fromkeys((p.precision, p.layout) for p in run.catalog.problems))
    problems = sorted(
        (p for p in run.catalog.problems if p.precision != "fp16" and p.id.count("/") == 2),
        key=lambda problem: order.index((problem.precision, problem.layout)),
    )
    found = {
        problem: {
            name: run.samples.points[point]
            for name in names
            if (point := f"{name}/{problem.id}") in run.samples.points
        }
        for problem in problems
    }
    return {problem: kernels for problem, kernels in found.items() if kernels}
