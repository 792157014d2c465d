"""A record of a machine: what its driver, libraries and kernels do, to be compared with later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ci.files import Fields, read_json, reviewable, write_whole
from ci.policy import policy_for
from ci.records import (
    Outcome,
    PointSamples,
    Run,
    clean_name,
    load_run,
    read_outcomes,
    read_samples,
    samples_document,
)
from ci.resources.record import Resources
from ci.validity import disturbances

SCHEMA = 1
KIND = "gemmwatch-machine"
_WAY_OUT = "make it again with `gemmwatch validate record`"


@dataclass(frozen=True)
class PointRecord:
    """A point that passed. Lists hold a trial an element."""

    samples: PointSamples
    digests: Sequence[int]  # of the result's bytes; empty: not told
    sm_mhz: Sequence[float]  # empty: not told
    bound_share: float | None  # the largest error, as a share of the allowed deviation
    dispatch: str  # the device function that a library chose; "" = not told

    @property
    def microseconds(self) -> float:
        return float(np.median(self.samples.kernel_us))


@dataclass(frozen=True)
class MachineRecord:
    label: str
    recorded: str  # ISO 8601
    selection: str
    trials: int
    fingerprint: Mapping[str, str]
    environment: Mapping[str, str]
    vendor: frozenset[str]  # kernels that are a library's
    program: str  # a digest of the bench program
    toolkit: str  # the version of nvcc; "" = no device code
    code: Mapping[str, str]  # by kernel: equal for equal machine code
    outcomes: Mapping[str, Outcome]
    reasons: Mapping[str, str]
    points: Mapping[str, PointRecord]
    doubts: Sequence[str] = ()  # why its times cannot be believed

    @property
    def facts(self) -> dict[str, str]:
        """What is known of the machine, whether or not it must match."""
        return {**self.environment, **self.fingerprint}

    def same_code(self, kernel: str, other: MachineRecord) -> bool:
        """Whether a kernel of ours is the same machine code in both records, as far as is known."""
        if self.program == other.program:
            return True
        return kernel in self.code and self.code[kernel] == other.code.get(kernel)


def record_of(run_json: Path, resources: Resources | None, program: str) -> MachineRecord:
    """What a finished run and the resources of its build say of this machine."""
    run = load_run(run_json)
    return MachineRecord(
        label=str(run_json),
        recorded=run.samples.date.isoformat(timespec="seconds"),
        selection=run.samples.selection,
        trials=run.samples.trials,
        fingerprint=run.samples.fingerprint,
        environment={**run.samples.environment, **_jit(run, resources)},
        vendor=frozenset(kernel.name for kernel in run.catalog.kernels if kernel.vendor),
        program=program,
        toolkit=resources.toolkit if resources else "",
        code=_code(run, resources),
        outcomes=run.samples.outcomes,
        reasons=run.samples.reasons,
        points=_points(run, read_json(run_json, _WAY_OUT)),
        doubts=tuple(disturbances(run.samples, policy_for(run.samples.device))),
    )


def write_record(record: MachineRecord, path: Path) -> None:
    document = {
        "schema": SCHEMA,
        "kind": KIND,
        "recorded": record.recorded,
        "selection": record.selection,
        "trials": record.trials,
        "program": record.program,
        "toolkit": record.toolkit,
        "vendor": sorted(record.vendor),
        "fingerprint": dict(record.fingerprint),
        "environment": dict(record.environment),
        "code": dict(record.code),
        "outcomes": dict(record.outcomes),
        "reasons": dict(record.reasons),
        "doubts": list(record.doubts),
        "points": {name: _document(point) for name, point in record.points.items()},
    }
    write_whole(path, reviewable(document))


def load_record(path: Path) -> MachineRecord:
    """Raises BadInput for anything but a whole record."""
    fields = read_json(path, _WAY_OUT)
    if "kind" not in fields or fields.text("kind") != KIND or fields.integer("schema") != SCHEMA:
        fields.fail(f"is no {KIND} of schema {SCHEMA}")
    trials = fields.integer("trials")
    points = fields.named_objects("points")
    return MachineRecord(
        label=str(path),
        recorded=fields.text("recorded"),
        selection=fields.text("selection"),
        trials=trials,
        fingerprint=fields.texts("fingerprint"),
        environment=fields.texts("environment"),
        vendor=frozenset(fields.strings("vendor")),
        program=fields.text("program"),
        toolkit=fields.text("toolkit"),
        code=fields.texts("code"),
        outcomes=read_outcomes(fields),
        reasons=fields.texts("reasons"),
        points={name: _point(point, trials) for name, point in points.items()},
        doubts=tuple(fields.strings("doubts")),
    )


def _jit(run: Run, resources: Resources | None) -> dict[str, str]:
    """Whether the driver compiles PTX itself, for want of machine code or because it is told to."""
    capability = run.samples.environment.get("compute_capability")
    if not resources or not resources.functions or not capability:
        return {}
    built = f"sm_{capability.replace('.', '')}" in resources.architectures
    forced = run.samples.environment.get("cuda_force_ptx_jit", "0") != "0"
    return {"ptx_jit": "no" if built and not forced else "yes"}


def _code(run: Run, resources: Resources | None) -> dict[str, str]:
    if not resources:
        return {}
    codes = {kernel.name: resources.code_of(kernel.name) for kernel in run.catalog.kernels}
    return {name: code for name, code in codes.items() if code}


def _points(run: Run, fields: Fields) -> dict[str, PointRecord]:
    rows: dict[str, list[Fields]] = {name: [] for name in run.samples.points}
    for row in fields.objects("benchmarks"):
        if (name := clean_name(row.text("run_name"))) in rows:
            rows[name].append(row)
    for trials in rows.values():
        trials.sort(key=lambda row: row.integer("repetition_index"))
    return {
        name: PointRecord(
            samples=run.samples.points[name],
            digests=[int(digest) for digest in _counters(trials, "digest")],
            sm_mhz=_counters(trials, "sm_mhz"),
            bound_share=max(_counters(trials, "bound_share"), default=None),
            dispatch=trials[0].text("label") if "label" in trials[0] else "",
        )
        for name, trials in rows.items()
    }


def _counters(rows: Sequence[Fields], name: str) -> list[float]:
    """Empty unless every trial has it."""
    return [row.number(name) for row in rows] if all(name in row for row in rows) else []


def _document(point: PointRecord) -> dict[str, Any]:
    return {
        **samples_document(point.samples),
        "digests": list(point.digests),
        "sm_mhz": list(point.sm_mhz),
        "bound_share": point.bound_share,
        "dispatch": point.dispatch,
    }


def _point(fields: Fields, trials: int) -> PointRecord:
    samples, clocks = read_samples(fields), fields.numbers("sm_mhz")
    if samples.log_ratio.size != trials or any(mhz <= 0 for mhz in clocks):
        fields.fail(f"{fields.where} is not of {trials} trials, or has a clock that stands still")
    share = fields.value.get("bound_share")
    return PointRecord(
        samples=samples,
        digests=[int(digest) for digest in fields.numbers("digests")],
        sm_mhz=clocks,
        bound_share=None if share is None else fields.number("bound_share"),
        dispatch=fields.text("dispatch"),
    )
