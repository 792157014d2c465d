"""Power or code: the same loss in time, told apart by clock cycles."""

from dataclasses import replace

import numpy as np
import pytest

from ci.policy import GPU
from ci.power import explained
from ci.records import Samples
from ci.tests.synthetic import POINT, make_samples
from ci.verdicts import PointVerdict, Verdict

LOSS = PointVerdict(POINT, Verdict.regressed, "5.0% slower", fails=True)


def side(time: float, mhz: float | None) -> Samples:
    """Trials of a kernel that takes time x 100 us at this clock."""
    samples = make_samples({POINT: np.full(14, np.log(time))})
    clock = np.empty(0) if mhz is None else np.full(14, mhz)
    return replace(samples, points={POINT: replace(samples.points[POINT], sm_mhz=clock)})


@pytest.mark.parametrize(
    ("time", "mhz", "words"),
    [
        (1.05, 2000 / 1.05, "a power regression: +0.0% clock cycles at -4.8% clock"),
        (1.05, 2000, "the code: +5.0% clock cycles at +0.0% clock"),
        (1.05, 1980, "the code: +4.0% clock cycles at -1.0% clock"),  # a little of both
    ],
)
def test_the_clock_tells_power_from_code(time: float, mhz: float, words: str) -> None:
    found = explained(LOSS, [side(1, 2000), side(time, mhz)], GPU)
    assert found.reason == f"5.0% slower; {words}"
    assert replace(found, reason=LOSS.reason) == LOSS


@pytest.mark.parametrize("verdict", [Verdict.same, Verdict.inconclusive, Verdict.improved])
def test_only_a_loss_is_explained(verdict: Verdict) -> None:
    item = replace(LOSS, verdict=verdict)
    assert explained(item, [side(1, 2000), side(1.05, 1900)], GPU) is item


def test_without_a_clock_nothing_is_said() -> None:
    assert explained(LOSS, [side(1, None), side(1.05, 1900)], GPU) is LOSS
    family = replace(LOSS, id="tiled/bf16")
    assert explained(family, [side(1, 2000), side(1.05, 1900)], GPU) is family
    assert explained(LOSS, [], GPU) is LOSS
