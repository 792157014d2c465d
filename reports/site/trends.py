"""What the history hands to the site: nights, epochs, a series a point, resources.

A series has one value a night, NaN where there is none. Change and log_ratio are of time, so that
more is slower; `speed` is of speed, so that more is faster, as everywhere in a report.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reports.model import Kernel, Problem

Column = NDArray[np.float64]  # one value a night


@dataclass(frozen=True)
class Night:
    run: str
    finished: datetime
    commit: str  # may be empty
    trials: int
    epoch: int
    answer: str  # of the gate; empty if it was not asked
    doubts: tuple[str, ...]  # why the machine was disturbed, so that no time of it is believed

    @property
    def date(self) -> str:
        return self.finished.strftime("%Y-%m-%d")

    @property
    def short_commit(self) -> str:
        return short_commit(self.commit)


def short_commit(commit: str) -> str:
    """Seven digits, and whether the sources had been changed since."""
    return commit[:7] + ("-dirty" if commit.endswith("-dirty") else "")


@dataclass(frozen=True)
class Epoch:
    """Nights on one machine: driver, toolkit, GPU and harness stay as they are."""

    first_night: int
    fingerprint: Mapping[str, str]
    changed: Mapping[str, tuple[str, ...]]  # field -> before and after; empty for the first epoch

    @property
    def sentence(self) -> str:
        return "; ".join(f"{field} {' → '.join(values)}" for field, values in self.changed.items())


@dataclass(frozen=True)
class Change:
    """The level of a series moved, and stayed: in a step, or creeping over many nights."""

    night: int  # of a step, the first of the new level; of a creep, the last that it was seen on
    before: int  # of a step, the last of the old level; of a creep, the one that it begins at
    from_commit: str
    to_commit: str
    change: float  # of time: 0.03 = 3% slower
    low: float
    high: float
    p: float
    kind: str  # step or creep

    @property
    def creeps(self) -> bool:
        return self.kind == "creep"

    @property
    def since(self) -> int:
        """The night that it began."""
        return self.before if self.creeps else self.night

    @property
    def commits(self) -> str:
        """The range that git would list, a "?" for an end that is not known; empty if neither is.
        A commit that stands at both ends is not to blame, unless its sources had been changed."""
        if not (self.from_commit or self.to_commit):
            return ""
        ends = [short_commit(commit) or "?" for commit in (self.from_commit, self.to_commit)]
        if self.from_commit == self.to_commit and not self.to_commit.endswith("-dirty"):
            return f"same commit {ends[0]}: not the code"
        return "..".join(ends)


@dataclass(frozen=True, eq=False)
class Series:
    """A point, night by night."""

    id: str
    kernel: Kernel
    problem: Problem
    log_ratio: Column
    low: Column
    high: Column
    us: Column
    control_us: Column
    sm_mhz: Column
    power_w: Column
    bound_share: Column
    outcomes: Mapping[int, str]  # of the nights on which it did not pass
    changes: tuple[Change, ...]  # oldest first

    @property
    def timed(self) -> bool:
        """Whether it passed at least once."""
        return bool(np.isfinite(self.us).any())

    @cached_property
    def speed(self) -> Column:
        """Relative to the control."""
        return np.exp(-self.log_ratio)

    @cached_property
    def speed_low(self) -> Column:
        return np.exp(-self.high)

    @cached_property
    def speed_high(self) -> Column:
        return np.exp(-self.low)

    @cached_property
    def tflops(self) -> Column:
        return self.problem.flops / self.us * 1e-6

    @cached_property
    def control_tflops(self) -> Column:
        return self.problem.flops / self.control_us * 1e-6

    def outcome(self, night: int) -> str:
        """Empty if the point was not visited."""
        if night in self.outcomes:
            return self.outcomes[night]
        return "passed" if np.isfinite(self.us[night]) else ""


@dataclass(frozen=True, eq=False)
class Resource:
    """What the compiler gave one device function, night by night."""

    function: str
    arch: str
    kernel: str
    columns: Mapping[str, Column]  # registers, shared_bytes, spills, code_bytes


@dataclass(frozen=True, eq=False)
class Trends:
    source: Path
    selection: str
    nights: tuple[Night, ...]  # oldest first, at least one
    epochs: tuple[Epoch, ...]  # oldest first, at least one
    kernels: tuple[Kernel, ...]  # in the order of the ladder
    problems: tuple[Problem, ...]
    peaks: Mapping[str, float]
    series: tuple[Series, ...]
    resources: tuple[Resource, ...]

    @property
    def last(self) -> int:
        return len(self.nights) - 1

    @cached_property
    def believed(self) -> NDArray[np.bool_]:
        """By night: whether its times are believed."""
        return np.array([not night.doubts for night in self.nights])

    @property
    def compared_with(self) -> int | None:
        """The night that the newest one is held against, the last before it that is believed; none
        if there is no such, or if the newest is not believed itself."""
        earlier = np.flatnonzero(self.believed[:-1])
        return int(earlier[-1]) if earlier.size and self.believed[-1] else None

    @cached_property
    def days(self) -> Column:
        """When each night was finished, in the days that matplotlib counts."""
        return np.array([night.finished.timestamp() / 86400 for night in self.nights])

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Of the newest night."""
        return self.epochs[self.nights[-1].epoch].fingerprint

    def of_kernel(self, name: str) -> list[Series]:
        return [series for series in self.series if series.kernel.name == name]

    def of_problem(self, problem_id: str) -> list[Series]:
        return [series for series in self.series if series.problem.id == problem_id]

    def age(self, night: int) -> timedelta:
        """How long before the newest night."""
        return self.nights[-1].finished - self.nights[night].finished
