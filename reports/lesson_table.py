"""A lesson's numbers as words: the table that page and terminal share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports import units
from reports.lessons import Compared, Measurement
from reports.model import Measured, Performance
from reports.resources import Range, Resources

Column = Callable[[Compared, Performance], str]
Form = Callable[[float], str]


@dataclass(frozen=True)
class Row:
    names: tuple[str, ...]
    numbers: tuple[str, ...]  # none for a point without a time
    outcome: str
    reason: str  # why there is no time


@dataclass(frozen=True)
class Table:
    """A lesson's numbers as words; every row has a name for each of names, and so on."""

    problem: str  # that all points share, else ""
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    rows: tuple[Row, ...]


def lesson_table(
    measured: Measured, measurement: Measurement, resources: Sequence[Resources]
) -> Table:
    """resources: of the device functions of all kernels; without any, no column speaks of them."""
    of_kernel = _of_this_machine(measured, resources)
    columns = _columns(measured, measurement, of_kernel)
    same = measurement.same_problem
    return Table(
        problem=measurement.compared[0].problem if same else "",
        names=("kernel",) if same else ("kernel", "problem"),
        numbers=tuple(columns),
        rows=tuple(
            Row(
                names=(one.point.kernel.name, one.problem)[: 1 if same else 2],
                numbers=_numbers(one, columns),
                outcome=one.point.outcome,
                reason=one.point.reason,
            )
            for one in measurement.compared
        ),
    )


def _numbers(one: Compared, columns: dict[str, Column]) -> tuple[str, ...]:
    performance = one.point.performance
    return tuple(column(one, performance) for column in columns.values()) if performance else ()


def _columns(
    measured: Measured, measurement: Measurement, of_kernel: dict[str, Resources]
) -> dict[str, Column]:
    rate = units.rate_unit(measured)
    columns: dict[str, Column] = {"µs": lambda _, speed: units.significant(speed.kernel_us)}
    if measurement.compares_time:
        columns["time"] = lambda one, _: _known(one.cost, lambda cost: f"×{units.ratio(cost)}")
    columns[rate.name] = lambda _, speed: rate.of(speed.tflops)
    if any(one.relative_error is not None for one in measurement.compared):
        columns["relative error"] = lambda one, _: _known(one.relative_error, units.scientific)
    if not any(one.point.kernel.name in of_kernel for one in measurement.compared):
        return columns

    def of(one: Compared, part: Callable[[Resources], Range | None], form: Form) -> str:
        resources = of_kernel.get(one.point.kernel.name)
        return _span(part(resources), form) if resources else ""

    columns["registers"] = lambda one, _: of(one, lambda found: found.registers, units.count)
    columns["spilled, bytes"] = lambda one, _: of(one, lambda f: f.stack_bytes, units.count)
    columns["occupancy"] = lambda one, _: of(one, lambda found: found.occupancy, units.percent)
    return columns


def _known(value: float | None, form: Form) -> str:
    return "" if value is None else form(value)


def _span(values: Range | None, form: Form) -> str:
    if values is None:
        return ""
    low, high = form(values.low), form(values.high)
    return low if low == high else f"{low} to {high}"


def _of_this_machine(measured: Measured, resources: Sequence[Resources]) -> dict[str, Resources]:
    """By kernel, of the architecture that ran; of any if the run does not tell it."""
    capability = measured.environment.get("compute_capability", "").replace(".", "")
    return {
        one.kernel: one
        for one in resources
        if not capability or one.arch.rstrip("a") == f"sm_{capability}"
    }
