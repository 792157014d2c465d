"""What the site says has changed, on series whose truth is known."""

import copy
import math
from datetime import timedelta
from pathlib import Path
from statistics import median

import pytest

from reports.files import ReportError
from reports.reading import read_measured
from reports.site import moves
from reports.site.accuracy import accuracies, by_kernel
from reports.site.levels import levels, turns
from reports.site.newest import check_is_newest, newest_night
from reports.site.read_trends import read_trends
from reports.site.resources import Function, functions
from reports.site.trends import Trends
from reports.tests import synthetic, synthetic_trends
from reports.tests.synthetic import Json, write

PLAN = synthetic_trends.plan(nights=60, points=30)


@pytest.fixture(scope="module")
def made() -> Json:
    return synthetic_trends.trends(PLAN)


@pytest.fixture
def changed(made: Json) -> Json:
    """For a test to change."""
    return copy.deepcopy(made)


def read(tmp_path: Path, made: Json) -> Trends:
    return read_trends(write(tmp_path / "trends.json", made))


def plant(series: Json, night: int, log_ratio: float, half: float) -> None:
    for name, value in (("log_ratio", log_ratio), ("low", log_ratio - half),
                        ("high", log_ratio + half)):  # fmt: skip
        series[name][night] = value
    series["us"][night] = series["us"][night] or 1.0
    series["outcomes"].pop(str(night), None)


def test_a_move_is_a_ratio_of_times_with_its_interval(tmp_path: Path, changed: Json) -> None:
    plant(changed["series"][0], -2, log_ratio=0.1, half=0.003)
    plant(changed["series"][0], -1, log_ratio=0.1 + math.log(1.05), half=0.004)
    trends = read(tmp_path, changed)
    move = moves.move_of(trends, trends.series[0])
    assert move is not None
    assert move.change == pytest.approx(0.05)
    half = math.sqrt(0.003**2 + 0.004**2)
    assert move.low == pytest.approx(1.05 * math.exp(-half) - 1)
    assert move.high == pytest.approx(1.05 * math.exp(half) - 1)
    assert move.clear


@pytest.mark.parametrize(("step", "clear"), [(0.0065, False), (0.0075, True), (-0.0075, True)])
def test_a_move_is_clear_beyond_its_interval(
    tmp_path: Path, changed: Json, step: float, clear: bool
) -> None:
    plant(changed["series"][0], -2, log_ratio=0.0, half=0.005)
    plant(changed["series"][0], -1, log_ratio=step, half=0.005)  # together 0.0071
    trends = read(tmp_path, changed)
    move = moves.move_of(trends, trends.series[0])
    assert move is not None
    assert move.clear is clear


def test_moves_come_by_size_and_only_from_points_with_two_times(
    tmp_path: Path, changed: Json
) -> None:
    changed["series"][3]["us"][-1] = changed["series"][3]["log_ratio"][-1] = None
    found = moves.moves(read(tmp_path, changed))
    sizes = [abs(move.change) for move in found]
    assert sizes == sorted(sizes, reverse=True)
    assert changed["series"][3]["id"] not in {move.series.id for move in found}
    assert len(found) > 20


def test_the_first_night_has_no_moves(tmp_path: Path) -> None:
    trends = read(tmp_path, synthetic_trends.trends(synthetic_trends.plan(nights=1, points=5)))
    assert moves.moves(trends) == []
    assert moves.turns(trends) == []


def disturb(trends: Json, *nights: int) -> None:
    for night in nights:
        trends["nights"][night]["doubts"] = ["the control moved"]


def test_a_disturbed_night_is_passed_over_by_the_next(tmp_path: Path, changed: Json) -> None:
    for night, log_ratio in ((-3, 0.1), (-2, 0.7), (-1, 0.1 + math.log(1.05))):
        plant(changed["series"][0], night, log_ratio, half=0.003)
    changed["series"][0]["outcomes"] = {"57": "failed", "58": "timed_out"}
    disturb(changed, -2)
    trends = read(tmp_path, changed)
    assert trends.compared_with == 57
    move = moves.move_of(trends, trends.series[0])
    assert move is not None
    assert move.change == pytest.approx(0.05)
    turn = next(turn for turn in moves.turns(trends) if turn.series is trends.series[0])
    assert (turn.before, turn.after) == ("failed", "passed")


@pytest.mark.parametrize("nights", [[-1], range(59)], ids=["the newest", "all others"])
def test_nothing_is_compared_without_two_nights_that_are_believed(
    tmp_path: Path, changed: Json, nights: list[int]
) -> None:
    disturb(changed, *nights)
    trends = read(tmp_path, changed)
    assert (moves.moves(trends), moves.turns(trends)) == ([], [])


def test_outcomes_that_changed_are_told_worst_first(tmp_path: Path, changed: Json) -> None:
    mended, broken = changed["series"][0], changed["series"][1]
    for series in changed["series"]:
        for night in (-2, -1):
            plant(series, night % PLAN.nights, log_ratio=0.0, half=0.01)
    mended["outcomes"], broken["outcomes"] = {"58": "incorrect"}, {"59": "failed"}
    found = moves.turns(read(tmp_path, changed))
    assert [(t.series.id, t.before, t.after) for t in found] == [
        (broken["id"], "passed", "failed"),
        (mended["id"], "incorrect", "passed"),
    ]


def test_what_has_no_time_says_since_when(tmp_path: Path, changed: Json) -> None:
    one = changed["series"][2]
    one["outcomes"] = {"40": "failed", "56": "incorrect"} | dict.fromkeys(
        ["57", "58", "59"], "failed"
    )
    found = {u.series.id: u for u in moves.without_a_time(read(tmp_path, changed))}
    assert found[one["id"]].since == 57
    assert found[one["id"]].outcome == "failed"


def test_recent_changes_are_those_planted_of_late(tmp_path: Path, made: Json) -> None:
    planted = {
        index: step for index in range(PLAN.points) if (step := PLAN.step(index)) is not None
    }
    late = {
        made["series"][index]["id"] for index, (night, _) in planted.items()
        if PLAN.nights - 1 - night <= 7
    }  # fmt: skip
    assert 0 < len(late) < len(planted)
    trends = read(tmp_path, made)
    week = moves.recent_changes(trends, timedelta(days=7))
    assert {found.series.id for found in week} == late
    sizes = [abs(found.change.change) for found in week]
    assert sizes == sorted(sizes, reverse=True)


def test_levels_end_at_epochs_and_change_points(tmp_path: Path, changed: Json) -> None:
    series = changed["series"][0]
    series["outcomes"] = {}
    for night in range(PLAN.nights):
        plant(series, night, log_ratio=0.0 if night < 30 else math.log(1.25), half=0.01)
    series["changes"] = [change("step", 29, 30, 0.25)]
    trends = read(tmp_path, changed)
    found = levels(trends, trends.series[0])
    assert [level.nights for level in found] == [(0, 19), (20, 29), (30, 39), (40, 59)]
    assert [speed for level in found for speed in level.speeds] == pytest.approx(
        [1] * 4 + [0.8] * 4
    )
    (turn,) = turns(trends, trends.series[0])
    assert turn.slower
    assert turn.night == 30
    assert turn.speed == pytest.approx(0.8)


def change(kind: str, before: int, night: int, size: float) -> Json:
    return {"kind": kind, "before": before, "night": night, "from_commit": "", "to_commit": "",
            "change": size, "low": size, "high": size, "p": 0.001}  # fmt: skip


def test_disturbed_nights_have_no_part_in_a_level(tmp_path: Path, changed: Json) -> None:
    series = changed["series"][0]
    series |= {"outcomes": {}, "changes": []}
    disturbed = [*range(40, 46), *range(50, 58), 59]  # most nights of the newest epoch
    for night in range(PLAN.nights):
        plant(series, night, log_ratio=0.7 if night in disturbed else 0.0, half=0.01)
    disturb(changed, *disturbed)
    trends = read(tmp_path, changed)
    newest = levels(trends, trends.series[0])[-1]
    assert newest.nights == (46, 58)
    assert newest.speeds == pytest.approx((1, 1))


def test_creep_slopes_a_level_and_ends_none(tmp_path: Path, changed: Json) -> None:
    series = changed["series"][0]
    series["outcomes"] = {}
    for night in range(PLAN.nights):  # level until 45, then by 1% a night
        plant(series, night, log_ratio=0.01 * max(night - 45, 0), half=0.01)
    size = math.expm1(0.14)
    series["changes"] = [change("creep", 45, 59, size)]
    trends = read(tmp_path, changed)
    newest = levels(trends, trends.series[0])[-1]
    assert newest.nights == (40, 45, 59)
    assert newest.speeds == pytest.approx((1, 1, math.exp(-0.14)))
    (turn,) = turns(trends, trends.series[0])
    assert (turn.night, turn.slower) == (52, True)
    assert turn.speed == pytest.approx((1 + math.exp(-0.14)) / 2)  # on the bar as it is drawn


def test_creep_is_told_apart_while_its_epoch_lasts(tmp_path: Path, changed: Json) -> None:
    for series in changed["series"]:
        series["changes"] = []
    now, then, step = changed["series"][:3]
    now["changes"] = [change("creep", 40, 59, 0.03)]
    then["changes"] = [change("creep", 22, 39, 0.04)]  # of the epoch before
    step["changes"] = [change("step", 55, 56, 0.05)]
    trends = read(tmp_path, changed)
    assert [found.series.id for found in moves.creeping(trends)] == [now["id"]]
    assert [found.series.id for found in moves.recent_changes(trends, moves.MONTH)] == [step["id"]]
    newest_first = moves.changes_of(trends.series)
    assert [found.change.since for found in newest_first] == [56, 40, 22]


def test_the_newest_night_has_the_numbers_of_its_columns(tmp_path: Path, made: Json) -> None:
    measured = newest_night(read(tmp_path, made))
    stored = made["series"][0]
    point = next(point for point in measured.points if point.id == stored["id"])
    assert point.performance is not None
    assert point.performance.kernel_us == stored["us"][-1]
    assert point.performance.counter("sm_mhz") == stored["sm_mhz"][-1]
    assert measured.fingerprint["cublas"] == synthetic_trends.CUBLAS[1]


def test_a_run_of_the_newest_night_is_told_from_another(tmp_path: Path) -> None:
    machine = synthetic.host()
    run = synthetic.run(machine, trials=3)
    measured = read_measured(write(tmp_path / "run.json", run))
    trends = read(tmp_path, one_night_of(run))
    check_is_newest(trends, measured)
    other = read_measured(write(tmp_path / "other.json", synthetic.run(machine, seed=2)))
    with pytest.raises(ReportError, match=r"other.json: .* has another time than on the newest"):
        check_is_newest(trends, other)
    machine.fingerprint["threads"] = "2"
    moved = read_measured(write(tmp_path / "moved.json", synthetic.run(machine, trials=3)))
    with pytest.raises(ReportError, match=r"moved.json: was measured on another machine or build"):
        check_is_newest(trends, moved)


def one_night_of(run: Json) -> Json:
    """The trends of a history that holds this run alone, with times as the history rounds them."""
    meta = run["context"]["gemmwatch"]
    series = []
    for name, outcome in meta["outcomes"].items():
        kernel, _, problem = name.partition("/")
        rows = [row for row in run["benchmarks"] if row["name"] == name and "kernel_us" in row]
        us = [float(f"{median(r['kernel_us'] for r in rows):.5g}")] if rows else [None]
        ratio = [median(r["log_ratio"] for r in rows)] if rows else [None]
        series.append({
            "id": name, "kernel": kernel, "problem": problem, "us": us, "control_us": us,
            "log_ratio": ratio, "low": ratio, "high": ratio, "sm_mhz": [None], "power_w": [None],
            "bound_share": [None], "changes": [],
            "outcomes": {} if outcome == "passed" else {"0": outcome},
        })  # fmt: skip
    catalog = {key: meta["catalog"][key] for key in ("kernels", "problems", "peaks")}
    return {
        **catalog, "schema": 1, "kind": "gemmwatch-trends", "selection": "smoke",
        "nights": [{"run": "0", "finished": meta["finished"], "commit": "", "trials": 3,
                    "epoch": 0, "answer": ""}],
        "epochs": [{"first_night": 0, "fingerprint": meta["catalog"]["fingerprint"],
                    "changed": {}}],
        "series": series, "resources": [],
    }  # fmt: skip


def test_accuracy_is_compared_on_the_same_problem(tmp_path: Path, changed: Json) -> None:
    kernel, problem = "wgmma_tma", "bf16/nn/4096x4096x4096"
    for series in changed["series"]:
        share = {kernel: 0.3, "cublas": 0.1}.get(series["kernel"], 0.2)
        series["bound_share"] = [share] * PLAN.nights
    found = accuracies(read(tmp_path, changed))
    one = next(a for a in found if (a.kernel.name, a.problem.id) == (kernel, problem))
    assert (one.share, one.control_share) == (0.3, 0.1)
    summary = next(k for k in by_kernel(found) if (k.kernel.name, k.precision) == (kernel, "bf16"))
    assert summary.against_control == pytest.approx(3)
    assert summary.worst.share == 0.3


def test_steps_of_resources_skip_nights_without_any(tmp_path: Path, changed: Json) -> None:
    changed["resources"] = [{
        **changed["resources"][0], "registers": [96] * 20 + [None] * 10 + [128] * 30,
        "spills": [0] * 59 + [16], "code_bytes": [None] * 60, "shared_bytes": [None] * 60,
    }]  # fmt: skip
    (function,) = functions(read(tmp_path, changed))
    assert isinstance(function, Function)
    assert [(s.night, s.name, s.before, s.after) for s in function.steps] == [
        (59, "spills", 0, 16),
        (30, "registers", 96, 128),
    ]
    assert function.newest == {"registers": 128, "spills": 16, "code_bytes": None,
                               "shared_bytes": None}  # fmt: skip
