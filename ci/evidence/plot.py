"""Power against slowdown, a panel a record."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# stage: label, colour (told apart by the colour-blind as well), marker, width (two of them nearly
# coincide)
_LINES = {
    "screen": ("screen alone", "#8a8a8a", "s", 1.5),
    "confirmation": ("pairs alone", "#56b4e9", "s", 6.0),
    "both": ("screen, then pairs", "#d55e00", "o", 1.5),
}


def power_svg(summary: Mapping[str, Any]) -> str:
    """The figure; the same summary gives the same bytes."""
    records = summary["records"]
    with matplotlib.rc_context({"svg.hashsalt": "gemmwatch", "svg.fonttype": "none"}):
        figure = Figure(figsize=(4.6 * len(records), 3.8), layout="constrained")
        panels = figure.subplots(1, len(records), sharey=True, squeeze=False)[0]
        for axes, (name, study) in zip(panels, records.items(), strict=True):
            _draw(axes, name, study["power"])
        panels[0].set_ylabel("share flagged, with Wilson's 95% interval")
        panels[-1].legend(loc="lower right", frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def _draw(axes: Axes, name: str, power: Mapping[str, Any]) -> None:
    percent = [100 * float(loss) for loss in power]
    for stage, (label, colour, marker, width) in _LINES.items():
        tallies = [of_loss["stages"][stage] for of_loss in power.values()]
        shares = [tally["flagged"] / tally["trials"] for tally in tallies]
        errors = [
            [share - tally["low"] for share, tally in zip(shares, tallies, strict=True)],
            [tally["high"] - share for share, tally in zip(shares, tallies, strict=True)],
        ]
        axes.errorbar(
            percent, shares, yerr=errors, label=label, color=colour, marker=marker,
            linewidth=width, elinewidth=1.5, capsize=3,
        )  # fmt: skip
    axes.set_title(name)
    axes.set_xscale("log")
    axes.set_xticks(percent, [f"{p:g}%" for p in percent])
    axes.minorticks_off()
    axes.set_xlabel("true slowdown of one point")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
