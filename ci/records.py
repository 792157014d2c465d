"""Runs and baselines, read and checked, as the one type that the judge takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import numpy as np

from ci.catalog import Catalog, checked_id, parse_catalog, require_schema
from ci.errors import Exit
from ci.estimate import Array
from ci.files import Fields, read_json

BASELINE_KIND = "gemmwatch-baseline"
TRIAL = "trial"  # the load that gates measure under, and so every baseline

_LARGEST_LOG_RATIO = 30.0  # a nanosecond beside three hours

_RUN_WAY_OUT = "measure again with `gemmwatch run --fresh`"
_BASELINE_WAY_OUT = (
    "restore it from version control, or write a new one with `gemmwatch baseline store RUN.json`"
)
_EITHER_WAY_OUT = "give a run.json of `gemmwatch run` or a file of `gemmwatch baseline store`"


class Outcome(StrEnum):
    passed = "passed"
    incorrect = "incorrect"
    refused = "refused"
    failed = "failed"
    timed_out = "timed_out"


@dataclass(frozen=True, slots=True)
class PointSamples:
    """One element per trial, in the order of the trials; microseconds a launch."""

    log_ratio: Array  # ln(kernel / control)
    kernel_us: Array
    control_us: Array
    # Empty where the machine does not tell, or not under this load.
    sm_mhz: Array = field(default_factory=lambda: np.empty(0))
    kernel_joules: Array = field(default_factory=lambda: np.empty(0))  # a launch
    control_joules: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class Samples:
    """All that is compared of a run or a baseline. Only passed points have samples."""

    label: str  # where it was read from
    date: datetime  # when the run ended, or when the baseline was approved
    selection: str
    filter: str  # regular expression that narrowed the selection; "" = all of it
    fingerprint: Mapping[str, str]
    environment: Mapping[str, str]
    injected: str  # the artificial slowdown or fault; "" = none
    trials: int
    points: Mapping[str, PointSamples]
    outcomes: Mapping[str, Outcome]
    reasons: Mapping[str, str]  # for all but passed
    controls: frozenset[str]  # names of control kernels; empty for a baseline
    throttled: float  # mean share of throttled telemetry; 0 where there is none
    seconds: Mapping[str, float] = field(default_factory=dict)  # that a trial spends on a point

    @property
    def device(self) -> str:
        return self.fingerprint.get("device", "host")

    @property
    def load(self) -> str:
        """What the device does before and while it is timed; the harness names it if it is not
        that of a trial: "1 sustained"."""
        return self.fingerprint.get("harness", "").partition(" ")[2] or TRIAL

    @property
    def machine(self) -> str:
        """The part of the fingerprint that people know a machine by."""
        return self.fingerprint.get("gpu") or self.fingerprint.get("cpu") or "unknown machine"

    @property
    def exit_code(self) -> Exit:
        """Of a run that is not judged."""
        outcomes = set(self.outcomes.values())
        if Outcome.incorrect in outcomes:
            return Exit.incorrect
        return Exit.regression if outcomes & {Outcome.failed, Outcome.timed_out} else Exit.ok

    def age_days(self, now: datetime) -> float:
        return (now - self.date).total_seconds() / 86400


@dataclass(frozen=True)
class Run:
    samples: Samples
    catalog: Catalog


def load_run(path: Path) -> Run:
    """Raises BadInput for anything but a whole run.json."""
    fields = read_json(path, _RUN_WAY_OUT)
    if "context" not in fields:
        fields.fail("it is no run.json (there is no context)")
    return _parse_run(fields)


def load_samples(path: Path) -> Samples:
    """A run.json or a baseline. Raises BadInput for anything else."""
    fields = read_json(path, _EITHER_WAY_OUT)
    if fields.value.get("kind") == BASELINE_KIND:
        return load_baseline(path)
    if "context" not in fields:
        fields.fail("it is neither a run nor a baseline")
    return load_run(path).samples


def load_baseline(path: Path) -> Samples:
    """Raises BadInput for anything but a whole baseline."""
    fields = read_json(path, _BASELINE_WAY_OUT)
    require_schema(fields)
    if fields.text("kind") != BASELINE_KIND:
        fields.fail(f"its kind is not {BASELINE_KIND}")
    outcomes = read_outcomes(fields)
    points = {
        checked_id(point, name): read_samples(point)
        for name, point in fields.named_objects("points").items()
    }
    return Samples(
        label=str(path),
        date=fields.moment("approved"),
        selection=fields.text("selection"),
        filter="",
        fingerprint=fields.texts("fingerprint"),
        environment=fields.texts("environment"),
        injected="",
        trials=_same_trials(fields, points, outcomes),
        points=points,
        outcomes=outcomes,
        reasons={},
        controls=frozenset(),
        throttled=0.0,
    )


def samples_document(samples: PointSamples) -> dict[str, list[float]]:
    """As read_samples takes it, in as many digits as a clock is good for."""
    return {
        "log_ratio": [round(float(value), 5) for value in samples.log_ratio],
        "kernel_us": [five_digits(value) for value in samples.kernel_us],
        "control_us": [five_digits(value) for value in samples.control_us],
    }


def read_samples(fields: Fields) -> PointSamples:
    """Of a baseline's or a record's point. Raises BadInput for what no trial can have given."""
    return _point_samples(
        fields,
        fields.numbers("log_ratio"),
        fields.numbers("kernel_us"),
        fields.numbers("control_us"),
    )


def five_digits(value: float) -> float:
    """Five significant digits: more than any clock is good for."""
    return float(f"{value:.5g}")


def clean_name(name: str) -> str:
    """A row's id: its name without what Google Benchmark appends."""
    return re.sub(r"(/iterations:\d+|/manual_time|/real_time|/repeats:\d+)+$", "", name)


def _parse_run(fields: Fields) -> Run:
    own = fields.object("context").object("gemmwatch")
    require_schema(own)
    catalog = parse_catalog(own.object("catalog"))
    outcomes = read_outcomes(own)
    rows: dict[str, dict[int, Fields]] = {}
    for row in fields.objects("benchmarks"):
        name = clean_name(row.text("run_name"))
        if name not in outcomes:
            row.fail(f"{row.where} is of {name[:250]!r}, which has no outcome")
        if outcomes[name] is not Outcome.passed:
            continue
        if rows.setdefault(name, {}).setdefault(row.integer("repetition_index"), row) is not row:
            row.fail(f"{row.where} repeats a trial of {name}")
    points = {name: _from_rows(list(by_trial.values())) for name, by_trial in rows.items()}
    trials = _same_trials(own, points, outcomes)
    if points and trials != own.integer("trials"):
        own.fail(f"its points have {trials} trials, but it says {own.integer('trials')}")
    throttled = [
        row.number("throttled")
        for by_trial in rows.values()
        for row in by_trial.values()
        if "throttled" in row
    ]
    samples = Samples(
        label=str(fields.path),
        date=own.moment("finished"),
        selection=own.text("selection"),
        filter=_filter(own),
        fingerprint=catalog.fingerprint,
        environment=catalog.environment,
        injected=catalog.injected,
        trials=own.integer("trials"),
        points=points,
        outcomes=outcomes,
        reasons=own.texts("reasons"),
        controls=catalog.control_names,
        throttled=float(np.mean(throttled)) if throttled else 0.0,
        seconds={name: _mean_seconds(list(by_trial.values())) for name, by_trial in rows.items()},
    )
    return Run(samples, catalog)


def _filter(fields: Fields) -> str:
    pattern = fields.text("filter") if "filter" in fields else ""
    try:
        re.compile(pattern)
    except re.error as error:
        fields.fail(f"its filter is no regular expression ({error})")
    return pattern


def read_outcomes(fields: Fields) -> dict[str, Outcome]:
    """By point. Raises BadInput for a word that is no outcome."""
    outcomes = {}
    for name, text in fields.texts("outcomes").items():
        if text not in list(Outcome):
            fields.fail(f'the outcome of {name[:250]!r} is "{text[:40]}", which is none')
        outcomes[checked_id(fields, name)] = Outcome(text)
    return outcomes


def _from_rows(rows: list[Fields]) -> PointSamples:
    rows.sort(key=lambda row: row.integer("repetition_index"))
    counters = ("log_ratio", "kernel_us", "control_us")
    samples = _point_samples(rows[0], *([row.number(name) for row in rows] for name in counters))
    told = [
        name
        for name in ("sm_mhz", "kernel_joules", "control_joules")
        if all(name in row and row.number(name) > 0 for row in rows)
    ]
    return replace(samples, **{name: np.array([row.number(name) for row in rows]) for name in told})


def _mean_seconds(rows: list[Fields]) -> float:
    return float(np.mean([row.number("point_s") if "point_s" in row else 0.0 for row in rows]))


def _point_samples(
    fields: Fields, log_ratio: list[float], kernel_us: list[float], control_us: list[float]
) -> PointSamples:
    if not len(log_ratio) == len(kernel_us) == len(control_us):
        fields.fail(f"{fields.where} has arrays of different lengths")
    if any(time <= 0 for time in kernel_us + control_us):
        fields.fail(f"{fields.where} has a time that is not above 0")
    if any(abs(ratio) > _LARGEST_LOG_RATIO for ratio in log_ratio):
        fields.fail(f"{fields.where} has a log_ratio that is none of two times")
    return PointSamples(np.array(log_ratio), np.array(kernel_us), np.array(control_us))


def _same_trials(
    fields: Fields, points: Mapping[str, PointSamples], outcomes: Mapping[str, Outcome]
) -> int:
    """The number of trials, which every passed point has, and no other point."""
    passed = {name for name, outcome in outcomes.items() if outcome is Outcome.passed}
    for name in sorted(passed ^ points.keys()):
        fields.fail(
            f"{name} passed but has no samples"
            if name in passed
            else f"{name} has samples but did not pass"
        )
    counts = {point.log_ratio.size: name for name, point in points.items()}
    if len(counts) > 1:
        few, many = min(counts), max(counts)
        fields.fail(f"{counts[few]} has {few} trials where {counts[many]} has {many}")
    if 0 in counts:
        fields.fail(f"{counts[0]} has no trials")
    return next(iter(counts), 0)
