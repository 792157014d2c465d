"""The values that the page's script shows at the pointer, rounded as a reader wants them."""

import numpy as np

from reports.site.trend_chart import FRAME, time_limits
from reports.site.trends import Column, Series, Trends
from reports.units import RateUnit


def hover(series: Series, rate: RateUnit) -> dict[str, object]:
    """The values that the page's script shows at the pointer. The interval is given as what lies
    below and above, in hundredths of a percent: there is one a night, and a page has many."""
    return {
        "speed": _rounded(series.speed, ".4g"),
        "below": _rounded(1e4 * (1 - series.speed_low / series.speed), ".0f"),
        "above": _rounded(1e4 * (series.speed_high / series.speed - 1), ".0f"),
        "rate": _rounded(series.tflops * rate.per_tflops, ".4g"),
        "mhz": _rounded(series.sm_mhz, ".0f"),
        "outcomes": series.outcomes,
    }


def _rounded(column: Column, form: str) -> list[float | int | None]:
    """Whole numbers as such, which is shorter."""
    rounded = [float(f"{value:{form}}") if np.isfinite(value) else None for value in column]
    return [int(v) if v is not None and v.is_integer() else v for v in rounded]


def hover_nights(trends: Trends, rate: RateUnit) -> dict[str, object]:
    """What the script needs to know of the nights: where on the axis, and their names."""
    first, last = time_limits(trends)
    places = (trends.days - first) / (last - first)
    return {
        "frame": [round(edge, 4) for edge in FRAME],
        "at": [round(place, 5) for place in places.tolist()],
        "unit": rate.name,
        "dates": [night.date for night in trends.nights],
        "commits": [night.short_commit for night in trends.nights],
        "disturbed": np.flatnonzero(~trends.believed).tolist(),
    }
