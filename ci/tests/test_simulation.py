"""False alarms and power of whole gates, simulated at the spreads that the policy states.

Each gate has 60 points in four families; each point is 10 trials a side. A run's day moves all
points of a kernel together and each point by itself, in sum by the policy's day_std.
"""

from dataclasses import replace
from math import log1p

import numpy as np
import pytest
from scipy import stats

from ci.judge import judge
from ci.policy import GPU, Policy
from ci.records import Samples
from ci.tests.synthetic import make_samples
from ci.verdicts import Answer, Judgement, Verdict

SPREAD = 0.008  # between trials, near the upper end of what was measured
KERNELS = ("naive/fp32", "tiled/fp32", "tiled/bf16", "control/bf16")
POINTS = [f"{k}/nt/{m}x{m}x{m}" for k in KERNELS for m in range(64, 1024, 64)]
VICTIM = POINTS[17]


def simulated_run(rng: np.random.Generator, loss: dict[str, float], policy: Policy) -> Samples:
    # Two runs are compared, so each takes half of the variance between days.
    shared_std = policy.family_day_std / np.sqrt(2)
    own_std = np.sqrt((policy.day_std**2 - policy.family_day_std**2) / 2)
    shared = {kernel: rng.normal(0, shared_std) for kernel in KERNELS}
    series = {}
    for point in POINTS:
        day = shared["/".join(point.split("/")[:2])] + rng.normal(0, own_std)
        series[point] = rng.normal(day + loss.get(point, 0.0), SPREAD, 10)
    return make_samples(series, controls=frozenset())


def gates(count: int, loss: dict[str, float], policy: Policy, seed: int) -> list[Judgement]:
    rng = np.random.default_rng(seed)
    return [
        judge(simulated_run(rng, {}, policy), simulated_run(rng, loss, policy), policy)
        for _ in range(count)
    ]


def share_red(judgements: list[Judgement]) -> float:
    return float(np.mean([judgement.answer is Answer.regression for judgement in judgements]))


def test_identical_builds_raise_no_alarm() -> None:
    judgements = gates(100, {}, GPU, seed=1)
    assert share_red(judgements) == 0
    decided = np.mean([j.counts[Verdict.same] / len(POINTS) for j in judgements])
    assert decided > 0.75  # and most points are cleared rather than left open


@pytest.mark.parametrize("points", [POINTS, POINTS[:1]], ids=["all", "one"])
def test_at_the_null_itself_the_level_holds(points: list[str]) -> None:
    """Every tested slowdown exactly tau, and no second hurdle: the worst innocent case."""
    bare = replace(GPU, tau_fail=0.0, family_tau=GPU.tau, family_tau_fail=0.0)
    alarms = sum(
        judgement.answer is Answer.regression
        for judgement in gates(100, dict.fromkeys(points, log1p(GPU.tau)), bare, seed=2)
    )
    assert alarms <= stats.binom.ppf(0.999, 100, GPU.alpha)


def test_five_percent_at_one_point_is_found() -> None:
    judgements = gates(100, {VICTIM: log1p(0.05)}, GPU, seed=3)
    found = [
        [point.id for point in judgement.points if point.fails] == [VICTIM]
        for judgement in judgements
    ]
    assert np.mean(found) > 0.9


def test_three_percent_of_a_whole_family_is_found() -> None:
    family = dict.fromkeys(POINTS[15:30], log1p(0.03))
    assert share_red(gates(50, family, GPU, seed=4)) > 0.9
