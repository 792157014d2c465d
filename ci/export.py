"""`gemmwatch export`: runs in the formats of tools in which others keep their history."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

from ci.command_line import SubParsers
from ci.errors import BadInput, Exit, NoAnswer
from ci.files import read_json, write_whole
from ci.records import PointSamples, Run, load_run


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "export",
        help="a run in the format of another tool",
        description="Writes runs in the format of another tool. Times are medians over trials; "
        "speed is relative to the control, which holds from day to day where a time does not.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN.json")
    parser.add_argument("--format", choices=sorted(_FORMATS), required=True)
    parser.add_argument("--to", type=Path, metavar="FILE", help="default: standard output")
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    runs = [load_run(path) for path in arguments.runs]
    if not any(run.samples.points for run in runs):
        raise NoAnswer(f"{arguments.runs[0]}: no point passed, so there is nothing to export")
    if len(runs) > 1 and arguments.format != "otava":
        raise BadInput(
            str(arguments.runs[1]), f"{arguments.format} takes one run", "only otava takes a series"
        )
    text = _FORMATS[arguments.format](runs)
    if arguments.to:
        write_whole(arguments.to, text)
    else:
        sys.stdout.write(text)
    return Exit.ok


def _github_action_benchmark(runs: Sequence[Run]) -> str:
    """customBiggerIsBetter: a list of name, unit, value, range, extra."""
    entries = []
    for name, samples in runs[0].samples.points.items():
        speed, low, high = _speed(samples)
        entries.append(
            {
                "name": name,
                "unit": "x control",
                "value": speed,
                "range": f"± {max(high - speed, speed - low):.4f}",
                "extra": f"{np.median(samples.kernel_us):.5g} us, {runs[0].samples.machine}",
            }
        )
    return _json(entries)


def _bencher(runs: Sequence[Run]) -> str:
    """Bencher Metric Format, for its json adapter: latency is in nanoseconds there."""
    document = {}
    for name, samples in runs[0].samples.points.items():
        speed, low, high = _speed(samples)
        document[name] = {
            "latency": {
                "value": 1000 * float(np.median(samples.kernel_us)),
                "lower_value": 1000 * float(samples.kernel_us.min()),
                "upper_value": 1000 * float(samples.kernel_us.max()),
            },
            "speed-beside-control": {"value": speed, "lower_value": low, "upper_value": high},
        }
    return _json(document)


def _otava(runs: Sequence[Run]) -> str:
    """CSV: a line for each run, oldest first; a column for each point that passed in all of them.

    Otava takes a number in every cell, so a point that is missing somewhere has no series.
    """
    ordered = sorted(runs, key=lambda run: run.samples.date)
    names = [p for p in ordered[-1].samples.points if all(p in r.samples.points for r in runs)]
    if not names:
        raise NoAnswer("otava: no point passed in all of the runs, so there is no series")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", "commit", *names])
    for run in ordered:
        speeds = [f"{_speed(run.samples.points[name])[0]:.6g}" for name in names]
        commit = run.samples.environment.get("commit", "unknown")
        writer.writerow([run.samples.date.strftime("%Y-%m-%d %H:%M:%S %z"), commit, *speeds])
    return text.getvalue()


def _google_benchmark(runs: Sequence[Run]) -> str:
    """What compare.py reads: rows of the passed points, whose time is that of a launch."""
    path = Path(runs[0].samples.label)
    document = read_json(path, "measure again with `gemmwatch run --fresh`").value
    return _json(
        {
            "context": {
                key: value for key, value in document["context"].items()
                if not key.startswith("gemmwatch")
            },
            "benchmarks": [
                {key: row[key] for key in _ROW if key in row} | {
                    "real_time": row["kernel_us"], "cpu_time": row["kernel_us"], "time_unit": "us"
                }
                for row in document["benchmarks"] if row["run_name"] in runs[0].samples.points
            ],
        }
    )  # fmt: skip


# Fields of a row that say which one it is.
_ROW = (
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
    "repetition_index", "threads", "iterations",
)  # fmt: skip

_FORMATS: dict[str, Callable[[Sequence[Run]], str]] = {
    "github-action-benchmark": _github_action_benchmark,
    "bencher": _bencher,
    "otava": _otava,
    "google-benchmark": _google_benchmark,
}


def _speed(samples: PointSamples) -> tuple[float, float, float]:
    """Relative to the control: the median, the smallest and the largest of the trials."""
    log = -samples.log_ratio
    return exp(float(np.median(log))), exp(float(log.min())), exp(float(log.max()))


def _json(document: Any) -> str:
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
