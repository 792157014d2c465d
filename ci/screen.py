"""Head against a stored base: two series of trials, and a day between them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ci.conclude import conclude
from ci.estimate import Estimate, compare, compare_matched
from ci.hypotheses import Hypothesis
from ci.policy import Policy
from ci.records import Outcome, Samples
from ci.verdicts import PointVerdict


def screen(
    hypotheses: Sequence[Hypothesis], policy: Policy, matched: bool = False
) -> list[PointVerdict]:
    """A verdict for each hypothesis, in the order given. matched: trial i of both belong together.

    Half of what moves a noisy point from trial to trial comes from the points visited before it.
    Matching takes that out, so that fewer innocent points are suspected; but it leaves few degrees
    of freedom and so raises more alarms: it is for a screen that pairs confirm.
    """
    return conclude(hypotheses, [screened(h, matched) for h in hypotheses], policy)


def screened(h: Hypothesis, matched: bool) -> Estimate:
    return (compare_matched if matched else compare)(h.base, h.head, h.day_std)


def same_orders(base: Samples, head: Samples) -> bool:
    """Whether trial i of both visited its points in the same order.

    The order follows from the trial's seed, which policy fixes, and from the list of points. A
    point that failed is left out of later trials.
    """
    if base.filter or head.filter:
        return False
    return _visited(base) == [*base.points] == [*head.points] == _visited(head)


def _visited(samples: Samples) -> list[str]:
    return [point for point, outcome in samples.outcomes.items() if outcome != Outcome.refused]
