"""Synthetic runs, for tests and for looking at a page. Nothing here was measured.

The files have the form that `gemmwatch run`, `gemmwatch baseline` and `gemmwatch gate` write.
Speeds are invented: a share of an invented peak for each kernel, less on small problems, plus
seeded noise.

    python -m reports.tests.synthetic DIR    # writes the examples
"""

import json
import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

PLANTED = {"incorrect": "incorrect: C[17, 4] is 3.1, allowed 2.9 to 3.0",
           "failed": "failed: the launch needs 230 KiB of shared memory, the device has 227",
           "timed_out": "no end within 120 s"}  # fmt: skip


@dataclass(frozen=True)
class Rung:
    name: str
    idea: str
    share: float  # of the invented peak of a large problem
    vendor: bool = False
    control: bool = False
    precisions: tuple[str, ...] = ("fp32", "tf32", "fp16", "bf16")


@dataclass
class Machine:
    device: str
    fingerprint: dict[str, str]
    environment: dict[str, str]
    peaks: dict[str, float]  # what the file says is known
    rates: dict[str, float]  # TFLOP/s that a share of 1 means
    bandwidth: float  # GB/s
    rungs: list[Rung]
    problems: list[tuple[str, list[str]]]  # id and groups
    telemetry: bool = False
    # (kernel, index of the problem) -> outcome
    planted: dict[tuple[str, int], str] = field(default_factory=dict)


SIMT = ("fp32", "fp16", "bf16")
TENSOR = ("tf32", "fp16", "bf16")
HALF = ("fp16", "bf16")

GPU_RUNGS = [
    Rung("naive", "one thread computes one output", 0.02, precisions=SIMT),
    Rung("coalesced", "neighbouring threads read neighbouring addresses", 0.07, precisions=SIMT),
    Rung("tiled", "a block reads each tile once and shares it", 0.11, precisions=SIMT),
    Rung("register_tiled_1d", "each thread keeps a column of outputs", 0.30, precisions=SIMT),
    Rung("register_tiled_2d", "each thread keeps a patch of outputs", 0.55, precisions=SIMT),
    Rung("vectorized", "16-byte accesses, no bank conflicts", 0.63, precisions=SIMT),
    Rung("double_buffered", "the next tile travels while this one is used", 0.68, precisions=SIMT),
    Rung("warp_tiled", "a level of tiling that fits the warp", 0.74, precisions=SIMT),
    Rung("wmma", "the first tensor-core rung, by the portable API", 0.10, precisions=TENSOR),
    Rung("mma_pipelined", "stages of asynchronous copies feed the cores", 0.42, precisions=TENSOR),
    Rung("wgmma_tma", "the copy engine fills swizzled tiles", 0.50, precisions=TENSOR),
    Rung("wgmma_specialized", "one warpgroup loads, the others multiply", 0.61, precisions=HALF),
    Rung("wgmma_pingpong", "two consumers take turns on the cores", 0.68, precisions=HALF),
    Rung("wgmma_persistent", "both consumers on one wide tile", 0.69, precisions=HALF),
    Rung("split_k", "several blocks share one output's sum", 0.52, precisions=HALF),
    Rung("swap_ab", "few rows become few columns", 0.50, precisions=HALF),
    Rung("gemv", "one row is a walk over the weights", 0.02),
    Rung("dispatch", "the kernel that a user would call", 0.70),
    Rung("cublas", "the library's own choice", 0.69, vendor=True, control=True),
    Rung("cublaslt_best", "the best of the library's heuristics", 0.71, vendor=True),
]  # fmt: skip

GPU_SHAPES: list[tuple[str, list[str]]] = [
    ("nn/1024x1024x1024", ["square"]),
    ("nn/2048x2048x2048", ["square", "large", "pr"]),
    ("nn/4096x4096x4096", ["square", "large", "ladder", "pr"]),
    ("nt/4096x4096x4096", ["square", "large", "pr"]),
    ("nn/8192x8192x8192", ["square", "large"]),
    ("nt/1x4096x4096", ["narrow", "decode", "pr"]),
    ("nt/16x4096x4096", ["narrow", "decode"]),
    ("nt/64x4096x4096", ["narrow"]),
    ("nt/128x4096x4096", ["narrow"]),
    ("nt/64x14336x4096", ["llm"]),
    ("nt/4096x14336x4096", ["llm", "large", "pr"]),
    ("nt/4096x4096x14336", ["llm", "large"]),
    ("nt/4096x7168x2048", ["llm", "large"]),
    ("nt/4096x2112x7168", ["llm", "large"]),
    ("nt/128x7168x16384", ["llm"]),
    ("nt/1024x1024x128/batch=32", ["attention"]),
    ("nn/1024x128x1024/batch=32", ["attention"]),
    ("nn/512x512x512/alpha=0.5/beta=neg2", ["square"]),
]  # fmt: skip


def gpu() -> Machine:
    precisions = ("fp32", "tf32", "fp16", "bf16")
    return Machine(
        device="gpu",
        fingerprint={"device": "gpu", "gpu": "Synthetic GPU", "driver": "1.2.3",
                     "cuda_runtime": "13.0", "cublas": "13.0.2", "power_limit_w": "700",
                     "nvcc": "13.0.88", "build": "Release", "harness": "1"},
        environment={"cpu": "Synthetic CPU", "sms": "132", "l2_bytes": "52428800"},
        peaks={"fp32": 67, "tf32": 495, "fp16": 989, "bf16": 989, "bandwidth_gb_s": 4800},
        rates={"fp32": 67, "tf32": 495, "fp16": 989, "bf16": 989},
        bandwidth=4300,
        rungs=GPU_RUNGS,
        problems=[(f"{p}/{shape}", groups) for p in precisions for shape, groups in GPU_SHAPES],
        telemetry=True,
        planted={("wmma", 54 + 4): "failed", ("wgmma_tma", 54 + 10): "incorrect",
                 ("mma_pipelined", 54 + 2): "incorrect", ("naive", 4): "timed_out"},
    )  # fmt: skip


def host() -> Machine:
    shapes = [("nn/128x128x128", ["square", "smoke"]),
              ("nn/256x256x256", ["square", "ladder", "smoke", "pr"]),
              ("nt/16x512x512", ["narrow", "decode", "smoke", "pr"]),
              ("nn/37x61x53/pad=3.0.8", ["square", "smoke"])]  # fmt: skip
    problems = [(f"{p}/{s}", groups) for p in ("fp32", "fp16", "bf16") for s, groups in shapes]
    return Machine(
        device="host",
        fingerprint={"device": "host", "cpu": "Synthetic CPU", "blas": "OpenBLAS 0.0",
                     "threads": "1", "compiler": "g++ 12.2.0", "build": "Release", "harness": "1"},
        environment={"compiler": "g++ 12.2.0", "commit": "0123abc"},
        peaks={},
        rates={"fp32": 0.1, "fp16": 0.03, "bf16": 0.03},
        bandwidth=20,
        rungs=[
            Rung("cpu_naive", "three loops", 0.015),
            Rung("cpu_tiled", "a tile stays in the cache", 0.12),
            Rung("cpu_packed", "packed panels and a register tile", 0.71),
            Rung("openblas", "the vendor's kernel", 0.85, vendor=True, control=True,
                 precisions=("fp32", "fp16")),
        ],
        problems=problems[:10],
        planted={("cpu_tiled", 3): "incorrect", ("cpu_packed", 6): "failed"},
    )  # fmt: skip


def dimensions(problem_id: str) -> tuple[int, int, int, int]:
    """m, n, k, batch."""
    parts = problem_id.split("/")
    m, n, k = (int(side) for side in parts[2].split("x"))
    batch = next((int(part[6:]) for part in parts[3:] if part.startswith("batch=")), 1)
    return m, n, k, batch


def run(machine: Machine, trials: int = 6, seed: int = 1, injected: str = "") -> Json:
    """What `gemmwatch run` would write."""
    draw = random.Random(seed)
    outcomes: dict[str, str] = {}
    reasons: dict[str, str] = {}
    rows: list[Json] = []
    problems = [catalog_problem(problem_id, groups) for problem_id, groups in machine.problems]
    for index, problem in enumerate(problems):
        for rung in machine.rungs:
            point_id = f"{rung.name}/{problem['id']}"
            outcome = machine.planted.get((rung.name, index), "passed")
            if refusal := why_refused(rung, problem):
                outcome, reasons[point_id] = "refused", refusal
            elif outcome != "passed":
                reasons[point_id] = PLANTED[outcome]
            outcomes[point_id] = outcome
            for trial in range(trials):
                if outcome == "passed":
                    rows.append(_row(machine, rung, problem, trial, trials, draw))
                elif outcome in ("incorrect", "failed"):
                    rows.append(_error_row(point_id, trial, trials, PLANTED[outcome]))
    catalog = {
        "schema": 1, "device": machine.device, "device_note": "",
        "fingerprint": machine.fingerprint, "environment": machine.environment,
        "injected": injected, "peaks": machine.peaks, "problems": problems,
        "kernels": [
            catalog_kernel(machine, rung, order) for order, rung in enumerate(machine.rungs)
        ],
    }  # fmt: skip
    meta = {
        "schema": 1, "catalog": catalog, "selection": "full", "trials": trials,
        "seeds": list(range(trials)), "started": "2000-01-01T00:00:00Z",
        "finished": "2000-01-01T00:05:00Z", "outcomes": outcomes, "reasons": reasons,
    }  # fmt: skip
    return {"context": {"gemmwatch": meta}, "benchmarks": rows}


LESSONS = [
    ("bank_conflicts", "Rows of shared memory that begin in one bank", "vectorized",
     ["vectorized/fp32/nn/4096x4096x4096", "vectorized+bank_conflicts/fp32/nn/4096x4096x4096"],
     "An invented moral of conflicts. It takes more than one line of a terminal, as most do."),
    ("register_spills", "A second block an SM, paid in registers", "warp_tiled",
     [f"{kernel}/{problem}" for problem in ("fp32/nn/4096x4096x4096", "fp32/nn/2048x2048x2048")
      for kernel in ("warp_tiled", "warp_tiled+register_spills")],
     "An invented moral of spills."),
    ("compiler_scheduling", "Reads that are left to the compiler", "double_buffered",
     ["double_buffered/fp32/nn/4096x4096x4096",
      "double_buffered+compiler_scheduling/fp32/nn/4096x4096x4096"],
     "An invented moral of scheduling."),
    ("bf16_accuracy", "BF16 keeps eight bits of the result", "",
     [f"dispatch/{problem}/4096x4096x4096" for problem in ("fp32/nn", "tf32/nt", "bf16/nn")]
     + ["cpu_packed/fp32/nn/512x512x512", "cpu_packed/bf16/nn/512x512x512"],
     "An invented moral of rounding."),
]  # fmt: skip
SPOILED = {"bank_conflicts": 2.4, "register_spills": 9.0, "compiler_scheduling": 0.98}
ERRORS = {"fp32": 4e-7, "tf32": 3e-4, "fp16": 3.5e-4, "bf16": 2.9e-3}


def lessons_run(trials: int = 3) -> Json:
    """What `gemmwatch run --selection lessons` would write on the GPU."""
    machine = gpu()
    machine.environment["compute_capability"] = "9.0"
    machine.planted = {}
    ids = {point_id for *_, points, _ in LESSONS for point_id in points}
    wanted = {point_id.partition("/")[2] for point_id in ids}
    machine.problems = [one for one in machine.problems if one[0] in wanted]
    machine.rungs = [
        spoiled
        for rung in machine.rungs
        for spoiled in [rung, *(
            Rung(f"{rung.name}+{name}", rung.idea, rung.share / SPOILED[name], precisions=SIMT)
            for name, _, source, *_ in LESSONS if source == rung.name
        )]
    ]  # fmt: skip
    made = run(machine, trials)
    meta = made["context"]["gemmwatch"]
    meta["selection"] = "lessons"
    meta["outcomes"] = {name: end for name, end in meta["outcomes"].items() if name in ids}
    meta["reasons"] = {name: why for name, why in meta["reasons"].items() if name in ids}
    meta["catalog"]["lessons"] = [
        {"name": name, "title": title, "points": " ".join(points), "moral": moral}
        for name, title, _, points, moral in LESSONS
    ]
    made["benchmarks"] = [row for row in made["benchmarks"] if row["name"] in ids]
    for row in made["benchmarks"]:
        row["relative_error"] = ERRORS[row["name"].split("/")[1]]
    return made


def end_badly(of: Json, point_id: str, outcome: str) -> None:
    """The point's times go, and its reason comes."""
    meta = of["context"]["gemmwatch"]
    meta["outcomes"][point_id] = outcome
    meta["reasons"][point_id] = "trial 1: " + PLANTED[outcome].removeprefix(f"{outcome}: ")
    of["benchmarks"] = [row for row in of["benchmarks"] if row["name"] != point_id]


def resources(*functions: Json) -> Json:
    """What `gemmwatch resources record` would write."""
    return {"schema": 1, "kind": "gemmwatch-resources", "toolkit": "13.0.88", "host_code": {},
            "functions": list(functions)}  # fmt: skip


def function(kernel: str, arch: str = "sm_90", **other: object) -> Json:
    """A device function in it."""
    return {"kernel": kernel, "arch": arch, "function": f"{kernel}<float>", "registers": 64,
            "stack_bytes": 0, "shared_bytes": 2048, "resident_warps": 32, "local_loads": 0,
            "local_stores": 0, "tensor_instructions": 0, "ffma": 9, "code_bytes": 640,
            "code": "0123"} | other  # fmt: skip


def catalog_kernel(machine: Machine, rung: Rung, order: int) -> Json:
    return {"name": rung.name, "stage": rung.name, "order": order,
            "title": rung.name.replace("_", " "), "idea": rung.idea, "arch": machine.device,
            "vendor": rung.vendor, "control": rung.control, "available": True}  # fmt: skip


def catalog_problem(problem_id: str, groups: list[str]) -> Json:
    m, n, k, batch = dimensions(problem_id)
    precision, layout = problem_id.split("/")[:2]
    size = 4 if precision in ("fp32", "tf32") else 2
    return {"id": problem_id, "m": m, "n": n, "k": k, "batch": batch, "precision": precision,
            "layout": layout, "groups": groups, "why": "an invented reason",
            "flops": 2 * m * n * k * batch,
            "bytes": size * batch * (m * k + k * n + m * n)}  # fmt: skip


def why_refused(rung: Rung, problem: Json) -> str:
    if problem["precision"] not in rung.precisions:
        return f"takes {', '.join(rung.precisions)} only"
    if rung.name == "gemv" and problem["m"] > 1:
        return "takes one row only"
    if rung.name in ("swap_ab", "split_k") and problem["m"] > 128:
        return "takes at most 128 rows"
    return ""


def true_us(machine: Machine, rung: Rung, problem: Json) -> float:
    peak = machine.rates[problem["precision"]] * rung.share
    if problem["precision"] in ("fp16", "bf16") and rung.precisions == SIMT:
        peak = machine.rates["fp32"] * rung.share  # no tensor cores on these rungs
    floor = problem["bytes"] / machine.bandwidth * 1e-3
    return float(problem["flops"] / peak * 1e-6 + floor + (2.0 if machine.device == "gpu" else 0))


def _error_row(point_id: str, trial: int, trials: int, message: str) -> Json:
    """Without a valid time, and without counters."""
    return {
        "name": point_id, "run_name": point_id, "run_type": "iteration", "repetitions": trials,
        "repetition_index": trial, "iterations": 0, "real_time": 0.0, "cpu_time": 0.0,
        "time_unit": "us", "error_occurred": True, "error_message": message,
    }  # fmt: skip


def _row(
    machine: Machine, rung: Rung, problem: Json, trial: int, trials: int, draw: random.Random
) -> Json:
    control = next(one for one in machine.rungs if one.control)
    drift = math.exp(draw.gauss(0, 0.03))  # moves kernel and control alike
    kernel_us = true_us(machine, rung, problem) * drift * math.exp(draw.gauss(0, 0.006))
    control_us = true_us(machine, control, problem) * drift * math.exp(draw.gauss(0, 0.006))
    point_id = f"{rung.name}/{problem['id']}"
    row: Json = {
        "name": point_id, "run_name": point_id, "run_type": "iteration", "repetitions": trials,
        "repetition_index": trial, "iterations": 8, "real_time": kernel_us, "cpu_time": kernel_us,
        "time_unit": "us", "kernel_us": kernel_us, "control_us": control_us,
        "log_ratio": math.log(kernel_us / control_us),
        "tflops": problem["flops"] / kernel_us * 1e-6,
        "check_s": 0.2, "timed_s": 0.1, "point_s": 0.4,
    }  # fmt: skip
    if machine.telemetry:
        row |= {"sm_mhz": draw.gauss(1500, 90), "mem_mhz": 3201.0, "power_w": draw.gauss(655, 30),
                "temperature_c": draw.gauss(58, 3), "throttled": 0.0,
                "power_capped": min(1.0, max(0.0, draw.gauss(0.4, 0.2))),
                "energy_j": 40.0}  # fmt: skip
        if machine.fingerprint["harness"] == "1 sustained":
            row |= {"kernel_joules": kernel_us * 650e-6, "control_joules": control_us * 680e-6}
    return row


def baseline(of: Json) -> Json:
    """The compact form of a run, with the catalog that the README's ladder needs."""
    meta = of["context"]["gemmwatch"]
    points: dict[str, dict[str, list[float]]] = {}
    for row in of["benchmarks"]:
        if "kernel_us" not in row:
            continue
        columns = points.setdefault(row["name"], {})
        for name in ("log_ratio", "kernel_us", "control_us"):
            columns.setdefault(name, []).append(row[name])
    return {
        "schema": 1, "kind": "gemmwatch-baseline", "fingerprint": meta["catalog"]["fingerprint"],
        "environment": meta["catalog"]["environment"], "selection": meta["selection"],
        "approved": "2000-01-02", "commit": "0123abc", "note": "synthetic",
        "outcomes": meta["outcomes"], "points": points, "catalog": meta["catalog"],
    }  # fmt: skip


def verdict(of: Json, answer: str = "regression") -> Json:
    """An invented verdict on the points of a run; the first few carry one of each kind."""
    kinds = ["regressed", "missing", "inconclusive", "improved", "new", "incomparable"]
    codes = {"pass": 0, "regression": 1, "incorrect": 3, "untrusted": 4}
    judged = [name for name, outcome in of["context"]["gemmwatch"]["outcomes"].items()
              if outcome != "refused"]  # fmt: skip
    points = []
    for index, point_id in enumerate(judged):
        kind = kinds[index] if index < len(kinds) and answer != "pass" else "same"
        change = {"regressed": 0.062, "improved": -0.04}.get(kind, 0.001)
        points.append({
            "id": point_id, "verdict": kind, "reason": f"an invented reason for {kind}",
            "change": change, "low": change - 0.008, "high": change + 0.008, "p": 0.01,
            "smallest_visible": 0.015, "base_us": 100.0, "head_us": 100.0 * (1 + change),
            "base_ratio": 1.0, "head_ratio": 1 + change})  # fmt: skip
    fingerprint = of["context"]["gemmwatch"]["catalog"]["fingerprint"]
    summary = {kind: sum(point["verdict"] == kind for point in points)
               for kind in [*kinds, "same", "incorrect", "failed", "timed_out"]}  # fmt: skip
    return {
        "schema": 1, "answer": answer, "exit_code": codes[answer], "policy": {"tau_fail": 0.02},
        "base": {"fingerprint": fingerprint, "label": "baseline of 2000-01-02", "age_days": 12},
        "head": {"fingerprint": fingerprint, "label": "this build",
                 "finished": of["context"]["gemmwatch"]["finished"]},
        "summary": {**summary, "compared": len(points)}, "points": points,
        "families": [{**points[0], "id": "an invented family"}],
        "doubts": ["an invented doubt"] if answer == "untrusted" else [],
        "notes": ["an invented note"],
    }  # fmt: skip


def write(path: Path, content: Json) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    machines: dict[str, Callable[[], Machine]] = {"gpu": gpu, "host": host}
    for name, machine in machines.items():
        made = run(machine())
        write(folder / f"{name}-run.json", made)
        write(folder / f"{name}-verdict.json", verdict(made))
        write(folder / f"{name}-baseline.json", baseline(made))
    lessons = lessons_run()
    end_badly(lessons, "double_buffered+compiler_scheduling/fp32/nn/4096x4096x4096", "incorrect")
    write(folder / "lessons-run.json", lessons)
    spoiled = function("warp_tiled+register_spills", registers=128, stack_bytes=96)
    write(folder / "lessons-resources.json", resources(spoiled, function("warp_tiled")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
