"""The lessons, drawn: what each pitfall costs in time, and what each precision keeps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.lessons import Compared, Measurement
from reports.style import SMALL, TEXT, Picture, Theme, picture, text_width
from reports.units import ratio, scientific

# Inches.
WIDTH = 4.7  # of the figure: legible at the width of a phone
NARROWEST = 1.4  # of the axes: long names make the figure wider
ROW = 0.235
LINE = 0.14  # a second line of a name
ABOVE, BELOW, BETWEEN = 0.1, 0.5, 0.25
NUMBERS = 0.72
INDENT = 0.12

# The ticks that matter most come first; one too near to a kept one is left out.
COSTS = (1, 10, 100, 2, 5, 20, 50, 0.5, 0.2, 0.1, 1.5, 3, 0.7, 1.2, 1.1, 0.9, 1.05, 1.02)
ERRORS = tuple(10.0**power for power in range(0, -18, -1))
APART = 0.13  # of the axis


@dataclass(frozen=True)
class _Bar:
    names: tuple[str, ...]  # one a line
    outcome: str
    value: float | None


@dataclass(frozen=True)
class _Panel:
    """One pair of axes: groups of bars, each under the name of its lesson."""

    label: str  # of the axis
    groups: Sequence[tuple[str, Sequence[_Bar]]]
    ticks: tuple[float, ...]
    tick_name: Callable[[float], str]
    form: Callable[[float], str]
    origin: float | None  # where bars begin; None: at the left end

    @property
    def bars(self) -> list[_Bar]:
        return [bar for _, bars in self.groups for bar in bars]

    @property
    def height(self) -> float:
        return len(self.groups) * ROW + sum(_height(bar) for bar in self.bars)


def lessons_picture(measurements: Sequence[Measurement]) -> Picture:
    """All lessons in one figure."""
    alt = "What each lesson's pitfall costs beside the sound rung; tables give the same numbers"
    panels = [panel for panel in (_costs(measurements), _errors(measurements)) if panel.groups]
    return picture("lessons", alt, lambda theme: _figure(panels, theme))


def _costs(measurements: Sequence[Measurement]) -> _Panel:
    groups = [
        (one.lesson.name, [_bar(one, each, each.cost) for each in one.compared if not each.first])
        for one in measurements
        if one.compares_time
    ]
    label = "time, in times of the sound rung's, log scale"
    return _Panel(label, groups, COSTS, "{:g}".format, lambda cost: f"×{ratio(cost)}", origin=1.0)


def _errors(measurements: Sequence[Measurement]) -> _Panel:
    groups = [
        (one.lesson.name, [_bar(one, each, each.relative_error) for each in one.compared])
        for one in measurements
        if not one.compares_time
    ]
    label = "relative error, log scale"
    return _Panel(label, groups, ERRORS, lambda tick: f"1e{round(log10(tick))}", scientific, None)


def _bar(of: Measurement, one: Compared, value: float | None) -> _Bar:
    """Its name is what tells it from the others; above it stands that of the lesson."""
    kernel, problem = one.point.kernel.name.removesuffix(f"+{of.lesson.name}"), one.problem
    names = (problem,) if of.same_kernel else (kernel,) if of.same_problem else (kernel, problem)
    return _Bar(names, one.point.outcome, value or None)


def _height(bar: _Bar) -> float:
    return ROW + LINE * (len(bar.names) - 1)


def _figure(panels: Sequence[_Panel], theme: Theme) -> Figure:
    names = INDENT + 0.1 + max(
        text_width(words, TEXT) for panel in panels for bar in panel.bars for words in bar.names
    )  # fmt: skip
    width = max(WIDTH, names + NARROWEST + NUMBERS)
    height = ABOVE + sum(panel.height + BELOW for panel in panels) + BETWEEN * (len(panels) - 1)
    figure = Figure(figsize=(width, height))
    top = height - ABOVE
    for panel in panels:
        bottom = top - panel.height
        box = (names / width, bottom / height, (width - names - NUMBERS) / width,
               panel.height / height)  # fmt: skip
        axes = figure.add_axes(box, label=panel.label)
        _draw(axes, panel, names, theme)
        top = bottom - BELOW - BETWEEN
    return figure


def _draw(axes: Axes, panel: _Panel, names: float, theme: Theme) -> None:
    """y is in inches downwards."""
    _frame(axes, panel, theme)
    y = 0.0
    for lesson, bars in panel.groups:
        _words(axes, lesson, -names, y + ROW / 2, theme.ink, weight="bold")
        y += ROW
        for bar in bars:
            _draw_bar(axes, panel, bar, (INDENT - names, y + ROW / 2), theme)
            y += _height(bar)


def _draw_bar(axes: Axes, panel: _Panel, bar: _Bar, at: tuple[float, float], theme: Theme) -> None:
    x, y = at
    for line, words in enumerate(bar.names):
        colour = theme.muted if line else theme.ink
        _words(axes, words, x, y + line * LINE, colour, size=SMALL if line else TEXT)
    if bar.value is None:
        mark = "–" if bar.outcome == "passed" else f"✕ {bar.outcome.replace('_', ' ')}"
        colour = theme.muted if bar.outcome in ("passed", "refused") else theme.alarm
        _words(axes, mark, 0.05, y, colour)
        return
    start = axes.get_xlim()[0] if panel.origin is None else panel.origin
    axes.barh(y, bar.value - start, left=start, height=0.55 * ROW, color=theme.own)
    axes.annotate(
        panel.form(bar.value), (1, y), xycoords=axes.get_yaxis_transform(),
        xytext=(72 * NUMBERS - 3, 0), textcoords="offset points",
        color=theme.ink, fontsize=TEXT, ha="right", va="center",
    )  # fmt: skip


def _words(
    axes: Axes, words: str, x: float, y: float, colour: str, size: float = TEXT,
    weight: str = "normal",
) -> None:  # fmt: skip
    """Text that begins x inches right of the left end of the axis."""
    axes.annotate(
        words, (0, y), xycoords=axes.get_yaxis_transform(), xytext=(72 * x, 0),
        textcoords="offset points", color=colour, fontsize=size, fontweight=weight, ha="left",
        va="center",
    )  # fmt: skip


def _frame(axes: Axes, panel: _Panel, theme: Theme) -> None:
    low, high = _limits(panel)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(panel.height, 0)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(panel.ticks, low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: panel.tick_name(tick)))
    axes.yaxis.set_major_locator(NullLocator())
    axes.tick_params(axis="x", colors=theme.muted, labelsize=SMALL, length=3)
    axes.grid(axis="x", color=theme.grid, linewidth=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(theme.grid)
    if panel.origin is not None:
        axes.axvline(panel.origin, color=theme.muted, linewidth=1.0)
    axes.set_xlabel(panel.label, color=theme.muted, fontsize=SMALL)


def _limits(panel: _Panel) -> tuple[float, float]:
    values = [bar.value for bar in panel.bars if bar.value is not None]
    if panel.origin is None:
        return min(values, default=1e-3) / 10, max(values, default=1e-2) * 1.5
    low, high = min([panel.origin, *values]), max([panel.origin * 1.2, *values])
    room = (high / low) ** 0.05
    return (low / room if low < panel.origin else low), high * room


def _ticks(wanted: Sequence[float], low: float, high: float) -> list[float]:
    span = log10(high / low)
    kept: list[float] = []
    for tick in wanted:
        if low <= tick <= high and all(abs(log10(tick / one)) > APART * span for one in kept):
            kept.append(tick)
    return sorted(kept)
