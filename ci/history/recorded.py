"""Files as the history takes them: a run of ours, or Google Benchmark's output of any program."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ci.errors import BadInput
from ci.files import Fields, read_json
from ci.history.tables import COUNTERS
from ci.policy import policy_for
from ci.records import Outcome, clean_name, load_run
from ci.validity import disturbances

GEMMWATCH, GOOGLE_BENCHMARK = "gemmwatch", "google-benchmark"  # the sources

_WAY_OUT = "give a run.json of `gemmwatch run`, or what a program of Google Benchmark wrote as JSON"
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_LONGEST_NAME = 250

Sample = dict[str, float]  # one trial of a point, by the name in COUNTERS


@dataclass(frozen=True)
class RecordedRun:
    """A run to remember. Equal digests: the same content, wherever the file lay."""

    digest: str
    source: str
    machine: str
    selection: str
    finished: datetime
    commit: str  # "" = not known
    trials: int
    fingerprint: Mapping[str, str]
    environment: Mapping[str, str]
    doubts: list[str]
    catalog: Mapping[str, Any]
    outcomes: Mapping[str, Outcome]
    reasons: Mapping[str, str]  # for all but passed
    samples: Mapping[str, list[Sample]]  # only of passed points


@dataclass(frozen=True)
class Naming:
    """What the user says of a file; None: what the file says of itself."""

    machine: str | None = None
    selection: str | None = None
    commit: str | None = None


def read_recorded(path: Path, naming: Naming = Naming()) -> RecordedRun:
    """Raises BadInput for a file that is neither, or that may not become part of the history."""
    fields = read_json(path, _WAY_OUT)
    if "context" not in fields or "benchmarks" not in fields:
        fields.fail("it has no context with benchmarks")
    if "gemmwatch" in fields.object("context"):
        return _own(path, fields, naming)
    return _foreign(fields, naming)


def _digest(fields: Fields) -> str:
    canonical = json.dumps(fields.value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _own(path: Path, fields: Fields, naming: Naming) -> RecordedRun:
    run = load_run(path)
    samples = run.samples
    if samples.injected:
        raise BadInput(path, f"carries an artificial change ({samples.injected})", "leave it out")
    if samples.filter:
        raise BadInput(path, f"was filtered ({samples.filter})", "measure without --filter")
    commit = samples.environment.get("commit", "").removeprefix("unknown")
    return RecordedRun(
        digest=_digest(fields),
        source=GEMMWATCH,
        machine=naming.machine or samples.machine,
        selection=naming.selection or samples.selection,
        finished=_in_utc(samples.date, fields),
        commit=naming.commit or commit,
        trials=samples.trials,
        fingerprint=samples.fingerprint,
        environment=samples.environment,
        doubts=disturbances(samples, policy_for(samples.device)),
        catalog=_catalog(fields),
        outcomes=samples.outcomes,
        reasons=samples.reasons,
        samples=_own_samples(fields, set(samples.points)),
    )


def _catalog(fields: Fields) -> dict[str, Any]:
    """What a site needs of it."""
    catalog = fields.object("context").object("gemmwatch").object("catalog")
    peaks = catalog.object("peaks")
    return {
        "kernels": catalog.value["kernels"],
        "problems": catalog.value["problems"],
        "peaks": {name: peaks.number(name) for name in peaks.value},
    }


def _own_samples(fields: Fields, passed: set[str]) -> dict[str, list[Sample]]:
    rows = sorted(fields.objects("benchmarks"), key=lambda row: row.integer("repetition_index"))
    samples = defaultdict(list)
    for row in rows:
        name = clean_name(row.text("run_name"))
        if name in passed:
            samples[name].append(_counters(row))
    return samples


def _counters(row: Fields) -> Sample:
    return {name: row.number(name) for name in COUNTERS if name in row}


def _foreign(fields: Fields, naming: Naming) -> RecordedRun:
    context = fields.object("context")
    samples: dict[str, list[Sample]] = defaultdict(list)
    without_time: dict[str, tuple[Outcome, str]] = {}
    for row in fields.objects("benchmarks"):
        if "run_type" in row and row.text("run_type") == "aggregate":
            continue
        name = _name(row)
        if untimed := _untimed(row):
            without_time.setdefault(name, untimed)
        else:
            samples[name].append({"kernel_us": _microseconds(row)} | _counters(row))
    passed = {name: trials for name, trials in samples.items() if name not in without_time}
    if not passed and not without_time:
        fields.fail("it has no benchmark")
    executable = Path(str(context.value.get("executable", ""))).name
    fingerprint = {
        key: str(context.value[key])
        for key in ("host_name", "num_cpus", "library_build_type", "library_version")
        if key in context
    }
    untimed_outcomes = {name: outcome for name, (outcome, _) in without_time.items()}
    return RecordedRun(
        digest=_digest(fields),
        source=GOOGLE_BENCHMARK,
        machine=naming.machine or fingerprint.get("host_name", "unknown machine"),
        selection=naming.selection or executable or GOOGLE_BENCHMARK,
        finished=_in_utc(context.moment("date"), context),
        commit=naming.commit or "",
        trials=max(map(len, samples.values()), default=0),
        fingerprint={"device": "host"} | fingerprint,
        environment={},
        doubts=[],
        catalog={"kernels": [], "problems": [], "peaks": {}},
        outcomes=dict.fromkeys(passed, Outcome.passed) | untimed_outcomes,
        reasons={name: reason for name, (_, reason) in without_time.items()},
        samples=passed,
    )


def _untimed(row: Fields) -> tuple[Outcome, str] | None:
    """Why a row has no time. The library's SkipWithError and SkipWithMessage differ in the keys."""
    for flag, message, outcome in (
        ("error_occurred", "error_message", Outcome.failed),
        ("skipped", "skip_message", Outcome.refused),
    ):
        if row.value.get(flag):
            return outcome, str(row.value.get(message, "it gave no reason"))
    return None


def _name(row: Fields) -> str:
    name = clean_name(row.text("run_name" if "run_name" in row else "name"))
    if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        row.fail(f"{row.where} has the name {name[:_LONGEST_NAME]!r}, which is none for a series")
    return name


def _microseconds(row: Fields) -> float:
    unit = row.text("time_unit")
    if unit not in _MICROSECONDS:
        row.fail(f'{row.where} has the time unit "{unit}"')
    time = row.number("real_time") * _MICROSECONDS[unit]
    if time <= 0:
        row.fail(f"{row.where} has a time that is not above 0")
    return time


def _in_utc(date: datetime, fields: Fields) -> datetime:
    try:
        return date.astimezone(UTC)
    except (OverflowError, ValueError):  # the first and the last day that there are
        fields.fail(f"its date {date.isoformat()} is none in UTC")
