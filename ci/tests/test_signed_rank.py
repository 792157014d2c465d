import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ci.estimate import Array
from ci.signed_rank import PairedEstimate, signed_rank_p

distinct = st.lists(st.integers(1, 10**6), min_size=1, max_size=16, unique=True)
signs = st.lists(st.sampled_from([-1, 1]), min_size=16, max_size=16)
tied = st.lists(st.integers(-4, 4), min_size=1, max_size=10).map(lambda x: np.array(x) / 100)


@given(distinct, signs)
def test_without_ties_it_is_scipys_exact_test(sizes: list[int], sign: list[int]) -> None:
    differences = np.array(sizes) * np.array(sign[: len(sizes)]) / 1e6
    reference = stats.wilcoxon(differences, alternative="greater", method="exact")
    assert signed_rank_p(differences) == pytest.approx(reference.pvalue, abs=1e-12)


def by_enumeration(differences: Array) -> float:
    """Every choice of signs for the ranks at hand; zeros take part and never count as positive."""
    ranks = stats.rankdata(np.abs(differences))
    observed = ranks[differences > 0].sum()
    chosen = itertools.product([0, 1], repeat=differences.size)
    return float(np.mean([np.dot(c, ranks) >= observed for c in chosen]))


@given(tied)
def test_with_ties_and_zeros_every_choice_of_signs_is_counted(differences: Array) -> None:
    assert signed_rank_p(differences) == pytest.approx(by_enumeration(differences), abs=1e-12)


def test_zeros_never_help_the_claim() -> None:
    losses = np.linspace(0.01, 0.02, 6)
    assert signed_rank_p(np.append(losses, [0.0] * 3)) > signed_rank_p(losses)
    assert signed_rank_p(np.zeros(14)) == 1


def test_fourteen_pairs_can_be_as_sure_as_three_hundred_hypotheses_ask() -> None:
    assert signed_rank_p(np.linspace(0.01, 0.02, 14)) == pytest.approx(2.0**-14)
    assert 300 * 2.0**-14 < 0.05


def test_the_level_holds_on_heavy_tails() -> None:
    rng = np.random.default_rng(5)
    p = [PairedEstimate(0.01 + 0.004 * rng.standard_t(2, 14)).p_above(0.01) for _ in range(4000)]
    alarms = int(np.sum(np.array(p) <= 0.05))
    assert stats.binom.ppf(0.001, 4000, 0.04) < alarms < stats.binom.ppf(0.999, 4000, 0.05)


@given(st.integers(0, 10**6), st.integers(5, 16))
def test_bounds_are_where_the_test_turns(seed: int, pairs: int) -> None:
    estimate = PairedEstimate(np.random.default_rng(seed).normal(0.01, 0.1, pairs))
    low, high = estimate.low(0.05), estimate.high(0.05)
    assert estimate.p_above(low - 1e-9) <= 0.05
    assert estimate.p_above(low + 1e-9) > 0.05
    assert estimate.p_below(high + 1e-9) <= 0.05
    assert estimate.p_below(high - 1e-9) > 0.05
    assert low <= estimate.effect <= high


def test_too_few_pairs_bound_nothing() -> None:
    estimate = PairedEstimate(np.array([0.1, 0.11, 0.12, 0.13]))
    assert (estimate.low(0.05), estimate.high(0.05)) == (-np.inf, np.inf)


def test_the_effect_is_the_median_of_walsh_averages() -> None:
    assert PairedEstimate(np.array([1.0, 2.0, 9.0])).effect == 3.5  # 1 1.5 2 5 5.5 9


def test_one_spike_moves_the_effect_little() -> None:
    calm = np.linspace(-0.001, 0.001, 14)
    spiked = np.append(calm[:-1], 3.0)
    assert PairedEstimate(spiked).effect == pytest.approx(0, abs=0.0005)


def test_the_floor_is_the_spread_of_single_pairs_and_a_spike_is_none() -> None:
    normal = np.random.default_rng(6).normal(0.05, 0.01, 4000)
    assert PairedEstimate(normal).floor == pytest.approx(0.01, rel=0.1)
    calm = np.linspace(-0.001, 0.001, 14)
    spiked = PairedEstimate(np.append(calm[:-1], 3.0)).floor
    assert spiked == pytest.approx(PairedEstimate(calm).floor, rel=0.2)
