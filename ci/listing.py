"""`gemmwatch list`: the kernels, problems and selections of the bench program."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ci.bench_program import BenchProgram, find_bench
from ci.catalog import Catalog
from ci.command_line import SubParsers
from ci.errors import Exit
from ci.measure import SELECTIONS


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser("list", help="kernels, problems and selections")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--device", choices=("auto", "host", "gpu"), default="auto")
    parser.add_argument(
        "--bench", type=Path, metavar="PATH", help="default: build/cuda's, else build/cpu's"
    )
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    bench = find_bench(arguments.bench)
    catalogs = {
        selection: BenchProgram(bench, selection, arguments.device).catalog()
        for selection in SELECTIONS
    }
    if arguments.json:
        print(json.dumps(_document(catalogs), indent=1))
    else:
        print(_text(catalogs))
    return Exit.ok


def _document(catalogs: dict[str, Catalog]) -> dict[str, Any]:
    widest = catalogs["full"]
    return {
        "device": widest.device,
        "device_note": widest.device_note,
        "kernels": [asdict(kernel) for kernel in widest.kernels],
        "problems": [asdict(problem) for problem in widest.problems],
        "selections": {
            name: {"points": len(catalog.points), "refused": len(catalog.refused)}
            for name, catalog in catalogs.items()
        },
    }


def _text(catalogs: dict[str, Catalog]) -> str:
    widest = catalogs["full"]
    note = f" ({widest.device_note})" if widest.device_note else ""
    lines = [f"device: {widest.device}{note}", "", "kernels (- does not run on this device)"]
    for k in widest.kernels:
        mark = " " if k.available else "-"
        lines.append(f" {mark}{k.order:3}  {k.name:<24} {k.stage:<18} {k.arch:<6} {k.idea}")
    lines += ["", "problems"]
    for problem in widest.problems:
        lines.append(f"  {problem.id:<32} {' '.join(problem.groups):<24} {problem.why}")
    lines += ["", "selections"]
    for name, catalog in catalogs.items():
        lines.append(f"  {name:<7} {len(catalog.points)} points, {len(catalog.refused)} refused")
    return "\n".join(lines)
