"""What is asked of a canary's twins, and what their answers say of the gate. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p

import numpy as np

from ci.hypotheses import Hypothesis, Limits
from ci.policy import Policy
from ci.records import PointSamples, Samples
from ci.verdicts import PointVerdict, Verdict

PLAIN, IDENTICAL, SLOWED = "canary-plain", "canary-identical", "canary-slowed"


def twin_hypotheses(point: str, arms: Sequence[Samples], policy: Policy) -> list[Hypothesis]:
    """One for each twin beside the plain kernel; none if an arm gave no time."""
    if not arms or not all(point in arm.points for arm in arms):
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
