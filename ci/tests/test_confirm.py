"""Which points are suspected, and what pairs say of them."""

from math import log1p
from pathlib import Path

import numpy as np
import pytest

from ci.base_build import BaseBuild
from ci.confirm import confirm, find_suspects, settled
from ci.estimate import Array
from ci.judge import judge
from ci.policy import GPU
from ci.records import Outcome, Samples
from ci.tests.synthetic import OTHER, POINT, make_samples, with_outcome
from ci.verdicts import Answer, Confirmation, PointVerdict, Verdict

SPREAD = 0.003
FAMILY = "tiled/bf16"


def noise(seed: int, trials: int = 14, spread: float = SPREAD) -> Array:
    return np.random.default_rng(seed).normal(0.2, spread, trials)


def sides(loss: float, spread: float = SPREAD) -> list[Samples]:
    """Pairs at two points, the first of which lost."""
    base = {POINT: noise(1, spread=spread), OTHER: noise(2)}
    head = {POINT: noise(3, spread=spread) + log1p(loss), OTHER: noise(4)}
    return [make_samples(base), make_samples(head)]


def alone(loss: float) -> list[Samples]:
    """A point without a family."""
    return [make_samples({POINT: noise(1)}), make_samples({POINT: noise(3) + log1p(loss)})]


def by_pairs(loss: float, spread: float = SPREAD) -> PointVerdict:
    measured, _ = confirm(sides(loss, spread), [], [], GPU)
    return next(verdict for verdict in measured if verdict.id == POINT)


def confirmation(
    *measured: PointVerdict, unmeasured: tuple[str, ...] = (), same: bool = False
) -> Confirmation:
    base = BaseBuild(Path("bench"), "abc", "abc", ("--base", "main"))
    return Confirmation(base, 14, same, measured, unmeasured, 1.0, ())


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (0.0, Verdict.same),
        (0.008, Verdict.same),  # below tau
        (0.03, Verdict.regressed),
        (-0.03, Verdict.improved),
    ],
)
def test_pairs_tell_a_loss_from_none(loss: float, expected: Verdict) -> None:
    item = by_pairs(loss)
    assert item.verdict is expected
    assert item.fails == (expected is Verdict.regressed)
    assert item.comparison is not None
    assert item.comparison.change == pytest.approx(loss, abs=0.004)


def test_a_loss_within_the_jumps_of_single_pairs_is_not_called_one() -> None:
    """Every pair reads slower, so the test is sure; by 1.5% to 30%, so nobody knows how much."""
    base = make_samples({POINT: np.zeros(14)})
    jumps = np.append(np.full(11, 0.0155), [0.3] * 3)
    head = make_samples({POINT: jumps})
    (item,), _ = confirm([base, head], [], [], GPU)
    assert item.verdict is Verdict.inconclusive
    calm = make_samples({POINT: np.full(14, 0.0155)})
    (item,), _ = confirm([base, calm], [], [], GPU)
    assert item.verdict is Verdict.regressed


def test_what_one_day_between_two_runs_hides_pairs_see() -> None:
    base, head = sides(0.02)
    screened = judge(base, head, GPU)
    assert not screened.points[0].fails
    assert by_pairs(0.02).verdict is Verdict.regressed


def test_the_correction_is_over_all_suspects() -> None:
    names = [f"tiled/bf16/nt/{n}x1x1" for n in range(1, 900)]
    quiet = dict.fromkeys(names, noise(5))
    base, head = sides(0.03)
    many = [
        make_samples({name: s.points[name].log_ratio for name in s.points} | quiet)
        for s in (base, head)
    ]
    measured, _ = confirm(many, [], [], GPU)
    assert next(v for v in measured if v.id == POINT).verdict is Verdict.inconclusive


def screened(loss: float) -> list[str]:
    base = make_samples({POINT: noise(1), OTHER: noise(2)})
    head = make_samples({POINT: noise(3, 6) + log1p(loss), OTHER: noise(4, 6)})
    return [suspect.id for suspect in find_suspects(judge(base, head, GPU), head.points)]


def test_what_the_screen_cleared_is_no_suspect_and_the_worst_comes_first() -> None:
    assert screened(0.0) == []
    assert screened(0.02)[0] == POINT
    assert OTHER not in screened(0.02)


def test_a_noisy_point_is_suspected_because_it_was_not_cleared() -> None:
    base = make_samples({POINT: np.tile([0.15, 0.25], 5)})
    head = make_samples({POINT: np.tile([0.15, 0.25], 3)})
    assert [s.id for s in find_suspects(judge(base, head, GPU), [POINT])] == [POINT]


def test_a_point_that_the_baseline_does_not_know_is_compared_by_pairs() -> None:
    base = make_samples({OTHER: noise(2)})
    head = make_samples({POINT: noise(3, 6), OTHER: noise(4, 6)})
    screening = judge(base, head, GPU)
    assert [s.id for s in find_suspects(screening, [POINT, OTHER])] == [POINT]
    assert find_suspects(screening, [OTHER]) == []  # the base build has no such kernel


def test_a_broad_loss_makes_its_family_a_suspect_with_all_its_points() -> None:
    names = [f"{FAMILY}/nt/{n}x{n}x{n}" for n in range(1, 21)]
    base = make_samples({name: noise(i) for i, name in enumerate(names)})
    head = make_samples({name: noise(100 + i, 6) + 0.012 for i, name in enumerate(names)})
    suspects = find_suspects(judge(base, head, GPU), names)
    family = next(suspect for suspect in suspects if suspect.is_family)
    assert (family.id, set(family.points)) == (FAMILY, set(names))
    pairs = [
        make_samples({name: noise(seed + i) + loss for i, name in enumerate(names)})
        for seed, loss in ((200, 0.0), (300, 0.012))
    ]
    measured, _ = confirm(pairs, [FAMILY], [], GPU)
    assert [v.id for v in measured if v.fails] == [FAMILY]
    assert FAMILY not in [v.id for v in confirm(pairs, [], [], GPU)[0]]


def test_a_base_that_breaks_in_the_pairs_leaves_its_point_open() -> None:
    base, head = sides(0.03)
    broken = with_outcome(base, POINT, Outcome.failed, "killed")
    measured, _ = confirm([broken, head], [], [], GPU)
    item = next(verdict for verdict in measured if verdict.id == POINT)
    assert item.verdict is Verdict.inconclusive
    assert "killed" in item.reason


def test_the_confirmation_has_the_last_word() -> None:
    base, head = alone(0.2)
    assert judge(base, head, GPU).answer is Answer.regression
    innocent = by_pairs(0.0)
    assert judge(base, head, GPU, confirmation=confirmation(innocent)).answer is Answer.passed


def test_a_screened_loss_that_was_not_confirmed_is_neither_red_nor_a_pass() -> None:
    base, head = alone(0.2)
    judgement = judge(base, head, GPU, confirmation=confirmation(unmeasured=(POINT,)))
    assert judgement.answer is Answer.untrusted
    assert "left no time to confirm" in judgement.doubts[0]


def test_one_program_on_both_sides_is_not_gated() -> None:
    lost = by_pairs(0.03)
    same = confirmation(lost, same=True)
    assert same.alarms == 1
    assert settled(lost, same).verdict is Verdict.same
    assert not settled(lost, same).fails
    assert settled(lost, confirmation(lost)).verdict is Verdict.regressed
