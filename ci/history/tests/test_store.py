"""Adding, importing, listing, anchoring, pruning and exporting, on SQLite and on PostgreSQL."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from sqlalchemy import text

import ci.gate
from ci.bench_program import ROOT
from ci.errors import BadInput
from ci.history import trial_table
from ci.history.database import VARIABLE, open_database
from ci.history.tests.conftest import POINTS, History, RunFiles
from ci.history.trial_table import rows_of_runs
from ci.records import load_run, load_samples

Edit = Callable[..., Path]


def test_the_same_run_added_twice_is_one_run(history: History, run_file: RunFiles) -> None:
    path = run_file()
    again = path.with_name("elsewhere.json")
    again.write_text(json.dumps(json.loads(path.read_text()), indent=3, sort_keys=True))
    assert "added" in history.output("add", path)
    before = history.rows()
    assert "known already" in history.output("add", path, again)
    assert len(history.runs()) == 1
    assert history.rows() == before


def test_another_run_of_the_same_night_is_another_run(history: History, run_file: RunFiles) -> None:
    assert history("add", run_file(night=0), run_file({POINTS[0]: [0.2, 0.2, 0.21]}, night=0)) == 0
    assert len(history.runs()) == 2


def test_every_trial_comes_back_as_it_was_measured(
    history: History, run_file: RunFiles, edited: Edit
) -> None:
    def telemetry(run: Any) -> None:
        for row in run["benchmarks"]:
            row["sm_mhz"] = 1700.0 + row["repetition_index"]

    path = edited(run_file({POINTS[0]: [0.1, -0.25, 1 / 3]}, commit="c0ffee"), telemetry)
    assert history("add", path) == 0
    header, *rows = csv.reader(history.output("export", "--format", "csv").splitlines())
    told = [dict(zip(header, row, strict=True)) for row in rows]
    assert [float(row["log_ratio"]) for row in told] == [0.1, -0.25, 1 / 3]
    assert [float(row["sm_mhz"]) for row in told] == [1700, 1701, 1702]
    assert {(row["point"], row["commit"], row["power_w"]) for row in told} == {
        (POINTS[0], "c0ffee", "")
    }


def test_csv_and_parquet_hold_the_same(
    history: History, run_file: RunFiles, tmp_path: Path
) -> None:
    assert history("add", run_file(), run_file()) == 0
    for kind in ("csv", "parquet"):
        assert history("export", "--format", kind, "--to", tmp_path / f"trials.{kind}") == 0
    table = pyarrow.parquet.read_table(tmp_path / "trials.parquet").to_pylist()
    with (tmp_path / "trials.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(table) == len(lines) == 2 * 2 * 3
    assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in table] == lines


def test_two_writers_at_once_lose_nothing(history: History, run_file: RunFiles) -> None:
    """They also make the database at once, meet in one run, and share points and catalog."""
    files = [run_file({name: [0.1 * n, 0.2, 0.3] for name in POINTS}) for n in range(13)]
    command = "import sys; from ci.history.command import add_parser; "
    command += "from ci.command_line import run_command; "
    command += "sys.exit(run_command(sys.argv[1:], [add_parser]))"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", command, "history", "--db", history.db, "add", *share],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )
        for share in (files[:7], files[6:])
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert len(history.runs()) == 13
    assert len(history.rows()) == 13 * 2 * 3


def test_a_reader_waits_for_no_writer(history: History, run_file: RunFiles) -> None:
    assert history("add", run_file()) == 0
    database = open_database(history.db)
    with database.transaction() as writer:
        writer.execute(text("update runs set answer = 'pass'"))
        assert [run["answer"] for run in history.runs()] == [""]


def test_an_export_that_fails_leaves_the_old_file(
    filed: History, run_file: RunFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written a run at a time, and is whole or the old one."""
    filed("add", run_file(), run_file())
    table = tmp_path / "trials.csv"
    table.write_text("old")

    def one_then_break(*what: Any) -> Iterator[Any]:
        yield next(rows_of_runs(*what))
        raise BadInput("the history", "went away", "try again")

    monkeypatch.setattr(trial_table, "rows_of_runs", one_then_break)
    assert filed("export", "--format", "csv", "--to", table) == 2
    assert table.read_text() == "old"
    assert not list(tmp_path.glob(".trials*"))


def test_what_was_attached_later_is_remembered(
    history: History, run_file: RunFiles, tmp_path: Path
) -> None:
    run = run_file()
    verdict, resources = _verdict(tmp_path, run), _resources(tmp_path)
    assert history("add", run) == 0
    assert history.runs()[0]["answer"] == ""
    for _ in range(2):
        assert history("add", run, "--verdict", verdict, "--resources", resources) == 0
    (entry,) = history.runs()
    assert entry["answer"] == "regression"
    shown = history.output("show", entry["run"][:6])
    assert "verdicts: 1 regressed" in shown
    assert "device functions: 1" in shown


def test_an_add_that_fails_adds_nothing(
    history: History, run_file: RunFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = _resources(tmp_path, copies=2)
    assert history("add", run_file(), "--resources", twice) == 2
    assert twice.name in capsys.readouterr().err
    broken = tmp_path / "broken.json"
    broken.write_text('{"context": ')
    assert history("add", run_file(), broken) == 2
    assert "broken.json" in capsys.readouterr().err
    assert history.runs() == []


def test_a_verdict_on_another_machine_is_refused(
    filed: History, run_file: RunFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = _verdict(tmp_path, run_file(fingerprint={"cpu": "Other CPU"}))
    assert filed("add", run_file(), "--verdict", verdict) == 2
    assert "verdict.json: is the verdict on another run" in capsys.readouterr().err
    assert filed.runs() == []


@pytest.mark.parametrize("finished", ["2026-01-01T02:00:01+00:00", "2025-12-31"])
def test_a_verdict_on_another_night_is_refused(
    filed: History, run_file: RunFiles, tmp_path: Path, edited: Edit, finished: str
) -> None:
    run = run_file()
    verdict = _verdict(tmp_path, run)
    edited(verdict, lambda document: document["head"].update(finished=finished))
    assert filed("add", run, "--verdict", verdict) == 2
    assert filed.runs() == []


def test_a_verdict_of_the_gate_is_that_of_its_run(
    filed: History, run_file: RunFiles, tmp_path: Path
) -> None:
    """Whose end has milliseconds, and the zone of its own."""
    finished = "2026-01-02T03:04:05.678+02:00"
    base, head = run_file(), run_file(finished=finished)
    gate = load_samples(base), load_run(head).samples, tmp_path, False
    ci.gate.gate(*gate)
    assert filed("add", head, "--verdict", tmp_path / "verdict.json") == 0
    (run,) = filed.runs()
    assert (run["answer"], run["finished"]) == ("pass", "2026-01-02T01:04:05+00:00")


def test_an_artificial_slowdown_is_no_history(
    filed: History, run_file: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    assert filed("add", run_file(injected="slow:tiled:5%")) == 2
    assert "slow:tiled:5%" in capsys.readouterr().err
    assert filed.runs() == []


def test_a_filtered_run_is_no_history(
    filed: History, run_file: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    """The points that it leaves out would be missing on the next night."""
    assert filed("add", run_file(filter="tiled/.*")) == 2
    assert "was filtered (tiled/.*); measure without --filter" in capsys.readouterr().err
    assert filed.runs() == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda meta: meta["catalog"].pop("peaks"), "catalog.peaks is missing"),
        (lambda meta: meta["catalog"].update(peaks={"fp32": "fast"}), "catalog.peaks.fp32"),
        (lambda meta: meta.update(finished="0001-01-01T00:00:00+10:00"), "is none in UTC"),
    ],
)
def test_a_run_that_cannot_be_kept_is_refused(
    filed: History,
    run_file: RunFiles,
    edited: Edit,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Any], object],
    complaint: str,
) -> None:
    path = edited(run_file(), lambda run: change(run["context"]["gemmwatch"]))
    assert filed("add", path) == 2
    message = capsys.readouterr().err
    assert path.name in message and complaint in message


def test_what_did_not_pass_is_shown_with_its_reason(filed: History, run_file: RunFiles) -> None:
    outcomes = {POINTS[0]: "incorrect", POINTS[1]: "passed"}
    reasons = {POINTS[0]: "3 of 64 differ"}
    path = run_file({POINTS[1]: [0.0, 0.0, 0.0]}, outcomes=outcomes, reasons=reasons)
    assert filed("add", path) == 0
    shown = filed.output("show", filed.runs()[0]["run"])
    assert "points: 1 incorrect, 1 passed" in shown
    assert f"incorrect: {POINTS[0]}: 3 of 64 differ" in shown


# ---- other programs' files ---------------------------------------------------------------------


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """What a program of Google Benchmark writes with --benchmark_repetitions=2."""

    def row(name: str, repetition: int, time: float, unit: str = "ns", **more: Any) -> Any:
        return {
            "name": name, "run_name": name, "run_type": "iteration", "repetitions": 2,
            "repetition_index": repetition, "iterations": 10, "real_time": time,
            "cpu_time": 1.0, "time_unit": unit,
        } | more  # fmt: skip

    document = {
        "context": {
            "date": "2026-03-01T12:00:00+01:00", "host_name": "lab", "executable": "./bin/bm_copy",
            "num_cpus": 8, "library_build_type": "release",
        },
        "benchmarks": [
            row("BM_copy<float, 4>/64", 0, 1500.0), row("BM_copy<float, 4>/64", 1, 2500.0),
            row("BM_copy<float, 4>/64_mean", 0, 2000.0, run_type="aggregate"),
            row("BM_sort/8/iterations:10/real_time", 0, 2.0, "ms"),
            row("BM_bad", 0, 0.0, error_occurred=True, error_message="no memory"),
            row("BM_gpu", 0, 0.0, skipped=True, skip_message="no such device"),
        ],
    }  # fmt: skip
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(document))
    return path


def test_google_benchmark_output_is_a_series_of_times(history: History, foreign: Path) -> None:
    assert history("add", foreign, "--commit", "f00d") == 0
    (run,) = history.runs()
    assert (run["machine"], run["selection"], run["commit"]) == ("lab", "bm_copy", "f00d")
    assert run["finished"] == "2026-03-01T11:00:00+00:00"
    rows = csv.DictReader(history.output("export", "--format", "csv").splitlines())
    assert [(row["point"], float(row["kernel_us"]), row["log_ratio"]) for row in rows] == [
        ("BM_copy<float, 4>/64", 1.5, ""),
        ("BM_copy<float, 4>/64", 2.5, ""),
        ("BM_sort/8", 2000.0, ""),
    ]
    shown = history.output("show", run["run"])
    assert "failed: BM_bad: no memory" in shown
    assert "points: 1 failed, 2 passed, 1 refused" in shown


def test_times_without_a_control_have_no_trends(
    filed: History, foreign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert filed("add", foreign) == 0
    assert filed("export", "--format", "trends") == 2
    message = capsys.readouterr().err
    assert '--machine "lab" --selection bm_copy' in message and "csv or parquet" in message


def test_a_track_is_of_one_kind_of_runs(
    filed: History, foreign: Path, run_file: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    track = ("--machine", "rig", "--selection", "all")
    assert filed("add", run_file(), *track) == 0
    assert filed("add", foreign, *track) == 2
    assert "holds runs of gemmwatch" in capsys.readouterr().err
    assert filed("add", foreign, *track[:2]) == 0
    assert filed("add", run_file(), "--machine", "rig", "--selection", "bm_copy") == 2
    assert [run["selection"] for run in filed.runs()] == ["all", "bm_copy"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda run: run["benchmarks"].clear(), "no benchmark"),
        (lambda run: run["benchmarks"][0].update(time_unit="fortnight"), "fortnight"),
        (lambda run: run["benchmarks"][0].update(real_time=0), "not above 0"),
        (lambda run: run["benchmarks"][0].update(run_name="a\nb"), "name"),
        (lambda run: run["context"].update(date="yesterday"), "yesterday"),
        (lambda run: run["context"].update(date="0001-01-01T00:00:00+10:00"), "is none in UTC"),
        (lambda run: run.pop("context"), "context"),
    ],
)
def test_a_foreign_file_that_cannot_be_read_is_refused(
    filed: History,
    foreign: Path,
    edited: Edit,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Any], object],
    complaint: str,
) -> None:
    assert filed("add", edited(foreign, change)) == 2
    message = capsys.readouterr().err
    assert "foreign.json" in message and complaint in message


# ---- keeping and forgetting --------------------------------------------------------------------


def test_prune_keeps_anchors_the_newest_and_one_a_month(
    history: History, run_file: RunFiles
) -> None:
    history("add", *(run_file(night=night) for night in (0, 1, 20, 40, 45, 50, 60)))
    anchor = history.runs()[2]["run"]
    assert history("anchor", anchor[:8]) == 0
    told = history.output("prune", "--older-than", "1", "--dry-run")
    assert "would remove 3 of 7 runs" in told
    assert len(history.runs()) == 7
    told = history.output("prune", "--older-than", "1")
    assert "removed 3 of 7 runs" in told
    days = [run["finished"][:10] for run in history.runs()]
    assert days == ["2026-01-01", "2026-01-21", "2026-02-10", "2026-03-02"]
    with open_database(history.db).transaction() as connection:
        left = [
            connection.scalar(text(f"select count(*) from {t}")) for t in ("samples", "results")
        ]
    assert left == [4 * 2 * 3, 4 * 2]


def test_prune_without_keeping_leaves_the_anchor_and_the_newest(
    filed: History, run_file: RunFiles
) -> None:
    filed("add", *(run_file(night=night) for night in range(5)))
    filed("anchor", filed.runs()[1]["run"])
    assert "removed 3 of 5 runs" in filed.output("prune", "--older-than", "1", "--keep", "none")
    assert [run["anchor"] for run in filed.runs()] == [True, False]


def test_prune_by_weeks_and_of_what_is_young_enough(filed: History, run_file: RunFiles) -> None:
    filed("add", *(run_file(night=night) for night in range(4, 19)))  # Monday, two weeks, Monday
    assert "removed 0 of 15" in filed.output("prune", "--older-than", "36500", "--keep", "weekly")
    assert "removed 12 of 15" in filed.output("prune", "--older-than", "1", "--keep", "weekly")
    days = [run["finished"][8:10] for run in filed.runs()]
    assert days == ["05", "12", "19"]


def test_a_track_has_one_anchor(history: History, run_file: RunFiles) -> None:
    history("add", run_file(), run_file())
    first, second = history.runs()
    for run in (first, second):
        assert history("anchor", run["run"]) == 0
    assert [run["anchor"] for run in history.runs()] == [False, True]


def test_a_disturbed_run_is_no_anchor(
    filed: History, run_file: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    filed("add", run_file({POINTS[1]: [0.5, 0.5, 0.5]}))
    (run,) = filed.runs()
    assert "the control against itself" in run["doubts"][0]
    assert filed("anchor", run["run"]) == 2
    assert "disturbed" in capsys.readouterr().err


# ---- bad usage ---------------------------------------------------------------------------------


def test_a_run_is_named_by_digits_that_are_its_own(
    filed: History, run_file: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    filed("add", run_file())
    for wrong in ("abc", "zzzz", "0" * 64, "..", "%"):
        assert filed("show", wrong) == 2
        assert "gemmwatch history list" in capsys.readouterr().err


def test_several_tracks_are_named_where_one_is_needed(
    filed: History, run_file: RunFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    assert filed("export", "--format", "trends") == 4
    filed("add", run_file(), run_file(fingerprint={"cpu": "Other CPU"}))
    capsys.readouterr()
    assert filed("export", "--format", "trends") == 2
    assert '--machine "Other CPU" --selection smoke' in capsys.readouterr().err
    assert len(filed.trends("--machine", "Other CPU")["nights"]) == 1


@pytest.mark.parametrize(
    "location", ["mysql://host/db", "nonsense://", "sqlite://", "postgresql://u:secret@/d?host=/no"]
)
def test_a_database_that_cannot_be_used_is_named(
    location: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert History(location, capsys)("list") == 2
    message = capsys.readouterr().err
    assert "--db" in message and location.partition("://")[0] in message
    assert "secret" not in message


def test_a_file_that_is_no_database_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but a text of some length " * 9)
    before = path.read_bytes()
    assert History(str(path), capsys)("list") == 2
    assert "notes.txt" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_parquet_needs_a_file(filed: History, capsys: pytest.CaptureFixture[str]) -> None:
    assert filed("export", "--format", "parquet") == 2
    assert "--to" in capsys.readouterr().err


def test_the_variable_says_which_database(
    tmp_path: Path, run_file: RunFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "deep/er/by-variable.sqlite"))
    open_database()
    assert (tmp_path / "deep/er/by-variable.sqlite").exists()


def test_without_its_packages_it_says_how_to_get_them(tmp_path: Path) -> None:
    (tmp_path / "sqlalchemy.py").write_text("raise ModuleNotFoundError(name='sqlalchemy')")
    program = "import sys; from ci.history.command import add_parser; "
    program += "from ci.command_line import run_command; "
    program += "sys.exit(run_command(sys.argv[1:], [add_parser]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "history", "list"], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "sqlalchemy" in done.stderr and "scripts/setup --with history" in done.stderr


def test_a_newer_schema_is_not_touched(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_database(history.db).transaction() as connection:
        connection.execute(text("update alembic_version set version_num = 'from-the-future'"))
    assert history("list") == 2
    assert "newer gemmwatch" in capsys.readouterr().err


def _verdict(folder: Path, run: Path) -> Path:
    meta = json.loads(run.read_text())["context"]["gemmwatch"]
    head = {key: meta[key] for key in ("trials", "finished")}
    head["fingerprint"] = meta["catalog"]["fingerprint"]
    point = {"id": POINTS[0], "verdict": "regressed", "reason": "slower", "change": 0.05}
    document = {"schema": 1, "answer": "regression", "head": head, "points": [point]}
    path = folder / "verdict.json"
    path.write_text(json.dumps(document))
    return path


def _resources(folder: Path, copies: int = 1) -> Path:
    function = {"function": "tiled", "arch": "sm_90a", "kernel": "tiled", "registers": 40}
    path = folder / f"resources{copies}.json"
    path.write_text(json.dumps({"schema": 1, "functions": [function] * copies}))
    return path
