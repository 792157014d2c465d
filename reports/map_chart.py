"""The map: kernels by problems, coloured by speed against the control.

The classes of speed are symmetrical in the logarithm about 1.00 and finest there, since a few
percent is what an author fights for; the low rungs, far below, get two more. Each cell also says
its ratio.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from reports.model import Kernel, Measured, Point, Problem
from reports.scoreboard import problem_order
from reports.style import SMALL, TEXT, Picture, Theme, picture, text_width

BOUNDS = (0.1, 0.25, 0.5, 1 / 1.25, 1 / 1.1, 1 / 1.03, 1.03, 1.1, 1.25, 2.0)
COLOURS = (
    "#5c2400", "#8f3d02", "#c05f14", "#e58a3c", "#f5b97f", "#fadfc3",  # slower
    "#f3f3f1",  # as fast as the control
    "#cfe3f2", "#97c5e6", "#4a97cc", "#125a94",  # faster
)  # fmt: skip
MOST_COLUMNS = 24  # a panel; more are laid out in several

# Inches.
CELL_WIDTH, CELL_HEIGHT = 0.37, 0.245
GROUP_GAP = 0.1
TITLE = 0.32
SLOPE = 60  # of the problems' names, degrees
GROUPS_BELOW = 0.32
SCALE, MARKS_ROW = 0.42, 0.36
SWATCH = 0.42
NARROWEST = len(COLOURS) * SWATCH + 1.3  # room for the legend

ALARM = "#ff8fb8"  # of a mark on black

# What stands in a cell without a time.
MARKS = {"refused": "–", "incorrect": "✕", "failed": "!", "timed_out": "T"}


@dataclass(frozen=True)
class Panel:
    precision: str
    kernels: tuple[Kernel, ...]  # rows
    problems: tuple[Problem, ...]  # columns
    points: dict[tuple[str, str], Point]  # by kernel name and problem id
    refusing: tuple[str, ...]  # kernels left out since they refuse every problem of the panel

    @property
    def marks(self) -> list[str]:
        """The outcomes that occur and have a mark."""
        occurring = {point.outcome for point in self.points.values()}
        return [outcome for outcome in MARKS if outcome in occurring]

    @property
    def has_empty_cells(self) -> bool:
        return len(self.points) < len(self.kernels) * len(self.problems)

    @property
    def needs_marks(self) -> bool:
        return bool(self.marks) or self.has_empty_cells


def panels(measured: Measured) -> list[Panel]:
    found = []
    for precision in measured.precisions:
        points = [point for point in measured.points if point.problem.precision == precision]
        problems = sorted({point.problem for point in points}, key=problem_order)
        parts = -(-len(problems) // MOST_COLUMNS)
        size = -(-len(problems) // parts)
        for start in range(0, len(problems), size):
            found.append(_panel(measured, precision, points, problems[start : start + size]))
    return found


def _panel(
    measured: Measured, precision: str, points: list[Point], problems: list[Problem]
) -> Panel:
    inside = [point for point in points if point.problem in problems]
    taking = {point.kernel for point in inside if point.outcome != "refused"}
    refusing = {point.kernel for point in inside} - taking
    return Panel(
        precision=precision,
        kernels=tuple(kernel for kernel in measured.kernels if kernel in taking),
        problems=tuple(problems),
        points={(p.kernel.name, p.problem.id): p for p in inside if p.kernel in taking},
        refusing=tuple(kernel.name for kernel in measured.kernels if kernel in refusing),
    )


def map_picture(measured: Measured, panel: Panel, name: str) -> Picture:
    alt = (
        f"{len(panel.kernels)} kernels by {len(panel.problems)} {panel.precision} problems, "
        "coloured by speed against the control; the table of all points gives the same numbers"
    )
    return picture(name, alt, lambda theme: map_figure(measured, panel, theme))


class _Layout:
    """Where things stand, in inches from the top left corner."""

    def __init__(self, panel: Panel) -> None:
        self.left = max(text_width(kernel.name, TEXT) for kernel in panel.kernels) + 0.15
        label = max(text_width(problem.label, SMALL) for problem in panel.problems)
        self.top = TITLE + label * math.sin(math.radians(SLOPE)) + 0.15
        self.columns: list[float] = []  # left edges
        self.groups: list[tuple[str, float, float]] = []  # name, left edge, right edge
        right = self.left
        for group, members in groupby(panel.problems, key=lambda problem: problem.group):
            count = len(list(members))
            self.columns += [right + CELL_WIDTH * index for index in range(count)]
            # A group is at least as wide as its name.
            span = max(count * CELL_WIDTH, text_width(group, SMALL) + 0.05)
            self.groups.append((group, right, right + count * CELL_WIDTH))
            right += span + GROUP_GAP
        self.bottom = self.top + len(panel.kernels) * CELL_HEIGHT
        overhang = label * math.cos(math.radians(SLOPE))
        self.width = max(right - GROUP_GAP + overhang - CELL_WIDTH / 2 + 0.1, NARROWEST)
        self.scale = self.bottom + GROUPS_BELOW
        self.marks = self.scale + SCALE
        self.height = self.marks + (MARKS_ROW if panel.needs_marks else 0)

    def row(self, index: int) -> float:
        return self.top + index * CELL_HEIGHT


def map_figure(measured: Measured, panel: Panel, theme: Theme) -> Figure:
    layout = _Layout(panel)
    figure = Figure(figsize=(layout.width, layout.height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    axes.set_axis_off()
    axes.text(
        0.05, 0.16, f"{panel.precision}: speed relative to {measured.control_names}",
        color=theme.ink, fontsize=TEXT + 1, fontweight="bold", va="center",
    )  # fmt: skip
    _headings(axes, panel, layout, theme)
    for row, kernel in enumerate(panel.kernels):
        for column, problem in enumerate(panel.problems):
            point = panel.points.get((kernel.name, problem.id))
            if point:
                _cell(axes, layout.columns[column], layout.row(row), point, theme)
    _scale(axes, layout.scale, theme)
    _marks(axes, layout.marks, panel, theme)
    return figure


def _headings(axes: Axes, panel: Panel, layout: _Layout, theme: Theme) -> None:
    for row, kernel in enumerate(panel.kernels):
        axes.text(
            layout.left - 0.08, layout.row(row) + CELL_HEIGHT / 2, kernel.name,
            color=theme.vendor if kernel.vendor else theme.ink, fontsize=TEXT,
            ha="right", va="center",
        )  # fmt: skip
    for left, problem in zip(layout.columns, panel.problems, strict=True):
        axes.text(
            left + CELL_WIDTH / 2, layout.top - 0.05, problem.label, color=theme.ink,
            fontsize=SMALL, rotation=SLOPE, rotation_mode="anchor", ha="left", va="center",
        )  # fmt: skip
    for group, left, right in layout.groups:
        y = layout.bottom + 0.07
        axes.plot([left + 0.02, right - 0.02], [y, y], color=theme.muted, linewidth=1.0)
        axes.text(left + 0.02, y + 0.05, group, color=theme.muted, fontsize=SMALL, va="top")


def _cell(axes: Axes, left: float, top: float, point: Point, theme: Theme) -> None:
    middle = (left + CELL_WIDTH / 2, top + CELL_HEIGHT / 2)
    if point.performance is None:
        _mark(axes, left, top, point.outcome, theme)
        return
    speed = point.performance.speed_ratio
    colour = COLOURS[bisect_right(BOUNDS, speed)]
    axes.add_patch(_box(left, top, facecolor=colour))
    axes.text(
        *middle, cell_text(speed), color=_ink_on(colour), fontsize=SMALL, ha="center", va="center"
    )


def cell_text(speed: float) -> str:
    """The ratio in four characters at most."""
    if speed >= 9.995:
        return f"{speed:.0f}"
    return f"{speed:.2f}" if speed >= 0.0095 else "<.01"


def _mark(axes: Axes, left: float, top: float, outcome: str, theme: Theme) -> None:
    """A refusal is quiet; what should have worked and did not is loud, on either paper."""
    quiet = outcome == "refused"
    colour = theme.muted if quiet else ALARM
    box = _box(left, top, facecolor="none" if quiet else "#000000")
    box.set(edgecolor=theme.grid if quiet else ALARM, linewidth=0.8 if quiet else 1.8)
    axes.add_patch(box)
    axes.text(
        left + CELL_WIDTH / 2, top + CELL_HEIGHT / 2, MARKS[outcome], color=colour,
        fontsize=TEXT, fontweight="normal" if quiet else "bold", ha="center", va="center",
    )  # fmt: skip


def _box(left: float, top: float, facecolor: str) -> Rectangle:
    inset = 0.01
    return Rectangle(
        (left + inset, top + inset), CELL_WIDTH - 2 * inset, CELL_HEIGHT - 2 * inset,
        facecolor=facecolor,
    )  # fmt: skip


def _ink_on(colour: str) -> str:
    """Black or white, whichever is read more easily on the colour."""
    red, green, blue = to_rgb(colour)
    return "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def _scale(axes: Axes, top: float, theme: Theme) -> None:
    left, height = 0.6, 0.14
    right = left + len(COLOURS) * SWATCH
    for index, colour in enumerate(COLOURS):
        axes.add_patch(Rectangle((left + index * SWATCH, top), SWATCH, height, facecolor=colour))
    for index, bound in enumerate(BOUNDS):
        axes.text(
            left + (index + 1) * SWATCH, top + height + 0.04, f"{bound:.2f}", color=theme.muted,
            fontsize=SMALL, ha="center", va="top",
        )  # fmt: skip
    for words, x, side in (("slower", left - 0.06, "right"), ("faster", right + 0.06, "left")):
        axes.text(
            x, top + height / 2, words, color=theme.muted, fontsize=SMALL, ha=side, va="center"
        )


def _marks(axes: Axes, top: float, panel: Panel, theme: Theme) -> None:
    """The marks that occur, explained."""
    x = 0.6
    middle = top + CELL_HEIGHT / 2
    for outcome in panel.marks:
        words = outcome.replace("_", " ")
        _mark(axes, x, top, outcome, theme)
        x += CELL_WIDTH + 0.05
        axes.text(x, middle, words, color=theme.muted, fontsize=SMALL, va="center")
        x += text_width(words, SMALL) + 0.15
    if panel.has_empty_cells:
        axes.text(x, middle, "empty: not selected", color=theme.muted, fontsize=SMALL, va="center")
