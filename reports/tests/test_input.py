"""Inputs that cannot be reported are refused with the file's name and a way out."""

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.files import ReportError, write_whole
from reports.reading import read_measured
from reports.tests import synthetic
from reports.tests.synthetic import Json, write
from reports.verdict import read_verdict


def refused(path: Path, *words: str) -> None:
    with pytest.raises(ReportError) as caught:
        read_measured(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    for word in words:
        assert word in message


def test_missing_file(tmp_path: Path) -> None:
    refused(tmp_path / "none.json", "No such file", "check the path")


def test_truncated_file(tmp_path: Path, host_run: Json) -> None:
    text = json.dumps(host_run)
    path = tmp_path / "run.json"
    for length in (0, 1, len(text) // 3, len(text) - 1):
        path.write_text(text[:length])
        refused(path, "not whole JSON", "measure again")


def test_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b"\xff\xfe\x00")
    refused(path, "not text")


@pytest.mark.parametrize("content", ["[]", "1", '"run"'])
def test_json_of_another_form(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    refused(path, "holds no JSON object")


def test_object_that_is_no_run(tmp_path: Path) -> None:
    refused(write(tmp_path / "run.json", {"a": 1}), "neither a run.json nor a baseline")


def test_nan_is_no_number(tmp_path: Path, host_run: Json) -> None:
    run = copy.deepcopy(host_run)
    run["benchmarks"][0]["kernel_us"] = float("nan")
    refused(write(tmp_path / "run.json", run), "NaN")


def broken(path: str, value: object) -> Callable[[Json], None]:
    """Replaces the value at a dotted path; None removes it."""

    def apply(run: Json) -> None:
        *parents, last = path.split(".")
        place = run
        for parent in parents:
            place = place[int(parent)] if isinstance(place, list) else place[parent]
        if value is None:
            del place[last]
        else:
            place[last] = value

    return apply


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        ("context", None, "context is missing"),
        ("context.gemmwatch", 3, "context.gemmwatch is not an object"),
        ("context.gemmwatch.schema", 2, "schema 2"),
        ("context.gemmwatch.outcomes", None, "context.gemmwatch.outcomes is missing"),
        ("context.gemmwatch.started", "today", "context.gemmwatch.started is not an ISO date"),
        ("context.gemmwatch.trials", "6", "context.gemmwatch.trials is not a number"),
        ("context.gemmwatch.catalog.kernels.0.order", 1.5, "kernels.0.order is not a whole number"),
        ("context.gemmwatch.catalog.kernels.1.vendor", "no", "kernels.1.vendor is not true or"),
        ("context.gemmwatch.catalog.problems.0.id", "fp32", "problems.0.id is not <precision>"),
        ("context.gemmwatch.catalog.problems.0.flops", True, "problems.0.flops is not a number"),
        ("context.gemmwatch.catalog.lessons", [{"name": "x"}], "lessons.0.title is missing"),
        ("benchmarks.4.log_ratio", None, "benchmarks.4.log_ratio is missing"),
        ("benchmarks.4.kernel_us", 0, "not above zero"),
        ("benchmarks.4.control_us", -1.0, "not above zero"),
        ("benchmarks", [], "no row holds its times"),
    ],
)
def test_broken_field_is_named(
    tmp_path: Path, host_run: Json, path: str, value: object, word: str
) -> None:
    run = copy.deepcopy(host_run)
    broken(path, value)(run)
    refused(write(tmp_path / "run.json", run), word)


@pytest.mark.parametrize(
    ("point_id", "outcome", "word"),
    [
        ("nobody/fp32/nn/128x128x128", "refused", "not in the file's own catalog"),
        ("cpu_naive/fp32/nn/1x1x1", "refused", "not in the file's own catalog"),
        ("cpu_naive/fp32/nn/128x128x128", "fine", "unknown outcome 'fine'"),
    ],
)
def test_strange_outcome(
    tmp_path: Path, host_run: Json, point_id: str, outcome: str, word: str
) -> None:
    run = copy.deepcopy(host_run)
    run["context"]["gemmwatch"]["outcomes"][point_id] = outcome
    refused(write(tmp_path / "run.json", run), point_id, word)


def test_rows_of_a_point_that_failed_later_are_no_samples(tmp_path: Path, host_run: Json) -> None:
    run = copy.deepcopy(host_run)
    point_id = "cpu_naive/fp32/nn/128x128x128"
    run["context"]["gemmwatch"]["outcomes"][point_id] = "failed"
    run["context"]["gemmwatch"]["reasons"][point_id] = "failed: crashed in trial 2"
    measured = read_measured(write(tmp_path / "run.json", run))
    point = next(one for one in measured.points if one.id == point_id)
    assert (point.performance, point.reason) == (None, "failed: crashed in trial 2")


def test_baseline_shows_the_numbers_of_its_run(tmp_path: Path, host_run: Json) -> None:
    run = read_measured(write(tmp_path / "run.json", host_run))
    approved = read_measured(write(tmp_path / "baseline.json", synthetic.baseline(host_run)))
    assert approved.trials == 3
    assert [point.id for point in approved.points] == [point.id for point in run.points]
    for ours, theirs in zip(run.points, approved.points, strict=True):
        assert (ours.performance is None) == (theirs.performance is None)
        if ours.performance and theirs.performance:
            assert ours.performance.speed_ratio == theirs.performance.speed_ratio
            assert ours.performance.tflops == theirs.performance.tflops


def test_baseline_without_a_catalog(tmp_path: Path, host_run: Json) -> None:
    baseline = synthetic.baseline(host_run)
    del baseline["catalog"]
    refused(write(tmp_path / "b.json", baseline), "carries no catalog", "approve it again")


def test_baseline_with_ragged_samples(tmp_path: Path, host_run: Json) -> None:
    baseline = synthetic.baseline(host_run)
    baseline["points"]["cpu_naive/fp32/nn/128x128x128"]["kernel_us"].pop()
    refused(write(tmp_path / "b.json", baseline), "unequal length")


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [("answer", "perhaps", "unknown answer 'perhaps'"), ("schema", 9, "schema 9"),
     ("points", {}, "points is not a list"), ("summary", {"same": "3"}, "summary.same")],
)  # fmt: skip
def test_broken_verdict(tmp_path: Path, host_run: Json, key: str, value: object, word: str) -> None:
    path = write(tmp_path / "verdict.json", synthetic.verdict(host_run) | {key: value})
    with pytest.raises(ReportError, match=word) as caught:
        read_verdict(path)
    assert str(path) in str(caught.value)


def test_verdict_about_another_machine(
    tmp_path: Path, host_run: Json, run_file: Path, gemmwatch: Callable[..., int]
) -> None:
    verdict = synthetic.verdict(host_run)
    verdict["head"]["fingerprint"] = {"device": "host", "cpu": "another"}
    path = write(tmp_path / "verdict.json", verdict)
    with pytest.raises(ReportError, match="another machine"):
        gemmwatch("report", run_file, "--verdict", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_run_without_points(tmp_path: Path, host_run: Json, gemmwatch: Callable[..., int]) -> None:
    run = copy.deepcopy(host_run)
    run["context"]["gemmwatch"]["outcomes"] = {}
    with pytest.raises(ReportError, match="holds no point"):
        gemmwatch("report", write(tmp_path / "run.json", run), "--out", tmp_path / "out")


def test_unwritable_place_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("kept")
    with pytest.raises(ReportError, match=r"taken/index\.html: cannot be written"):
        write_whole(tmp_path / "taken" / "index.html", b"new")
    assert (tmp_path / "taken").read_text() == "kept"


def test_failed_rename_leaves_no_litter(tmp_path: Path) -> None:
    (tmp_path / "index.html" / "inner").mkdir(parents=True)
    with pytest.raises(ReportError):
        write_whole(tmp_path / "index.html", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
