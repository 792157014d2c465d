"""The trend of a point: its speed against the control, its absolute rate, and a sparkline.

Levels are drawn between change points, so that a step is seen before the noise is. A line joins
the nights that are believed; those on which the machine was disturbed are rings beside it.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, num2date
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reports.site.inline_svg import PAGE, inline_svg
from reports.site.levels import Turn, levels, turns
from reports.site.trends import Column, Series, Trends
from reports.style import SMALL, TEXT, text_width
from reports.units import RateUnit, percent

# Inches.
WIDTH, HEIGHT = 4.15, 2.05  # legible at the width of a phone
LEFT, RIGHT, ABOVE, BELOW = 0.62, 0.12, 0.46, 0.3
SPARK_WIDTH, SPARK_HEIGHT = 1.7, 0.36
TITLE_AT, EPOCHS_AT = 0.14, 0.33  # from the top

COMPARABLE = 3  # a control faster or slower by more than this factor would flatten the line
FEW = 45  # nights that leave room for a dot each
BEHIND_WORDS = {"facecolor": PAGE.paper, "edgecolor": "none", "alpha": 0.75, "pad": 0.8}
FRAME = (LEFT / WIDTH, 1 - RIGHT / WIDTH)  # where the axis of time begins and ends


@dataclass(frozen=True)
class TrendCharts:
    speed: Markup
    rate: Markup


def trend_charts(trends: Trends, series: Series, rate: RateUnit, name: str) -> TrendCharts:
    return TrendCharts(
        speed=inline_svg(
            _speed_figure(trends, series),
            f"Speed of {series.id} relative to the control, night by night",
            f"{name}-s",
        ),
        rate=inline_svg(
            _rate_figure(trends, series, rate),
            f"{rate.name} of {series.id} and of the control, night by night",
            f"{name}-r",
        ),
    )


def sparkline(trends: Trends, series: Series, name: str) -> Markup:
    figure = Figure(figsize=(SPARK_WIDTH, SPARK_HEIGHT))
    axes = figure.add_axes((0, 0.06, 1, 0.88))
    axes.set_axis_off()
    days = trends.days
    axes.set_xlim(*time_limits(trends))
    _epoch_lines(axes, trends, days)
    _line(axes, days, _believed(trends, series.speed), PAGE.own)
    _rings(axes, trends, series.speed, PAGE.own, size=2.5)
    for turn in turns(trends, series):
        _triangle(axes, days, turn, size=4.5)
    alt = f"Speed of {series.problem.id} relative to the control, {len(days)} nights"
    return inline_svg(figure, alt, name)


def time_limits(trends: Trends) -> tuple[float, float]:
    """Where the axis of time begins and ends, in days."""
    first, last = trends.days[[0, -1]].tolist()
    margin = max(0.015 * (last - first), 0.5)
    return first - margin, last + margin


def _speed_figure(trends: Trends, series: Series) -> Figure:
    figure, axes, days = _frame(trends, "speed, × control")
    low, high = (_believed(trends, ends) for ends in (series.speed_low, series.speed_high))
    axes.fill_between(days, low, high, color=PAGE.own, alpha=0.22, linewidth=0)
    _line(axes, days, _believed(trends, series.speed), PAGE.own)
    for level in levels(trends, series):
        axes.plot(days[list(level.nights)], level.speeds, color=PAGE.ink, linewidth=1.1)
    _limit(axes, _believed(trends, series.speed))
    _rings(axes, trends, series.speed, PAGE.own)
    if series.timed:
        axes.axhline(1, color=PAGE.vendor, linewidth=0.9, linestyle=(0, (4, 2)), zorder=0.9)
    for turn in turns(trends, series):
        _triangle(axes, days, turn, size=6)
        _words(axes, days, turn)
    _failures(axes, days, series)
    _scale(axes, series)
    return figure


def _limit(axes: Axes, speed: Column) -> None:
    """By the speeds: the interval of a night with few trials would leave them no room."""
    known = speed[np.isfinite(speed)]
    if known.size:
        low, high = float(known.min()), float(known.max())
        margin = max(0.2 * (high - low), 0.01 * high)
        axes.set_ylim(low - 1.6 * margin, high + margin)  # below it is room for marks


def _rate_figure(trends: Trends, series: Series, rate: RateUnit) -> Figure:
    figure, axes, days = _frame(trends, rate.name)
    own, control = (rate.per_tflops * values for values in (series.tflops, series.control_tflops))
    if _shows_control(series):
        _line(axes, days, _believed(trends, control), PAGE.vendor, width=0.8)
        _head(axes, 1.0, "control", PAGE.vendor, side="right")
    _line(axes, days, _believed(trends, own), PAGE.own)
    _rings(axes, trends, own, PAGE.own)
    _scale(axes, series)
    return figure


def _shows_control(series: Series) -> bool:
    known = series.speed[np.isfinite(series.speed)]
    if series.kernel.control or not known.size:
        return False
    return bool(1 / COMPARABLE < np.median(known) < COMPARABLE)


def _frame(trends: Trends, title: str) -> tuple[Figure, Axes, Column]:
    """Axes with epochs and a title; _scale() adds the grid when the data are in."""
    figure = Figure(figsize=(WIDTH, HEIGHT))
    axes = figure.add_axes(
        (FRAME[0], BELOW / HEIGHT, FRAME[1] - FRAME[0], 1 - (ABOVE + BELOW) / HEIGHT)
    )
    days = trends.days
    axes.set_xlim(*time_limits(trends))
    axes.set_axis_off()
    _head(axes, 0.0, title, PAGE.ink, side="left")
    _epoch_lines(axes, trends, days)
    _epoch_names(axes, trends, days)
    return figure, axes, days


def _scale(axes: Axes, series: Series) -> None:
    """Grid and numbers, as plain lines and words: ticks take half the time of so small a figure."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    axes.set(xlim=(left, right), ylim=(low, high))
    steps = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    values = [value for value in steps if low <= value <= high and series.timed]
    dates = time_ticks(left, right)
    look: dict[str, Any] = {"color": PAGE.grid, "linewidth": 0.5, "zorder": 0.5}
    axes.hlines([low, *values], left, right, **look)
    axes.vlines([day for day, _ in dates], low, high, **look)
    words: dict[str, Any] = {"color": PAGE.muted, "fontsize": SMALL}
    if not series.timed:
        axes.text(0.5, 0.5, "no time on any night", transform=axes.transAxes,
                  ha="center", bbox=BEHIND_WORDS, **words)  # fmt: skip
    for value, number in zip(values, _numbers(values), strict=True):
        axes.text(-0.015, value, number, transform=axes.get_yaxis_transform(),
                  ha="right", va="center", **words)  # fmt: skip
    for day, date in dates:
        axes.text(day, -0.04, date, transform=axes.get_xaxis_transform(),
                  ha="center", va="top", **words)  # fmt: skip


def _numbers(values: list[float]) -> list[str]:
    """All with the decimals that the longest needs."""
    decimals = max(
        (len(f"{value:.9f}".rstrip("0").partition(".")[2]) for value in values), default=0
    )
    return [f"{value:.{decimals}f}" for value in values]


@cache
def time_ticks(left: float, right: float) -> list[tuple[float, str]]:
    """Days and how they are called; the same for all charts of a site."""
    locator: Any = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    formatter: Any = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    first, last = num2date([left, right])  # type: ignore[no-untyped-call]
    ticks = [day for day in locator.tick_values(first, last) if left <= day <= right]
    return list(zip(ticks, formatter.format_ticks(ticks), strict=True))


def _head(axes: Axes, x: float, words: str, colour: str, side: str) -> None:
    height = HEIGHT - ABOVE - BELOW
    axes.text(
        x, 1 + (ABOVE - TITLE_AT) / height, words, transform=axes.transAxes, color=colour,
        fontsize=SMALL if side == "right" else TEXT, ha=side, va="center",
    )  # fmt: skip


def _believed(trends: Trends, values: Column) -> Column:
    return np.where(trends.believed, values, np.nan)


def _rings(axes: Axes, trends: Trends, values: Column, colour: str, size: float = 4) -> None:
    """The nights that are not believed, at the edge where they are beyond it."""
    disturbed = ~trends.believed & np.isfinite(values)
    axes.plot(
        trends.days[disturbed], np.clip(values[disturbed], *axes.get_ylim()), "o", color=colour,
        markersize=size, markerfacecolor="none", markeredgewidth=0.8, clip_on=False,
    )  # fmt: skip


def _line(axes: Axes, days: Column, values: Column, colour: str, width: float = 1.0) -> None:
    axes.plot(days, values, color=colour, linewidth=width)
    known = np.isfinite(values)
    before = np.concatenate([[False], known[:-1]])
    after = np.concatenate([known[1:], [False]])
    alone = known & ~before & ~after  # a line shows nothing of these
    dotted = known if len(days) <= FEW else alone
    axes.plot(days[dotted], values[dotted], ".", color=colour, markersize=4)


def _epoch_lines(axes: Axes, trends: Trends, days: Column) -> None:
    for epoch in trends.epochs[1:]:
        axes.axvline(
            days[epoch.first_night], color=PAGE.muted, linewidth=0.8, linestyle=(0, (2, 2))
        )


def _epoch_names(axes: Axes, trends: Trends, days: Column) -> None:
    """What changed, above the line, where there is room; the page's table has them all."""
    first, last = time_limits(trends)
    wide = WIDTH - LEFT - RIGHT
    height = HEIGHT - ABOVE - BELOW
    free = -1.0  # inches from the left end of the axis
    for epoch in trends.epochs[1:]:
        words = ", ".join(epoch.changed)
        place = (days[epoch.first_night] - first) / (last - first) * wide
        left = min(place, wide - text_width(words, SMALL))
        if left < free:
            continue
        axes.text(
            left / wide, 1 + (ABOVE - EPOCHS_AT) / height, words, transform=axes.transAxes,
            color=PAGE.muted, fontsize=SMALL, va="center",
        )  # fmt: skip
        free = left + text_width(words, SMALL) + 0.1


def _triangle(axes: Axes, days: Column, turn: Turn, size: float) -> None:
    """Points the way the speed went: at the first night of the new level, hollow for a creep."""
    colour = PAGE.alarm if turn.slower else PAGE.own
    fill, edge = (PAGE.paper, colour) if turn.change.creeps else (colour, PAGE.paper)
    axes.plot(
        [days[turn.night]], [turn.speed], "v" if turn.slower else "^", markersize=size,
        markerfacecolor=fill, markeredgecolor=edge, markeredgewidth=0.8, zorder=4,
    )  # fmt: skip


def _words(axes: Axes, days: Column, turn: Turn) -> None:
    words = f"{percent(abs(turn.change.change))} {'slower' if turn.slower else 'faster'}"
    look: dict[str, Any] = {
        "color": PAGE.alarm if turn.slower else PAGE.own, "fontsize": SMALL, "fontweight": "bold",
        "va": "center", "zorder": 5, "bbox": BEHIND_WORDS,
    }  # fmt: skip
    if turn.change.creeps:  # in the corner that a sloping level leaves free
        axes.text(1, 0.94 if turn.slower else 0.14, f"{words} by creep", transform=axes.transAxes,
                  ha="right", **look)  # fmt: skip
        return
    day = days[turn.night]
    late = day > sum(axes.get_xlim()) / 2
    axes.annotate(
        words, (day, turn.speed), xytext=(-6 if late else 6, 9 if turn.slower else -9),
        textcoords="offset points", ha="right" if late else "left", **look,
    )  # fmt: skip


def _failures(axes: Axes, days: Column, series: Series) -> None:
    nights = [night for night, outcome in series.outcomes.items() if outcome != "refused"]
    if nights:
        axes.plot(
            days[nights], [0.05] * len(nights), "x", color=PAGE.alarm, markersize=4.5,
            markeredgewidth=1.2, transform=axes.get_xaxis_transform(),
        )  # fmt: skip
