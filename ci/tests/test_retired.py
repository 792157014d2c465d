"""A reviewed file lets points go; nothing else does."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ci.gate
from ci.errors import BadInput, Exit
from ci.judge import judge
from ci.policy import GPU
from ci.records import Outcome
from ci.retired import FILE, Retired, load_retired
from ci.tests.synthetic import (
    OTHER,
    POINT,
    catalog_document,
    make_samples,
    run_document,
    with_outcome,
)
from ci.verdicts import Answer

SERIES = np.linspace(-0.002, 0.002, 10)
BOTH = make_samples({POINT: SERIES, OTHER: SERIES})
ONE = make_samples({OTHER: SERIES})


@pytest.mark.parametrize("pattern", [POINT, "tiled/bf16/nt/4096*", "tiled/*/4096x4096x4096"])
def test_a_retired_point_may_be_missing_and_says_why(pattern: str) -> None:
    judgement = judge(BOTH, ONE, GPU, retired=[Retired(pattern, "warp_tiled took over")])
    assert judgement.answer is Answer.passed
    gone = next(point for point in judgement.points if point.id == POINT)
    assert "retired: warp_tiled took over" in gone.reason


@pytest.mark.parametrize("pattern", ["tiled", OTHER, "TILED/*", "*/fp32/*"])
def test_what_the_file_does_not_name_is_missing(pattern: str) -> None:
    judgement = judge(BOTH, ONE, GPU, retired=[Retired(pattern, "gone")])
    assert judgement.answer is Answer.regression


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (Outcome.refused, Answer.passed),
        (Outcome.failed, Answer.passed),
        (Outcome.timed_out, Answer.passed),
        (Outcome.incorrect, Answer.incorrect),
    ],
)
def test_it_may_break_but_never_be_wrong(outcome: Outcome, answer: Answer) -> None:
    head = with_outcome(BOTH, POINT, outcome, "why")
    assert judge(BOTH, head, GPU, retired=[Retired(POINT, "known")]).answer is answer


def test_it_may_not_be_slower() -> None:
    base, head = make_samples({POINT: SERIES}), make_samples({POINT: SERIES + 0.2})
    assert judge(base, head, GPU, retired=[Retired(POINT, "x")]).answer is Answer.regression


def test_the_gate_reads_the_reviewed_file(
    gemmwatch: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = "tiled/fp32/nn/64x64x64", "tiled/fp32/nn/128x128x128"
    base, head, file = (tmp_path / f"{name}.json" for name in ("base", "head", "retired"))
    series = SERIES.tolist()
    base.write_text(json.dumps(run_document(catalog_document(), {a: series, b: series})))
    head.write_text(json.dumps(run_document(catalog_document(), {a: series})))
    monkeypatch.setattr(ci.gate, "FILE", file)
    for entries, code in (([], Exit.regression), ([{"points": b, "reason": "x"}], Exit.ok)):
        file.write_text(json.dumps({"schema": 1, "retired": entries}))
        assert gemmwatch("gate", "--baseline", base, "--head", head) == code


def test_the_committed_file_can_be_read() -> None:
    load_retired(FILE)


@pytest.mark.parametrize(
    "entry",
    [{"points": "*", "reason": "all"}, {"points": POINT, "reason": " "}, {"points": POINT}, "x"],
)
def test_an_entry_names_points_and_a_reason(tmp_path: Path, entry: object) -> None:
    file = tmp_path / "retired.json"
    file.write_text(json.dumps({"schema": 1, "retired": [entry]}))
    with pytest.raises(BadInput, match=r"retired\.json"):
        load_retired(file)
