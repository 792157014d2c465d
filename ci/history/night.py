"""What is remembered of a point and night beside its trials: medians and an interval. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ci.estimate import locate
from ci.history.recorded import Sample
from ci.policy import INTERVAL_ALPHA

_MEDIANS = ("log_ratio", "kernel_us", "control_us", "sm_mhz", "power_w", "bound_share")
_FEWEST = 3  # that have a spread


def summarize(trials: Sequence[Sample]) -> dict[str, float | None]:
    """The measured columns of `results`; None for a counter that not every trial has."""
    summary: dict[str, float | None] = {"low": None, "high": None}
    for name in _MEDIANS:
        values = [trial[name] for trial in trials if name in trial]
        summary[name] = float(np.median(values)) if len(values) == len(trials) > 0 else None
    if summary["log_ratio"] is not None and len(trials) >= _FEWEST:
        location = locate(np.array([trial["log_ratio"] for trial in trials]))
        summary["low"] = location.low(INTERVAL_ALPHA / 2)
        summary["high"] = location.high(INTERVAL_ALPHA / 2)
    return summary
