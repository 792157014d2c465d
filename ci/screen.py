"""The statistical half of the judge: is head slower than a stored base?

Unit of replication: the trial. Every hypothesis is one-sided against a minimum effect, and all of
a gate are corrected together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1, log, log1p

import numpy as np

from ci.catalog import family_of
from ci.estimate import Array, Estimate, compare, holm
from ci.policy import Policy
from ci.records import PointSamples
from ci.verdicts import Comparison, PointVerdict, Verdict


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


def screen(hypotheses: Sequence[Hypothesis], policy: Policy) -> list[PointVerdict]:
    """A verdict for each hypothesis, in the order given; Holm over all of them."""
    estimates = [compare(h.base, h.head, h.day_std) for h in hypotheses]
    slower = holm([e.p_above(h.limits.tau) for h, e in zip(hypotheses, estimates, strict=True)])
    faster = holm([e.p_below(-h.limits.tau) for h, e in zip(hypotheses, estimates, strict=True)])
    verdicts = []
    for h, estimate, p_slower, p_faster in zip(hypotheses, estimates, slower, faster, strict=True):
        verdict = decide(estimate, p_slower, p_faster, h.limits, policy.alpha)
        comparison = _comparison(h, estimate, float(p_slower), len(hypotheses), policy)
        reason = _reason(verdict, comparison, h.limits, policy)
        verdicts.append(
            PointVerdict(h.id, verdict, reason, verdict is Verdict.regressed, comparison)
        )
    return verdicts


def decide(
    estimate: Estimate, p_slower: float, p_faster: float, limits: Limits, alpha: float
) -> Verdict:
    """The rule. p_slower and p_faster: adjusted p of "not slower (faster) by more than tau"."""
    if p_slower <= alpha and estimate.effect >= limits.tau_fail:
        return Verdict.regressed
    if p_faster <= alpha and estimate.effect <= -limits.tau_fail:
        return Verdict.improved
    if estimate.effect + estimate.margin(alpha) < limits.tau_fail:
        return Verdict.same
    return Verdict.inconclusive


def _comparison(
    h: Hypothesis, estimate: Estimate, p: float, hypotheses: int, policy: Policy
) -> Comparison:
    margin = estimate.margin(policy.alpha)
    return Comparison(
        estimate=estimate,
        low=_share(estimate.effect - margin),
        high=_share(estimate.effect + margin),
        p=p,
        smallest_visible=_smallest_visible(estimate, h.limits, hypotheses, policy),
        base_us=h.base_us,
        head_us=h.head_us,
        base_ratio=exp(float(np.median(h.base))),
        head_ratio=exp(float(np.median(h.head))),
    )


def _smallest_visible(estimate: Estimate, limits: Limits, hypotheses: int, policy: Policy) -> float:
    """The slowdown that would be reported with the policy's power, as the only one (Holm's
    first and strictest step)."""
    threshold = max(limits.tau_fail, limits.tau + estimate.margin(policy.alpha / hypotheses))
    return _share(threshold + estimate.margin(1 - policy.power))


def _share(log_slowdown: float) -> float:
    """A bound as a share. Three wild trials bound nothing: no more than tenfold is told apart."""
    return expm1(min(log_slowdown, log(10)))


def _reason(verdict: Verdict, comparison: Comparison, limits: Limits, policy: Policy) -> str:
    interval = (
        f"{1 - 2 * policy.alpha:.0%} interval {comparison.low:+.1%} to {comparison.high:+.1%}"
    )
    match verdict:
        case Verdict.regressed:
            return f"{comparison.change:.1%} slower ({interval})"
        case Verdict.improved:
            return f"{-comparison.change:.1%} faster ({interval})"
        case Verdict.same:
            return f"a loss of {expm1(limits.tau_fail):.1%} is ruled out ({interval})"
        case _:
            return (
                f"{comparison.change:+.1%} ({interval}): neither a loss nor its absence is shown; "
                f"this run could have seen a loss of {comparison.smallest_visible:.1%}"
            )
