"""The lessons of a run: which it measured, and what each point costs beside the sound one."""

from collections.abc import Callable
from dataclasses import dataclass

from reports.model import Lesson, Measured, Point


@dataclass(frozen=True)
class Compared:
    """A point of a lesson."""

    point: Point
    # Its time over that of the first point that the lesson names on the same problem, through the
    # control. None where one of the two has no time; the first point itself has 1.
    cost: float | None
    first: bool

    @property
    def problem(self) -> str:
        return f"{self.point.problem.precision} {self.point.problem.label}"

    @property
    def relative_error(self) -> float | None:
        performance = self.point.performance
        return performance.counter("relative_error") if performance else None


@dataclass(frozen=True)
class Measurement:
    """A lesson as far as a run measured it, in the order of the lesson."""

    lesson: Lesson
    compared: tuple[Compared, ...]

    @property
    def compares_time(self) -> bool:
        """A lesson each of whose points has a problem of its own compares their errors instead."""
        return not all(one.first for one in self.compared)

    @property
    def same_problem(self) -> bool:
        return len({one.point.problem for one in self.compared}) == 1

    @property
    def same_kernel(self) -> bool:
        return len({one.point.kernel for one in self.compared}) == 1


def measured_lessons(measured: Measured) -> list[Measurement]:
    """Of the lessons of the catalog those that the run measured: two points or more and, where
    rungs are spoiled, one of these. A sound rung alone is measured by other runs as well."""
    points = {point.id: point for point in measured.points}
    found = []
    for lesson in measured.lessons:
        visited = [points[point_id] for point_id in lesson.points if point_id in points]
        tried = [point for point in visited if point.outcome != "refused"]
        spoils = any(point_id.partition("/")[0].endswith(f"+{lesson.name}")
                     for point_id in lesson.points)  # fmt: skip
        shown = not spoils or any(measured.spoiled(point.kernel) for point in tried)
        if len(tried) > 1 and shown:
            compared = tuple(_compared(lesson, point, points.get) for point in visited)
            found.append(Measurement(lesson, compared))
    return found


def _compared(lesson: Lesson, point: Point, find: Callable[[str], Point | None]) -> Compared:
    first_id = next(one for one in lesson.points if one.partition("/")[2] == point.problem.id)
    first = find(first_id)
    cost = None
    if first and first.performance and point.performance:
        cost = first.performance.speed_ratio / point.performance.speed_ratio
    return Compared(point, cost, first=point.id == first_id)
