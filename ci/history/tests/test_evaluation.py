"""What `gemmwatch history evaluate` prints, on fewer series: the promises of the README."""

from __future__ import annotations

import pytest

from ci.history.evaluation import Score, recorded_score, recorded_series, synthetic_score


def test_series_without_a_step_have_none() -> None:
    assert synthetic_score(0.0, series=60).found == 0
    assert len(list(recorded_series())) >= 9
    assert recorded_score(0.0).found == 0


@pytest.mark.parametrize("size", [0.02, 0.05])
def test_steps_are_found_soon_and_no_others(size: float) -> None:
    score = synthetic_score(size, series=4)
    assert (score.true, score.recall, score.precision) == (8, 1.0, 1.0)
    assert max(score.delays) <= 10


def test_steps_put_on_recorded_ratios_are_found() -> None:
    score = recorded_score(0.03)
    assert score.precision == 1.0
    assert score.recall >= 0.8


def test_a_score_counts_what_is_near_the_truth() -> None:
    score = Score()
    score.add(found=[99, 200], true=[100, 300])
    score.add(found=[], true=[])
    assert (score.series, score.true, score.found, score.matched) == (2, 2, 2, 1)
    assert (score.precision, score.recall) == (0.5, 0.5)
    score.delays = (4,)
    told = score.line(0.02).split()
    assert told == ["2%", "2", "2", "2", "50.0%", "50.0%", "1", "4", "4"]
    assert "-" in Score().line(0.0)
