"""What the compiler gave each device function, over the nights: a step here needs no timing."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from reports.site.inline_svg import PAGE, inline_svg
from reports.site.trend_chart import time_limits
from reports.site.trends import Resource, Trends

NAMES = {
    "registers": "registers a thread",
    "shared_bytes": "shared memory, bytes",
    "spills": "accesses to local memory",
    "code_bytes": "code, bytes",
}
WIDTH, HEIGHT = 1.7, 0.36  # inches


@dataclass(frozen=True)
class ResourceStep:
    night: int
    name: str
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class Function:
    """A device function with its present resources and all that changed."""

    resource: Resource

    @cached_property
    def newest(self) -> dict[str, int | None]:
        """None if the newest night does not know it."""
        return {
            name: int(column[-1]) if np.isfinite(column[-1]) else None
            for name, column in self.resource.columns.items()
        }

    @cached_property
    def steps(self) -> list[ResourceStep]:
        """Newest first."""
        found = []
        for name, column in self.resource.columns.items():
            known = np.flatnonzero(np.isfinite(column))
            values = column[known].astype(int)
            found += [
                ResourceStep(int(known[at]), name, int(values[at - 1]), int(values[at]))
                for at in np.flatnonzero(np.diff(values)) + 1
            ]
        return sorted(found, key=lambda step: (-step.night, step.name))


def functions(trends: Trends, kernel: str | None = None) -> list[Function]:
    """Of one kernel, or of all if none is named; those that changed last come first."""
    found = [Function(one) for one in trends.resources if kernel in (None, one.kernel)]
    return sorted(found, key=lambda one: (
        -one.steps[0].night if one.steps else 1, one.resource.kernel, one.resource.function
    ))  # fmt: skip


def register_line(trends: Trends, function: Function, name: str) -> Markup:
    figure = Figure(figsize=(WIDTH, HEIGHT))
    axes = figure.add_axes((0, 0.08, 1, 0.84))
    axes.set_axis_off()
    axes.set_xlim(*time_limits(trends))
    axes.step(
        trends.days, function.resource.columns["registers"], where="post", color=PAGE.own,
        linewidth=1.3,
    )  # fmt: skip
    alt = f"Registers of {function.resource.function}, {len(trends.nights)} nights"
    return inline_svg(figure, alt, name)
