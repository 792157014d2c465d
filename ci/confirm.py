"""Suspects of a screen, and what pairs of fresh base and head processes say of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log1p

from ci.broken import broken_points
from ci.catalog import family_of, kernel_of
from ci.conclude import conclude
from ci.hypotheses import Hypothesis, Limits, family_hypotheses, point_hypotheses
from ci.policy import Policy
from ci.records import Samples
from ci.screen import screened
from ci.signed_rank import PairedEstimate
from ci.verdicts import Confirmation, Judgement, PointVerdict, Verdict


@dataclass(frozen=True, slots=True)
class Suspect:
    """A point, or a family by its name, that the screen did not clear."""

    id: str
    points: tuple[str, ...]  # to be measured
    effect: float  # in log units, as the screen read it

    @property
    def is_family(self) -> bool:
        return self.points != (self.id,)


def find_suspects(screening: Judgement, pairable: Collection[str]) -> list[Suspect]:
    """What must be confirmed, the largest apparent loss first. pairable: what both builds have.

    A point is cleared if the screen rules out a loss of tau_fail, so that a true one is suspected
    with probability 1 - alpha however noisy the point is. A point that the baseline does not know
    is compared by pairs alone.
    """
    known = {point.id: point for point in screening.points if point.id in pairable}
    suspects = [
        Suspect(name, (name,), point.comparison.effect if point.comparison else 0.0)
        for name, point in known.items()
        if point.verdict in (Verdict.regressed, Verdict.inconclusive, Verdict.new)
    ]
    suspects += [
        Suspect(name, tuple(p for p in known if family_of(p) == name), effect)
        for name, effect in suspect_families(screening)
    ]
    return sorted((s for s in suspects if s.points), key=lambda s: -s.effect)


def suspect_families(screening: Judgement) -> list[tuple[str, float]]:
    """The families that may be slower, each with its apparent loss in log units."""
    compared = (screening.base.points, screening.head.points)
    points = point_hypotheses(*compared, screening.policy)
    judged = {family.id for family in screening.families}
    estimates = [
        (family.id, screened(family, screening.matched))
        for family in family_hypotheses(points, screening.policy) if family.id in judged
    ]  # fmt: skip
    return [
        (name, estimate.effect)
        for name, estimate in estimates
        if estimate.p_above(0.0) <= screening.policy.family_suspect_p
    ]


def confirm(
    sides: Sequence[Samples],
    families: Iterable[str],
    twins: Sequence[Hypothesis],
    policy: Policy,
) -> tuple[list[PointVerdict], list[PointVerdict]]:
    """Verdicts of points and families, and of the canary's twins; Holm over all of them.

    sides: base and head, their trial i the pair i; none if there was no suspect. families: those of
    which every point was measured.
    """
    points = _paired_points(sides, policy)
    whole = [f for f in family_hypotheses(points, policy) if f.id in set(families)]
    asked = [*points, *whole, *twins]
    effects = [PairedEstimate(h.head - h.base) for h in asked]
    verdicts = conclude(asked, effects, policy)
    own = len(asked) - len(twins)
    broken = [*broken_points(*sides), *_without_base(*sides)] if sides else []
    measured = [*verdicts[:own], *broken]
    return measured, verdicts[own:]


def _paired_points(sides: Sequence[Samples], policy: Policy) -> list[Hypothesis]:
    if not sides:
        return []
    base, head = sides
    limits = Limits(log1p(policy.tau), log1p(policy.paired_tau_fail))
    points = point_hypotheses(base.points, head.points, policy)
    return [replace(point, limits=limits) for point in points]


def _without_base(base: Samples, head: Samples) -> list[PointVerdict]:
    return [
        PointVerdict(
            point, Verdict.inconclusive,
            f"the base gave no time in the pairs: {base.reasons.get(point, 'no reason recorded')}",
            fails=False,
        )
        for point in head.points if point not in base.points
    ]  # fmt: skip


def settled(item: PointVerdict, confirmation: Confirmation) -> PointVerdict:
    """The verdict on a point or family once the suspects were confirmed."""
    if kernel_of(item.id) in confirmation.unchanged:
        return _not_gated(item, "the same code in base and head")
    for verdict in confirmation.measured:
        if verdict.id == item.id:
            one = confirmation.same_code
            return _not_gated(verdict, "one program as base and head") if one else verdict
    if item.id in confirmation.unmeasured:
        reason = f"suspected, and the budget left no time to confirm it; screened: {item.reason}"
        return replace(item, verdict=Verdict.inconclusive, reason=reason, fails=False)
    return item


def _not_gated(verdict: PointVerdict, why: str) -> PointVerdict:
    """What a comparison read is no change where nothing changed; what has no time still counts."""
    if verdict.verdict not in (Verdict.regressed, Verdict.improved, Verdict.inconclusive):
        return verdict
    reason = f"no change, being {why}; read: {verdict.reason}"
    return replace(verdict, verdict=Verdict.same, reason=reason, fails=False)
