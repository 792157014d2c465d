"""Exports, by the documented form of each format, and by the real tool where it is installed.

Real tools: Otava (apache-otava from PyPI, as `otava` on PATH) and Google Benchmark's compare.py
(libbenchmark-tools of Debian). The other two want an account or a workflow, so their form is held
to what they document: github-action-benchmark's README for customBiggerIsBetter, and
bencher.dev/docs/reference/bencher-metric-format with its schema and lengths.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from math import exp, log
from pathlib import Path

import pytest

from ci.errors import Exit
from ci.tests.synthetic import catalog_document, run_document

Command = Callable[..., int]
A, B = "tiled/fp32/nn/64x64x64", "tiled/fp32/nn/128x128x128"
# Debian's libbenchmark-tools; COMPARE_PY for one that is elsewhere.
COMPARE = Path(os.environ.get("COMPARE_PY", "/usr/share/benchmark/compare.py"))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Path]:
    """A run in which A takes 1/speed of its control's 100 us, with 2% more and less; B as long."""

    def write(name: str, speed: float = 0.8, day: int = 2, **changes: object) -> Path:
        spread = [-0.02, 0.0, 0.02]
        series = {A: [x - log(speed) for x in spread], B: spread}
        finished = f"2026-01-{day:02}T03:14:05+00:00"
        document = run_document(catalog_document(), series, finished=finished, **changes)
        document["context"] |= {"date": finished, "num_cpus": 2, "gemmwatch_seed": "1"}
        for row in document["benchmarks"]:
            row |= {"repetitions": 3, "real_time": 1.0, "cpu_time": 2.0, "time_unit": "us"}
            row |= {"iterations": 8, "threads": 1, "round0_kernel_us": 3.0}
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.fixture
def export(gemmwatch: Command, tmp_path: Path) -> Callable[..., Path]:
    def to_file(format_: str, *runs: Path) -> Path:
        file = tmp_path / f"exported-{len(list(tmp_path.iterdir()))}.{format_}.json"
        assert gemmwatch("export", *runs, "--format", format_, "--to", file) == Exit.ok
        return file

    return to_file


def test_github_action_benchmark_gets_a_list_where_bigger_is_better(
    run: Callable[..., Path], export: Callable[..., Path]
) -> None:
    entries = json.loads(export("github-action-benchmark", run("run.json")).read_text())
    assert [entry["name"] for entry in entries] == [A, B]
    for entry in entries:
        assert set(entry) <= {"name", "unit", "value", "range", "extra"}
        assert isinstance(entry["value"], float)
        assert all(isinstance(entry[key], str) for key in ("name", "unit", "range", "extra"))
    assert entries[0]["value"] == pytest.approx(0.8)
    assert entries[0]["range"] == f"± {0.8 * (exp(0.02) - 1):.4f}"
    assert "125 us" in entries[0]["extra"]


def test_bencher_gets_its_metric_format_in_nanoseconds(
    run: Callable[..., Path], export: Callable[..., Path]
) -> None:
    document = json.loads(export("bencher", run("run.json")).read_text())
    assert list(document) == [A, B]
    for measures in document.values():
        for name, metric in measures.items():
            assert len(name) <= 64
            assert set(metric) == {"value", "lower_value", "upper_value"}
            assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]
    assert document[A]["latency"]["value"] == pytest.approx(125_000)
    assert document[A]["speed-beside-control"]["value"] == pytest.approx(0.8)


def test_otava_gets_a_line_for_each_run_oldest_first(
    run: Callable[..., Path], export: Callable[..., Path]
) -> None:
    new, old = run("new.json", 0.7, day=9), run("old.json", 0.8, day=2)
    with export("otava", new, old).open() as file:
        rows = list(csv.DictReader(file))
    assert [row["time"] for row in rows] == [
        "2026-01-02 03:14:05 +0000", "2026-01-09 03:14:05 +0000",
    ]  # fmt: skip
    assert [float(row[A]) for row in rows] == pytest.approx([0.8, 0.7], rel=1e-5)
    assert {row["commit"] for row in rows} == {"abc"}


def test_otava_gets_no_series_with_holes(
    run: Callable[..., Path], export: Callable[..., Path]
) -> None:
    failed = {"outcomes": {A: "failed", B: "passed"}}
    with export("otava", run("new.json", day=9), run("old.json", **failed)).open() as file:
        assert next(csv.reader(file)) == ["time", "commit", B]


def test_google_benchmark_gets_rows_of_launch_times(
    run: Callable[..., Path], export: Callable[..., Path]
) -> None:
    document = json.loads(export("google-benchmark", run("run.json")).read_text())
    assert document["context"] == {"date": "2026-01-02T03:14:05+00:00", "num_cpus": 2}
    assert len(document["benchmarks"]) == 6
    row = document["benchmarks"][1]
    assert (row["name"], row["repetition_index"], row["time_unit"]) == (A, 1, "us")
    assert row["real_time"] == pytest.approx(125)
    assert "round0_kernel_us" not in row


def test_without_a_file_it_is_printed(
    run: Callable[..., Path], gemmwatch: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("export", run("run.json"), "--format", "bencher") == Exit.ok
    assert A in json.loads(capsys.readouterr().out)


def test_bad_usage(
    run: Callable[..., Path], gemmwatch: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = run("one.json"), run("two.json")
    assert gemmwatch("export", one, two, "--format", "bencher") == Exit.bad_input
    assert "takes one run" in capsys.readouterr().err
    nothing = run("nothing.json", outcomes={A: "failed", B: "failed"})
    assert gemmwatch("export", nothing, "--format", "otava") == Exit.no_answer
    assert gemmwatch("export", one, "--format", "excel") == Exit.bad_input


@pytest.mark.skipif(not COMPARE.exists(), reason="Google Benchmark's compare.py is not installed")
def test_compare_py_reads_it_and_finds_the_difference(
    run: Callable[..., Path], export: Callable[..., Path]
) -> None:
    base = export("google-benchmark", run("base.json", 0.8))
    head = export("google-benchmark", run("head.json", 0.4))
    done = subprocess.run(
        [sys.executable, COMPARE, "--no-color", "benchmarks", base, head],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{A} ")]
    assert [line[1] for line in lines] == ["+1.0000"] * 3  # twice as long in every trial


@pytest.mark.skipif(not shutil.which("otava"), reason="Otava is not installed")
def test_otava_reads_it_and_finds_the_step(
    run: Callable[..., Path], export: Callable[..., Path], tmp_path: Path
) -> None:
    speeds = [0.80 + 0.001 * (n % 3) - 0.1 * (n > 10) for n in range(1, 21)]
    runs = [run(f"{n}.json", speed, day=n) for n, speed in enumerate(speeds, 1)]
    config = tmp_path / "otava.yaml"
    config.write_text(
        json.dumps(  # YAML as well
            {
                "tests": {
                    "pr": {
                        "type": "csv", "file": str(export("otava", *runs)), "time_column": "time",
                        "attributes": ["commit"], "metrics": {"a": {"column": A, "direction": 1}},
                    }
                }
            }
        )
    )  # fmt: skip
    done = subprocess.run(
        ["otava", "--config-file", config, "analyze", "pr", "--since", "2025-12-01"],
        capture_output=True, text=True, check=False, env=os.environ | {"OTAVA_CONFIG": str(config)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2026-01-11" in done.stdout  # the first slow day
    assert "-12" in done.stdout  # by an eighth
