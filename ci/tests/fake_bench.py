#!/usr/bin/env -S python3 -IS
"""A bench program that obeys the contract and misbehaves on request.

FAKE_BENCH names a JSON file: {"catalog": {...}, "behaviour": {id: {"do": what, "seed": n}}}; with
a seed the point misbehaves in that trial only; with a "build" only if the program's path has that
part, with an "out" only if the output's path has it. The behaviour of "fingerprint" is what differs
in the machine.
"""

import json
import math
import os
import random
import signal
import sys
import time
from pathlib import Path


def flag(name: str) -> str:
    values = [a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--gemmwatch_{name}=")]
    return values[-1] if values else ""


def row(point: str, rng: random.Random, loss: float = 0.0) -> dict[str, object]:
    """loss: how much slower than usual, as a share."""
    kernel = point.split("/")[0]
    log_ratio = 0.0 if kernel == "control" else math.log(1.25)
    log_ratio += rng.gauss(0, 0.002) + math.log1p(loss)
    return {
        "name": f"{point}/iterations:8/manual_time", "family_index": 7, "run_name": point,
        "run_type": "iteration", "iterations": 8, "real_time": 100.0, "cpu_time": 1.0,
        "time_unit": "us", "log_ratio": log_ratio, "control_us": 100.0,
        "kernel_us": 100.0 * math.exp(log_ratio), "tflops": 1.0,
        "point_s": 0.01, "sm_mhz": 1500.0,
    }  # fmt: skip


def error(point: str, message: str) -> dict[str, object]:
    return {
        "name": point, "run_name": point, "run_type": "iteration",
        "error_occurred": True, "error_message": message,
    }  # fmt: skip


def applies(behaviour: dict[str, object], seed: int, out: str) -> bool:
    """Whether it is of this trial, this build and this output."""
    places = {"build": sys.argv[0], "out": out}
    return behaviour.get("seed", seed) == seed and all(
        key not in behaviour or behaviour[key] in Path(path).parts for key, path in places.items()
    )


def injected(point: str) -> float:
    kernel, _, percent = flag("slow").rstrip("%").partition(":")
    return float(percent) / 100 if kernel == point.split("/")[0] else 0.0


def measure(point: str, behaviour: dict[str, object], rng: random.Random) -> dict[str, object]:
    """The row of a point, unless it takes the process down."""
    match behaviour.get("do"):
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(600)
        case "lose context":
            os._exit(70)
        case "interrupt":  # as the terminal does: the orchestrator and this process
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(600)
        case "terminate":  # as a CI system does: the orchestrator alone
            print(os.getpid(), flush=True)
            os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(600)
        case "incorrect":
            return error(point, "incorrect: 3 of 64 elements differ")
        case "fail":
            return error(point, "failed: out of memory")
        case "nan":
            return row(point, rng) | {"kernel_us": math.nan}
        case "lose":
            slower = row(point, rng, float(str(behaviour["loss"])) + injected(point))
            return slower | {"sm_mhz": behaviour.get("mhz", slower["sm_mhz"])}
        case "depend on the order":
            return row(point, rng, int(flag("seed")) % 3 / 10)
        case "ignore --slow":
            return row(point, rng)
    return row(point, rng, injected(point))


def main() -> int:
    scenario = json.loads(Path(os.environ["FAKE_BENCH"]).read_text())
    catalog = scenario["catalog"]
    if scenario.get("exit_at_start"):
        print("no device for you")
        return int(scenario["exit_at_start"])
    other = scenario["behaviour"].pop("fingerprint", {"build": ""})
    if other.pop("build") in Path(sys.argv[0]).parts:
        catalog["fingerprint"] |= other
    if slow := flag("slow"):
        catalog["injected"] = f"slow:{slow}"
    if load := flag("load"):
        catalog["fingerprint"]["harness"] = f"1 {load}"
    if listing := flag("list"):
        Path(listing).write_text(json.dumps(catalog))
        return 0

    points = Path(flag("points")).read_text().split()
    seed = int(flag("seed"))
    out = next(a.split("=", 1)[1] for a in sys.argv if a.startswith("--benchmark_out="))
    random.Random(seed).shuffle(points)
    rng = random.Random("/".join(Path(out).parts[-4:]))  # arm and trial: noise of their own
    incorrect = False
    context = {
        "date": "2026-01-02T03:04:05+00:00",
        "gemmwatch_catalog": json.dumps({"fingerprint": catalog["fingerprint"]}),
        "gemmwatch_seed": str(seed),
    }
    with Path(out).open("w") as rows, Path(flag("journal")).open("a") as journal:
        rows.write(f'{{\n  "context": {json.dumps(context)},\n  "benchmarks": [\n')
        rows.flush()
        for position, point in enumerate(points):
            behaviour = scenario["behaviour"].get(point, {})
            if not applies(behaviour, seed, out):
                behaviour = {}
            if behaviour.get("do") == "vanish":
                continue
            journal.write(f"begin {point}\n")
            journal.flush()
            result = measure(point, behaviour, rng)
            incorrect = incorrect or "incorrect" in str(result.get("error_message"))
            rows.write(("," if position else "") + "    " + json.dumps(result))
            rows.flush()
            if behaviour.get("do") == "crash after":
                os.kill(os.getpid(), signal.SIGABRT)
        rows.write("\n  ]\n}\n")
    return 3 if incorrect else 0


if __name__ == "__main__":
    sys.exit(main())
