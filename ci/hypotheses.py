"""The questions of a gate: one for each point, one for each family of points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np

from ci.catalog import family_of
from ci.estimate import Array
from ci.policy import Policy
from ci.records import PointSamples


@dataclass(frozen=True, slots=True)
class Limits:
    """What counts as slower, in log units."""

    tau: float
    tau_fail: float


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One question: the log ratios of base and head, a trial an element."""

    id: str
    base: Array
    head: Array
    day_std: float
    limits: Limits
    base_us: float | None = None
    head_us: float | None = None


def point_hypotheses(
    base: Mapping[str, PointSamples], head: Mapping[str, PointSamples], policy: Policy
) -> list[Hypothesis]:
    """One hypothesis for each point that both sides have."""
    limits = Limits(log1p(policy.tau), log1p(policy.tau_fail))
    return [
        Hypothesis(
            point, base[point].log_ratio, head[point].log_ratio, policy.day_std, limits,
            float(np.median(base[point].kernel_us)), float(np.median(head[point].kernel_us)),
        )
        for point in head if point in base
    ]  # fmt: skip


def family_hypotheses(points: Sequence[Hypothesis], policy: Policy) -> list[Hypothesis]:
    """One hypothesis for each family of two points or more: the mean over its shapes.

    What is too small to be proven at one shape is seen here when it is broad.
    """
    families = defaultdict(list)
    for point in points:
        families[family_of(point.id)].append(point)
    limits = Limits(log1p(policy.family_tau), log1p(policy.family_tau_fail))
    return [
        Hypothesis(
            family,
            np.mean([member.base for member in members], axis=0),
            np.mean([member.head for member in members], axis=0),
            policy.family_day_std,
            limits,
        )
        for family, members in families.items() if len(members) > 1
    ]  # fmt: skip
