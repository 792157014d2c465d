"""Whether a loss is the code's or the power's: what the SM clock says of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import expm1, log, log1p

import numpy as np

from ci.policy import Policy
from ci.records import Samples
from ci.verdicts import PointVerdict, Verdict

POWER = "a power regression"


def explained(item: PointVerdict, sides: Sequence[Samples], policy: Policy) -> PointVerdict:
    """A proven loss with its clock cycles beside it, where both sides recorded the clock.

    Code that became slower takes more cycles. Code that draws more power takes as many, of a clock
    that the card lowers.
    """
    if item.verdict is not Verdict.regressed:
        return item
    if not sides or not all(item.id in side.points for side in sides):  # a family, or a twin
        return item
    base, head = (side.points[item.id] for side in sides)
    if not (base.sm_mhz.size and head.sm_mhz.size):
        return item
    clock = log(float(np.median(head.sm_mhz) / np.median(base.sm_mhz)))
    cycles = log(float(np.median(head.kernel_us) / np.median(base.kernel_us))) + clock
    lowered = clock <= -log1p(policy.tau) and cycles < log1p(policy.tau)
    cause = POWER if lowered else "the code"
    words = f"{cause}: {_percent(cycles)} clock cycles at {_percent(clock)} clock"
    return replace(item, reason=f"{item.reason}; {words}")


def _percent(log_change: float) -> str:
    return f"{round(expm1(log_change), 3) + 0.0:+.1%}"  # never -0.0%
