"""The proof that a gate can fail and need not: twins of one kernel, one of them slowed.

Three more processes a pair measure one cheap and steady point of the head build: as it is, as it is
once more (the identical twin), and slowed by a known share in real device time (the slowed twin).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log1p

import numpy as np

from ci.bench_program import BenchProgram
from ci.catalog import Catalog, kernel_of
from ci.hypotheses import Hypothesis, Limits
from ci.pairs import Arm, only
from ci.policy import Policy
from ci.records import PointSamples, Samples
from ci.verdicts import PointVerdict, Verdict

PLAIN, IDENTICAL, SLOWED = "canary-plain", "canary-identical", "canary-slowed"


def choose_canary(head: Samples) -> str | None:
    """The steadiest point of the cheaper half; a control, whose ratio is fixed, is none."""
    able = [point for point in head.points if kernel_of(point) not in head.controls]
    if not able:
        return None
    usual = float(np.median([head.seconds.get(point, 0.0) for point in able]))
    cheap = [point for point in able if head.seconds.get(point, 0.0) <= usual]
    return min(cheap, key=lambda point: float(np.std(head.points[point].log_ratio)))


def canary_arms(point: str, head: BenchProgram, catalog: Catalog, policy: Policy) -> list[Arm]:
    """catalog: of the head build as it is. The slowed twin's says that it is slowed."""
    plain = replace(head, slow="")
    slowed = replace(head, slow=f"{kernel_of(point)}:{100 * policy.canary_slowdown:g}")
    what = ((point,), only([point]))
    return [
        Arm(PLAIN, plain, catalog, *what),
        Arm(IDENTICAL, plain, catalog, *what),
        Arm(SLOWED, slowed, slowed.catalog(), *what),
    ]


def twin_hypotheses(point: str, arms: Sequence[Samples], policy: Policy) -> list[Hypothesis]:
    """What is asked of the twins, as of any suspect; empty if one of them gave no time."""
    if not all(point in arm.points for arm in arms):
        return []
    plain, *twins = (arm.points[point] for arm in arms)
    limits = Limits(log1p(policy.tau), log1p(policy.paired_tau_fail))
    names = (IDENTICAL, SLOWED)
    return [
        _hypothesis(f"{n}/{point}", plain, t, limits) for n, t in zip(names, twins, strict=True)
    ]


def canary_doubts(twins: Sequence[PointVerdict], policy: Policy) -> list[str]:
    """Why the gate cannot be trusted; empty if it told the twins apart."""
    if not twins:
        return [
            "no twin of a kernel could be measured, so this gate has not shown that it can fail"
        ]
    identical, slowed = twins
    doubts = []
    if identical.verdict is Verdict.regressed:
        doubts.append(f"an identical twin was flagged: {identical.id}: {identical.reason}")
    if slowed.verdict is not Verdict.regressed:
        doubts.append(
            f"a twin slowed by {policy.canary_slowdown:.0%} was not flagged: "
            f"{slowed.id}: {slowed.reason}"
        )
    return doubts


def _hypothesis(name: str, plain: PointSamples, twin: PointSamples, limits: Limits) -> Hypothesis:
    times = (float(np.median(plain.kernel_us)), float(np.median(twin.kernel_us)))
    return Hypothesis(name, plain.log_ratio, twin.log_ratio, 0.0, limits, *times)
