"""Loaders against hostile files: each is refused with its name, what is wrong and a way out."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ci.errors import BadInput
from ci.records import Outcome, clean_name, load_baseline, load_run, load_samples
from ci.tests.synthetic import catalog_document, run_document

POINT = "tiled/fp32/nn/64x64x64"
CONTROL = "control/fp32/nn/64x64x64"


def run() -> dict[str, Any]:
    return run_document(catalog_document(), {POINT: [0.1, 0.2, 0.3], CONTROL: [0.0, 0.0, 0.0]})


def baseline() -> dict[str, Any]:
    point = {"log_ratio": [0.1, 0.2], "kernel_us": [11.0, 12.0], "control_us": [10.0, 10.0]}
    return {
        "schema": 1, "kind": "gemmwatch-baseline", "fingerprint": {"device": "host"},
        "environment": {}, "selection": "smoke", "approved": "2026-01-02", "commit": "abc",
        "note": "", "outcomes": {POINT: "passed", CONTROL: "refused"}, "points": {POINT: point},
    }  # fmt: skip


def write(folder: Path, document: object) -> Path:
    path = folder / "file.json"
    path.write_text(json.dumps(document))
    return path


def test_a_run_is_read_whole(tmp_path: Path) -> None:
    loaded = load_run(write(tmp_path, run()))
    samples = loaded.samples
    assert samples.points[POINT].log_ratio.tolist() == [0.1, 0.2, 0.3]
    assert samples.points[POINT].control_us.tolist() == [100.0, 100.0, 100.0]
    assert (samples.trials, samples.selection, samples.device) == (3, "smoke", "host")
    assert samples.controls == {"control"}
    assert samples.environment["commit"] == "abc"
    assert loaded.catalog.point[POINT].problem == "fp32/nn/64x64x64"


def test_trials_are_in_the_order_of_their_index(tmp_path: Path) -> None:
    document = run()
    document["benchmarks"].reverse()
    samples = load_run(write(tmp_path, document)).samples
    assert samples.points[POINT].log_ratio.tolist() == [0.1, 0.2, 0.3]


def test_rows_of_a_point_that_did_not_pass_stay_out(tmp_path: Path) -> None:
    document = run()
    document["context"]["gemmwatch"]["outcomes"][POINT] = "failed"
    document["context"]["gemmwatch"]["reasons"][POINT] = "killed"
    samples = load_run(write(tmp_path, document)).samples
    assert POINT not in samples.points
    assert samples.outcomes[POINT] is Outcome.failed


def test_throttling_is_averaged_over_rows_that_report_it(tmp_path: Path) -> None:
    document = run()
    document["benchmarks"][0]["throttled"] = 1.0
    document["benchmarks"][1]["throttled"] = 0.5
    assert load_run(write(tmp_path, document)).samples.throttled == 0.75


def test_a_baseline_is_read_whole(tmp_path: Path) -> None:
    samples = load_baseline(write(tmp_path, baseline()))
    assert samples.trials == 2
    assert samples.points[POINT].kernel_us.tolist() == [11.0, 12.0]
    assert samples.outcomes[CONTROL] is Outcome.refused


def test_either_kind_is_told_apart(tmp_path: Path) -> None:
    assert load_samples(write(tmp_path, baseline())).trials == 2
    assert load_samples(write(tmp_path, run())).trials == 3


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a/fp32/nn/1x1x1/iterations:8/manual_time", "a/fp32/nn/1x1x1"),
        ("a/fp32/nn/1x1x1/batch=32/manual_time", "a/fp32/nn/1x1x1/batch=32"),
        ("a/fp32/nn/1x1x1", "a/fp32/nn/1x1x1"),
    ],
)
def test_names_lose_what_google_benchmark_appends(written: str, read: str) -> None:
    assert clean_name(written) == read


def meta(document: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = document["context"]["gemmwatch"]
    return inner


BAD_RUNS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "schema": (lambda d: meta(d).update(schema=2), "schema is 2"),
    "no schema": (lambda d: meta(d).pop("schema"), "schema is missing"),
    "no catalog": (lambda d: meta(d).pop("catalog"), "catalog is missing"),
    "no rows": (lambda d: d.pop("benchmarks"), "benchmarks is missing"),
    "row of nothing": (lambda d: d["benchmarks"][0].update(run_name="x/y"), "no outcome"),
    "lost row": (lambda d: d["benchmarks"].pop(), "trials"),
    "lost point": (lambda d: d["benchmarks"].__delitem__(slice(3, None)), "no samples"),
    "trial twice": (lambda d: d["benchmarks"][1].update(repetition_index=0), "repeats a trial"),
    "no counter": (lambda d: d["benchmarks"][0].pop("log_ratio"), "log_ratio is missing"),
    "text": (lambda d: d["benchmarks"][0].update(kernel_us="7"), "not a finite number"),
    "null": (lambda d: d["benchmarks"][0].update(kernel_us=None), "not a finite number"),
    "bool": (lambda d: d["benchmarks"][0].update(kernel_us=True), "not a finite number"),
    "wild": (lambda d: d["benchmarks"][0].update(log_ratio=1e300), "none of two times"),
    "zero": (lambda d: d["benchmarks"][0].update(kernel_us=0), "not above 0"),
    "outcome": (lambda d: meta(d)["outcomes"].update({POINT: "great"}), "great"),
    "hostile id": (lambda d: meta(d)["outcomes"].update({"a`$(x)`": "failed"}), "benchmark id"),
    "newline id": (lambda d: meta(d)["outcomes"].update({"a/b\n": "failed"}), "benchmark id"),
    "date": (lambda d: meta(d).update(finished="soon"), "ISO date"),
    "filter": (lambda d: meta(d).update(filter="("), "regular expression"),
    "list": (lambda d: meta(d).update(outcomes=[]), "not an object"),
    "fingerprint": (lambda d: meta(d)["catalog"]["fingerprint"].update(a=1), "fingerprint.a"),
    "context": (lambda d: d.pop("context"), "no context"),
}


@pytest.mark.parametrize(("damage", "complaint"), BAD_RUNS.values(), ids=BAD_RUNS)
def test_a_damaged_run_is_refused(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object], complaint: str
) -> None:
    document = copy.deepcopy(run())
    damage(document)
    path = write(tmp_path, document)
    with pytest.raises(BadInput) as error:
        load_run(path)
    assert complaint in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).endswith("gemmwatch run --fresh`")


BAD_BASELINES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "schema": (lambda d: d.update(schema=99), "schema is 99"),
    "kind": (lambda d: d.update(kind="other"), "kind"),
    "uneven": (lambda d: d["points"][POINT]["log_ratio"].pop(), "different lengths"),
    "empty": (
        lambda d: d["points"][POINT].update(log_ratio=[], kernel_us=[], control_us=[]),
        "no trials",
    ),
    "not passed": (lambda d: d["outcomes"].update({POINT: "refused"}), "did not pass"),
    "no samples": (lambda d: d["points"].clear(), "no samples"),
    "no date": (lambda d: d.pop("approved"), "approved is missing"),
    "number": (lambda d: d["points"][POINT].update(log_ratio=[0.1, "x"]), "log_ratio[1]"),
}


@pytest.mark.parametrize(("damage", "complaint"), BAD_BASELINES.values(), ids=BAD_BASELINES)
def test_a_damaged_baseline_is_refused(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object], complaint: str
) -> None:
    document = baseline()
    damage(document)
    path = write(tmp_path, document)
    with pytest.raises(BadInput) as error:
        load_baseline(path)
    assert complaint in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "7", json.dumps(run())[:-40], '{"context": NaN}',
        json.dumps(run()).replace("100.0", "1e999"), "[" * 100_000, '{"context": 1}',
        json.dumps(run() | {"unread": float("nan")}),
        json.dumps(baseline() | {"unread": float("inf")}),
    ],
    ids=["empty", "brace", "list", "null", "number", "truncated", "nan", "inf", "deep", "shape",
         "nan nobody reads", "inf nobody reads"],
)  # fmt: skip
def test_what_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    for load in (load_run, load_baseline, load_samples):
        with pytest.raises(BadInput, match=r"file\.json: "):
            load(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "absent.json", tmp_path, binary):
        with pytest.raises(BadInput, match="cannot be read"):
            load_samples(path)
