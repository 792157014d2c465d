"""The orchestrator, driving a bench program that obeys the contract and misbehaves on request."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ci.bench_program
import ci.trial
from ci.bench_program import BenchProgram
from ci.catalog import Catalog
from ci.errors import Exit
from ci.tests.conftest import FakeBench

Command = Callable[..., int]
A, B, C = (f"tiled/fp32/nn/{n}x{n}x{n}" for n in (64, 128, 256))
CONTROLS = [point.replace("tiled", "control") for point in (A, B, C)]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(bench: FakeBench, gemmwatch: Command, tmp_path: Path) -> Command:
    def command(*more: str, trials: int = 2) -> int:
        fixed = ("--bench", bench.path, "--out", tmp_path / "out", "--trials", str(trials))
        return gemmwatch("run", *fixed, *more)

    return command


def document(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "out" / "run.json").read_text())
    return loaded


def outcomes(folder: Path) -> dict[str, str]:
    found: dict[str, str] = document(folder)["context"]["gemmwatch"]["outcomes"]
    return found


def reasons(folder: Path) -> dict[str, str]:
    found: dict[str, str] = document(folder)["context"]["gemmwatch"]["reasons"]
    return found


def begun(folder: Path, trial: int) -> list[str]:
    """The points that the processes of a trial began, in order."""
    journals = sorted((folder / "out" / "trials" / f"{trial:03}").glob("journal-*.txt"))
    return [line.split()[1] for path in journals for line in path.read_text().splitlines()]


# -------------------------------------------------------------------------------------------------
# A run in which all is well
# -------------------------------------------------------------------------------------------------


def test_every_trial_is_a_process_and_every_point_has_a_row_of_each(
    run: Command, tmp_path: Path
) -> None:
    assert run(trials=3) == Exit.ok
    rows = document(tmp_path)["benchmarks"]
    assert [(row["name"], row["repetition_index"]) for row in rows] == [
        (point, trial) for trial in range(3) for point in (A, B, C, *CONTROLS)
    ]
    meta = document(tmp_path)["context"]["gemmwatch"]
    assert meta["seeds"] == [1, 2, 3]
    assert meta["trials"] == 3
    assert begun(tmp_path, 0) != begun(tmp_path, 1)  # each in the order of its own seed


def test_run_json_is_google_benchmarks_format(run: Command, tmp_path: Path) -> None:
    """What its compare.py groups by: name, run_name, family, repetition."""
    run()
    rows = document(tmp_path)["benchmarks"]
    assert {row["run_type"] for row in rows} == {"iteration"}
    assert all(row["repetitions"] == 2 and row["run_name"] == row["name"] for row in rows)
    families = {(row["family_index"], row["name"]) for row in rows}
    assert len(families) == 6
    assert document(tmp_path)["context"]["date"] == "2026-01-02T03:04:05+00:00"


def test_refused_points_have_a_reason_and_no_row(
    run: Command, bench: FakeBench, tmp_path: Path
) -> None:
    bench.catalog["points"] = [p for p in bench.catalog["points"] if p["id"] != A]
    bench.catalog["refused"] = [
        {"id": A, "kernel": "tiled", "problem": "fp32/nn/64x64x64", "reason": "too small"}
    ]
    bench.write()
    assert run() == Exit.ok
    assert outcomes(tmp_path)[A] == "refused"
    assert reasons(tmp_path)[A] == "too small"
    assert A not in {row["name"] for row in document(tmp_path)["benchmarks"]}


def test_a_filter_narrows_the_run(run: Command, tmp_path: Path) -> None:
    assert run("--filter", "^tiled/.*x64$") == Exit.ok
    assert list(outcomes(tmp_path)) == [A]
    assert document(tmp_path)["context"]["gemmwatch"]["filter"] == "^tiled/.*x64$"


def test_slow_reaches_the_bench_program(run: Command, tmp_path: Path) -> None:
    assert run("--slow", "tiled:50%") == Exit.ok
    assert document(tmp_path)["context"]["gemmwatch"]["catalog"]["injected"] == "slow:tiled:50%"
    slow = {r["name"]: r["log_ratio"] for r in document(tmp_path)["benchmarks"]}
    assert slow[A] == pytest.approx(0.223 + 0.405, abs=0.02)  # ln 1.25 + ln 1.5


def test_load_reaches_the_bench_program(run: Command, tmp_path: Path) -> None:
    assert run("--load", "sustained") == Exit.ok
    catalog = document(tmp_path)["context"]["gemmwatch"]["catalog"]
    assert catalog["fingerprint"]["harness"] == "1 sustained"


def test_the_load_of_a_trial_is_no_flag(run: Command, tmp_path: Path) -> None:
    """A program of before there were others is still driven."""
    assert run("--load", "trial") == Exit.ok
    assert "harness" not in document(tmp_path)["context"]["gemmwatch"]["catalog"]["fingerprint"]


@pytest.mark.parametrize(
    ("flags", "folder"),
    [((), "out/pr"), (("--load", "trial"), "out/pr"), (("--load", "burst"), "out/pr-burst")],
)
def test_each_load_has_its_own_folder(
    gemmwatch: Command, bench: FakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...], folder: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    fixed = ("--bench", bench.path, "--selection", "pr", "--trials", "1", "--filter", A)
    assert gemmwatch("run", *fixed, *flags) == Exit.ok
    assert (tmp_path / folder / "run.json").exists()


def test_lessons_are_a_selection(run: Command, tmp_path: Path) -> None:
    assert run("--selection", "lessons") == Exit.ok
    assert document(tmp_path)["context"]["gemmwatch"]["selection"] == "lessons"


def test_trials_default_to_the_policy(gemmwatch: Command, bench: FakeBench, tmp_path: Path) -> None:
    gemmwatch("run", "--bench", bench.path, "--out", tmp_path / "out", "--filter", A)
    assert document(tmp_path)["context"]["gemmwatch"]["trials"] == 5


# -------------------------------------------------------------------------------------------------
# Kernels that misbehave
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("do", "outcome", "reason"),
    [
        ("crash", "failed", "trial 1: killed by signal 11 (SIGSEGV)"),
        ("lose context", "failed", "trial 1: exit code 70: the device's context was lost"),
        ("fail", "failed", "trial 1: out of memory"),
        ("nan", "failed", "trial 1: the bench program reported kernel_us = nan"),
        ("vanish", "failed", "trial 1: the bench program ended normally (exit code 0) without"),
    ],
)
def test_a_broken_point_costs_only_itself(
    run: Command, bench: FakeBench, tmp_path: Path, do: str, outcome: str, reason: str
) -> None:
    bench.misbehave(B, do)
    assert run() == Exit.regression
    expected = dict.fromkeys([A, B, C, *CONTROLS], "passed") | {B: outcome}
    assert outcomes(tmp_path) == expected
    assert reasons(tmp_path)[B].startswith(reason)
    assert B not in {row["name"] for row in document(tmp_path)["benchmarks"]}
    assert B not in begun(tmp_path, 1)  # not tried again


@pytest.mark.usefixtures("short_deadline")
def test_a_point_that_hangs_times_out(run: Command, bench: FakeBench, tmp_path: Path) -> None:
    bench.misbehave(B, "hang")
    assert run() == Exit.regression
    assert outcomes(tmp_path)[B] == "timed_out"
    assert reasons(tmp_path)[B] == "trial 1: no result within 1 s"
    assert list(outcomes(tmp_path).values()).count("passed") == 5


@pytest.mark.usefixtures("short_deadline")
def test_a_longer_load_is_given_longer(
    run: Command, bench: FakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ci.bench_program, "LOAD_ALLOWANCE_S", 0.5)
    bench.misbehave(B, "hang")
    assert run("--load", "burst", trials=1) == Exit.regression
    assert reasons(tmp_path)[B] == "trial 1: no result within 1.5 s"


def test_an_incorrect_result_is_exit_3_and_has_no_time(
    run: Command, bench: FakeBench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.misbehave(B, "incorrect")
    bench.misbehave(C, "crash")
    assert run() == Exit.incorrect
    assert outcomes(tmp_path)[B] == "incorrect"
    assert B not in {row["name"] for row in document(tmp_path)["benchmarks"]}
    assert f"incorrect: {B}: trial 1: 3 of 64 elements differ" in capsys.readouterr().out


def test_a_failure_in_a_later_trial_takes_the_point_out_of_all(
    run: Command, bench: FakeBench, tmp_path: Path
) -> None:
    bench.misbehave(B, "crash", seed=2)
    assert run(trials=3) == Exit.regression
    assert reasons(tmp_path)[B].startswith("trial 2: killed")
    assert B not in {row["name"] for row in document(tmp_path)["benchmarks"]}
    assert (B in begun(tmp_path, 0), B in begun(tmp_path, 2)) == (True, False)


def test_a_kernel_that_keeps_crashing_is_given_up(
    run: Command, bench: FakeBench, tmp_path: Path
) -> None:
    for point in (A, B, C):
        bench.misbehave(point, "crash")
    assert run() == Exit.regression
    assert [outcomes(tmp_path)[point] for point in (A, B, C)] == ["failed"] * 3
    tried = [point for point in begun(tmp_path, 0) if point.startswith("tiled")]
    assert len(tried) == 2
    assert sum("not tried" in reasons(tmp_path)[point] for point in (A, B, C)) == 1
    assert [outcomes(tmp_path)[point] for point in CONTROLS] == ["passed"] * 3


def test_two_row_failures_are_no_crashes(run: Command, bench: FakeBench, tmp_path: Path) -> None:
    bench.misbehave(A, "fail")
    bench.misbehave(B, "fail")
    run()
    assert outcomes(tmp_path)[C] == "passed"


def test_a_crash_after_a_result_keeps_the_result(
    run: Command, bench: FakeBench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.misbehave(B, "crash after")
    assert run() == Exit.ok
    assert set(outcomes(tmp_path).values()) == {"passed"}
    assert "SIGABRT" in capsys.readouterr().err


def test_a_program_that_dies_before_its_first_point_is_no_kernels_fault(
    run: Command, bench: FakeBench, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    listed = BenchProgram.catalog

    def then_break(program: BenchProgram) -> Catalog:
        catalog = listed(program)
        bench.exit_at_start = 9
        bench.write()
        return catalog

    monkeypatch.setattr(BenchProgram, "catalog", then_break)
    assert run() == Exit.no_answer
    error = capsys.readouterr().err
    assert "exit code 9" in error
    assert "no device for you" in error
    assert "what was measured is kept, and the same command goes on with it" in error


# -------------------------------------------------------------------------------------------------
# Interruption, resumption, and what is in the way
# -------------------------------------------------------------------------------------------------


def test_an_interrupted_run_goes_on_where_it_was(
    run: Command, bench: FakeBench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.misbehave(B, "interrupt", seed=2)
    assert run() == Exit.interrupted
    assert "scripts/gemmwatch run --selection smoke --trials 2" in capsys.readouterr().out
    assert not (tmp_path / "out" / "run.json").exists()
    first, second = begun(tmp_path, 0), begun(tmp_path, 1)
    assert second[-1] == B

    bench.behave()
    assert run() == Exit.ok
    assert set(outcomes(tmp_path).values()) == {"passed"}
    assert begun(tmp_path, 0) == first  # a complete trial is not repeated
    again = begun(tmp_path, 1)[len(second) :]
    assert sorted([*second[:-1], *again]) == sorted([A, B, C, *CONTROLS])  # nor a complete point


def test_the_command_that_goes_on_names_the_load(
    run: Command, bench: FakeBench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.misbehave(B, "interrupt")
    assert run("--load", "sustained") == Exit.interrupted
    assert " --load sustained" in capsys.readouterr().out
    bench.behave()
    assert run("--load", "sustained") == Exit.ok


def test_a_killed_orchestrator_leaves_a_run_that_goes_on(
    run: Command, bench: FakeBench, tmp_path: Path
) -> None:
    bench.misbehave(B, "hang")
    script = (
        "import sys, ci.run; from ci.command_line import run_command;"
        "sys.exit(run_command(sys.argv[1:], [ci.run.add_parser]))"
    )
    flags = ("--bench", bench.path, "--out", tmp_path / "out", "--trials", "2")
    process = subprocess.Popen(
        [sys.executable, "-c", script, "run", *flags], cwd=ROOT, start_new_session=True
    )
    while B not in begun(tmp_path, 0):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert run() == Exit.bad_input  # the bench process still holds the folder
    os.killpg(process.pid, signal.SIGKILL)
    bench.behave()
    while (code := run()) == Exit.bad_input:  # until the kernel has let the lock go
        time.sleep(0.05)
    assert code == Exit.ok
    assert outcomes(tmp_path)[B] == "passed"


def test_a_finished_run_is_not_overwritten(
    run: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    first = document(tmp_path)
    assert run() == Exit.bad_input
    assert "--fresh" in capsys.readouterr().err
    assert document(tmp_path) == first
    assert run("--fresh", trials=3) == Exit.ok
    assert document(tmp_path)["context"]["gemmwatch"]["trials"] == 3
    previous = json.loads((tmp_path / "out" / "run.previous.json").read_text())
    assert previous == first


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"more": ("--filter", "tiled")}, "filter, points"),
        ({"trials": 3}, "trials"),
        ({"more": ("--slow", "tiled:5")}, "injected"),
        ({"more": ("--selection", "pr")}, "selection"),
        ({"more": ("--load", "burst")}, "load, fingerprint"),
        ({"driver": "9"}, "fingerprint"),
    ],
)
def test_another_run_in_the_folder_is_in_the_way(
    run: Command, bench: FakeBench, capsys: pytest.CaptureFixture[str],
    change: dict[str, Any], named: str,
) -> None:  # fmt: skip
    bench.misbehave(B, "interrupt")
    run()
    if "driver" in change:
        bench.catalog["fingerprint"]["driver"] = change["driver"]
    bench.behave()
    more = change.get("more", ())
    assert run(*more, trials=change.get("trials", 2)) == Exit.bad_input
    assert f"begun with another {named};" in capsys.readouterr().err


def test_another_build_is_in_the_way(
    run: Command, gemmwatch: Command, bench: FakeBench, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    bench.misbehave(B, "interrupt")
    run()
    other = tmp_path / "other-bench"
    other.write_text(bench.path.read_text() + "# rebuilt\n")
    other.chmod(0o755)
    flags = ("--out", tmp_path / "out", "--trials", "2")
    assert gemmwatch("run", "--bench", other, *flags) == Exit.bad_input
    assert "another build" in capsys.readouterr().err
    bench.behave()
    assert gemmwatch("run", "--bench", other, *flags, "--fresh") == Exit.ok


def test_a_machine_that_changes_under_the_run_ends_it(
    run: Command, bench: FakeBench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    rows = tmp_path / "out" / "trials" / "001" / "rows-000.json"
    rows.write_text(rows.read_text().replace("Test CPU 9000", "Test CPU 9001"))
    (tmp_path / "out" / "run.json").unlink()
    assert run() == Exit.bad_input
    assert "Test CPU 9001" in capsys.readouterr().err


def test_a_row_cut_short_is_measured_again(run: Command, bench: FakeBench, tmp_path: Path) -> None:
    """As a full disk or a power cut leaves it."""
    run(trials=1)
    folder = tmp_path / "out"
    rows = folder / "trials" / "000" / "rows-000.json"
    rows.write_text(rows.read_text()[:-30])
    (folder / "trials" / "000" / "trial.json").unlink()
    (folder / "run.json").unlink()
    last = begun(tmp_path, 0)[-1]
    assert run(trials=1) == Exit.ok
    assert begun(tmp_path, 0)[6:] == [last]


def test_a_full_disk_is_no_kernels_fault(
    run: Command, bench: FakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    bench.misbehave(B, "vanish")
    with monkeypatch.context() as full:
        full.setattr(ci.trial, "DISK_RESERVE_BYTES", 1 << 62)
        assert run() == Exit.no_answer
    error = capsys.readouterr().err
    assert "the disk is full" in error
    assert "goes on with it" in error
    bench.behave()
    assert run() == Exit.ok
    assert set(outcomes(tmp_path).values()) == {"passed"}


def test_files_that_are_not_of_a_run_are_left_alone(run: Command, tmp_path: Path) -> None:
    (tmp_path / "out" / "trials").mkdir(parents=True)
    (tmp_path / "out" / "trials" / "mine.txt").write_text("mine")
    assert run("--fresh") == Exit.bad_input
    assert (tmp_path / "out" / "trials" / "mine.txt").read_text() == "mine"


# -------------------------------------------------------------------------------------------------
# Bad usage
# -------------------------------------------------------------------------------------------------


def test_a_filter_without_a_match_says_what_an_id_looks_like(
    run: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--filter", "tyled") == Exit.bad_input
    error = capsys.readouterr().err
    assert "--filter tyled: matches none of the 6 points" in error
    assert A in error
    assert not (tmp_path / "out").exists()


def test_a_filter_that_is_no_expression(run: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--filter", "(") == Exit.bad_input
    assert "--filter (: no regular expression" in capsys.readouterr().err


def test_an_empty_selection_gives_no_answer(
    run: Command, bench: FakeBench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.catalog["refused"] = [point | {"reason": "too big"} for point in bench.catalog["points"]]
    bench.catalog["points"] = []
    bench.write()
    assert run() == Exit.no_answer
    error = capsys.readouterr().err
    assert 'selection "smoke" has no point on this device (host; no GPU)' in error
    assert "too big" in error


@pytest.mark.parametrize(
    "flags",
    [
        ("--trials", "0"), ("--trials", "x"), ("--selection", "all"), ("--device", "tpu"),
        ("--slow", "tiled"), ("--load", "heavy"), ("--unknown",),
    ],
)  # fmt: skip
def test_bad_flags_are_exit_2(gemmwatch: Command, flags: tuple[str, ...]) -> None:
    assert gemmwatch("run", *flags) == Exit.bad_input


def test_an_output_folder_that_cannot_be(
    gemmwatch: Command, bench: FakeBench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert gemmwatch("run", "--bench", bench.path, "--out", tmp_path / "file") == Exit.bad_input
    assert f"--out {tmp_path}/file: cannot be written" in capsys.readouterr().err


def test_no_bench_program(
    gemmwatch: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("run", "--bench", tmp_path / "none") == Exit.bad_input
    assert "cmake --preset" in capsys.readouterr().err
    (tmp_path / "text").write_text("no program")
    assert gemmwatch("run", "--bench", tmp_path / "text") == Exit.bad_input
    assert "cannot be run" in capsys.readouterr().err


@pytest.mark.parametrize(("code", "expected"), [(2, Exit.bad_input), (1, Exit.no_answer)])
def test_a_program_that_gives_no_catalog(
    run: Command, bench: FakeBench, capsys: pytest.CaptureFixture[str], code: int, expected: Exit
) -> None:
    bench.exit_at_start = code
    bench.write()
    assert run() == expected
    assert "no device for you" in capsys.readouterr().err


def test_a_catalog_that_breaks_the_contract(
    run: Command, bench: FakeBench, capsys: pytest.CaptureFixture[str]
) -> None:
    del bench.catalog["kernels"][0]["order"]
    bench.write()
    assert run() == Exit.bad_input
    assert "kernels[0].order is missing" in capsys.readouterr().err
