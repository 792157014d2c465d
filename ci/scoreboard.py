"""`gemmwatch scoreboard`: how fast each kernel is beside the better of the vendor's kernels."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path

import numpy as np

from ci.catalog import Catalog, Problem
from ci.command_line import SubParsers
from ci.errors import Exit, NoAnswer
from ci.records import PointSamples, Run, load_run

GROUPS = ("large", "narrow", "decode", "llm", "attention", "square")


@dataclass(frozen=True, slots=True)
class Place:
    """One kernel on one problem."""

    kernel: str
    problem: Problem
    speed: float  # relative to the best vendor kernel on this problem; above 1 beats it
    tflops: float
    joules: float | None  # a launch, over the control's; None where they were not measured


@dataclass(frozen=True, slots=True)
class Standing:
    """One kernel over a group of problems of one precision and layout."""

    group: str
    precision: str
    layout: str
    kernel: str
    problems: int
    speed: float  # geometric mean
    worst_speed: float
    worst_problem: str
    tflops_low: float
    tflops_high: float
    joules: float | None  # geometric mean over the problems whose joules were measured


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "scoreboard", help="each kernel's speed beside the vendor's best, by group of problems"
    )
    parser.add_argument("run", type=Path, metavar="RUN.json")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    run = load_run(arguments.run)
    found = standings(places(run), run.catalog)
    if not found:
        raise NoAnswer(f"{arguments.run}: no point passed, so there is nothing to rank")
    if arguments.json:
        print(json.dumps([asdict(standing) for standing in found], indent=1))
    else:
        print(_table(found))
    return Exit.ok


def places(run: Run) -> list[Place]:
    """Every passed point.

    exp(-log_ratio) is the speed beside the control in the same microseconds. The best vendor kernel
    of a problem is the control (1 by definition) or another that beat it there.
    """
    speeds: dict[str, dict[str, float]] = defaultdict(dict)  # problem: kernel: beside the control
    for name, samples in run.samples.points.items():
        point = run.catalog.point[name]
        speeds[point.problem][point.kernel] = exp(-float(np.median(samples.log_ratio)))
    others = {k.name for k in run.catalog.kernels if k.vendor and not k.control}
    problems = {problem.id: problem for problem in run.catalog.problems}
    found = []
    for name, samples in run.samples.points.items():
        point = run.catalog.point[name]
        problem, of_problem = problems[point.problem], speeds[point.problem]
        best = max([1.0, *(speed for kernel, speed in of_problem.items() if kernel in others)])
        speed = of_problem[point.kernel] / best
        rate, joules = tflops(problem, samples), _joules_ratio(samples)
        found.append(Place(point.kernel, problem, speed, rate, joules))
    return found


def tflops(problem: Problem, samples: PointSamples) -> float:
    """Of the median trial."""
    return problem.flops / float(np.median(samples.kernel_us)) / 1e6


def _joules_ratio(samples: PointSamples) -> float | None:
    """Of the median trial: kernel and control were measured one after the other in each."""
    if not samples.kernel_joules.size or not samples.control_joules.size:
        return None
    return float(np.median(samples.kernel_joules / samples.control_joules))


def standings(found: Sequence[Place], catalog: Catalog) -> list[Standing]:
    """By group, precision and layout; the fastest kernel first."""
    tables: dict[tuple[str, str, str, str], list[Place]] = defaultdict(list)
    for place in found:
        for group in place.problem.groups:
            if group in GROUPS:
                key = (group, place.problem.precision, place.problem.layout, place.kernel)
                tables[key].append(place)
    precisions = list(dict.fromkeys(problem.precision for problem in catalog.problems))
    rows = [_standing(*key, table) for key, table in tables.items()]
    return sorted(
        rows,
        key=lambda row: (
            GROUPS.index(row.group), precisions.index(row.precision), row.layout, -row.speed
        ),
    )  # fmt: skip


def _standing(
    group: str, precision: str, layout: str, kernel: str, table: Sequence[Place]
) -> Standing:
    worst = min(table, key=lambda place: place.speed)
    rates = [place.tflops for place in table]
    joules = [place.joules for place in table if place.joules is not None]
    return Standing(
        group=group,
        precision=precision,
        layout=layout,
        kernel=kernel,
        problems=len(table),
        speed=_geometric_mean([place.speed for place in table]),
        worst_speed=worst.speed,
        worst_problem=worst.problem.id,
        tflops_low=min(rates),
        tflops_high=max(rates),
        joules=_geometric_mean(joules) if joules else None,
    )


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _table(rows: Sequence[Standing]) -> str:
    lines = ["speed beside the best vendor kernel of each problem (1 = as fast)"]
    if any(row.joules is not None for row in rows):
        lines.append("J: joules a launch over the control's (1 = as many)")
    heading = ("", "", "")
    for row in rows:
        if heading != (row.group, row.precision, row.layout):
            heading = (row.group, row.precision, row.layout)
            lines.append(f"\n{row.group}, {row.precision} {row.layout}")
        lines.append(
            f"  {row.kernel:<24} {row.speed:6.3f}  of {row.problems:3}, "
            f"worst {row.worst_speed:6.3f} at {row.worst_problem}; "
            f"{row.tflops_low:.4g} to {row.tflops_high:.4g} TFLOP/s"
            + (f"; J {row.joules:.3f}" if row.joules is not None else "")
        )
    return "\n".join(lines)
