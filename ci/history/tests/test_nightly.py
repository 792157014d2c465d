"""A night from measuring to the site, killed at each step and gone on with."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from ci.bench_program import ROOT
from ci.history.tests.conftest import POINTS, History, RunFiles
from ci.history.tests.nightly_driver import REPORT, Twins, run_nightly
from ci.resources.record import load_resources
from ci.resources.tests.conftest import host_build
from ci.tests.conftest import FakeBench
from ci.twins import IDENTICAL, SLOWED
from ci.verdicts import PointVerdict, Verdict

TILED, CONTROL = POINTS
FIRST = 4  # the exit code of a first night, which has nothing to be compared with


@dataclass
class Nightly:
    """`gemmwatch nightly` in a process of its own, on the fake bench program."""

    folder: Path
    bench: FakeBench
    history: History
    program: Path
    twins: Twins = None
    output: str = ""

    def __call__(self, *words: str, kill: str = "") -> int:
        log = self.folder.with_name("log")
        own = ["--selection", "smoke", "--trials", "3", "--bench", str(self.bench.path)]
        places = ["--out", str(self.folder), "--db", self.history.db]
        code = run_nightly([*own, *places, *words], kill, self.twins, self.program, log)
        self.output = log.read_text()
        return code

    def file(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def nightly(tmp_path: Path, filed: History, monkeypatch: pytest.MonkeyPatch) -> Nightly:
    bench = FakeBench(tmp_path / "scenario.json")
    bench.write()
    monkeypatch.setenv("FAKE_BENCH", str(bench.file))
    program = tmp_path / "program.py"
    program.write_text(REPORT)
    return Nightly(tmp_path / "out", bench, filed, program)


_first_night: list[Path] = []  # where a test has spent it; the others copy it, to be quick


@pytest.fixture
def second(nightly: Nightly, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Nightly:
    """With one night behind it."""
    database = Path(nightly.history.db)
    if not _first_night:
        assert nightly() == FIRST, nightly.output
        kept = tmp_path_factory.mktemp("first-night")
        shutil.copytree(nightly.folder, kept / "out")
        shutil.copy2(database, kept / database.name)
        _first_night.append(kept)
    else:
        shutil.copytree(_first_night[0] / "out", nightly.folder)
        shutil.copy2(_first_night[0] / database.name, database)
    return nightly


def slow_down(nightly: Nightly) -> None:
    nightly.bench.behaviour[TILED] = {"do": "lose", "loss": 0.3}
    nightly.bench.write()


def test_the_device_code_of_the_build_is_remembered(nightly: Nightly, tmp_path: Path) -> None:
    """A build of one host kernel, which has no device code: that too is known then."""
    build = host_build(tmp_path / "build", {"tiled": "int f() { return 1; }"})
    program = build / "bench" / "gemmwatch-bench"
    program.parent.mkdir(exist_ok=True)
    shutil.copy2(nightly.bench.path, program)
    assert nightly("--bench", str(program)) == FIRST, nightly.output
    assert load_resources(nightly.file("resources.json")).code_of("tiled") is not None
    next(build.rglob("tiled.cpp.o")).unlink()
    assert nightly("--bench", str(program)) == 0, nightly.output
    assert "tiled.cpp.o is not built yet" in nightly.output


def test_a_night_is_measured_remembered_judged_and_drawn(nightly: Nightly) -> None:
    assert nightly() == FIRST, nightly.output
    assert "first night" in nightly.output
    assert nightly() == 0, nightly.output
    first, second = nightly.history.runs()
    assert (first["answer"], second["answer"]) == ("", "pass")
    assert len(nightly.history.rows()) == 2 * 3 * 6
    verdict = json.loads(nightly.file("previous/verdict.json").read_text())
    assert first["run"][:12] in verdict["base"]["label"]
    trends = json.loads(nightly.file("trends.json").read_text())
    assert [night["run"] for night in trends["nights"]] == [first["run"][:12], second["run"][:12]]
    report = nightly.file("site/index.html").read_text()
    for part in ("trends.json", "run/run.json", "previous/verdict.json"):
        assert str(nightly.file(part)) in report
    done = json.loads(nightly.file("night.json").read_text())
    assert done == {"run": second["run"][:12], "exit_code": 0}


STEPS = [
    "trial before", "measured after", "remember after", "remembered after", "gate before",
    "gate after", "attach_verdict after", "judged after", "drawn before", "drawn after",
    "finish after",
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_a_night_that_was_killed_goes_on_and_is_one_night(second: Nightly, step: str) -> None:
    assert second(kill=step) == -signal.SIGKILL
    trials = sorted(second.file("run/trials").glob("*/rows*"))
    kept = {path: path.stat().st_mtime_ns for path in trials}
    assert len(kept) >= 2
    killed_at_the_end = step == "finish after"
    assert second() == 0, second.output
    assert len(second.history.runs()) == (3 if killed_at_the_end else 2)
    assert len(second.history.rows()) == len(second.history.runs()) * 3 * 6
    assert all(run["answer"] == "pass" for run in second.history.runs()[1:])
    assert second.file("night.json").exists()
    assert second.file("site/index.html").exists()
    if not killed_at_the_end:
        assert {path: path.stat().st_mtime_ns for path in kept} == kept, "measured twice"


def test_a_kill_while_room_is_made_loses_nothing(second: Nightly) -> None:
    assert second(kill="measured before") == -signal.SIGKILL
    assert second() == 0, second.output
    assert len(second.history.runs()) == 2


def test_a_slower_kernel_is_exit_1_and_so_is_one_slower_than_the_anchor(second: Nightly) -> None:
    (anchor,) = second.history.runs()
    second.history("anchor", anchor["run"])
    slow_down(second)
    assert second() == 1, second.output
    assert second() == 1, "the previous night is as slow, the anchor is not"
    previous, anchored = (
        json.loads(second.file(f"{base}/verdict.json").read_text())
        for base in ("previous", "anchor")
    )
    assert (previous["answer"], anchored["answer"]) == ("pass", "regression")
    assert second.history.runs()[-1]["answer"] == "regression", "the graver one is remembered"
    report = second.file("site/index.html").read_text()
    assert str(second.file("anchor/verdict.json")) in report


def test_a_wrong_result_outweighs_a_slower_kernel(second: Nightly) -> None:
    slow_down(second)
    second.bench.misbehave("tiled/fp32/nn/128x128x128", "incorrect")
    assert second() == 3, second.output


def test_a_wrong_result_of_the_first_night_is_exit_3(nightly: Nightly) -> None:
    nightly.bench.misbehave(TILED, "incorrect")
    assert nightly() == 3, nightly.output


def test_a_new_epoch_has_nothing_to_compare_with_for_one_night(second: Nightly) -> None:
    second.history("anchor", second.history.runs()[0]["run"])
    assert second() == 0
    assert second.file("previous").exists()
    second.bench.catalog["fingerprint"]["build"] = "Debug"
    second.bench.write()
    assert second() == 4, second.output
    assert "build was Release and is Debug" in second.output
    assert second.history.runs()[-1]["answer"] == ""
    assert not second.file("previous").exists()
    assert second() == 0, second.output
    assert "a new epoch: the anchor" in second.output


def test_a_night_after_none_but_disturbed_ones_has_no_answer(
    nightly: Nightly, run_file: RunFiles
) -> None:
    assert nightly.history("add", run_file({CONTROL: [0.5, 0.5, 0.5]})) == 0
    assert nightly() == 4, nightly.output
    assert "no undisturbed earlier night" in nightly.output
    assert nightly() == 0, nightly.output


def test_a_canary_that_is_not_seen_is_no_answer(second: Nightly) -> None:
    second.twins = [
        PointVerdict(f"{IDENTICAL}/{TILED}", Verdict.same, "alike", fails=False),
        PointVerdict(f"{SLOWED}/{TILED}", Verdict.same, "as fast", fails=False),
    ]
    assert second() == 4, second.output
    assert f"was not flagged: {SLOWED}/{TILED}: as fast" in second.output
    assert second.history.runs()[-1]["answer"] == "untrusted"


def test_a_site_that_fails_is_no_answer_and_is_made_the_next_time(
    second: Nightly, monkeypatch: pytest.MonkeyPatch
) -> None:
    second.file("site/index.html").unlink()
    monkeypatch.setenv("NIGHTLY_SITE", "fails")
    assert second("--fresh") == 4
    assert "the site could not be made" in second.output
    assert "the same command without --fresh goes on with it" in second.output
    assert len(second.history.runs()) == 2
    monkeypatch.delenv("NIGHTLY_SITE")
    assert second() == 0, second.output
    assert len(second.history.runs()) == 2
    assert second.file("site/index.html").exists()


def test_a_site_that_fails_hides_no_regression(
    second: Nightly, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_down(second)
    monkeypatch.setenv("NIGHTLY_SITE", "fails")
    assert second() == 1, second.output
    assert not second.file("night.json").exists()
    second.file("trends.json").unlink()
    second.file("trends.json").mkdir()  # as little to be written as on a full disk
    assert second() == 1, second.output
    assert "trends.json: Is a directory" in second.output


def test_a_later_night_of_another_runner_does_not_stop_this_one(
    second: Nightly, run_file: RunFiles
) -> None:
    """They share a track: the site shows its newest night, of which this one's run is no part."""
    assert second(kill="drawn before") == -signal.SIGKILL
    assert second.history("add", run_file(night=10_000)) == 0
    assert second() == 0, second.output
    trends = json.loads(second.file("trends.json").read_text())
    assert len(trends["nights"]) == 3
    assert "--run" not in second.file("site/index.html").read_text()
    assert second.file("night.json").exists()


def test_a_night_does_not_go_on_with_another_build(second: Nightly) -> None:
    """What the new build is made of would be remembered as that of the measured one."""
    assert second(kill="remembered before") == -signal.SIGKILL
    other = second.folder.with_name("other_bench")
    other.write_text(second.bench.path.read_text() + "# built again\n")
    other.chmod(0o755)
    assert second("--bench", str(other)) == 2
    assert "begun with another build" in second.output
    assert "--fresh" in second.output
    assert second() == 0, second.output
    assert second("--bench", str(other)) == 0, "a night that is done is none to go on with"


def test_an_unfinished_night_of_another_build_is_given_up_by_hand(nightly: Nightly) -> None:
    assert nightly(kill="trial before") == -signal.SIGKILL
    nightly.bench.catalog["fingerprint"]["build"] = "Debug"
    nightly.bench.write()
    assert nightly() == 2
    assert "--fresh" in nightly.output
    assert nightly("--fresh") == FIRST, nightly.output
    assert len(nightly.history.runs()) == 1


def test_a_database_that_cannot_be_used_is_told_before_anything_is_measured(
    nightly: Nightly,
) -> None:
    assert nightly("--db", "postgresql://nobody@/d?host=/nowhere") == 2
    assert not nightly.folder.exists()


def test_two_nightlies_do_not_share_a_folder(nightly: Nightly) -> None:
    nightly.folder.mkdir()
    with nightly.file(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert nightly() == 2
    assert "another run is writing here" in nightly.output


def test_the_real_site_is_made(second: Nightly, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = ROOT / "ci" / "resources" / "approved" / "sm_80.json"
    assert second.history("add", second.file("run/run.json"), "--resources", resources) == 0
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    second.program = ROOT / "scripts" / "cli.py"
    shutil.rmtree(second.file("site"))  # that of the stand-in
    assert second() == 0, second.output
    assert "tiled" in second.file("site/kernels/tiled.html").read_text()
    assert "gemm_coalesced" in second.file("site/resources.html").read_text()
