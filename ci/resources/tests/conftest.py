"""Device functions that the tests make up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import ci.resources.command
from ci.command_line import run_command
from ci.resources.record import Function, Resources


@pytest.fixture
def gemmwatch() -> Callable[..., int]:
    """Runs `gemmwatch resources`, and returns its exit code."""
    add_parsers = [ci.resources.command.add_parser]
    return lambda *words: run_command(["resources", *map(str, words)], add_parsers)


def function(name: str = "f", **changed: int | str) -> Function:
    values: dict[str, int | str] = {
        "kernel": "tiled", "arch": "sm_90", "function": name, "registers": 40, "stack_bytes": 0,
        "shared_bytes": 1024, "resident_warps": 48, "local_loads": 0, "local_stores": 0,
        "tensor_instructions": 16, "ffma": 8, "code_bytes": 4096, "code": "aa",
    }  # fmt: skip
    return Function(**(values | changed))  # type: ignore[arg-type]


def resources(functions: Sequence[Function], toolkit: str = "13.0.88") -> Resources:
    return Resources.of(toolkit, functions, {"tiled": "bb"})
