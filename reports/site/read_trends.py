"""Reads trends.json, which `gemmwatch history export --format trends` writes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reports.files import Fields, ReportError, read_json
from reports.model import Kernel, Problem
from reports.reading import OUTCOMES, check_schema, read_kernels, read_peaks, read_problems
from reports.scoreboard import problem_order
from reports.site.trends import Change, Column, Epoch, Night, Resource, Series, Trends

KIND = "gemmwatch-trends"
ANSWERS = ("pass", "regression", "incorrect", "untrusted", "")
CHANGE_KINDS = ("step", "creep")
RESOURCES = ("registers", "shared_bytes", "spills", "code_bytes")
COLUMNS = (
    "log_ratio", "low", "high", "us", "control_us", "sm_mhz", "power_w", "bound_share",
)  # fmt: skip


def read_trends(path: Path) -> Trends:
    fields = read_json(path)
    if fields.values.get("kind") != KIND:
        raise ReportError(
            f"{path}: holds no trends; "
            "`gemmwatch history export --format trends` writes the file that is wanted here"
        )
    check_schema(fields)
    listed = fields.objects("epochs")
    nights = tuple(_night(night, len(listed)) for night in fields.objects("nights"))
    if not nights:
        raise ReportError(f"{path}: holds no night; add a run with `gemmwatch history add`")
    if list(nights) != sorted(nights, key=lambda night: night.finished):
        raise fields.error("nights", "a list of nights, oldest first")
    kernels, problems = _visited(fields)
    return Trends(
        source=path,
        selection=fields.text("selection"),
        nights=nights,
        epochs=tuple(_epoch(epoch, len(nights)) for epoch in listed),
        kernels=kernels,
        problems=problems,
        peaks=read_peaks(fields),
        series=_all_series(fields, kernels, problems, len(nights)),
        resources=tuple(_resource(one, len(nights)) for one in fields.objects("resources")),
    )


def _visited(fields: Fields) -> tuple[tuple[Kernel, ...], tuple[Problem, ...]]:
    """The kernels and problems of the series; a catalog also lists those of other devices, and
    flags the controls of all."""
    series = fields.objects("series")
    names = {one.text("kernel") for one in series}
    ids = {one.text("problem") for one in series}
    problems = sorted(read_problems(fields), key=problem_order)
    return (
        tuple(kernel for kernel in read_kernels(fields) if kernel.name in names),
        tuple(problem for problem in problems if problem.id in ids),
    )


def _night(night: Fields, epochs: int) -> Night:
    epoch = night.integer("epoch")
    if not 0 <= epoch < epochs:
        raise night.error("epoch", "the index of an epoch")
    return Night(
        run=night.text("run"),
        finished=night.moment("finished"),
        commit=night.text("commit"),
        trials=night.integer("trials"),
        epoch=epoch,
        answer=_one_of(night, "answer", ANSWERS),
        doubts=night.strings("doubts") if night.has("doubts") else (),
    )


def _epoch(epoch: Fields, nights: int) -> Epoch:
    changed = epoch.object("changed")
    return Epoch(
        first_night=_index(epoch, "first_night", nights),
        fingerprint=epoch.texts("fingerprint"),
        changed={name: changed.strings(name) for name in changed.values},
    )


def _all_series(
    fields: Fields, kernels: Sequence[Kernel], problems: Sequence[Problem], nights: int
) -> tuple[Series, ...]:
    by_name = {kernel.name: kernel for kernel in kernels}
    by_id = {problem.id: problem for problem in problems}
    found = []
    for one in fields.objects("series"):
        if one.text("kernel") not in by_name:
            raise one.error("kernel", "one of the file's kernels")
        if one.text("problem") not in by_id:
            raise one.error("problem", "one of the file's problems")
        found.append(_series(one, by_name[one.text("kernel")], by_id[one.text("problem")], nights))
    if len({one.id for one in found}) < len(found):
        raise fields.error("series", "a list in which each id occurs once")
    return tuple(found)


def _series(one: Fields, kernel: Kernel, problem: Problem, nights: int) -> Series:
    outcomes = one.texts("outcomes")
    columns = {name: _column(one, name, nights) for name in COLUMNS}
    for name in ("us", "control_us"):
        if (columns[name] <= 0).any():
            raise one.error(name, "a list of times above zero")
    return Series(
        id=one.text("id"),
        kernel=kernel,
        problem=problem,
        outcomes={
            _night_index(one.object("outcomes"), night, nights): _one_of(
                one.object("outcomes"), night, OUTCOMES
            )
            for night in outcomes
        },
        changes=tuple(_change(change, nights) for change in one.objects("changes")),
        **columns,
    )


def _column(fields: Fields, key: str, nights: int) -> Column:
    """Of numbers and nulls, one a night. Not read number by number: there are a million."""
    values = fields.values.get(key)
    if (
        not isinstance(values, list)
        or len(values) != nights
        or not {type(value) for value in values} <= {int, float, type(None)}
    ):
        raise fields.error(key, f"a list of {nights} numbers or nulls, one a night")
    return np.array(values, dtype=float)


def _change(change: Fields, nights: int) -> Change:
    night, before = (_index(change, key, nights) for key in ("night", "before"))
    if before >= night:
        raise change.error("before", "an earlier night than that of the change")
    return Change(
        night=night,
        before=before,
        from_commit=change.text("from_commit"),
        to_commit=change.text("to_commit"),
        change=change.number("change"),
        low=change.number("low"),
        high=change.number("high"),
        p=change.number("p"),
        kind=_one_of(change, "kind", CHANGE_KINDS),
    )


def _resource(one: Fields, nights: int) -> Resource:
    return Resource(
        function=one.text("function"),
        arch=one.text("arch"),
        kernel=one.text("kernel"),
        columns={name: _column(one, name, nights) for name in RESOURCES},
    )


def _index(fields: Fields, key: str, nights: int) -> int:
    night = fields.integer(key)
    if not 0 <= night < nights:
        raise fields.error(key, f"the index of one of {nights} nights")
    return night


def _night_index(fields: Fields, key: str, nights: int) -> int:
    if not key.isdecimal() or int(key) >= nights:
        raise fields.error(key, f"keyed by the index of one of {nights} nights")
    return int(key)


def _one_of(fields: Fields, key: str, known: tuple[str, ...]) -> str:
    value = fields.text(key)
    if value not in known:
        raise fields.error(key, f"one of {', '.join(filter(None, known))}")
    return value
