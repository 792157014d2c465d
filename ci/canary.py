"""The proof that a gate can fail and need not: twins of one kernel, one of them slowed.

Three more processes a pair measure one cheap and steady point of the head build: as it is, as it is
once more (the identical twin), and slowed by a known share in real device time (the slowed twin).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ci.bench_program import BenchProgram
from ci.catalog import Catalog, kernel_of
from ci.confirm import confirm
from ci.pairs import Arm, Pairs, only
from ci.policy import Policy
from ci.records import Run, Samples
from ci.twins import IDENTICAL, PLAIN, SLOWED, twin_hypotheses
from ci.verdicts import PointVerdict


def choose_canary(head: Samples) -> str | None:
    """The steadiest point of the cheaper half; a control, whose ratio is fixed, is none."""
    able = [point for point in head.points if kernel_of(point) not in head.controls]
    if not able:
        return None
    usual = float(np.median([head.seconds.get(point, 0.0) for point in able]))
    cheap = [point for point in able if head.seconds.get(point, 0.0) <= usual]
    return min(cheap, key=lambda point: float(np.std(head.points[point].log_ratio)))


def canary_arms(point: str, head: BenchProgram, catalog: Catalog, policy: Policy) -> list[Arm]:
    """catalog: of the head build as it is. The slowed twin's says that it is slowed."""
    plain = replace(head, slow="")
    slowed = replace(head, slow=f"{kernel_of(point)}:{100 * policy.canary_slowdown:g}")
    what = ((point,), only([point]))
    return [
        Arm(PLAIN, plain, catalog, *what),
        Arm(IDENTICAL, plain, catalog, *what),
        Arm(SLOWED, slowed, slowed.catalog(), *what),
    ]


def measure_canary(
    run: Run, program: BenchProgram, folder: Path, choices: Path, policy: Policy
) -> list[PointVerdict]:
    """The twins of a point of this run, where nothing else is measured by pairs."""
    point = choose_canary(run.samples)
    if point is None:
        return []
    arms = canary_arms(point, program, run.catalog, policy)
    twins = [twin.samples for twin in Pairs(folder, arms, choices, policy).measure(policy.pairs)]
    return confirm([], [], twin_hypotheses(point, twins, policy), policy)[1]
