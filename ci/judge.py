"""The judge: a base and a head in, a judgement out. Pure: no files, no clock, no randomness."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ci.broken import broken_points
from ci.confirm import settled
from ci.hypotheses import family_hypotheses, point_hypotheses
from ci.policy import Policy
from ci.records import Outcome, Samples
from ci.retired import Retired, excused
from ci.screen import screen
from ci.twins import canary_doubts
from ci.validity import disturbances
from ci.verdicts import Confirmation, Judgement, PointVerdict, Verdict


def judge(
    base: Samples,
    head: Samples,
    policy: Policy,
    strict: bool = False,
    confirmation: Confirmation | None = None,
    retired: Sequence[Retired] = (),
    canary: Sequence[PointVerdict] | None = None,
    matched: bool = False,
) -> Judgement:
    """Judges head against a stored base; what was confirmed by pairs replaces what the base says.

    strict: a point that stays undecided is a doubt. retired: points that may be gone or broken.
    canary: the twins that this gate measured; None if it measured nothing itself. matched: trial i
    of base and head belong together, and pairs are to confirm what this suspects.
    """
    differences = _differences(base, head)
    broken = broken_points(base, head)
    families: list[PointVerdict] = []
    if differences:
        doubts = [_not_comparable(differences, base, head)]
        others = [_incomparable(point, differences) for point in head.points]
    else:
        doubts = disturbances(head, policy)
        compared, families = _compare(base, head, policy, matched, invalid=bool(doubts))
        others = [*compared, *_missing(base, head), *_new(base, head)]
        if confirmation:
            doubts += [*confirmation.doubts, *_unconfirmed([*others, *families], confirmation)]
            others = [settled(point, confirmation) for point in others]
            families = [settled(family, confirmation) for family in families]
        doubts += _nothing_learnt(base, head, others)
    points = [excused(point, retired) for point in (*broken, *others)]
    if canary is not None:
        doubts += canary_doubts(canary, policy)
    undecided = sum(item.verdict is Verdict.inconclusive for item in (*others, *families))
    if strict and undecided:
        doubts.append(f"{undecided} points or families are inconclusive, which --strict refuses")
    return Judgement(
        base=base,
        head=head,
        policy=policy,
        points=tuple(sorted(points, key=lambda point: point.id)),
        families=tuple(sorted(families, key=lambda family: family.id)),
        doubts=tuple(doubts),
        notes=tuple(_notes(base, head)),
        matched=matched,
        confirmation=confirmation,
        canary=None if canary is None else tuple(canary),
    )


# -------------------------------------------------------------------------------------------------
# May the two be compared at all?
# -------------------------------------------------------------------------------------------------


def _differences(base: Samples, head: Samples) -> list[str]:
    """Each field that must match and does not, in words."""
    pairs = {
        key: (base.fingerprint.get(key, "absent"), head.fingerprint.get(key, "absent"))
        for key in sorted(base.fingerprint.keys() | head.fingerprint.keys())
    }
    pairs["selection"] = (base.selection, head.selection)
    if base.load != head.load:  # in words, in place of the harness, which names it
        del pairs["harness"]
        pairs["load"] = (base.load, head.load)
    return [f"{key} is {b} in base and {h} in head" for key, (b, h) in pairs.items() if b != h]


def _not_comparable(differences: Sequence[str], base: Samples, head: Samples) -> str:
    way_out = f"A new baseline of this machine: gemmwatch baseline store {head.label}"
    if base.load != head.load:
        way_out = f"Measure head with gemmwatch run --load {base.load}"
    return f"base and head cannot be compared: {'; '.join(differences)}. {way_out}"


def _incomparable(point: str, differences: Sequence[str]) -> PointVerdict:
    return PointVerdict(point, Verdict.incomparable, "; ".join(differences), fails=False)


def _nothing_learnt(base: Samples, head: Samples, points: Sequence[PointVerdict]) -> list[str]:
    compared = [point for point in points if point.comparison]
    if not compared:
        return [_nothing_compared(base, head)]
    if all(point.verdict is Verdict.inconclusive for point in compared):
        return ["not one point could be decided: the spread between trials is too large"]
    return []


def _unconfirmed(items: Sequence[PointVerdict], confirmation: Confirmation) -> list[str]:
    slower = [i.id for i in items if i.fails and i.id in confirmation.unmeasured]
    if not slower:
        return []
    return [
        f"{len(slower)} read slower than the baseline and the budget left no time to confirm it: "
        f"{', '.join(slower[:3])}{', ...' if len(slower) > 3 else ''}"
    ]


def _nothing_compared(base: Samples, head: Samples) -> str:
    return (
        f"nothing was compared: base has {len(base.points)} passed points of {base.trials} trials, "
        f"head {len(head.points)} of {head.trials}"
        + (f" (filter {head.filter})" if head.filter else "")
    )


def _notes(base: Samples, head: Samples) -> list[str]:
    notes = []
    for side, samples in (("base", base), ("head", head)):
        if samples.injected:
            notes.append(f"{side} carries an artificial change: {samples.injected}")
    if head.filter:
        skipped = sum(not _in_scope(point, head) for point in base.points)
        notes.append(f"head was filtered ({head.filter}): {skipped} points of base not looked at")
    return notes


# -------------------------------------------------------------------------------------------------
# A verdict for each point
# -------------------------------------------------------------------------------------------------


def _compare(
    base: Samples, head: Samples, policy: Policy, matched: bool, invalid: bool
) -> tuple[list[PointVerdict], list[PointVerdict]]:
    """Verdicts of the points that passed on both sides, and of their families."""
    common = [point for point in head.points if point in base.points]
    if min(base.trials, head.trials) < policy.min_trials:
        return [_too_few_trials(point, base, head, policy) for point in common], []
    points = point_hypotheses(base.points, head.points, policy)
    verdicts = screen([*points, *family_hypotheses(points, policy)], policy, matched)
    if invalid:
        verdicts = [_undecided(verdict) for verdict in verdicts]
    return verdicts[: len(points)], verdicts[len(points) :]


def _undecided(item: PointVerdict) -> PointVerdict:
    reason = f"the run is invalid; it read: {item.reason}"
    return PointVerdict(item.id, Verdict.inconclusive, reason, False, item.comparison)


def _too_few_trials(point: str, base: Samples, head: Samples, policy: Policy) -> PointVerdict:
    reason = (
        f"too few trials ({base.trials} in base, {head.trials} in head; "
        f"a comparison needs {policy.min_trials} on each side)"
    )
    return PointVerdict(point, Verdict.inconclusive, reason, fails=False)


def _missing(base: Samples, head: Samples) -> list[PointVerdict]:
    """What passed in base and was not even tried on head."""
    verdicts = []
    for point in base.points:
        outcome = head.outcomes.get(point)
        if outcome is Outcome.refused:
            reason = f"passed in base, refused in head: {head.reasons.get(point, '')}"
            verdicts.append(PointVerdict(point, Verdict.missing, reason, fails=True))
        elif outcome is None and _in_scope(point, head):
            reason = "passed in base, absent in head"
            verdicts.append(PointVerdict(point, Verdict.missing, reason, fails=True))
    return verdicts


def _new(base: Samples, head: Samples) -> list[PointVerdict]:
    verdicts = []
    for point in head.points:
        if point not in base.points:
            reason = f"in base: {base.outcomes.get(point, 'absent')}"
            verdicts.append(PointVerdict(point, Verdict.new, reason, fails=False))
    return verdicts


def _in_scope(point: str, head: Samples) -> bool:
    return not head.filter or re.search(head.filter, point) is not None
