"""The evidence: it counts right, it is repeatable, and what is committed is current."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ci.evidence.command as command
from ci.errors import BadInput, Exit
from ci.evidence.plot import power_svg
from ci.evidence.record import FOLDER, Record, Session, load_records, write_record
from ci.evidence.resample import draw_gate, draw_victims, run_gate
from ci.evidence.study import Tally, innocent_gates, power, real_gates
from ci.evidence.summary import Effort, digest, summarize
from ci.evidence.tables import END, START, tables, with_tables
from ci.policy import GPU
from ci.tests.synthetic import catalog_document, run_document
from ci.verdicts import Answer

POINTS = [f"{kernel}/bf16/nt/{n}x{n}x{n}" for kernel in ("tiled", "wmma") for n in (64, 128)]
SMALL = Effort(innocent=5, slowed=2, by_pairs=1)


def record(spread: float = 0.003, shift: float = 0.0, **changes: Any) -> Record:
    """Two sessions on two cards; the second reads slower by shift."""
    rng = np.random.default_rng(1)
    sessions = tuple(
        Session(name, f"card {name}", {p: rng.normal(moved, spread, 12) for p in POINTS})
        for name, moved in (("a", 0.0), ("b", shift))
    )
    return replace(
        Record("synthetic", "nowhere", "gpu", frozenset(), sessions, (("a", "b"),)), **changes
    )


def test_the_committed_evidence_is_of_these_records_this_policy_and_this_judge() -> None:
    summary = json.loads((FOLDER.parent / "summary.json").read_text())
    assert summary["digest"] == digest(), "run `gemmwatch evidence` and commit what it writes"
    readme = (FOLDER.parent / "README.md").read_text()
    assert with_tables(readme, summary) == readme
    assert (FOLDER.parent / "power.svg").exists()


def test_the_committed_evidence_says_what_the_records_do() -> None:
    """A sample of it, computed again: each gate has its own seed."""
    summary = json.loads((FOLDER.parent / "summary.json").read_text())
    for kept in load_records():
        study = summary["records"][kept.name]["aa_resampled"]
        first = study["first_suspects"]
        assert study["gates"] == Effort().innocent
        assert innocent_gates(kept, len(first))["first_suspects"] == first
    assert summary["aa_real"]["gates"] == sum(len(kept.gates) for kept in load_records())


def test_the_same_records_give_the_same_summary() -> None:
    one, other = (summarize([record()], [], SMALL, lambda _: None) for _ in range(2))
    assert one == other
    assert power_svg(one) == power_svg(other)


def test_no_innocent_gate_is_red_and_a_large_loss_always_is() -> None:
    assert innocent_gates(record(), 20)["alarms"] == 0
    found = power(record(), 10)
    assert found["0.05"]["stages"]["both"]["flagged"] == found["0.05"]["stages"]["both"]["trials"]
    assert found["0.01"]["stages"]["both"]["flagged"] == 0  # it is tau itself


def test_a_shift_between_cards_is_suspected_and_never_confirmed() -> None:
    """Pairs are of one card."""
    moved = record(shift=0.05)
    gates = [
        run_gate(draw_gate(moved, GPU, np.random.default_rng(i), GPU.pairs), "gpu", GPU)
        for i in range(20)
    ]
    assert any(gate.suspects for gate in gates)
    assert not any(gate.confirmed for gate in gates)


def test_whole_trials_are_drawn() -> None:
    """What moved all points of a process together still does."""
    rng = np.random.default_rng(3)
    common = rng.normal(0, 0.01, 12)
    session = Session("a", "card", dict.fromkeys(POINTS, common))
    trials = draw_gate(record(sessions=(session,), gates=()), GPU, rng, GPU.pairs)
    assert np.array_equal(trials.head[POINTS[0]], trials.head[POINTS[3]])
    assert set(trials.head[POINTS[0]]) <= set(common)


def test_pairs_are_of_the_card_that_was_screened() -> None:
    far = record(shift=5.0)
    for seed in range(10):
        trials = draw_gate(far, GPU, np.random.default_rng(seed), GPU.pairs)
        levels = {round(float(x[POINTS[0]].mean())) for x in (trials.screened, trials.base)}
        assert levels == {round(float(trials.head[POINTS[0]].mean()))}


def test_a_slowdown_is_of_its_victims_and_of_head_alone() -> None:
    trials = draw_gate(record(), GPU, np.random.default_rng(4), GPU.pairs)
    slowed = trials.slowed(POINTS[:1], 0.1)
    for before, after in ((trials.head, slowed.head), (trials.screened, slowed.screened)):
        assert after[POINTS[0]] - before[POINTS[0]] == pytest.approx(np.log(1.1))
        assert all(after[point] is before[point] for point in POINTS[1:])
    assert (slowed.base, slowed.stored) == (trials.base, trials.stored)


def test_victims_are_of_different_families_and_never_a_control() -> None:
    controls = frozenset(point for point in POINTS if point.startswith("wmma"))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert len({v.split("/")[0] for v in draw_victims(record(), 8, rng)}) == 2
        assert not controls & set(draw_victims(record(controls=controls), 8, rng))


def test_a_real_gate_is_judged_whole() -> None:
    (innocent,) = real_gates(record())
    (guilty,) = real_gates(record(shift=0.1))
    assert (innocent.answer, guilty.answer) == (Answer.passed, Answer.regression)
    assert innocent.compared == len(POINTS)


def test_a_share_comes_with_wilsons_interval() -> None:
    """With none flagged its upper end is z^2 / (n + z^2), here 3.841 / 23.841."""
    assert Tally(20, 0).document() == {"trials": 20, "flagged": 0, "low": 0.0, "high": 0.1611}


def test_tables_leave_the_rest_of_the_readme_alone() -> None:
    summary = summarize([record()], [], SMALL, lambda _: None)
    text = with_tables(f"before\n{START}\nold\n{END}\nafter\n", summary)
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| screen, then pairs |" in tables(summary)


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    write_record(record(), tmp_path / "synthetic.json")
    (read,) = load_records(tmp_path)
    assert (read.name, read.gates, read.device) == ("synthetic", (("a", "b"),), "gpu")
    for kept, written in zip(read.sessions, record().sessions, strict=True):
        for point in POINTS:
            assert kept.log_ratio[point] == pytest.approx(written.log_ratio[point], abs=5e-6)


def test_runs_become_a_record(
    gemmwatch: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    series = {"tiled/fp32/nn/64x64x64": [0.1, 0.2], "control/fp32/nn/64x64x64": [0.0, 0.0]}
    for name in ("one", "two"):
        document = run_document(catalog_document(), series)
        (tmp_path / f"{name}.run").write_text(json.dumps(document))
    runs = (tmp_path / "one.run", tmp_path / "two.run")
    words = ("--name", "new", "--source", "a test", "--gates")
    assert gemmwatch("evidence", "record", *runs, *words) == Exit.ok
    (made,) = load_records(tmp_path)
    assert made.gates == (("run-1", "run-2"),)
    assert made.controls == {"control/fp32/nn/64x64x64"}
    assert made.session("run-2").log_ratio["tiled/fp32/nn/64x64x64"].tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("old", "new"),
    [('"gates": [["a","b"]]', '"gates": [["a","c"]]'), ('"trials":12', '"trials":11'), ("{", "")],
)
def test_a_damaged_record_is_named(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "synthetic.json"
    write_record(record(), path)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(BadInput, match=r"synthetic\.json"):
        load_records(tmp_path)


def test_check_says_whether_it_is_current(
    gemmwatch: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_SUMMARY", tmp_path / "summary.json")
    for made_of, code in ((digest(), Exit.ok), ("old", Exit.bad_input)):
        (tmp_path / "summary.json").write_text(json.dumps({"digest": made_of}))
        assert gemmwatch("evidence", "--check") == code
