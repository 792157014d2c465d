"""The ladder, drawn: a dot a rung on a logarithmic axis, so that equal steps are equal factors."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.ladder import Ladder, Rung
from reports.model import Measured, Performance
from reports.style import SMALL, TEXT, Picture, Theme, picture, text_width
from reports.units import percent, rate_unit, ratio

# Inches.
WIDTH = 4.7  # of a panel: legible at the width of a phone
NARROWEST = 1.2  # of the axes: long names make the panel wider
GAP = 0.35  # between panels
ROW = 0.235
ABOVE, BELOW = 0.66, 0.5
RATE_AT, RATIO_AT = 0.72, 1.38  # right edges of the numbers, from the right end of the axis
NUMBERS = 1.45

TICKS = tuple(digit * 10.0**power for power in range(-6, 2) for digit in (1, 2, 5))
MOST_TICKS = 6


def ladder_picture(measured: Measured, ladder: Ladder) -> Picture:
    return combined_picture(measured, [ladder], f"ladder-{ladder.precision}")


def combined_picture(
    measured: Measured, ladders: list[Ladder], name: str, source: str = ""
) -> Picture:
    """The ladders side by side in one figure."""
    shown = " and ".join(ladder.problem.id for ladder in ladders)
    alt = f"Speed of each kernel on {shown}, lowest rung first; a table gives the same numbers"
    return picture(name, alt, lambda theme: ladder_figure(measured, ladders, theme), source)


def ladder_figure(measured: Measured, ladders: list[Ladder], theme: Theme) -> Figure:
    height = ABOVE + max(len(ladder.rungs) for ladder in ladders) * ROW + BELOW
    names = 0.15 + max(
        text_width(rung.kernel.name, TEXT) for ladder in ladders for rung in ladder.rungs
    )
    panel = max(WIDTH, names + NARROWEST + NUMBERS)
    width = len(ladders) * (panel + GAP) - GAP
    figure = Figure(figsize=(width, height))
    for column, ladder in enumerate(ladders):
        tall = len(ladder.rungs) * ROW
        box = (column * (panel + GAP) + names, height - ABOVE - tall, panel - names - NUMBERS, tall)
        axes = figure.add_axes(
            (box[0] / width, box[1] / height, box[2] / width, box[3] / height), label=str(column)
        )
        _Panel(axes, box[2], measured, ladder, theme).draw()
    return figure


class _Panel:
    """One ladder in one pair of axes, whose y counts rungs downwards."""

    def __init__(
        self, axes: Axes, width: float, measured: Measured, ladder: Ladder, theme: Theme
    ) -> None:
        self.axes = axes
        self.width = width  # of the axes, inches
        self.measured = measured
        self.ladder = ladder
        self.theme = theme
        self.unit = rate_unit(measured)
        self.peak = measured.peaks.get(ladder.precision)

    def draw(self) -> None:
        self._frame()
        self._reference()
        self._words(-0.9, RATE_AT, self.unit.name, self.theme.muted, SMALL)
        self._words(-0.9, RATIO_AT, "× control", self.theme.muted, SMALL)
        for row, rung in enumerate(self.ladder.rungs):
            self._rung(row, rung)

    def _position(self, performance: Performance) -> float:
        """The share of the machine's peak, or of the control's speed where no peak is known."""
        share = self.measured.peak_share(performance)
        return share if share is not None else performance.speed_ratio

    def _frame(self) -> None:
        axes, theme = self.axes, self.theme
        shares = [self._position(r.performance) for r in self.ladder.rungs if r.performance]
        low, high = min(shares, default=0.1) / 1.3, max([1.0, *shares]) * 1.12
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(len(self.ladder.rungs) - 0.4, -0.6)
        ticks = [tick for tick in TICKS if low <= tick <= high]
        if len(ticks) > MOST_TICKS:
            ticks = [tick for tick in ticks if f"{tick:e}".startswith("1")]
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))
        axes.yaxis.set_major_locator(NullLocator())
        axes.tick_params(axis="x", colors=theme.muted, labelsize=SMALL, length=3)
        axes.grid(axis="x", color=theme.grid, linewidth=0.6)
        axes.set_axisbelow(True)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(theme.grid)
        of_what = "peak" if self.peak else "the control's speed"
        axes.set_xlabel(f"share of {of_what}, log scale", color=theme.muted, fontsize=SMALL)
        axes.annotate(
            f"{self.ladder.precision} {self.ladder.problem.label}",
            (0, 1), xycoords="axes fraction", xytext=(0, 30), textcoords="offset points",
            color=theme.ink, fontsize=TEXT + 1, fontweight="bold", ha="left",
        )  # fmt: skip

    def _reference(self) -> None:
        """The line at 100%, and what it stands for."""
        name = f"peak {self.unit.of(self.peak)}" if self.peak else "control"
        self.axes.axvline(1.0, color=self.theme.muted, linewidth=1.0, linestyle=(0, (4, 2)))
        self.axes.text(
            1.0, -0.9, name, color=self.theme.muted, fontsize=SMALL, ha="right", va="center"
        )

    def _rung(self, row: int, rung: Rung) -> None:
        theme, axes = self.theme, self.axes
        colour = theme.vendor if rung.kernel.vendor else theme.own
        axes.annotate(
            rung.kernel.name, (0, row), xycoords=("axes fraction", "data"), xytext=(-6, 0),
            textcoords="offset points", color=theme.ink, fontsize=TEXT, ha="right", va="center",
        )  # fmt: skip
        if rung.performance is None:
            axes.annotate(
                f"✕ {rung.outcome.replace('_', ' ')}", (0, row), xycoords=("axes fraction", "data"),
                xytext=(3, 0), textcoords="offset points", color=theme.alarm, fontsize=TEXT,
                va="center",
            )  # fmt: skip
            return
        share = self._position(rung.performance)
        axes.plot([axes.get_xlim()[0], share], [row, row], color=colour, linewidth=2.2, alpha=0.55)
        axes.plot([share], [row], "s" if rung.kernel.vendor else "o", color=colour, markersize=6.5)
        self._words(row, RATE_AT, self.unit.of(rung.performance.tflops), theme.ink)
        self._words(row, RATIO_AT, ratio(rung.performance.speed_ratio), theme.ink)

    def _words(self, row: float, right: float, words: str, colour: str, size: float = TEXT) -> None:
        """Text that ends `right` inches beyond the axis."""
        self.axes.text(
            1 + right / self.width, row, words, transform=self.axes.get_yaxis_transform(),
            color=colour, fontsize=size, ha="right", va="center",
        )  # fmt: skip
