"""The measuring gate, on the fake bench program: two builds that differ in what they are told."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ci.policy
from ci.errors import Exit
from ci.pairs import orders
from ci.power import POWER
from ci.tests.conftest import FakeBench

Command = Callable[..., int]
SMALL, MIDDLE, LARGE = (f"tiled/fp32/nn/{n}x{n}x{n}" for n in (64, 128, 256))


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few processes as Holm allows with a handful of suspects."""
    short = replace(ci.policy.HOST, pairs=8, screen_trials=3, baseline_trials=3, start_s=0.01)
    monkeypatch.setattr(ci.policy, "HOST", short)


@pytest.fixture
def build(bench: FakeBench, tmp_path: Path) -> Callable[[str], Path]:
    """A build folder called base or head, which the scenario can tell apart by that name."""

    def copy(name: str) -> Path:
        program = tmp_path / name / "bench" / "gemmwatch-bench"
        program.parent.mkdir(parents=True)
        shutil.copy2(bench.path, program)
        with program.open("a") as text:
            text.write(f"# built as {name}\n")
        return tmp_path / name

    return copy


@pytest.fixture
def gate(
    gemmwatch: Command, build: Callable[[str], Path], roots: tuple[Path, Path], tmp_path: Path
) -> Command:
    base, head = build("base"), build("head") / "bench" / "gemmwatch-bench"

    def command(*flags: str | Path) -> int:
        given = ("--base-build", base, "--bench", head, "--out", tmp_path / "out")
        return gemmwatch("gate", *given, *flags)

    return command


@pytest.fixture
def baseline(gemmwatch: Command, bench: FakeBench, gate: Command, tmp_path: Path) -> Path:
    """Of the base build as it is now."""
    out, file = tmp_path / "stored", tmp_path / "baseline.json"
    program = tmp_path / "base" / "bench" / "gemmwatch-bench"
    assert gemmwatch("run", "--bench", program, "--out", out, "--trials", 3) == Exit.ok
    assert gemmwatch("baseline", "store", out / "run.json", "--to", file) == Exit.ok
    return file


@pytest.fixture
def verdict(tmp_path: Path) -> Callable[[], dict[str, Any]]:
    def read() -> dict[str, Any]:
        document: dict[str, Any] = json.loads((tmp_path / "out" / "verdict.json").read_text())
        return document

    return read


def lose(bench: FakeBench, point: str, loss: float, build: str = "head") -> None:
    bench.behaviour[point] = {"do": "lose", "loss": loss, "build": build}
    bench.write()


def measured(document: dict[str, Any]) -> dict[str, str]:
    return {item["id"]: item["verdict"] for item in document["confirmation"]["measured"]}


def of_point(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(point for point in document["points"] if point["id"] == name)


def test_nothing_changed_is_green_and_the_canary_says_that_it_could_have_been_red(
    gate: Command, baseline: Path, verdict: Callable[[], dict[str, Any]], tmp_path: Path
) -> None:
    assert gate("--baseline", baseline) == Exit.ok
    told = {item["id"].split("/")[0]: item for item in verdict()["canary"]}
    assert told["canary-slowed"]["verdict"] == "regressed"
    assert told["canary-slowed"]["change"] == pytest.approx(0.25, abs=0.01)
    assert told["canary-identical"]["verdict"] == "same"
    assert measured(verdict()) == {}
    assert not (tmp_path / "out/pairs/head").exists()  # nothing was suspected: only twins


def test_a_loss_is_confirmed_on_fresh_pairs_and_nothing_else_is_measured(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]]
) -> None:
    lose(bench, MIDDLE, 0.2)
    assert gate("--baseline", baseline) == Exit.regression
    found = measured(verdict())
    assert found[MIDDLE] == "regressed"
    assert {name for name, v in found.items() if v == "regressed"} <= {MIDDLE, "tiled/fp32"}
    assert of_point(verdict(), MIDDLE)["change"] == pytest.approx(0.2, abs=0.01)
    assert "; the code: +" in of_point(verdict(), MIDDLE)["reason"]
    assert of_point(verdict(), SMALL)["verdict"] == "same"
    assert verdict()["confirmation"]["pairs"] == 8


def test_a_loss_of_clock_alone_is_called_a_power_regression(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]]
) -> None:
    lose(bench, MIDDLE, 0.2)
    bench.behaviour[MIDDLE]["mhz"] = 1500 / 1.2
    bench.write()
    assert gate("--baseline", baseline) == Exit.regression
    assert any(f"{MIDDLE}: " in note and POWER in note for note in verdict()["notes"])


def test_what_the_order_of_a_trial_does_to_a_point_is_no_reason_to_suspect_it(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]],
    gemmwatch: Command, tmp_path: Path,
) -> None:  # fmt: skip
    """Trial i of the screen visits its points as trial i of the baseline did."""
    bench.behaviour[SMALL] = {"do": "depend on the order"}  # by up to 20%
    bench.write()
    program = tmp_path / "base" / "bench" / "gemmwatch-bench"
    run, moved = tmp_path / "moved", tmp_path / "moved.json"
    assert gemmwatch("run", "--bench", program, "--out", run, "--trials", 3) == Exit.ok
    assert gemmwatch("baseline", "store", run / "run.json", "--to", moved) == Exit.ok
    assert gate("--baseline", moved) == Exit.ok
    assert measured(verdict()) == {}


def test_a_stale_baseline_turns_nothing_red(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]]
) -> None:
    """Base and head are both slower than what is stored: the change is not head's."""
    bench.behaviour[SMALL] = {"do": "lose", "loss": 0.2}
    bench.write()
    assert gate("--baseline", baseline) == Exit.ok
    assert of_point(verdict(), SMALL)["verdict"] == "same"
    assert measured(verdict())[SMALL] == "same"


@pytest.mark.parametrize(("loss", "code"), [(0.0, Exit.ok), (0.2, Exit.regression)])
def test_without_a_baseline_the_screen_is_made_of_pairs(
    gate: Command, bench: FakeBench, verdict: Callable[[], dict[str, Any]], loss: float, code: Exit
) -> None:
    lose(bench, LARGE, loss)
    assert gate() == code
    assert any("screened by pairs" in note for note in verdict()["notes"])
    assert verdict()["policy"]["day_std"] == 0


def test_a_baseline_of_another_machine_is_not_used(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]]
) -> None:
    bench.catalog["fingerprint"]["cpu"] = "Other CPU"
    bench.write()
    assert gate("--baseline", baseline) == Exit.ok
    assert any("of another machine" in note for note in verdict()["notes"])


def test_what_the_budget_left_out_is_said_and_is_no_pass(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]]
) -> None:
    lose(bench, MIDDLE, 0.4)
    assert gate("--baseline", baseline, "--budget", "0.001") == Exit.no_answer
    document = verdict()
    assert MIDDLE in document["confirmation"]["unmeasured"]
    point = of_point(document, MIDDLE)
    assert point["verdict"] == "inconclusive"
    assert "the budget left no time" in point["reason"]


def test_a_gate_that_cannot_see_its_canary_cannot_be_trusted(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]]
) -> None:
    for point in (SMALL, MIDDLE, LARGE):
        bench.misbehave(point, "ignore --slow")
    assert gate("--baseline", baseline) == Exit.no_answer
    assert any("slowed by 25% was not flagged" in doubt for doubt in verdict()["doubts"])


def test_a_gate_that_flags_an_identical_twin_cannot_be_trusted(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("ci.canary.IDENTICAL", "crooked")  # its folder, by which it is told apart
    for point in (SMALL, MIDDLE, LARGE):
        bench.behaviour[point] = {"do": "lose", "loss": 0.2, "out": "crooked"}
    bench.write()
    assert gate("--baseline", baseline) == Exit.no_answer
    assert any("an identical twin was flagged" in doubt for doubt in verdict()["doubts"])


def test_one_program_on_both_sides_is_an_a_a_sample(
    gemmwatch: Command, gate: Command, baseline: Path, bench: FakeBench,
    verdict: Callable[[], dict[str, Any]], tmp_path: Path,
) -> None:  # fmt: skip
    bench.behaviour[SMALL] = {"do": "lose", "loss": 0.2}  # stale: it becomes a suspect
    bench.write()
    base = tmp_path / "base"
    code = gemmwatch(
        "gate", "--base-build", base, "--bench", base / "bench/gemmwatch-bench",
        "--baseline", baseline, "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == Exit.ok
    assert verdict()["confirmation"]["same_code"] is True
    assert verdict()["confirmation"]["alarms"] == 0
    assert SMALL in measured(verdict())


@pytest.mark.parametrize(
    ("do", "code", "expected"),
    [("crash", Exit.regression, "failed"), ("incorrect", Exit.incorrect, "incorrect")],
)
def test_a_suspect_that_breaks_in_the_pairs_is_broken(
    gate: Command, baseline: Path, bench: FakeBench, verdict: Callable[[], dict[str, Any]],
    do: str, code: Exit, expected: str,
) -> None:  # fmt: skip
    """The screen has trials of seeds 1 to 3; what breaks in seed 5 breaks in a pair."""
    lose(bench, MIDDLE, 0.2)
    bench.behaviour[SMALL] = {"do": do, "seed": 5, "build": "head"}
    bench.write()
    assert gate("--baseline", baseline, "--filter", "^tiled") == code
    assert of_point(verdict(), SMALL)["verdict"] == expected


def test_a_cancelled_gate_leaves_nothing_running(
    gate: Command, baseline: Path, bench: FakeBench, tmp_path: Path
) -> None:
    bench.misbehave(SMALL, "terminate")
    assert gate("--baseline", baseline) == Exit.interrupted
    assert not (tmp_path / "out" / "verdict.json").exists()
    victim = int((tmp_path / "out" / "screen" / "trials" / "000" / "log-000.txt").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)


def test_builds_that_differ_in_the_machine_are_not_compared(
    gemmwatch: Command, build: Callable[[str], Path], bench: FakeBench, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    base, head = build("base"), build("head")
    bench.behaviour["fingerprint"] = {"build": "head", "harness": "2"}
    bench.write()
    program = head / "bench" / "gemmwatch-bench"
    flags = ("--base-build", base, "--bench", program, "--out", tmp_path / "out")
    assert gemmwatch("gate", *flags) == Exit.no_answer
    assert "they differ in harness" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--base-build", "nowhere"), "there is no bench/gemmwatch-bench in it"),
        (("--head", "run.json", "--baseline", "b.json", "--budget", "3"), "--budget"),
        (("--head", "run.json"), "--baseline: is missing"),
        (("--base-build", ".", "--budget", "0"), "not a number above 0"),
        (("--head", "run.json", "--base", "main"), "not allowed with"),
        ((), "one of the arguments --head --base --base-build is required"),
    ],
)
def test_bad_usage(
    gemmwatch: Command, bench: FakeBench, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], words: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("ci.gate.find_bench", lambda _: bench.path)
    assert gemmwatch("gate", *flags) == Exit.bad_input
    assert words in capsys.readouterr().err


def test_pairs_come_in_blocks_of_an_order_and_its_mirror_image() -> None:
    found = orders(2, 14, seed=1)
    assert len(found) == 14
    for first, second in zip(found[::2], found[1::2], strict=True):
        assert second == first[::-1]
    assert {tuple(order) for order in found[::2]} == {(0, 1), (1, 0)}
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders(5, 7, seed=1))


def test_a_gate_of_controls_alone_has_nothing_to_prove_itself_by(gate: Command) -> None:
    assert gate("--filter", "^control/") == Exit.no_answer
