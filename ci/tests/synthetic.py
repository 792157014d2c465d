"""Samples and catalogs with a known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import exp, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ci.records import Outcome, PointSamples, Samples

FINGERPRINT = {"device": "gpu", "gpu": "NVIDIA H200", "driver": "580.1", "build": "Release"}
POINT = "tiled/bf16/nt/4096x4096x4096"
OTHER = "tiled/bf16/nt/8192x8192x8192"


def point_samples(
    log_ratio: Sequence[float] | NDArray[np.float64], control_us: float = 100.0
) -> PointSamples:
    ratios = np.asarray(log_ratio, dtype=np.float64)
    control = np.full(ratios.shape, control_us)
    return PointSamples(ratios, control * np.exp(ratios), control)


def make_samples(
    series: Mapping[str, Sequence[float] | NDArray[np.float64]], **changes: Any
) -> Samples:
    """A run whose passed points have these log ratios."""
    points = {name: point_samples(values) for name, values in series.items()}
    fields: dict[str, Any] = {
        "label": "out/pr/run.json",
        "date": datetime(2026, 1, 2, tzinfo=UTC),
        "selection": "pr",
        "filter": "",
        "fingerprint": FINGERPRINT,
        "environment": {"commit": "abc"},
        "injected": "",
        "trials": max((point.log_ratio.size for point in points.values()), default=0),
        "points": points,
        "outcomes": dict.fromkeys(points, Outcome.passed),
        "reasons": {},
        "controls": frozenset({"control"}),
        "throttled": 0.0,
    }
    return Samples(**(fields | changes))


LOG_SPREAD = np.linspace(-0.002, 0.002, 10)


def two_sides(loss: float = 0.1) -> tuple[Samples, Samples]:
    """Base and head of two points, one of which is slower in head."""
    base = make_samples({POINT: LOG_SPREAD, OTHER: LOG_SPREAD}, label="base.json")
    return base, make_samples({POINT: LOG_SPREAD + log1p(loss), OTHER: LOG_SPREAD})


def with_outcome(samples: Samples, point: str, outcome: Outcome, reason: str = "") -> Samples:
    """The same run, in which a point came to this end."""
    points = {name: value for name, value in samples.points.items() if name != point}
    fields = {**samples.__dict__, "points": points}
    fields["outcomes"] = {**samples.outcomes, point: outcome}
    fields["reasons"] = {**samples.reasons, point: reason}
    return Samples(**fields)


def catalog_document(
    kernels: Sequence[str] = ("tiled", "control"),
    problems: Sequence[str] = ("fp32/nn/64x64x64", "fp32/nn/128x128x128", "fp32/nn/256x256x256"),
    device: str = "host",
) -> dict[str, Any]:
    """A catalog in which every kernel visits every problem. vendor*: a second vendor kernel."""
    return {
        "schema": 1,
        "device": device,
        "device_note": "no GPU" if device == "host" else "",
        "fingerprint": {"device": device, "cpu": "Test CPU 9000", "build": "Release"},
        "environment": {"commit": "abc"},
        "injected": "",
        "peaks": {"fp32": 0.1},
        "kernels": [
            {
                "name": name, "stage": "tiled", "order": order, "title": "Tiled", "idea": "reuse",
                "arch": "host", "vendor": name.startswith(("vendor", "control")),
                "control": name == "control", "available": True,
            }
            for order, name in enumerate(kernels)
        ],
        "problems": [_problem(problem) for problem in problems],
        "points": [
            {"id": f"{kernel}/{problem}", "kernel": kernel, "problem": problem}
            for kernel in kernels for problem in problems
        ],
        "refused": [],
    }  # fmt: skip


def run_document(
    catalog: dict[str, Any], log_ratios: Mapping[str, Sequence[float]], **changes: Any
) -> dict[str, Any]:
    """A run.json in which these points passed."""
    trials = max(map(len, log_ratios.values()), default=1)
    meta = {
        "schema": 1, "catalog": catalog, "selection": "smoke", "trials": trials,
        "seeds": list(range(trials)), "started": "2026-01-02T03:04:05+00:00",
        "finished": "2026-01-02T03:14:05+00:00",
        "outcomes": dict.fromkeys(log_ratios, "passed"), "reasons": {},
    }  # fmt: skip
    rows = [
        {
            "name": name, "run_name": name, "run_type": "iteration", "repetition_index": trial,
            "log_ratio": value, "kernel_us": 100 * exp(value), "control_us": 100.0,
        }
        for name, values in log_ratios.items() for trial, value in enumerate(values)
    ]  # fmt: skip
    return {"context": {"gemmwatch": meta | changes}, "benchmarks": rows}


def _problem(name: str) -> dict[str, Any]:
    precision, layout, shape = name.split("/")[:3]
    m, n, k = map(int, shape.split("x"))
    return {
        "id": name, "m": m, "n": n, "k": k, "batch": 1, "precision": precision, "layout": layout,
        "groups": ["square"], "why": "a cube", "flops": 2 * m * n * k, "bytes": 4 * 3 * m * n,
    }  # fmt: skip
