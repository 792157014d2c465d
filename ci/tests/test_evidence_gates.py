"""Real gates: measured, kept, taken up again, and counted."""

import json
from collections.abc import Callable
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ci.policy
from ci.errors import BadInput, Exit
from ci.estimate import Array
from ci.evidence import gates as kept
from ci.evidence.campaign import planned
from ci.evidence.gates import Campaign, RealGate, load_campaign, write_campaign
from ci.evidence.resample import GateTrials
from ci.evidence.summary import Effort, digest, summarize
from ci.evidence.tables import tables
from ci.tests.conftest import FakeBench
from ci.tests.synthetic import catalog_document
from ci.tests.test_evidence import POINTS, record

Command = Callable[..., int]


def trials(seed: int, loss: float = 0.0) -> GateTrials:
    """Of a gate that suspected every point. loss: of the points of tiled."""
    rng = np.random.default_rng(seed)

    def draw(count: int, slower: float = 0.0) -> dict[str, Array]:
        shifts = {p: log(1 + slower) if p.startswith("tiled") else 0.0 for p in POINTS}
        return {p: rng.normal(shift, 0.001, count) for p, shift in shifts.items()}

    return GateTrials(draw(10), draw(6, loss), draw(14), draw(14, loss))


def gate(seed: int, slowed: str = "", loss: float = 0.0, **changes: Any) -> RealGate:
    return replace(RealGate("card", "abc", slowed, 60.0, (), trials(seed, loss)), **changes)


def campaign(*gates: RealGate) -> Campaign:
    return Campaign("h", "a test", "gpu", {"device": "gpu"}, trials(0).stored, list(gates))


def test_a_campaign_survives_its_file(tmp_path: Path) -> None:
    before = campaign(gate(1, doubts=("hot",)), gate(2, "tiled:5", 0.05))
    write_campaign(before, tmp_path / "h.json")
    after = load_campaign(tmp_path / "h.json")
    assert (after.name, after.source, after.fingerprint) == ("h", "a test", {"device": "gpu"})
    for one, other in zip(before.gates, after.gates, strict=True):
        assert replace(one, trials=other.trials) == other
        for side in ("screened", "base", "head"):
            for point, values in getattr(one.trials, side).items():
                assert getattr(other.trials, side)[point] == pytest.approx(values, abs=5.1e-6)


def test_alarms_and_power_are_counted_apart() -> None:
    red = gate(3, loss=0.1)  # both sides are said to be one program, and pairs read 10%
    gates = [gate(1), gate(2, doubts=("hot",), card="other"), red, gate(4, "tiled:5", 0.05)]
    summary = summarize([], [campaign(*gates)], Effort(), lambda _: None)
    real = summary["aa_real"]
    assert (real["gates"], real["alarms"], real["with_pairs"]) == (3, 1, 3)
    assert (real["untrusted"], real["cards"], real["seconds_median"]) == (1, 2, 60.0)
    assert real["hypotheses"] == 3 * (len(POINTS) + 2)  # two families
    found = summary["power_real"]["0.05"]
    assert (found["gates"], found["red"]) == (1, 1)
    assert (found["trials"], found["flagged"]) == (2, 2)  # points of tiled, and no other


def test_a_slowed_point_that_the_screen_cleared_is_not_flagged() -> None:
    seen = gate(5, "tiled:5", 0.05)
    # As if nothing were slower. Of 14 trials, so that it is cleared for sure.
    blind = replace(seen, trials=replace(seen.trials, screened=trials(6).base))
    found = summarize([], [campaign(blind)], Effort(), lambda _: None)["power_real"]["0.05"]
    assert (found["trials"], found["flagged"], found["red"]) == (2, 0, 0)


def test_tables_tell_of_real_gates() -> None:
    gates = campaign(gate(1), gate(2, "tiled:5", 0.05))
    text = tables(summarize([record()], [gates], Effort(5, 2, 1), lambda _: None))
    assert "Of these 1 were whole gates with pairs" in text
    assert "| red gates | 1 of 1 |" in text


def test_new_gates_make_the_evidence_stale(tmp_path: Path) -> None:
    before = digest(gates=tmp_path)
    write_campaign(campaign(gate(1)), tmp_path / "h.json")
    assert digest(gates=tmp_path) != before


@pytest.mark.parametrize(
    ("old", "new"),
    [("gemmwatch-gates", "gemmwatch-record"), ('"seconds":60.0', '"seconds":"long"'), ("{", "")],
)
def test_a_damaged_campaign_is_named(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "h.json"
    write_campaign(campaign(gate(1)), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadInput, match=r"h\.json"):
        load_campaign(path)


def test_slowdowns_come_round_with_another_kernel_each_and_gates_of_both_kinds_alternate() -> None:
    plan = planned(3, 2, ["a", "b", "c"])
    assert plan[:4] == ["", "a:1", "", "b:2"]
    assert plan.count("") == 3
    slowed = [each for each in plan if each]
    assert slowed == ["a:1", "b:2", "c:3", "a:5", "b:10", "c:1", "a:2", "b:3", "c:5", "a:10"]


# -------------------------------------------------------------------------------------------------
# Measured, on the fake bench program
# -------------------------------------------------------------------------------------------------


@pytest.fixture
def measure(
    gemmwatch: Command, bench: FakeBench, roots: tuple[Path, Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:  # fmt: skip
    """The command, on a machine with a baseline; its files go to gates/."""
    bench.catalog = catalog_document(problems=["fp32/nn/64x64x64"])
    bench.write()
    # 2^-6 is what Holm asks of one suspect and two twins.
    short = replace(ci.policy.HOST, pairs=6, screen_trials=3, baseline_trials=3, start_s=0.01)
    monkeypatch.setattr(ci.policy, "HOST", short)
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "gates")
    monkeypatch.chdir(tmp_path)
    assert gemmwatch("run", "--bench", bench.path, "--trials", 3) == Exit.ok
    assert gemmwatch("baseline", "store", "out/smoke/run.json") == Exit.ok

    def command(*flags: str | float) -> int:
        words = ("--name", "new", "--source", "a test", "--selection", "smoke")
        return gemmwatch("evidence", "measure", *words, "--bench", bench.path, *flags)

    return command


def gates_of(folder: Path) -> list[RealGate]:
    return load_campaign(folder / "gates" / "new.json").gates


def test_a_campaign_ends_in_time_and_goes_on_where_it_ended(
    measure: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("ci.evidence.campaign.SLOWDOWNS", (0.25,))
    assert measure("--gates", 1, "--minutes", 0.0001) == Exit.no_answer
    assert "1 gates are left; the same command goes on" in capsys.readouterr().out
    (first,) = gates_of(tmp_path)
    assert (first.slowed, first.doubts, first.trials.matched) == ("", (), True)
    assert not first.trials.head  # nothing was suspected
    assert measure("--gates", 1) == Exit.ok
    first, second = gates_of(tmp_path)
    assert second.slowed == "tiled:25"
    assert set(second.victims) <= second.trials.head.keys()
    judged = load_campaign(tmp_path / "gates/new.json").judged()
    assert [bool(result.confirmed) for _, result in judged] == [False, True]
    assert measure("--gates", 1) == Exit.ok  # there is nothing left to do
    assert len(gates_of(tmp_path)) == 2


def test_a_point_that_only_one_side_passed_is_no_pair(
    measure: Command, bench: FakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ci.evidence.campaign.SLOWDOWNS", (0.25,))
    lost = "tiled/fp32/nn/64x64x64"
    bench.behaviour[lost] = {"do": "fail", "out": "head"}  # where it is paired, not on the screen
    bench.write()
    assert measure("--gates", 1) == Exit.ok
    _, slowed = gates_of(tmp_path)
    assert lost in slowed.trials.screened
    assert lost not in slowed.trials.base.keys() | slowed.trials.head.keys()


def test_without_a_baseline_it_says_how_to_make_one(
    measure: Command, roots: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for file in roots[0].rglob("*.json"):
        file.unlink()
    assert measure() == Exit.bad_input
    assert "gemmwatch baseline store" in capsys.readouterr().err


def test_another_machine_does_not_go_on_with_it(
    measure: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_campaign(campaign(), tmp_path / "gates" / "new.json")
    assert measure() == Exit.bad_input
    assert "give another --name" in capsys.readouterr().err
    assert json.loads((tmp_path / "gates/new.json").read_text())["fingerprint"] == {"device": "gpu"}
