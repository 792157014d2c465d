"""Steps and creep on series whose truth is known."""

from __future__ import annotations

from itertools import pairwise
from math import log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ci.estimate import Array
from ci.history.change_points import Kind, find_changes
from ci.history.scan import intervals, settle, strongest_split
from ci.policy import CHANGE_ALPHA, CHANGE_NIGHTS, CREEP_NIGHTS

FLOOR = log1p(0.01)
NOISE = 0.004


def noise(nights: int = 200, seed: int = 0, spread: float = NOISE) -> Array:
    return np.random.default_rng(seed).normal(0.0, spread, nights)


def stepped(at: int, size: float, nights: int = 200, seed: int = 0) -> Array:
    series = noise(nights, seed)
    series[at:] += size
    return series


def test_a_step_is_found_with_its_night_size_and_interval() -> None:
    (change,) = find_changes(stepped(at=120, size=0.03), FLOOR)
    assert change.kind is Kind.step
    assert (change.before, change.at) == (119, 120)
    assert change.low < 0.03 < change.high
    assert change.high - change.low < 0.01
    assert change.p <= CHANGE_ALPHA


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    held = 0
    for seed in range(100):
        (change, *_) = find_changes(stepped(at=60, size=0.05, nights=120, seed=seed), FLOOR)
        held += change.low <= 0.05 <= change.high
    assert held >= 88  # of 95 expected; fewer happen in one of 500 such counts


def test_a_faster_kernel_is_a_change_below_zero() -> None:
    (change,) = find_changes(stepped(at=120, size=-0.03), FLOOR)
    assert change.low < -0.03 < change.high < 0


def test_several_steps_are_told_apart() -> None:
    series = stepped(at=60, size=0.03)
    series[140:] -= 0.05
    assert [change.at for change in find_changes(series, FLOOR)] == [60, 140]


def test_steps_in_one_direction_do_not_displace_each_other() -> None:
    for seed in range(20):
        series = noise(365, seed)
        series[230:] += 0.05
        series[270:] += 0.05
        spikes = np.random.default_rng(seed).choice(365, 5, replace=False)
        series[spikes] += 0.1
        placed = [change.at for change in find_changes(series, FLOOR)]
        assert placed == pytest.approx([230, 270], abs=1)


def test_a_loss_that_was_soon_mended_is_seen() -> None:
    series = noise(365)
    series[200:212] += 0.03
    first, second = find_changes(series, FLOOR)
    assert (first.at, second.at) == (200, 212)


@pytest.mark.parametrize("length", range(1, CHANGE_NIGHTS))
@pytest.mark.parametrize("at", [0, 100, 198])
def test_a_lone_spike_is_no_change(length: int, at: int) -> None:
    series = noise()
    series[at : at + length] += 0.5
    assert find_changes(series, FLOOR) == []


def test_a_step_beside_spikes_is_placed_where_it_is() -> None:
    series = stepped(at=120, size=0.03)
    series[[20, 90, 150]] += [0.4, -0.4, 0.4]
    (change,) = find_changes(series, FLOOR)
    assert change.at == 120
    assert change.low < 0.03 < change.high


def test_steps_below_the_floor_are_none_however_sure() -> None:
    series = stepped(at=100, size=0.006)
    assert find_changes(series, FLOOR) == []
    assert [change.at for change in find_changes(series, floor=0.001)] == [100]


def test_slow_creep_is_creep_and_no_staircase() -> None:
    series = noise(365) + np.linspace(0.0, 0.03, 365)
    (change,) = find_changes(series, FLOOR)
    assert change.kind is Kind.creep
    assert (change.before, change.at) == (0, 364)
    assert change.low < 0.03 < change.high


@pytest.mark.parametrize("seed", range(4))
def test_creep_is_measured_from_the_anchor(seed: int) -> None:
    series = noise(365, seed)
    series[:200] += np.linspace(0.04, 0.0, 200)
    series[200:] += np.linspace(0.0, 0.03, 165)
    (change,) = find_changes(series, FLOOR, anchor=200)
    assert (change.kind, change.before) == (Kind.creep, 200)
    assert change.low < 0.03 < change.high


@pytest.mark.parametrize("seed", range(4))
def test_a_drift_that_began_midway_is_no_staircase(seed: int) -> None:
    series = noise(365, seed)
    series[200:] += np.linspace(0.0, 0.03, 165)
    assert [change.kind for change in find_changes(series, FLOOR)] == [Kind.creep]


def test_what_a_step_explains_is_no_creep() -> None:
    for seed in range(20):
        kinds = {change.kind for change in find_changes(stepped(100, 0.05, seed=seed), FLOOR)}
        assert kinds == {Kind.step}


def test_creep_and_a_step_are_both_told() -> None:
    series = stepped(at=180, size=0.06, nights=365) + np.linspace(0.0, 0.03, 365)
    assert [change.kind for change in find_changes(series, FLOOR)] == [Kind.step, Kind.creep]


@pytest.mark.parametrize("nights", [0, 1, 2 * CHANGE_NIGHTS - 1, 2 * CREEP_NIGHTS])
def test_short_and_constant_series_have_no_change(nights: int) -> None:
    assert find_changes(np.zeros(nights), FLOOR) == []
    assert strongest_split(np.zeros(nights)) is None


@pytest.mark.parametrize("nights", [20, 61, 150])
def test_p_is_no_smaller_than_chance_allows(nights: int) -> None:
    """300 series of each length without a change; the count has a standard deviation of 3.8."""
    rng = np.random.default_rng(nights)
    splits = [strongest_split(rng.normal(size=nights)) for _ in range(300)]
    assert sum(split is not None and split.p <= 0.05 for split in splits) <= 15 + 3 * 3.8


def test_intervals_cover_the_series_at_every_length() -> None:
    for length, starts in intervals(50):
        covered = {start + step for start in starts for step in range(length)}
        assert covered == set(range(50))


steps = st.tuples(
    st.integers(20, 60), st.sampled_from([-0.05, -0.02, 0.0, 0.02, 0.05]), st.integers(0, 99)
)


@settings(max_examples=30, deadline=None)
@given(steps, st.floats(-2, 2))
def test_neither_level_nor_direction_matters(step: tuple[int, float, int], level: float) -> None:
    at, size, seed = step
    series = stepped(at, size, nights=80, seed=seed)
    found = find_changes(series, FLOOR)
    for other, sign in (
        (find_changes(series + level, FLOOR), 1),
        (find_changes(-series, FLOOR), -1),
    ):
        assert [c.at for c in other] == [c.at for c in found]
        assert [sign * c.effect for c in other] == pytest.approx([c.effect for c in found])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1), max_size=60), st.integers(0, 59))
def test_changes_of_any_series_are_in_order_and_apart(values: list[float], anchor: int) -> None:
    series = np.array(values, dtype=np.float64)
    found = find_changes(series, FLOOR, min(anchor, max(0, series.size - 1)))
    ats = [change.at for change in found if change.kind is Kind.step]
    ends = [0, *ats, series.size]
    assert all(b - a >= CHANGE_NIGHTS for a, b in pairwise(ends) if ats)
    for change in found:
        assert 0 <= change.before < change.at < series.size
        assert change.low <= change.effect <= change.high
        assert abs(change.effect) >= FLOOR


@given(st.integers(CHANGE_NIGHTS, 20), st.integers(CHANGE_NIGHTS, 20), st.integers(-3, 3))
def test_a_split_settles_on_the_edge(left: int, right: int, off: int) -> None:
    series = np.repeat([0.0, 1.0], [left, right])
    guess = min(max(left + off, CHANGE_NIGHTS), series.size - CHANGE_NIGHTS)
    assert settle(series, guess) == left
