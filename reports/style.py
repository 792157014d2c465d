"""How figures look: two themes, one font, colours that the colour-blind can tell apart.

Each figure is drawn once a theme. The SVG files have a transparent background, so that a page shows
the one that fits its own; the PNG is for pasting anywhere and has the paper of the light theme.
Output is deterministic: no date, no random ids, and the font comes with matplotlib.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath


@dataclass(frozen=True)
class Theme:
    name: str
    paper: str
    ink: str
    muted: str
    grid: str
    own: str  # kernels of this project
    vendor: str
    alarm: str  # a kernel without a time: incorrect, failed, timed out


# The hues are those of Okabe and Ito, lighter ones on the dark paper.
LIGHT = Theme("light", "#ffffff", "#1f2328", "#59636e", "#d1d9e0", "#0072b2", "#d55e00", "#b03060")
DARK = Theme("dark", "#0d1117", "#e6edf3", "#9aa4af", "#3d444d", "#56b4e9", "#e69f00", "#f28cb4")

TEXT = 9.0  # points
SMALL = 8.0

_FONT = "DejaVu Sans"
_SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": [_FONT],
    "font.size": TEXT,
    "text.parse_math": False,  # a name with dollar signs is a name
    # Text stays text: small files, words that can be searched. Where the font is missing, another
    # takes its place; it is hardly ever wider, and all text is anchored on the side that matters.
    "svg.fonttype": "none",
    "svg.hashsalt": "gemmwatch",
}


def figure_style() -> AbstractContextManager[None]:
    """Within it, figures are drawn and saved as all of ours are."""
    return matplotlib.style.context(["default", _SETTINGS], after_reset=True)


@cache
def text_width(words: str, size: float) -> float:
    """Inches that the words take at the size in points."""
    if not words.strip():
        return 0.0
    path = TextPath((0, 0), words, size=size, prop=FontProperties(family=_FONT))
    return float(path.get_extents().width) / 72


@dataclass(frozen=True)
class Picture:
    """One figure in its three renderings."""

    name: str  # of its files, without an ending
    alt: str  # what it shows, for those who cannot see it
    width: int  # in CSS pixels, as drawn
    svg: bytes
    dark_svg: bytes
    png: bytes

    def files(self) -> dict[str, bytes]:
        return {
            f"{self.name}.svg": self.svg,
            f"{self.name}-dark.svg": self.dark_svg,
            f"{self.name}.png": self.png,
        }


def picture(name: str, alt: str, draw: Callable[[Theme], Figure], source: str = "") -> Picture:
    """Draws the figure in both themes. source, if given, is kept in each file's metadata, so that
    a check can tell whether the file shows the present numbers."""
    with figure_style():
        light, dark = draw(LIGHT), draw(DARK)
        return Picture(
            name,
            alt,
            width=round(light.get_figwidth() * 96),
            svg=_svg(light, source),
            dark_svg=_svg(dark, source),
            png=_png(light, source),
        )


def _svg(figure: Figure, source: str) -> bytes:
    metadata = {"Date": None, "Creator": None, "Source": source or None}
    return _save(figure, format="svg", transparent=True, metadata=metadata)


def _png(figure: Figure, source: str) -> bytes:
    metadata = {"Software": None, "Source": source or None}
    return _save(figure, format="png", dpi=200, facecolor=LIGHT.paper, metadata=metadata)


def _save(figure: Figure, **options: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, **options)
    return buffer.getvalue()
