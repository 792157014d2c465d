"""The judge on series whose truth is known."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import Exit
from ci.estimate import Array
from ci.judge import judge
from ci.policy import GPU, HOST
from ci.records import Outcome, Samples
from ci.screen import same_orders
from ci.tests.synthetic import OTHER, POINT, make_samples, with_outcome
from ci.verdicts import Answer, Judgement, PointVerdict, Verdict

SPREAD = 0.006  # between trials of one run, in the middle of what was measured on an H200


WIDE = np.linspace(-0.05, 0.05, 10)


def noise(seed: int, trials: int = 10) -> Array:
    return np.random.default_rng(seed).normal(0.2, SPREAD, trials)


def verdict(judgement: Judgement, point: str = POINT) -> PointVerdict:
    return next(item for item in judgement.points if item.id == point)


def judged(base: Array, head: Array) -> PointVerdict:
    return verdict(judge(make_samples({POINT: base}), make_samples({POINT: head}), GPU))


# -------------------------------------------------------------------------------------------------
# Speed
# -------------------------------------------------------------------------------------------------


def test_identical_series_are_the_same() -> None:
    item = judged(noise(1), noise(1))
    assert item.verdict is Verdict.same
    assert item.comparison is not None
    assert item.comparison.change == 0


def test_five_percent_slower_is_a_regression_with_its_size() -> None:
    judgement = judge(
        make_samples({POINT: noise(1)}), make_samples({POINT: noise(2) + np.log(1.05)}), GPU
    )
    item = verdict(judgement)
    assert item.verdict is Verdict.regressed
    assert item.comparison is not None
    assert item.comparison.low < 0.05 < item.comparison.high
    assert item.comparison.change == pytest.approx(0.05, abs=0.008)
    assert "slower" in item.reason
    assert judgement.answer is Answer.regression
    assert judgement.answer.exit_code == Exit.regression


def test_five_percent_faster_is_an_improvement() -> None:
    assert judged(noise(1) + np.log(1.05), noise(2)).verdict is Verdict.improved


def test_a_proven_loss_below_tau_fail_does_not_fail() -> None:
    """1.8% without a doubt: above tau, below tau_fail."""
    certain = replace(GPU, day_std=1e-9)
    base, head = make_samples({POINT: np.zeros(10)}), make_samples({POINT: np.full(10, 0.018)})
    item = verdict(judge(base, head, certain))
    assert item.comparison is not None
    assert item.comparison.p < GPU.alpha
    assert item.verdict is Verdict.same


def test_a_sure_loss_that_is_not_above_tau_never_fails() -> None:
    """tau is what is tested, tau_fail only what is asked of the estimate besides."""
    certain = replace(GPU, day_std=1e-9, tau=0.05, tau_fail=0.02)
    base, head = make_samples({POINT: np.zeros(10)}), make_samples({POINT: np.full(10, 0.04)})
    assert not verdict(judge(base, head, certain)).fails


def test_drift_that_the_control_shares_is_no_change() -> None:
    """20% slower in absolute time, in kernel and control alike."""
    base, head = make_samples({POINT: noise(1)}), make_samples({POINT: noise(2)})
    slow = replace(
        head.points[POINT],
        kernel_us=head.points[POINT].kernel_us * 1.2,
        control_us=head.points[POINT].control_us * 1.2,
    )
    assert verdict(judge(base, replace(head, points={POINT: slow}), GPU)).verdict is Verdict.same


def test_one_spike_neither_alarms_nor_hides_a_loss() -> None:
    head = noise(2)
    head[3] += 0.5
    assert judged(noise(1), head).verdict is Verdict.same
    assert judged(noise(1), head + np.log(1.05)).verdict is Verdict.regressed


def test_two_modes_in_another_mixture_are_not_a_regression() -> None:
    """Trials land in one of two states 5% apart: 3 of 10 slow in base, 7 of 10 in head."""
    states = np.where(np.arange(10) < 3, 0.05, 0.0)
    item = judged(noise(1) + states, noise(2) + (0.05 - states))
    assert not item.fails


def test_heavy_tails_cost_power_and_raise_no_alarm() -> None:
    rng = np.random.default_rng(5)
    alarms = sum(
        judged(0.01 * rng.standard_cauchy(10), 0.01 * rng.standard_cauchy(10)).fails
        for _ in range(200)
    )
    assert alarms == 0


def test_wide_spread_is_inconclusive_and_says_what_it_could_have_seen() -> None:
    item = judged(WIDE, WIDE + 0.015)
    assert item.verdict is Verdict.inconclusive
    assert item.comparison is not None
    assert item.comparison.smallest_visible > GPU.tau_fail
    assert f"{item.comparison.smallest_visible:.1%}" in item.reason


def test_smallest_visible_is_reported_with_the_promised_power() -> None:
    rng = np.random.default_rng(8)

    def gate(loss: float) -> PointVerdict:
        day = rng.normal(0, GPU.day_std)
        return judged(rng.normal(0, SPREAD, 10), rng.normal(loss + day, SPREAD, 10))

    visible = np.median([c.smallest_visible for _ in range(50) if (c := gate(0).comparison)])
    found = np.mean([gate(np.log1p(visible)).fails for _ in range(400)])
    assert found == pytest.approx(GPU.power, abs=0.06)  # 3 standard errors


@pytest.mark.parametrize("trials", [1, 2])
def test_too_few_trials_decide_nothing(trials: int) -> None:
    few, many = make_samples({POINT: noise(1, trials)}), make_samples({POINT: noise(2) + 1})
    for base, head in ((few, many), (many, few)):
        judgement = judge(base, head, GPU)
        assert verdict(judgement).verdict is Verdict.inconclusive
        assert judgement.compared == 0
        assert judgement.answer is Answer.untrusted


def test_three_trials_see_a_large_loss() -> None:
    assert judged(noise(1, 3), noise(2, 3) + np.log(1.3)).verdict is Verdict.regressed


def test_more_hypotheses_ask_for_more_evidence() -> None:
    """Holm: what alone is a regression is none among 200 others."""
    base, head = np.zeros(10), np.full(10, GPU.tau + 2.2 * GPU.day_std)
    alone = judged(base, head)
    crowd = {f"tiled/bf16/nt/{k}x{k}x{k}": noise(k) for k in range(1, 200)}
    among = judge(make_samples({POINT: base, **crowd}), make_samples({POINT: head, **crowd}), GPU)
    assert alone.verdict is Verdict.regressed
    item = verdict(among)
    assert item.verdict is Verdict.inconclusive
    assert item.comparison is not None
    assert alone.comparison is not None
    assert item.comparison.smallest_visible > alone.comparison.smallest_visible


def test_the_host_has_its_own_policy() -> None:
    base, head = make_samples({POINT: noise(1)}), make_samples({POINT: noise(2) + np.log(1.05)})
    assert not verdict(judge(base, head, HOST)).fails


# -------------------------------------------------------------------------------------------------
# Families
# -------------------------------------------------------------------------------------------------


def many(
    loss: float, seed: int, kernel: str = "tiled", precision: str = "bf16"
) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {
        f"{kernel}/{precision}/nt/{k}x{k}x{k}": rng.normal(loss, SPREAD, 10) for k in range(1, 21)
    }


def test_a_broad_loss_is_seen_where_no_point_shows_it() -> None:
    judgement = judge(make_samples(many(0, 1)), make_samples(many(0.023, 2)), GPU)
    assert not any(point.fails for point in judgement.points)
    assert [(f.id, f.verdict) for f in judgement.families] == [("tiled/bf16", Verdict.regressed)]
    assert judgement.answer is Answer.regression


def test_a_family_is_one_kernel_and_one_precision() -> None:
    base = many(0, 1) | many(0, 2, "tiled/fp32") | many(0, 3, "naive/bf16")
    slower = many(0.03, 4, "tiled/fp32")
    judgement = judge(make_samples(base), make_samples(base | slower), GPU)
    assert {f.id: f.verdict is Verdict.regressed for f in judgement.families} == {
        "tiled/bf16": False,
        "tiled/fp32": True,
        "naive/bf16": False,
    }


def test_one_point_is_no_family() -> None:
    assert (
        judge(make_samples({POINT: noise(1)}), make_samples({POINT: noise(2)}), GPU).families == ()
    )


# -------------------------------------------------------------------------------------------------
# Properties
# -------------------------------------------------------------------------------------------------

series = st.lists(st.floats(-0.3, 0.3), min_size=3, max_size=12).map(np.array)
MIRROR = {Verdict.regressed: Verdict.improved, Verdict.improved: Verdict.regressed}


@given(series, series)
def test_swapping_base_and_head_turns_the_sign(base: Array, head: Array) -> None:
    there, back = judged(base, head), judged(head, base)
    assert there.comparison is not None
    assert back.comparison is not None
    assert back.comparison.effect == -there.comparison.effect
    if there.verdict in MIRROR or back.verdict in MIRROR:
        assert back.verdict is MIRROR[there.verdict]


@given(series, series, st.integers(0, 1000))
def test_the_order_of_trials_does_not_matter(base: Array, head: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert judged(rng.permutation(base), rng.permutation(head)) == judged(base, head)


@given(series, series, st.floats(-1, 1))
def test_what_moves_both_sides_alike_does_not_matter(
    base: Array, head: Array, shift: float
) -> None:
    one, other = judged(base, head).comparison, judged(base + shift, head + shift).comparison
    assert one is not None
    assert other is not None
    assert other.effect == pytest.approx(one.effect, abs=1e-12)
    assert other.low == pytest.approx(one.low)
    assert other.high == pytest.approx(one.high)


# -------------------------------------------------------------------------------------------------
# Everything but speed
# -------------------------------------------------------------------------------------------------


def sound() -> Samples:
    return make_samples({POINT: noise(1), OTHER: noise(2)})


@pytest.mark.parametrize(
    ("outcome", "expected", "code"),
    [
        (Outcome.incorrect, Verdict.incorrect, Exit.incorrect),
        (Outcome.failed, Verdict.failed, Exit.regression),
        (Outcome.timed_out, Verdict.timed_out, Exit.regression),
        (Outcome.refused, Verdict.missing, Exit.regression),
    ],
)
def test_a_point_that_came_to_grief(outcome: Outcome, expected: Verdict, code: Exit) -> None:
    judgement = judge(sound(), with_outcome(sound(), POINT, outcome, "because"), GPU)
    assert verdict(judgement).verdict is expected
    assert verdict(judgement).fails
    assert "because" in verdict(judgement).reason
    assert judgement.answer.exit_code == code


def test_a_point_that_vanished_is_missing() -> None:
    judgement = judge(sound(), make_samples({OTHER: noise(3)}), GPU)
    assert verdict(judgement).verdict is Verdict.missing
    assert judgement.answer is Answer.regression


def test_a_filtered_head_misses_only_what_its_filter_names() -> None:
    head = make_samples({OTHER: noise(3)}, filter="8192")
    judgement = judge(sound(), head, GPU)
    assert [point.id for point in judgement.points] == [OTHER]
    assert judgement.answer is Answer.passed
    assert "1 points of base not looked at" in judgement.notes[0]
    assert judge(sound(), replace(head, filter="x"), GPU).answer is Answer.regression


def test_a_new_point_is_reported_and_does_not_fail() -> None:
    judgement = judge(make_samples({OTHER: noise(1)}), sound(), GPU)
    assert verdict(judgement).verdict is Verdict.new
    assert judgement.answer is Answer.passed


@pytest.mark.parametrize("outcome", [Outcome.failed, Outcome.timed_out])
def test_a_failure_that_base_had_too_does_not_fail_the_gate(outcome: Outcome) -> None:
    both = with_outcome(sound(), POINT, outcome, "because")
    judgement = judge(both, both, GPU)
    assert verdict(judgement).verdict.value == outcome.value
    assert judgement.answer is Answer.passed


def test_an_incorrect_result_is_exit_3_even_if_base_had_it() -> None:
    both = with_outcome(sound(), POINT, Outcome.incorrect, "because")
    assert judge(both, both, GPU).answer is Answer.incorrect


def test_a_failing_new_point_fails() -> None:
    head = with_outcome(sound(), "new/bf16/nt/64x64x64", Outcome.failed, "because")
    assert judge(sound(), head, GPU).answer is Answer.regression


def test_refused_on_both_sides_is_not_mentioned() -> None:
    both = with_outcome(sound(), POINT, Outcome.refused, "too large")
    assert [point.id for point in judge(both, both, GPU).points] == [OTHER]


def test_another_machine_is_incomparable_and_the_difference_named() -> None:
    head = make_samples({POINT: noise(1) + 1}, fingerprint={**sound().fingerprint, "driver": "9"})
    judgement = judge(sound(), head, GPU)
    assert verdict(judgement).verdict is Verdict.incomparable
    assert "driver is 580.1 in base and 9 in head" in verdict(judgement).reason
    assert "gpu is" not in verdict(judgement).reason
    assert "gemmwatch baseline store out/pr/run.json" in judgement.doubts[0]
    assert judgement.answer is Answer.untrusted
    assert judgement.compared == 0


def test_a_field_that_one_side_lacks_is_a_difference() -> None:
    head = make_samples({POINT: noise(1)}, fingerprint={**sound().fingerprint, "cublas": "13"})
    assert "cublas is absent in base and 13 in head" in judge(sound(), head, GPU).doubts[0]


def test_another_selection_is_incomparable() -> None:
    head = replace(sound(), selection="full")
    assert "selection is pr in base and full in head" in judge(sound(), head, GPU).doubts[0]


def under(harness: str) -> Samples:
    return replace(sound(), fingerprint={**sound().fingerprint, "harness": harness})


@pytest.mark.parametrize(
    ("base", "head", "base_load", "head_load"),
    [("1", "1 sustained", "trial", "sustained"), ("1 burst", "1", "burst", "trial")],
)
def test_another_load_is_incomparable_and_told_by_name(
    base: str, head: str, base_load: str, head_load: str
) -> None:
    judgement = judge(under(base), under(head), GPU)
    assert verdict(judgement).verdict is Verdict.incomparable
    assert verdict(judgement).reason == f"load is {base_load} in base and {head_load} in head"
    assert f"Measure head with gemmwatch run --load {base_load}" in judgement.doubts[0]
    assert judgement.compared == 0


def test_equal_loads_are_compared() -> None:
    of_hours = under("1 sustained")
    assert judge(of_hours, of_hours, GPU).answer is Answer.passed


def test_a_wrong_result_outweighs_a_machine_that_does_not_match() -> None:
    head = with_outcome(replace(sound(), fingerprint={"device": "gpu"}), POINT, Outcome.incorrect)
    assert judge(sound(), head, GPU).answer is Answer.incorrect


def test_a_regression_outweighs_a_doubt() -> None:
    head = make_samples({POINT: noise(1) + 0.1, OTHER: noise(3) + np.linspace(-0.1, 0.1, 10)})
    judgement = judge(sound(), head, GPU, strict=True)
    assert judgement.doubts
    assert judgement.answer is Answer.regression


def test_nothing_compared_is_no_pass() -> None:
    new = make_samples({"new/bf16/nt/64x64x64": noise(1)}, filter="new")
    judgement = judge(sound(), new, GPU)
    assert judgement.answer is Answer.untrusted
    assert "nothing was compared" in judgement.doubts[0]


def test_strict_refuses_what_is_undecided() -> None:
    base = make_samples({POINT: WIDE, OTHER: noise(1)})
    head = make_samples({POINT: WIDE + 0.015, OTHER: noise(2)})
    assert judge(base, head, GPU).answer is Answer.passed
    assert judge(base, head, GPU, strict=True).answer is Answer.untrusted


def test_a_gate_that_decided_nothing_is_no_pass() -> None:
    judgement = judge(make_samples({POINT: WIDE}), make_samples({POINT: WIDE + 0.015}), GPU)
    assert judgement.compared == 1
    assert judgement.answer is Answer.untrusted
    assert "not one point could be decided" in judgement.doubts[0]


def test_three_wild_trials_have_finite_numbers() -> None:
    item = judged(np.array([-9.0, 0.0, 9.0]), np.array([9.0, 0.0, -9.0]))
    assert item.verdict is Verdict.inconclusive
    assert item.comparison is not None
    assert item.comparison.high == pytest.approx(9.0)  # tenfold
    assert item.comparison.smallest_visible == pytest.approx(9.0)


def test_injected_changes_are_noted() -> None:
    head = replace(sound(), injected="slow:tiled:5%")
    assert judge(sound(), head, GPU).notes == ("head carries an artificial change: slow:tiled:5%",)


# -------------------------------------------------------------------------------------------------
# Invalid runs
# -------------------------------------------------------------------------------------------------

CONTROL = "control/bf16/nt/4096x4096x4096"


def with_control(reading: float) -> Samples:
    control = np.random.default_rng(4).normal(reading, 0.001, 10)
    return make_samples({POINT: noise(1) + 0.1, CONTROL: control})


def test_a_control_that_moved_against_itself_makes_the_run_invalid() -> None:
    """Then even a clear loss is no verdict."""
    base = make_samples({POINT: noise(1)})
    assert judge(base, with_control(0.0), GPU).answer is Answer.regression
    judgement = judge(base, with_control(0.02), GPU)
    assert judgement.answer is Answer.untrusted
    assert CONTROL in judgement.doubts[0]
    assert verdict(judgement).verdict is Verdict.inconclusive


def test_a_throttled_run_is_invalid() -> None:
    hot = replace(make_samples({POINT: noise(1) + 0.1}), throttled=GPU.throttled_limit + 0.01)
    judgement = judge(make_samples({POINT: noise(1)}), hot, GPU)
    assert judgement.answer is Answer.untrusted
    assert "throttled" in judgement.doubts[0]


# -------------------------------------------------------------------------------------------------
# Trials matched by their order
# -------------------------------------------------------------------------------------------------

# What each of ten orders does to a noisy point.
ORDERS = 0.03 * np.cos(np.arange(10.0) ** 2)


def in_orders(loss: float, trials: int, **changes: Any) -> Samples:
    """A point that each order moves by a few percent, and little else moves."""
    rest = np.random.default_rng(trials).normal(0, 0.001, trials)
    return make_samples({POINT: ORDERS[:trials] + rest + math.log1p(loss)}, **changes)


@pytest.mark.parametrize(
    ("matched", "loss", "verdict"),
    [
        (False, 0.0, Verdict.inconclusive),
        (True, 0.0, Verdict.same),
        (True, 0.05, Verdict.regressed),
        (True, -0.05, Verdict.improved),
    ],
)
def test_matching_takes_out_what_the_order_does(
    matched: bool, loss: float, verdict: Verdict
) -> None:
    (point,) = judge(in_orders(0, 10), in_orders(loss, 6), GPU, matched=matched).points
    assert point.verdict is verdict


def test_matched_trials_still_have_a_day_between_them() -> None:
    exact = make_samples({POINT: ORDERS})
    slower = make_samples({POINT: ORDERS + 0.025})
    (point,) = judge(exact, slower, GPU, matched=True).points
    assert point.comparison is not None
    width = math.log1p(point.comparison.high) - 0.025
    assert width == pytest.approx(1.645 * GPU.day_std, rel=1e-3)  # z of 95%


def test_orders_are_the_same_if_the_same_points_were_visited() -> None:
    both = {POINT: [0.0] * 6, OTHER: [0.0] * 6}
    base = make_samples(both)
    assert same_orders(base, make_samples(both))
    assert same_orders(with_outcome(base, "tiled/fp32", Outcome.refused), make_samples(both))
    for other in (
        make_samples({POINT: [0.0] * 6}),
        make_samples(dict(reversed(both.items()))),
        make_samples(both, filter="^tiled"),
        with_outcome(make_samples(both), OTHER, Outcome.failed),
    ):
        assert not same_orders(base, other)
        assert not same_orders(other, base)
