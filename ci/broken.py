"""The verdict on a point that has no time, because its kernel is wrong, crashed or hung. Pure."""

from __future__ import annotations

from ci.records import Outcome, Samples
from ci.verdicts import PointVerdict, Verdict

_BROKEN = {
    Outcome.incorrect: Verdict.incorrect,
    Outcome.failed: Verdict.failed,
    Outcome.timed_out: Verdict.timed_out,
}


def broken_points(base: Samples, head: Samples) -> list[PointVerdict]:
    """Incorrect, failed or timed out on head. What failed in base already is not head's fault."""
    return [
        _verdict(point, base, head)
        for point, outcome in head.outcomes.items()
        if outcome in _BROKEN
    ]


def _verdict(point: str, base: Samples, head: Samples) -> PointVerdict:
    outcome = head.outcomes[point]
    old = base.outcomes.get(point) in _BROKEN
    fails = outcome is Outcome.incorrect or not old
    reason = head.reasons.get(point, "no reason recorded")
    if old:
        reason += f" (in base: {base.outcomes[point]})"
    return PointVerdict(point, _BROKEN[outcome], reason, fails)
