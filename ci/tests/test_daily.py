"""`gemmwatch run --judge`: the first run becomes the baseline, the later ones are gated."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import ci.policy
from ci.errors import Exit
from ci.tests.conftest import FakeBench

Command = Callable[..., int]
Roots = tuple[Path, Path]
POINT = "tiled/fp32/nn/64x64x64"


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few processes as a verdict on two twins needs."""
    monkeypatch.setattr(ci.policy, "HOST", replace(ci.policy.HOST, pairs=6))


@pytest.fixture
def daily(bench: FakeBench, gemmwatch: Command, roots: Roots, tmp_path: Path) -> Command:
    def command(*more: str | Path) -> int:
        return gemmwatch("run", "--bench", bench.path, "--out", tmp_path / "out", "--judge", *more)

    return command


def test_the_first_run_becomes_the_local_baseline_and_the_next_is_gated(
    daily: Command, roots: Roots, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert daily() == Exit.ok
    (local,) = roots[1].glob("test-cpu-9000/smoke-*.json")
    assert f"local baseline: {local}" in capsys.readouterr().out
    assert not (tmp_path / "out" / "verdict.json").exists()

    assert daily("--slow", "tiled:50") == Exit.regression  # replaces the finished run
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["base"]["label"] == str(local)
    assert verdict["head"]["injected"] == "slow:tiled:50%"
    assert verdict["summary"]["regressed"] == 3
    assert (tmp_path / "out" / "run.previous.json").exists()
    assert list(roots[1].rglob("*.json")) == [local]


def test_an_approved_baseline_comes_first(
    daily: Command, gemmwatch: Command, roots: Roots, tmp_path: Path
) -> None:
    daily()
    gemmwatch("baseline", "store", tmp_path / "out" / "run.json")
    daily()
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["base"]["label"] == str(roots[0] / "test-cpu-9000" / "smoke.json")


def test_another_driver_gets_a_baseline_of_its_own(
    daily: Command, bench: FakeBench, roots: Roots
) -> None:
    daily()
    bench.catalog["fingerprint"]["driver"] = "9"
    bench.write()
    assert daily() == Exit.ok
    assert len(list(roots[1].rglob("*.json"))) == 2


def test_a_baseline_may_be_given(daily: Command, roots: Roots, tmp_path: Path) -> None:
    daily()
    given = (tmp_path / "out" / "run.json").rename(tmp_path / "given.json")
    assert daily("--baseline", given, "--fresh", "--filter", POINT) == Exit.ok
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["base"]["label"] == str(given)
    assert verdict["summary"]["compared"] == 1


def test_another_load_is_not_judged_and_nothing_is_measured(
    daily: Command, roots: Roots, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert daily("--load", "sustained") == Exit.bad_input
    error = capsys.readouterr().err
    assert "--load sustained: cannot be judged against a stored baseline" in error
    assert "measured under the load trial" in error
    daily()
    given = (tmp_path / "out" / "run.json").rename(tmp_path / "given.json")
    assert daily("--load", "sustained", "--baseline", given) == Exit.bad_input
    assert f"cannot be judged against {given}" in capsys.readouterr().err
    assert not (tmp_path / "out" / "run.json").exists()


def test_a_run_may_be_judged_against_one_of_the_same_load(
    daily: Command, gemmwatch: Command, bench: FakeBench, tmp_path: Path
) -> None:
    fixed = ("--bench", bench.path, "--load", "sustained")
    assert gemmwatch("run", *fixed, "--out", tmp_path / "base") == Exit.ok
    assert daily("--load", "sustained", "--baseline", tmp_path / "base" / "run.json") == Exit.ok
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["summary"]["compared"] == 6
    assert [twin["verdict"] for twin in verdict["canary"]] == ["same", "regressed"]


@pytest.mark.parametrize("flags", [("--slow", "tiled:5"), ("--filter", POINT), ("--trials", "2")])
def test_a_run_that_cannot_be_a_baseline_gives_no_answer(
    daily: Command, roots: Roots, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert daily(*flags) == Exit.no_answer
    assert "no baseline of this machine to judge against" in capsys.readouterr().err
    assert not roots[1].exists()


@pytest.mark.parametrize(("do", "code"), [("incorrect", Exit.incorrect), ("fail", Exit.regression)])
def test_an_unsound_first_run_keeps_its_own_code(
    daily: Command, bench: FakeBench, roots: Roots, do: str, code: Exit
) -> None:
    bench.misbehave(POINT, do)
    assert daily() == code
    assert not roots[1].exists()


def test_an_interrupted_run_goes_on_and_is_then_judged(
    daily: Command, bench: FakeBench, roots: Roots, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    bench.misbehave(POINT, "interrupt", seed=3)
    assert daily() == Exit.interrupted
    assert "--judge" in capsys.readouterr().out
    journal = (tmp_path / "out" / "trials" / "000" / "journal-000.txt").read_text()
    bench.behave()
    assert daily() == Exit.ok
    assert (tmp_path / "out" / "trials" / "000" / "journal-000.txt").read_text() == journal
    assert list(roots[1].rglob("*.json"))


def test_a_gate_that_measures_has_a_canary(
    daily: Command, bench: FakeBench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daily()
    assert daily() == Exit.ok
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert [twin["verdict"] for twin in verdict["canary"]] == ["same", "regressed"]
    for point in bench.catalog["points"]:
        bench.misbehave(point["id"], "ignore --slow")
    assert daily() == Exit.no_answer
    assert "a twin slowed by 25% was not flagged" in capsys.readouterr().out
