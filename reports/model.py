"""What a report speaks of: kernels, problems, points and their numbers.

Two figures of speed are used everywhere. `speed_ratio` is the kernel's speed divided by the
control's, measured in the same microseconds: 1.00 is as fast as the control and more is faster.
`tflops` is the absolute rate; it moves with the clock and the power limit of the day.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
GROUPS = ("square", "narrow", "llm", "attention", "large", "decode", "ladder")


def position(name: str, order: tuple[str, ...]) -> tuple[int, str]:
    """A sort key: the place in the order, unknown names after it by spelling."""
    return (order.index(name) if name in order else len(order), name)


@dataclass(frozen=True)
class Kernel:
    name: str
    order: int
    idea: str
    vendor: bool
    control: bool  # measured beside each kernel of this device


@dataclass(frozen=True)
class Problem:
    id: str
    precision: str
    layout: str
    groups: tuple[str, ...]
    flops: float
    bytes: float

    @property
    def label(self) -> str:
        """The id without its precision, for a place where the precision is said already."""
        _, layout, shape, *rest = self.id.split("/")
        return " ".join([layout, shape.replace("x", "×"), *rest])

    @property
    def group(self) -> str:
        """The one group under which it is listed."""
        return min(self.groups, key=lambda name: position(name, GROUPS), default="other")


@dataclass(frozen=True)
class Sample:
    """What one trial measured at a point."""

    trial: int
    log_ratio: float  # ln(kernel time / control time)
    kernel_us: float
    control_us: float
    counters: Mapping[str, float]  # telemetry and times spent; empty in a baseline


@dataclass(frozen=True)
class Performance:
    """The speed of a point. Only a point that passed its check has one."""

    problem: Problem
    samples: tuple[Sample, ...]

    @cached_property
    def kernel_us(self) -> float:
        return median(sample.kernel_us for sample in self.samples)

    @cached_property
    def control_us(self) -> float:
        return median(sample.control_us for sample in self.samples)

    @cached_property
    def speed_ratio(self) -> float:
        return math.exp(-median(sample.log_ratio for sample in self.samples))

    @property
    def tflops(self) -> float:
        return self.problem.flops / self.kernel_us * 1e-6

    @property
    def control_tflops(self) -> float:
        return self.problem.flops / self.control_us * 1e-6

    @property
    def gbytes_per_s(self) -> float:
        return self.problem.bytes / self.kernel_us * 1e-3

    @property
    def joules_ratio(self) -> float | None:
        """Joules a launch over the control's; None where they were not measured."""
        pairs = [
            (sample.counters.get("kernel_joules", 0.0), sample.counters.get("control_joules", 0.0))
            for sample in self.samples
        ]
        ratios = [kernel / control for kernel, control in pairs if kernel > 0 and control > 0]
        return median(ratios) if ratios else None

    def counter(self, name: str) -> float | None:
        values = [sample.counters[name] for sample in self.samples if name in sample.counters]
        return median(values) if values else None


@dataclass(frozen=True)
class Point:
    id: str
    kernel: Kernel
    problem: Problem
    outcome: str
    reason: str  # empty if it passed
    performance: Performance | None


@dataclass(frozen=True)
class Lesson:
    """A pitfall that a reader can see measured: points, of which the sound one comes first."""

    name: str
    title: str
    points: tuple[str, ...]  # ids
    moral: str


@dataclass(frozen=True)
class Measured:
    """A run or a baseline, read."""

    source: Path
    device_note: str
    fingerprint: Mapping[str, str]
    environment: Mapping[str, str]
    injected: str
    peaks: Mapping[str, float]
    kernels: tuple[Kernel, ...]  # in the order of the ladder
    points: tuple[Point, ...]
    selection: str
    trials: int
    when: str
    lessons: tuple[Lesson, ...] = ()

    def spoiled(self, kernel: Kernel) -> bool:
        """Whether it is <rung>+<lesson>: a rung with the pitfall of a lesson, and so no rung."""
        return kernel.name.partition("+")[2] in {lesson.name for lesson in self.lessons}

    @property
    def machine(self) -> str:
        return self.fingerprint.get("gpu") or self.fingerprint.get("cpu") or "an unnamed machine"

    @property
    def load(self) -> str:
        """What the device did before and while it was timed: trial, sustained or burst."""
        return self.fingerprint.get("harness", "").partition(" ")[2] or "trial"

    @property
    def control_names(self) -> str:
        return " or ".join(kernel.name for kernel in self.kernels if kernel.control)

    @property
    def precisions(self) -> list[str]:
        names = {point.problem.precision for point in self.points}
        return sorted(names, key=lambda name: position(name, PRECISIONS))

    def peak_share(self, performance: Performance) -> float | None:
        peak = self.peaks.get(performance.problem.precision)
        return performance.tflops / peak if peak else None


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))
