"""The roofline, drawn: where the rungs of a ladder stand under what the machine could do."""

import math
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from reports.ladder import Ladder
from reports.model import Measured, Performance
from reports.roofline import NEAR, Roof, intensity, roof
from reports.style import SMALL, TEXT, Picture, Theme, picture, text_width
from reports.units import significant

# Inches.
WIDTH = 4.7  # legible at the width of a phone
LEFT, ABOVE, BELOW = 0.6, 0.62, 0.5  # beside the axes; the rungs' names stand on their right
NARROWEST = 1.5  # of the axes: long names make the figure wider
LEADER = 0.32  # from the axes to the names
LOWEST = 2.6  # height of the axes, if the names do not need more
LINE = 0.16  # from one name to the next

SHARPNESS = 80  # points of a roof


def roofline_picture(measured: Measured, ladder: Ladder) -> Picture | None:
    """None if the machine's peak is not known."""
    nominal = roof(measured, ladder.precision)
    if nominal is None:
        return None
    alt = (
        f"Roofline in {ladder.precision}: the rate of each kernel on {ladder.problem.id} over "
        "arithmetic intensity, under the machine's limits; a table gives the same numbers"
    )
    name = f"roofline-{ladder.precision}"
    return picture(name, alt, lambda theme: roofline_figure(measured, ladder, nominal, theme))


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places between low and high, ascending like `wanted` and at least a gap apart, near it.

    high - low must have room for all.
    """
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + gap if places else low))
    ceiling = high
    for index in reversed(range(len(places))):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - gap
    return places


def roofline_figure(measured: Measured, ladder: Ladder, nominal: Roof, theme: Theme) -> Figure:
    rungs = [(rung.kernel, rung.performance) for rung in ladder.rungs if rung.performance]
    height = max(LOWEST, (len(rungs) + 1) * LINE)
    names = LEADER + 0.15 + max((text_width(kernel.name, TEXT) for kernel, _ in rungs), default=0)
    panel = max(WIDTH, LEFT + NARROWEST + names)
    figure = Figure(figsize=(panel, ABOVE + height + BELOW))
    width = panel - LEFT - names
    axes = figure.add_axes(
        (LEFT / panel, BELOW / figure.get_figheight(), width / panel,
         height / figure.get_figheight())
    )  # fmt: skip
    others = [
        point.performance
        for point in measured.points
        if point.performance and point.problem.precision == ladder.precision
    ]
    _frame(axes, ladder, nominal, others, theme)
    _roofs(axes, nominal, _at_clock(measured, ladder), theme)
    axes.plot(
        [intensity(one.problem) for one in others], [one.tflops for one in others],
        "o", color=theme.muted, markersize=2.5, alpha=0.4, markeredgewidth=0,
    )  # fmt: skip
    low, high = axes.get_ylim()
    ordered = sorted(rungs, key=lambda rung: rung[1].tflops)
    scale = height / _decades(low, high)
    places = spread(
        [_decades(low, performance.tflops) * scale for _, performance in ordered],
        LINE, LINE / 2, height - LINE / 2,
    )  # fmt: skip
    for (kernel, performance), place in zip(ordered, places, strict=True):
        colour = theme.vendor if kernel.vendor else theme.own
        x, y = intensity(performance.problem), performance.tflops
        axes.plot([x], [y], "s" if kernel.vendor else "o", color=colour, markersize=6)
        axes.annotate(
            kernel.name, (x, y), xytext=(1 + LEADER / width, place / height),
            textcoords="axes fraction", color=theme.ink, fontsize=TEXT, va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.7,
                        "shrinkA": 2, "shrinkB": 4, "relpos": (0, 0.5)},
        )  # fmt: skip
    return figure


def _at_clock(measured: Measured, ladder: Ladder) -> Roof | None:
    """At the median clock of the ladder's rungs, if the run recorded one."""
    clocks = [
        clock
        for rung in ladder.rungs
        if rung.performance and (clock := rung.performance.counter("sm_mhz")) is not None
    ]
    under = roof(measured, ladder.precision, median(clocks)) if clocks else None
    return under if under and under.mhz is not None else None


def _frame(
    axes: Axes, ladder: Ladder, nominal: Roof, points: list[Performance], theme: Theme
) -> None:
    x = [nominal.ridge, *(intensity(one.problem) for one in points)]
    y = [one.tflops for one in points]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(x) / 1.7, max(x) * 1.7)
    axes.set_ylim(min(y, default=nominal.peak / 10) / 1.7, nominal.peak * 2.2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(10, numticks=9))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(colors=theme.muted, labelsize=SMALL, length=3)
    axes.grid(color=theme.grid, linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("bottom", "left"))
        spine.set_color(theme.grid)
    axes.set_xlabel("arithmetic intensity, FLOP/byte, log scale", color=theme.muted, fontsize=SMALL)
    heading = f"{ladder.precision} {ladder.problem.label}"
    for up, words, colour, size, weight in (
        (28, heading, theme.ink, TEXT + 1, "bold"),
        (10, "TFLOP/s, log scale", theme.muted, SMALL, "normal"),
    ):
        axes.annotate(
            words, (0, 1), xycoords="axes fraction", xytext=(-36, up), textcoords="offset points",
            color=colour, fontsize=size, fontweight=weight,
        )  # fmt: skip


def _roofs(axes: Axes, nominal: Roof, at_clock: Roof | None, theme: Theme) -> None:
    low, high = axes.get_xlim()
    ends = _decades(1, low), _decades(1, high)
    x = sorted({10 ** (ends[0] + (ends[1] - ends[0]) * i / SHARPNESS) for i in range(SHARPNESS + 1)}
               | {nominal.ridge})  # fmt: skip
    near = at_clock or nominal
    axes.fill_between(
        x, [NEAR * near.at(one) for one in x], [near.at(one) for one in x], color=theme.grid,
        alpha=0.35, linewidth=0,
    )  # fmt: skip
    axes.plot(x, [nominal.at(one) for one in x], color=theme.muted, linewidth=1.2)
    words = f"peak {significant(nominal.peak)}"
    if at_clock:
        axes.plot(x, [at_clock.at(one) for one in x], color=theme.ink, linewidth=1.1,
                  linestyle=(0, (4, 2)))  # fmt: skip
        words += f"; at {at_clock.mhz:.0f} MHz {significant(at_clock.peak)}"
    axes.annotate(
        words, (high, max(nominal.peak, near.peak)), xytext=(0, 7), textcoords="offset points",
        color=theme.muted, fontsize=SMALL, ha="right",
    )  # fmt: skip


def _decades(low: float, high: float) -> float:
    return math.log10(high / low)
