"""The own kernels against the vendor's: problem by problem, then group by group.

Kernels are compared through the control that was measured beside each of them, so that the drift
of the machine between two points cancels.
"""

from collections import defaultdict
from dataclasses import dataclass

from reports.model import (
    GROUPS,
    PRECISIONS,
    Kernel,
    Measured,
    Performance,
    Point,
    Problem,
    geometric_mean,
    position,
)


@dataclass(frozen=True)
class Score:
    problem: Problem
    kernel: Kernel  # the fastest own kernel
    performance: Performance
    vendor: str  # the fastest vendor kernel: the control, unless another beat it
    vendor_ratio: float  # its speed relative to the control

    @property
    def against_control(self) -> float:
        return self.performance.speed_ratio

    @property
    def against_vendor(self) -> float:
        return self.performance.speed_ratio / self.vendor_ratio


@dataclass(frozen=True)
class GroupScore:
    group: str
    precision: str
    problems: int
    against_control: float  # geometric mean
    against_vendor: float  # geometric mean
    joules: float | None  # a launch, over the control's: geometric mean where they were measured
    faster: int  # problems on which the fastest own kernel beats the control


def scores(measured: Measured) -> list[Score]:
    """One a problem that an own kernel passed, by group, precision, layout and work."""
    own: dict[Problem, list[Point]] = defaultdict(list)
    vendor: dict[Problem, list[Point]] = defaultdict(list)
    for point in measured.points:
        sound = not point.kernel.control and not measured.spoiled(point.kernel)
        if point.performance and sound:
            (vendor if point.kernel.vendor else own)[point.problem].append(point)
    return [
        _score(problem, own[problem], vendor[problem], measured.control_names)
        for problem in sorted(own, key=problem_order)
    ]


def _score(problem: Problem, own: list[Point], vendor: list[Point], control: str) -> Score:
    kernel, performance = max(
        ((point.kernel, point.performance) for point in own if point.performance),
        key=lambda one: (one[1].speed_ratio, one[0].name),
    )
    # The control's speed is 1 by definition: its own point only shows the noise.
    others = [(p.performance.speed_ratio, p.kernel.name) for p in vendor if p.performance]
    vendor_ratio, vendor_name = max([(1.0, control), *others])
    return Score(problem, kernel, performance, vendor_name, vendor_ratio)


def problem_order(problem: Problem) -> tuple[object, ...]:
    return (
        position(problem.precision, PRECISIONS),
        position(problem.group, GROUPS),
        problem.layout,
        problem.flops,
        problem.id,
    )


def group_scores(found: list[Score]) -> list[GroupScore]:
    """A problem counts in each group that it belongs to."""
    cells: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for score in found:
        for group in score.problem.groups:
            if group in GROUPS:
                cells[group, score.problem.precision].append(score)
    ordered = sorted(cells, key=lambda c: (position(c[0], GROUPS), position(c[1], PRECISIONS)))
    return [_group_score(group, precision, cells[group, precision]) for group, precision in ordered]


def _group_score(group: str, precision: str, members: list[Score]) -> GroupScore:
    joules = [one.performance.joules_ratio for one in members if one.performance.joules_ratio]
    return GroupScore(
        group=group,
        precision=precision,
        problems=len(members),
        against_control=geometric_mean(one.against_control for one in members),
        against_vendor=geometric_mean(one.against_vendor for one in members),
        joules=geometric_mean(joules) if joules else None,
        faster=sum(one.against_control > 1 for one in members),
    )
