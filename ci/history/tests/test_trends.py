"""trends.json: an element a night, epochs by fingerprint, changes with their commits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ci.history.tests.conftest import POINTS, History, RunFiles

Edit = Callable[..., Path]
TILED, CONTROL = POINTS


def night(ratio: float, rng: np.random.Generator) -> dict[str, list[float]]:
    """Three trials of both points; a host's floor is 5%, so that 0.5% is little noise."""
    return {TILED: list(ratio + rng.normal(0, 0.005, 3)), CONTROL: [0.0, 0.0, 0.0]}


def series_of(trends: Any, name: str) -> Any:
    return next(series for series in trends["series"] if series["id"] == name)


def test_a_column_has_an_element_a_night_oldest_first(
    filed: History, run_file: RunFiles, edited: Edit
) -> None:
    def telemetry(run: Any) -> None:
        for row in run["benchmarks"]:
            row |= {"sm_mhz": 1700.0, "bound_share": 0.25}

    broken = run_file(
        {CONTROL: [0.0, 0.0, 0.0]}, night=1, trials=3,
        outcomes={CONTROL: "passed", TILED: "timed_out"}, reasons={TILED: "hung"},
    )  # fmt: skip
    last = run_file({TILED: [0.3, 0.1, 0.2], CONTROL: [0.0, 0.0, 0.0]}, night=2)
    first = edited(run_file({TILED: [0.1, 0.1, 0.4], CONTROL: [0.0] * 3}, night=0), telemetry)
    filed("add", last, broken, first)
    trends = filed.trends()
    assert (trends["schema"], trends["kind"]) == (1, "gemmwatch-trends")
    assert [n["finished"][:10] for n in trends["nights"]] == [
        "2026-01-01", "2026-01-02", "2026-01-03"
    ]  # fmt: skip
    assert [n["commit"] for n in trends["nights"]] == [f"{night:040x}" for night in range(3)]
    tiled = series_of(trends, TILED)
    assert (tiled["kernel"], tiled["problem"]) == ("tiled", "fp32/nn/64x64x64")
    assert tiled["log_ratio"] == [0.1, None, 0.2]
    assert tiled["us"] == pytest.approx([110.52, None, 122.14], abs=0.01)
    assert tiled["sm_mhz"] == [1700, None, None]
    assert tiled["bound_share"] == [0.25, None, None]
    assert tiled["low"][0] <= 0.1 <= tiled["high"][0]
    assert tiled["outcomes"] == {"1": "timed_out"}
    assert all(len(column) == 3 for column in tiled.values() if isinstance(column, list) and column)
    assert {kernel["name"] for kernel in trends["kernels"]} == {"tiled", "control"}
    assert trends["peaks"] == {"fp32": 0.1}


def test_a_change_names_the_commits_that_it_lies_between(
    filed: History, run_file: RunFiles
) -> None:
    rng = np.random.default_rng(1)
    levels = [0.2] * 30 + [0.3] * 30
    filed("add", *(run_file(night(level, rng)) for level in levels))
    (change,) = series_of(filed.trends(), TILED)["changes"]
    assert (change["before"], change["night"], change["kind"]) == (29, 30, "step")
    assert (change["from_commit"], change["to_commit"]) == (f"{29:040x}", f"{30:040x}")
    assert change["low"] < np.expm1(0.1) < change["high"]
    assert series_of(filed.trends(), CONTROL)["changes"] == []


def test_another_driver_opens_an_epoch_and_is_no_change(filed: History, run_file: RunFiles) -> None:
    rng = np.random.default_rng(1)
    for driver, level in (("580", 0.2), ("590", 0.4), ("580", 0.2)):
        nights = [run_file(night(level, rng), fingerprint={"driver": driver}) for _ in range(20)]
        filed("add", *nights)
    trends = filed.trends()
    assert [epoch["first_night"] for epoch in trends["epochs"]] == [0, 20, 40]
    assert [epoch["changed"] for epoch in trends["epochs"]] == [
        {}, {"driver": ["580", "590"]}, {"driver": ["590", "580"]}
    ]  # fmt: skip
    assert [n["epoch"] for n in trends["nights"]] == [0] * 20 + [1] * 20 + [2] * 20
    assert series_of(trends, TILED)["changes"] == []


def test_a_machine_named_by_its_owner_may_change_its_processor(
    filed: History, run_file: RunFiles
) -> None:
    old, new = run_file(), run_file(fingerprint={"cpu": "New CPU"})
    filed("add", old, new, "--machine", "rig 1")
    (_, epoch) = filed.trends()["epochs"]
    assert epoch["changed"] == {"cpu": ["Test CPU 9000", "New CPU"]}


def test_a_disturbed_night_makes_no_change(filed: History, run_file: RunFiles) -> None:
    rng = np.random.default_rng(1)
    quiet = [run_file(night(0.2, rng)) for _ in range(30)]
    disturbed = [run_file({TILED: [0.4] * 3, CONTROL: [0.2] * 3}) for _ in range(30)]
    filed("add", *quiet, *disturbed)
    tiled = series_of(filed.trends(), TILED)
    assert tiled["log_ratio"][-1] == 0.4
    assert tiled["changes"] == []
    doubts = [night["doubts"] for night in filed.trends()["nights"]]
    assert doubts[:30] == [[]] * 30
    assert all("the control against itself reads" in told for (told,) in doubts[30:])


def test_a_point_that_never_passed_is_seen_and_one_that_was_always_refused_is_not(
    filed: History, run_file: RunFiles
) -> None:
    hung, refused = "tiled/fp32/nn/128x128x128", "tiled/fp32/nn/256x256x256"
    outcomes = {CONTROL: "passed", hung: "timed_out", refused: "refused"}
    reasons = {hung: "hung", refused: "too large"}
    nights = [
        run_file({CONTROL: [0.0, 0.0, 0.0]}, outcomes=outcomes, reasons=reasons) for _ in range(2)
    ]
    filed("add", *nights)
    trends = filed.trends()
    assert {series["id"] for series in trends["series"]} == {CONTROL, hung}
    never = series_of(trends, hung)
    assert never["us"] == never["log_ratio"] == [None, None]
    assert never["outcomes"] == {"0": "timed_out", "1": "timed_out"}


def test_the_newest_word_on_a_kernel_is_that_of_the_last_night(
    filed: History, run_file: RunFiles, edited: Edit
) -> None:
    """Also where the last night says what an earlier one said, after a revert."""

    def idea(words: str) -> Callable[[Any], None]:
        def change(run: Any) -> None:
            run["context"]["gemmwatch"]["catalog"]["kernels"][0]["idea"] = words

        return change

    filed("add", *(edited(run_file(), idea(words)) for words in ("reuse", "hope", "reuse")))
    assert filed.trends()["kernels"][0]["idea"] == "reuse"


def test_creep_is_held_against_the_anchor(filed: History, run_file: RunFiles) -> None:
    rng = np.random.default_rng(1)
    levels = [*np.linspace(0.4, 0.2, 60), *np.linspace(0.2, 0.35, 60)]
    filed("add", *(run_file(night(level, rng)) for level in levels))
    filed("anchor", filed.runs()[60]["run"])
    (change,) = series_of(filed.trends(), TILED)["changes"]
    assert (change["kind"], change["before"], change["night"]) == ("creep", 60, 119)
    assert change["low"] < np.expm1(0.15 * 53 / 60) < change["high"]  # between the two weeks


def test_resources_are_a_function_each(filed: History, run_file: RunFiles, tmp_path: Path) -> None:
    filed("add", run_file())
    for registers in (40, 48):
        row = {"function": "f<float>", "arch": "sm_80", "kernel": "tiled", "registers": registers}
        path = tmp_path / "resources.json"
        row |= {"code_bytes": 512, "local_loads": 3, "local_stores": registers - 40}
        path.write_text(json.dumps({"schema": 1, "functions": [row]}))
        filed("add", run_file(), "--resources", path)
    assert filed.trends()["resources"] == [
        {
            "function": "f<float>", "arch": "sm_80", "kernel": "tiled",
            "registers": [None, 40, 48], "code_bytes": [None, 512, 512],
            "shared_bytes": [None] * 3, "spills": [None, 3, 11],
        }
    ]  # fmt: skip
