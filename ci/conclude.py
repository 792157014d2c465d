"""From estimates to verdicts: the one rule, whatever the estimates rest on. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, log
from typing import Protocol

import numpy as np

from ci.estimate import holm
from ci.hypotheses import Hypothesis, Limits
from ci.policy import Policy
from ci.verdicts import Comparison, PointVerdict, Verdict


class Effect(Protocol):
    """An estimated slowdown in log units, with its tests and one-sided bounds."""

    @property
    def effect(self) -> float: ...
    @property
    def floor(self) -> float: ...  # a smaller effect is noise, whatever its p
    def p_above(self, bound: float) -> float: ...
    def p_below(self, bound: float) -> float: ...
    def low(self, alpha: float) -> float: ...
    def high(self, alpha: float) -> float: ...


def conclude(
    hypotheses: Sequence[Hypothesis], effects: Sequence[Effect], policy: Policy
) -> list[PointVerdict]:
    """A verdict for each hypothesis, in the order given; Holm over all of them."""
    both = list(zip(hypotheses, effects, strict=True))
    slower = holm([effect.p_above(h.limits.tau) for h, effect in both])
    faster = holm([effect.p_below(-h.limits.tau) for h, effect in both])
    verdicts = []
    for (h, effect), p_slower, p_faster in zip(both, slower, faster, strict=True):
        verdict = decide(effect, p_slower, p_faster, h.limits, policy.alpha)
        comparison = _comparison(h, effect, float(p_slower), len(hypotheses), policy)
        reason = _reason(verdict, comparison, h.limits, policy)
        verdicts.append(
            PointVerdict(h.id, verdict, reason, verdict is Verdict.regressed, comparison)
        )
    return verdicts


def decide(
    effect: Effect, p_slower: float, p_faster: float, limits: Limits, alpha: float
) -> Verdict:
    """The rule. p_slower and p_faster: adjusted p of "not slower (faster) by more than tau"."""
    large = max(limits.tau_fail, effect.floor)
    if p_slower <= alpha and effect.effect >= large:
        return Verdict.regressed
    if p_faster <= alpha and effect.effect <= -large:
        return Verdict.improved
    if effect.high(alpha) < limits.tau_fail:
        return Verdict.same
    return Verdict.inconclusive


def _comparison(
    h: Hypothesis, effect: Effect, p: float, hypotheses: int, policy: Policy
) -> Comparison:
    return Comparison(
        effect=effect.effect,
        low=_share(effect.low(policy.alpha)),
        high=_share(effect.high(policy.alpha)),
        p=p,
        smallest_visible=_smallest_visible(effect, h.limits, hypotheses, policy),
        base_us=h.base_us,
        head_us=h.head_us,
        base_ratio=exp(float(np.median(h.base))),
        head_ratio=exp(float(np.median(h.head))),
    )


def _smallest_visible(effect: Effect, limits: Limits, hypotheses: int, policy: Policy) -> float:
    """The slowdown that would be reported with the policy's power, as the only one (Holm's
    first and strictest step)."""
    proof = effect.effect - effect.low(policy.alpha / hypotheses)
    threshold = max(limits.tau_fail, effect.floor, limits.tau + proof)
    return _share(threshold + effect.effect - effect.low(1 - policy.power))


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
