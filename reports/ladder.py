"""The ladder: every rung on one problem a precision, in the order in which it is climbed."""

from collections import defaultdict
from dataclasses import dataclass

from reports.model import Kernel, Measured, Performance, Point, Problem


@dataclass(frozen=True)
class Rung:
    kernel: Kernel
    outcome: str
    performance: Performance | None
    step: float | None  # speed over that of the rung below it, through the control


@dataclass(frozen=True)
class Ladder:
    problem: Problem
    rungs: tuple[Rung, ...]  # lowest first, vendor kernels last
    refused: tuple[str, ...]  # kernels that do not take this problem

    @property
    def precision(self) -> str:
        return self.problem.precision

    @property
    def names(self) -> set[str]:
        """The kernels that took the problem up."""
        return {rung.kernel.name for rung in self.rungs}

    def rung(self, kernel: Kernel) -> Rung | None:
        return next((rung for rung in self.rungs if rung.kernel == kernel), None)


def ladders(measured: Measured) -> list[Ladder]:
    """A ladder for each precision that has a point on a ladder problem."""
    by_problem: dict[Problem, list[Point]] = defaultdict(list)
    for point in measured.points:
        if "ladder" in point.problem.groups and not measured.spoiled(point.kernel):
            by_problem[point.problem].append(point)
    found = []
    for precision in measured.precisions:
        problems = [problem for problem in by_problem if problem.precision == precision]
        if problems:
            problem = max(problems, key=lambda one: (_attempts(by_problem[one]), one.flops, one.id))
            if _attempts(by_problem[problem]):
                found.append(_ladder(problem, by_problem[problem]))
    return found


def _attempts(points: list[Point]) -> int:
    """How many kernels took the problem up. The largest problem is not the choice if the low rungs
    are too slow for it; a kernel that failed has taken it up and does not change the choice."""
    return sum(point.outcome != "refused" for point in points)


def _ladder(problem: Problem, points: list[Point]) -> Ladder:
    points = sorted(points, key=lambda one: (one.kernel.vendor, one.kernel.order, one.kernel.name))
    rungs = []
    below: Performance | None = None
    for point in points:
        if point.outcome == "refused":
            continue
        performance = point.performance
        step = None
        if performance and below and not point.kernel.vendor:
            step = performance.speed_ratio / below.speed_ratio
        rungs.append(Rung(point.kernel, point.outcome, performance, step))
        below = performance or below
    refused = tuple(point.kernel.name for point in points if point.outcome == "refused")
    return Ladder(problem, tuple(rungs), refused)
