"""Synthetic trends, for tests and for looking at the site. Nothing here was measured.

python -m reports.tests.synthetic_trends FILE    # a year of 400 points
"""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reports.tests import synthetic
from reports.tests.synthetic import Json, Machine, Rung, write

FIRST = datetime(2030, 12, 1, 3, 10, tzinfo=UTC)
DRIVERS = ("580.1", "590.2")
CUBLAS = ("13.0.2", "13.2.0")
# A kernel's name that would run as markup, script or formula, were it not escaped.
HOSTILE = """<img src=x onerror=hacked=1></script>'"$x^2$"""
STEPS = (0.034, -0.021, 0.062, 0.013, -0.048)  # of time
CREEP = 0.045  # of time
DISTURBANCE = 0.08  # of time
DOUBT = "the control of 31 of 400 points moved by more than 3% between trials"


@dataclass(frozen=True)
class Plan:
    """What is planted, by night, so that a test knows what to expect."""

    nights: int
    points: int
    driver_night: int
    cublas_night: int

    @property
    def epochs(self) -> list[int]:
        return sorted({0, self.driver_night, self.cublas_night})

    def step(self, index: int) -> tuple[int, float] | None:
        """Every fifth point steps once: the last of them today, the others earlier."""
        if index % 5 or self.nights < 3:
            return None
        which = index // 5
        night = self.nights - 1 - (which * which * 3) % (self.nights - 2)
        return night, STEPS[which % len(STEPS)]

    def creep(self, index: int) -> tuple[int, float] | None:
        """Two points of a kind creep from the first night of the newest epoch until today."""
        if index not in (2, 8) or self.cublas_night >= self.nights - 3:
            return None
        return self.cublas_night, CREEP if index == 2 else -CREEP

    @property
    def disturbed(self) -> set[int]:
        """Nights that are not believed; no step lies at one, since the history sees none there."""
        steps = {step[0] for index in range(self.points) if (step := self.step(index))}
        return set(range(12, self.nights - 1, 29)) - steps - {night - 1 for night in steps}


def plan(nights: int = 365, points: int = 400) -> Plan:
    return Plan(nights, points, nights // 3, 2 * nights // 3)


def machine() -> Machine:
    """A GPU whose clocks at the peak rates are known."""
    made = synthetic.gpu()
    made.fingerprint["gpu"] = "NVIDIA H200"
    made.problems.sort(key=lambda one: ("ladder" not in one[1], not one[0].startswith("bf16")))
    return made


def trends(of: Plan, seed: int = 1) -> Json:
    made, draw = machine(), np.random.default_rng(seed)
    finished = [FIRST + timedelta(days=night) for night in range(of.nights)]
    problems = [synthetic.catalog_problem(*one) for one in made.problems]
    pairs = [(r, p) for p in problems for r in made.rungs if not synthetic.why_refused(r, p)]
    drift = np.exp(draw.normal(0, 0.02, of.nights))  # moves kernel and control alike
    clock = draw.normal(1650, 40, of.nights)
    series = [
        _series(of, made, rung, problem, index, drift, clock, draw)
        for index, (rung, problem) in enumerate(islice(pairs, of.points))
    ]
    used = {one["problem"] for one in series}
    return {
        "schema": 1, "kind": "gemmwatch-trends", "selection": "full",
        "nights": [_night(of, night, moment) for night, moment in enumerate(finished)],
        "epochs": [_epoch(of, made, number) for number in range(len(of.epochs))],
        "kernels": [
            synthetic.catalog_kernel(made, rung, order) for order, rung in enumerate(made.rungs)
        ],
        "problems": [problem for problem in problems if problem["id"] in used],
        "peaks": made.peaks, "series": series,
        "resources": [_resource(of, rung) for rung in made.rungs if not rung.vendor],
    }  # fmt: skip


def renamed(made: Json, kernel: str, name: str) -> Json:
    """In place: the kernel has that name, and its points with it."""
    for one in made["kernels"]:
        if one["name"] == kernel:
            one["name"] = name
    for series in made["series"]:
        if series["kernel"] == kernel:
            series |= {"kernel": name, "id": f"{name}/{series['problem']}"}
    return made


def commit(night: int) -> str:
    """Two nights a commit."""
    return f"{(night // 2 + 1) * 2654435761 % 2**32:08x}" * 5


def _night(of: Plan, night: int, finished: datetime) -> Json:
    epoch = sum(night >= first for first in of.epochs) - 1
    return {"run": f"{night:012x}", "finished": finished.isoformat(), "commit": commit(night),
            "trials": 6, "epoch": epoch, "answer": "pass",
            "doubts": [DOUBT] if night in of.disturbed else []}  # fmt: skip


def _epoch(of: Plan, made: Machine, number: int) -> Json:
    first = of.epochs[number]
    driver, cublas = DRIVERS[first >= of.driver_night], CUBLAS[first >= of.cublas_night]
    changed = {}
    if number and first == of.driver_night:
        changed["driver"] = list(DRIVERS)
    if number and first == of.cublas_night:
        changed["cublas"] = list(CUBLAS)
    fingerprint = {**made.fingerprint, "driver": driver, "cublas": cublas}
    return {"first_night": first, "fingerprint": fingerprint, "changed": changed}


def _series(
    of: Plan, made: Machine, rung: Rung, problem: Json, index: int,
    drift: NDArray[np.float64], clock: NDArray[np.float64], draw: np.random.Generator,
) -> Json:  # fmt: skip
    control = next(one for one in made.rungs if one.control)
    true_us = synthetic.true_us(made, rung, problem)
    control_us = synthetic.true_us(made, control, problem) * drift
    nights = np.arange(of.nights)
    log_ratio = np.log(true_us / (control_us / drift)) + draw.normal(0, 0.006, of.nights)
    log_ratio += np.where(nights >= of.cublas_night, draw.normal(0, 0.01), 0)
    changes = []
    if step := of.step(index):
        log_ratio += np.where(nights >= step[0], np.log1p(step[1]), 0)
        changes.append(_change("step", step[0] - 1, *step))
    if creep := of.creep(index):
        since, size = creep
        done = (nights - since) / (of.nights - 1 - since)
        log_ratio += np.log1p(size) * np.clip(done, 0, 1)
        changes.append(_change("creep", since, of.nights - 1, size))
    log_ratio += np.where(np.isin(nights, list(of.disturbed)), np.log1p(DISTURBANCE), 0)
    half = np.abs(draw.normal(0.009, 0.002, of.nights))
    failures = of.nights // 90 if index % 7 == 3 else 0
    failed = set(draw.choice(of.nights, size=failures, replace=False).tolist())
    missed = {int(night) for night in nights if night % 61 == 40 and index % 2}
    gone = failed | missed

    def column(values: NDArray[np.float64], digits: int) -> list[float | None]:
        return [None if n in gone else round(v, digits) for n, v in enumerate(values.tolist())]

    return {
        "id": f"{rung.name}/{problem['id']}", "kernel": rung.name, "problem": problem["id"],
        "log_ratio": column(log_ratio, 5), "low": column(log_ratio - half, 5),
        "high": column(log_ratio + half, 5), "us": column(control_us * np.exp(log_ratio), 4),
        "control_us": column(control_us, 4), "sm_mhz": column(clock, 1),
        "power_w": column(0.42 * clock, 1),
        "bound_share": column(np.full(of.nights, draw.uniform(0.02, 0.4)), 4),
        "outcomes": {str(night): "failed" for night in sorted(failed)}, "changes": changes,
    }  # fmt: skip


def _change(kind: str, before: int, night: int, size: float) -> Json:
    return {"night": night, "before": before, "from_commit": commit(before),
            "to_commit": commit(night), "change": size, "low": size - 0.006, "high": size + 0.006,
            "p": 0.001, "kind": kind}  # fmt: skip


def _resource(of: Plan, rung: Rung) -> Json:
    nights = np.arange(of.nights)
    moved = len(rung.name) % 3 == 0  # a third of them lose registers on the way
    registers = 96 + np.where(moved & (nights >= of.nights // 2), 8, 0)
    return {"function": f"gemm::{rung.name}<float, 128>", "arch": "sm_90a", "kernel": rung.name,
            "registers": registers.tolist(), "shared_bytes": [49152] * of.nights,
            "spills": [0] * of.nights, "code_bytes": (registers * 75).tolist()}  # fmt: skip


if __name__ == "__main__":
    write(Path(sys.argv[1]), trends(plan()))
