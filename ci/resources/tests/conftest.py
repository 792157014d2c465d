"""Device functions that the tests make up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import ci.resources.command
from ci.command_line import run_command
from ci.resources.record import Function, Resources


@pytest.fixture
def gemmwatch() -> Callable[..., int]:
    """Runs `gemmwatch resources`, and returns its exit code."""
    add_parsers = [ci.resources.command.add_parser]
    return lambda *words: run_command(["resources", *map(str, words)], add_parsers)


def host_build(folder: Path, sources: Mapping[str, str], harness: str = "int h;") -> Path:
    """A build folder of host kernels, and of a harness, each of this C++."""
    entries = [
        _compiled(folder, f"kernels/gemmwatch_rungs_cpu.dir/{kernel}.cpp.o", kernel, text)
        for kernel, text in sources.items()
    ]
    entries.append(_compiled(folder, "bench/gemmwatch-bench.dir/main.cpp.o", "main", harness))
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def _compiled(folder: Path, output: str, name: str, text: str) -> dict[str, str]:
    source = folder / f"{name}.cpp"
    (folder / output).parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    command = ["g++", "-O2", "-c", str(source), "-o", output]
    subprocess.run(command, check=True, cwd=folder)
    return {"directory": str(folder), "file": str(source), "command": " ".join(command)}


def function(name: str = "f", **changed: int | str) -> Function:
    values: dict[str, int | str] = {
        "kernel": "tiled", "arch": "sm_90", "function": name, "registers": 40, "stack_bytes": 0,
        "shared_bytes": 1024, "resident_warps": 48, "local_loads": 0, "local_stores": 0,
        "tensor_instructions": 16, "ffma": 8, "code_bytes": 4096, "code": "aa",
    }  # fmt: skip
    return Function(**(values | changed))  # type: ignore[arg-type]


def resources(functions: Sequence[Function], toolkit: str = "13.0.88") -> Resources:
    return Resources.of(toolkit, functions, {"tiled": "bb"})
