import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ci.estimate import Estimate, compare, holm, locate

RNG = np.random.default_rng(1)


def test_effect_is_the_median_of_all_pairwise_differences() -> None:
    base, head = np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0])
    # differences: 2 1 -3 3 2 -2, sorted: -3 -2 1 2 2 3
    with_pair = np.append(head, 3.0)  # adds 3 2 -2: -3 -2 -2 1 2 2 2 3 3
    assert compare(base, with_pair, 0.0).effect == 2.0


@pytest.mark.parametrize(("n_base", "n_head"), [(3, 4), (5, 5), (10, 6), (14, 10)])
def test_standard_error_is_that_of_yuens_test(n_base: int, n_head: int) -> None:
    base, head = RNG.standard_t(3, n_base), RNG.standard_t(3, n_head)
    reference = stats.ttest_ind(head, base, equal_var=False, trim=0.2)
    trimmed = stats.trim_mean(head, 0.2) - stats.trim_mean(base, 0.2)
    estimate = compare(base, head, 0.0)
    assert estimate.standard_error == pytest.approx(trimmed / reference.statistic)
    assert estimate.df == pytest.approx(reference.df)


def test_one_spike_moves_neither_effect_nor_error() -> None:
    base, head = RNG.normal(0, 0.004, 10), RNG.normal(0, 0.004, 10)
    spiked = head.copy()
    spiked[np.argmax(spiked)] = 3.0  # was the largest before: every rank stays
    clean, dirty = compare(base, head, 0.006), compare(base, spiked, 0.006)
    assert dirty.effect == pytest.approx(clean.effect, abs=0.002)
    assert dirty.standard_error == clean.standard_error


def test_day_std_adds_variance_and_takes_no_degrees_of_freedom() -> None:
    base, head = RNG.normal(0, 1, 10), RNG.normal(0, 1, 10)
    without, with_day = compare(base, head, 0.0), compare(base, head, 3.0)
    assert with_day.standard_error**2 == pytest.approx(without.standard_error**2 + 9)
    assert with_day.df > without.df


def test_series_without_spread_leave_a_normal_test() -> None:
    estimate = compare(np.zeros(5), np.full(5, 0.02), 0.01)
    assert math.isinf(estimate.df)
    assert estimate.p_above(0.01) == pytest.approx(stats.norm.sf(1.0))
    assert estimate.high(0.05) == pytest.approx(0.02 + 0.01 * stats.norm.ppf(0.95))


def test_p_values_and_bounds_are_students() -> None:
    estimate = Estimate(effect=0.03, standard_error=0.01, df=7.5)
    assert estimate.p_above(0.01) == pytest.approx(stats.t.sf(2.0, 7.5))
    assert estimate.p_below(-0.01) == pytest.approx(stats.t.cdf(4.0, 7.5))
    margin = 0.01 * stats.t.ppf(0.95, 7.5)
    assert estimate.low(0.05) == pytest.approx(0.03 - margin)
    assert estimate.high(0.05) == pytest.approx(0.03 + margin)


def test_without_any_spread_the_effect_is_certain() -> None:
    estimate = Estimate(effect=0.03, standard_error=0.0, df=math.inf)
    assert (estimate.p_above(0.01), estimate.p_above(0.05)) == (0.0, 1.0)


def test_location_is_the_median_of_walsh_averages() -> None:
    series = np.array([1.0, 2.0, 9.0])  # averages 1 1.5 5 2 5.5 9
    assert locate(series).effect == 3.5
    assert locate(RNG.normal(0.5, 1e-6, 9)).effect == pytest.approx(0.5, abs=1e-5)


def test_holm_on_a_worked_example() -> None:
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, made monotone
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_lies_between_the_raw_p_and_bonferroni(p_values: list[float]) -> None:
    raw = np.array(p_values)
    adjusted = holm(p_values)
    assert np.all(adjusted >= raw)
    assert np.all(adjusted <= np.minimum(raw * raw.size, 1))


def test_nothing_to_correct() -> None:
    assert holm([]).size == 0
