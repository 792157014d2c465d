"""scripts/faults: builds the one program, hands it the flags and ends with its answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import Machine, write_script

PROGRAM = "build/cuda/correctness/faults/gemmwatch-faults"


@pytest.mark.parametrize("code", [0, 1, 4])
def test_builds_and_ends_with_the_program_s_answer(
    bare: Machine, checkout: Callable[..., Path], code: int
) -> None:
    root = checkout("faults", "lib.sh")
    write_script(root / "scripts/setup", "exit 0")
    bare.logging("cmake")
    bare.logging("nvcc")
    write_script(root / PROGRAM, bare.note("faults $*") + f"exit {code}")
    done = bare.run(root / "scripts/faults", "--device=host", "--quick")
    assert done.returncode == code, done.stderr
    assert bare.calls() == [
        "cmake --preset cuda",
        "cmake --build --preset cuda --target=gemmwatch-faults",
        "faults --device=host --quick",
    ]
