"""The points without a time, gathered by what they have in common."""

from collections import defaultdict
from dataclasses import dataclass

from reports.model import Kernel, Measured, Problem

WORST_FIRST = ("incorrect", "failed", "timed_out", "refused")


@dataclass(frozen=True)
class Unmeasured:
    """Problems on which one kernel ended in the same way for the same reason."""

    outcome: str
    kernel: Kernel
    reason: str
    problems: tuple[Problem, ...]


def unmeasured(measured: Measured) -> list[Unmeasured]:
    alike: dict[tuple[str, Kernel, str], list[Problem]] = defaultdict(list)
    for point in measured.points:
        if point.performance is None:
            alike[point.outcome, point.kernel, point.reason].append(point.problem)
    found = [Unmeasured(*key, tuple(problems)) for key, problems in alike.items()]
    return sorted(found, key=lambda one: (
        WORST_FIRST.index(one.outcome), one.kernel.order, one.kernel.name, one.reason
    ))  # fmt: skip
