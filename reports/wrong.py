"""Where in C the wrong elements lie: `gemmwatch-check --mask-dir=DIR` writes it, this draws it.

The pattern names the fault: a stripe at the edge is a tail, a block a tile, a comb a swapped lane.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray

from reports.files import Fields, ReportError, read_json
from reports.style import SMALL, TEXT, Picture, Theme, picture

SCHEMA = 1

LONG, SHORT = 4.6, 1.2  # inches of the longer side of C, and of the shorter one at the least
LEFT, RIGHT, ABOVE, BELOW = 0.75, 0.3, 0.62, 0.55
MOST_LINES = 16  # across
FAINTEST = 0.35  # one wrong element of a cell must be seen


@dataclass(frozen=True)
class Mask:
    kernel: str
    problem: str
    regime: str
    batch: int
    rows: int  # of C
    columns: int
    cell_rows: int
    cell_columns: int
    wrong: NDArray[np.int64]  # elements, by row and column of cells


def read_mask(path: Path) -> Mask:
    file = read_json(path)
    if file.integer("schema") != SCHEMA:
        raise ReportError(f"{path}: schema is not {SCHEMA}; check again with this version")
    mask = Mask(
        kernel=file.text("kernel"),
        problem=file.text("problem"),
        regime=file.text("regime"),
        batch=file.integer("batch"),
        rows=file.integer("rows"),
        columns=file.integer("columns"),
        cell_rows=file.integer("cell_rows"),
        cell_columns=file.integer("cell_columns"),
        wrong=_counts(file),
    )
    cells = (-(-mask.rows // mask.cell_rows), -(-mask.columns // mask.cell_columns))
    if mask.wrong.shape != cells:
        raise file.error("wrong", f"a list of {cells[0]} rows of {cells[1]} counts")
    return mask


def _counts(file: Fields) -> NDArray[np.int64]:
    value = file.values.get("wrong")
    try:
        counts = np.array(value, dtype=np.int64)
    except (TypeError, ValueError) as error:
        raise file.error("wrong", "rows of whole numbers, equally long") from error
    if counts.ndim != 2:
        raise file.error("wrong", "rows of whole numbers, equally long")
    return counts


def wrong_picture(mask: Mask) -> Picture:
    alt = f"Where {mask.kernel} is wrong on {mask.problem}: {mask.wrong.sum()} elements of C"
    return picture("wrong", alt, lambda theme: _figure(mask, theme))


def line_spacing(extent: int) -> int:
    """Elements between lines: 8, 16, 32 and so on, so that tiles of any usual size are seen."""
    spacing = 8
    while extent > spacing * MOST_LINES:
        spacing *= 2
    return spacing


def shades(mask: Mask) -> NDArray[np.float64]:
    """0 where all is right, 1 where every element of a cell is wrong."""
    heights = np.minimum(mask.cell_rows, mask.rows - mask.cell_rows * np.arange(len(mask.wrong)))
    across = np.arange(mask.wrong.shape[1])
    widths = np.minimum(mask.cell_columns, mask.columns - mask.cell_columns * across)
    share = mask.wrong / np.outer(heights, widths)
    return np.where(mask.wrong > 0, FAINTEST + (1 - FAINTEST) * share, 0.0)


def _figure(mask: Mask, theme: Theme) -> Figure:
    scale = LONG / max(mask.rows, mask.columns)
    wide, high = max(mask.columns * scale, SHORT), max(mask.rows * scale, SHORT)
    width, height = LEFT + max(wide, LONG) + RIGHT, ABOVE + high + BELOW
    figure = Figure(figsize=(width, height))
    box = (LEFT / width, BELOW / height, wide / width, high / height)
    axes = figure.add_axes(box)
    _draw(axes, mask, theme)
    left = LEFT / width
    figure.text(
        left,
        1 - 0.22 / height,
        f"{mask.kernel} on {mask.problem}",
        color=theme.ink,
        size=TEXT,
        weight="bold",
    )
    total = mask.rows * mask.columns
    batch = f", matrix {mask.batch} of the batch" if "/batch=" in mask.problem else ""
    figure.text(
        left,
        1 - 0.42 / height,
        f"{mask.wrong.sum()} of {total} elements wrong on {mask.regime} inputs{batch}",
        color=theme.muted,
        size=SMALL,
    )
    return figure


def _draw(axes: Axes, mask: Mask, theme: Theme) -> None:
    down, across = mask.wrong.shape
    axes.imshow(
        np.ma.masked_equal(shades(mask), 0.0),
        cmap=LinearSegmentedColormap.from_list("wrong", [theme.paper, theme.alarm]),
        vmin=0,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
        zorder=2,  # over the lines
        # The last cells may reach beyond C; the limits below cut them off.
        extent=(0, across * mask.cell_columns, down * mask.cell_rows, 0),
    )
    axes.set_xlim(0, mask.columns)
    axes.set_ylim(mask.rows, 0)
    axes.set_facecolor(theme.paper)
    axes.xaxis.set_minor_locator(MultipleLocator(line_spacing(mask.columns)))
    axes.yaxis.set_minor_locator(MultipleLocator(line_spacing(mask.rows)))
    axes.xaxis.set_major_locator(MultipleLocator(4 * line_spacing(mask.columns)))
    axes.yaxis.set_major_locator(MultipleLocator(4 * line_spacing(mask.rows)))
    axes.grid(which="both", color=theme.grid, linewidth=0.5)
    axes.tick_params(which="both", length=0, labelsize=SMALL, labelcolor=theme.muted)
    axes.set_xlabel("column of C", color=theme.muted, size=SMALL)
    axes.set_ylabel("row of C", color=theme.muted, size=SMALL)
    for side in axes.spines.values():
        side.set_color(theme.muted)
        side.set_linewidth(0.5)
        side.set_position(("outward", 3))  # off the last row and column, where tails fail
