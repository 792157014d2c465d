"""Reading trends.json: what is believed, what is refused, and in which words."""

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.files import ReportError
from reports.site.names import slug
from reports.site.read_trends import read_trends
from reports.tests import synthetic_trends
from reports.tests.synthetic import Json, write

PLAN = synthetic_trends.plan(nights=9, points=20)


@pytest.fixture(scope="module")
def made() -> Json:
    return synthetic_trends.trends(PLAN)


def test_a_series_speaks_of_speed(tmp_path: Path, made: Json) -> None:
    series = read_trends(write(tmp_path / "t.json", made)).series[0]
    stored = made["series"][0]
    expected = stored["control_us"][4] / stored["us"][4]
    assert series.speed[4] == pytest.approx(expected, rel=1e-4)
    assert series.speed_low[4] == pytest.approx(math.exp(-stored["high"][4]))
    assert series.speed_low[4] < series.speed[4] < series.speed_high[4]
    flops = next(p["flops"] for p in made["problems"] if p["id"] == stored["problem"])
    assert series.tflops[4] == pytest.approx(flops / stored["us"][4] / 1e6)


def test_a_night_without_a_time_is_no_number(tmp_path: Path, made: Json) -> None:
    changed = copy.deepcopy(made)
    one = changed["series"][1]
    for column in ("log_ratio", "low", "high", "us", "control_us"):
        one[column][2] = one[column][3] = None
    one["outcomes"] = {"2": "incorrect"}
    series = read_trends(write(tmp_path / "t.json", changed)).series[1]
    assert np.isnan(series.speed[2])
    assert [series.outcome(night) for night in (1, 2, 3)] == ["passed", "incorrect", ""]


def test_only_what_was_visited_is_listed(tmp_path: Path, made: Json) -> None:
    changed = copy.deepcopy(made)
    elsewhere = {**changed["kernels"][-1], "name": "openblas", "control": True}
    changed["kernels"].append(elsewhere)
    changed["problems"].append({**changed["problems"][0], "id": "fp32/nn/8x8x8"})
    trends = read_trends(write(tmp_path / "t.json", changed))
    assert {kernel.name for kernel in trends.kernels} == {s["kernel"] for s in made["series"]}
    assert {problem.id for problem in trends.problems} == {s["problem"] for s in made["series"]}
    assert [kernel.name for kernel in trends.kernels if kernel.control] == ["cublas"]


CLEAN, LATER = "0123456" + "789abcdef" * 3, "fedcba9" + "876543210" * 3


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (CLEAN, LATER, "0123456..fedcba9"),
        (CLEAN, CLEAN, "same commit 0123456: not the code"),
        ("", LATER, "?..fedcba9"),
        (CLEAN, "", "0123456..?"),
        ("", "", ""),
        (CLEAN, f"{CLEAN}-dirty", "0123456..0123456-dirty"),
        # Two states of a changed tree have one name: the code may be to blame.
        (f"{CLEAN}-dirty", f"{CLEAN}-dirty", "0123456-dirty..0123456-dirty"),
    ],
)
def test_only_commits_that_can_be_to_blame_are_named(
    tmp_path: Path, made: Json, first: str, last: str, told: str
) -> None:
    changed = copy.deepcopy(made)
    changed["series"][0]["changes"][0] |= {"from_commit": first, "to_commit": last}
    changed["nights"][-1]["commit"] = f"{LATER}-dirty"
    trends = read_trends(write(tmp_path / "t.json", changed))
    assert trends.series[0].changes[0].commits == told
    assert trends.nights[-1].short_commit == "fedcba9-dirty"


def test_an_export_without_doubts_has_none(tmp_path: Path, made: Json) -> None:
    changed = copy.deepcopy(made)
    for night in changed["nights"]:
        del night["doubts"]
    assert read_trends(write(tmp_path / "t.json", changed)).believed.all()


def set_in(*path: Any, to: Any) -> Callable[[Json], None]:
    def change(trends: Json) -> None:
        inner: Any = trends
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to

    return change


CHANGE = {"night": 99, "before": 0, "from_commit": "", "to_commit": "", "change": 0.1, "low": 0,
          "high": 1, "p": 0, "kind": "step"}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_in("kind", to="gemmwatch-baseline"), "holds no trends; `gemmwatch history export"),
        (set_in("schema", to=2), "has schema 2 and this version reads 1"),
        (set_in("nights", to=[]), "holds no night; add a run"),
        (
            set_in("nights", 0, "finished", to="2050-01-01"),
            "nights is not a list of nights",
        ),
        (set_in("nights", 0, "finished", to="soon"), r"nights.0.finished is not an ISO date"),
        (
            set_in("nights", 0, "finished", to="0001-01-01T00:00:00+10:00"),
            r"nights.0.finished is not an ISO date",
        ),
        (set_in("nights", 0, "doubts", to="many"), "nights.0.doubts is not a list"),
        (set_in("nights", 0, "epoch", to=7), "nights.0.epoch is not the index of an epoch"),
        (set_in("nights", 0, "answer", to="maybe"), "nights.0.answer is not one of pass"),
        (set_in("epochs", 1, "first_night", to=99), "first_night is not the index of one of 9"),
        (set_in("series", 0, "us", to=[1.0]), "series.0.us is not a list of 9 numbers or nulls"),
        (set_in("series", 0, "us", 3, to="1"), "series.0.us is not a list of 9 numbers or nulls"),
        (set_in("series", 0, "us", 3, to=True), "series.0.us is not a list of 9 numbers or nulls"),
        (set_in("series", 0, "us", 3, to=0), "series.0.us is not a list of times above zero"),
        (set_in("series", 0, "kernel", to="new"), "series.0.kernel is not one of the file's"),
        (set_in("series", 0, "problem", to="new"), "series.0.problem is not one of the file's"),
        (set_in("series", 0, "outcomes", to={"1": "bored"}), "outcomes.1 is not one of passed"),
        (set_in("series", 0, "outcomes", to={"9": "failed"}), "outcomes.9 is not keyed by"),
        (set_in("series", 0, "outcomes", to={"-1": "failed"}), "outcomes.-1 is not keyed by"),
        (set_in("series", 0, "changes", to=[CHANGE]), "changes.0.night is not the index of one"),
        (
            set_in("series", 0, "changes", to=[{**CHANGE, "night": 4, "before": 4}]),
            "changes.0.before is not an earlier night",
        ),
        (set_in("series", 1, "id", to="naive/bf16/nn/4096x4096x4096"), "each id occurs once"),
        (set_in("resources", 0, "registers", to=None), "registers is not a list of 9"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, made: Json, change: Callable[[Json], None], message: str
) -> None:
    broken = copy.deepcopy(made)
    change(broken)
    path = write(tmp_path / "trends.json", broken)
    with pytest.raises(ReportError, match=message) as error:
        read_trends(path)
    assert str(error.value).startswith(str(path))


@given(st.text(), st.text())
def test_two_names_never_share_a_file(one: str, other: str) -> None:
    assert (slug(one) == slug(other)) == (one == other)


@given(st.text())
def test_a_slug_stays_in_its_folder(name: str) -> None:
    assert set(slug(name)) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=-"
    )
    assert not slug(name).startswith(".")
    assert len(slug(name)) <= 100


def test_ids_stay_readable() -> None:
    assert slug("bf16/nt/128x7168x2048/alpha=0.5") == "bf16-nt-128x7168x2048-alpha=0.5"
    assert slug("wgmma_tma") == "wgmma_tma"
