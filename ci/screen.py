"""Head against a stored base: two independent series of trials, and a day between them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ci.conclude import conclude
from ci.estimate import compare
from ci.hypotheses import Hypothesis
from ci.policy import Policy
from ci.verdicts import PointVerdict


def screen(hypotheses: Sequence[Hypothesis], policy: Policy) -> list[PointVerdict]:
    """A verdict for each hypothesis, in the order given."""
    return conclude(hypotheses, [compare(h.base, h.head, h.day_std) for h in hypotheses], policy)
