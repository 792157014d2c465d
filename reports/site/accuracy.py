"""How exact each kernel was on the newest night, beside the vendor's on the same problem.

The figure is the largest error of a result as a share of the deviation that the check allows: below
1 is correct, and less is closer to the exact product.
"""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from reports.model import PRECISIONS, Kernel, Problem, position
from reports.site.inline_svg import PAGE, inline_svg
from reports.site.trends import Trends
from reports.style import SMALL, TEXT
from reports.units import percent

SIZE = 3.4  # inches


@dataclass(frozen=True)
class Accuracy:
    kernel: Kernel
    problem: Problem
    share: float  # of the allowed deviation
    control_share: float | None


@dataclass(frozen=True)
class KernelAccuracy:
    """One kernel in one precision, over its problems."""

    kernel: Kernel
    precision: str
    problems: int
    median: float
    worst: Accuracy
    against_control: float | None  # median of kernel / control, over the problems that both took


def accuracies(trends: Trends) -> list[Accuracy]:
    """Of every point whose error the newest night knows."""
    shares = {
        (series.problem.id, series.kernel): float(series.bound_share[trends.last])
        for series in trends.series
        if np.isfinite(series.bound_share[trends.last])
    }
    control = {problem_id: share for (problem_id, of), share in shares.items() if of.control}
    return [
        Accuracy(one.kernel, one.problem, shares[key], control.get(one.problem.id))
        for one in trends.series
        if (key := (one.problem.id, one.kernel)) in shares
    ]


def by_kernel(found: list[Accuracy]) -> list[KernelAccuracy]:
    cells: dict[tuple[str, Kernel], list[Accuracy]] = defaultdict(list)
    for one in found:
        cells[one.problem.precision, one.kernel].append(one)
    ordered = sorted(cells, key=lambda cell: (position(cell[0], PRECISIONS), cell[1].order))
    return [_kernel_accuracy(precision, cells[precision, kernel]) for precision, kernel in ordered]


def _kernel_accuracy(precision: str, members: list[Accuracy]) -> KernelAccuracy:
    ratios = [one.share / one.control_share for one in members if one.control_share]
    return KernelAccuracy(
        kernel=members[0].kernel,
        precision=precision,
        problems=len(members),
        median=median(one.share for one in members),
        worst=max(members, key=lambda one: one.share),
        against_control=median(ratios) if ratios else None,
    )


def accuracy_chart(found: list[Accuracy], precision: str) -> Markup | None:
    """Own kernels against the control, a dot a problem; nothing if there is no pair."""
    pairs = [
        (one.control_share, one.share)
        for one in found
        if one.problem.precision == precision
        and not one.kernel.vendor
        and one.control_share
        and one.share > 0
    ]
    if not pairs:
        return None
    figure = Figure(figsize=(SIZE, SIZE))
    axes = figure.add_axes((0.17, 0.15, 0.79, 0.74))
    low = min(min(pair) for pair in pairs) / 1.4
    axes.set(xscale="log", yscale="log", xlim=(low, 1.2), ylim=(low, 1.2))
    axes.plot([low, 1.2], [low, 1.2], color=PAGE.muted, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.axhline(1, color=PAGE.alarm, linewidth=1)
    axes.plot(
        *zip(*pairs, strict=True), "o", color=PAGE.own, markersize=4, alpha=0.5, markeredgewidth=0
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))
    axes.tick_params(colors=PAGE.muted, labelsize=SMALL, length=3)
    axes.grid(color=PAGE.grid, linewidth=0.5)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color(PAGE.grid)
    axes.set_xlabel("control: share of the allowed deviation", color=PAGE.muted, fontsize=SMALL)
    axes.set_ylabel("own kernel", color=PAGE.muted, fontsize=SMALL)
    axes.text(
        0, 1.05, f"{precision}: largest error", transform=axes.transAxes, color=PAGE.ink,
        fontsize=TEXT,
    )  # fmt: skip
    alt = f"Largest error of own kernels against that of the control in {precision}, by problem"
    return inline_svg(figure, alt, f"accuracy-{precision}")
