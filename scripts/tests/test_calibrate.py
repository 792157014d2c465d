"""scripts/calibrate: what it builds, measures and keeps; programs and Python are stand-ins."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import Machine, write_script


@pytest.fixture
def script(bare: Machine, checkout: Callable[..., Path]) -> Path:
    root = checkout("calibrate", "lib.sh")
    write_script(root / "scripts/setup", "exit 0")
    for command in ("cmake", "nvcc"):
        bare.logging(command)
    bare.logging("python3", "exit 0")
    write_script(root / "build/cuda/bench/gemmwatch-bench", bare.note("bench $1 $2"))
    return root / "scripts/calibrate"


def stand_in_for_calibrate(machine: Machine, script: Path, body: str) -> None:
    program = script.parents[1] / "build/cuda/correctness/calibration/gemmwatch-calibrate"
    write_script(program, machine.note("calibrate ${*:4}") + body)


WRITES_ALARMS = ': >"${3#--alarms=}"\n'


@pytest.mark.parametrize("code", [0, 3])
def test_what_was_measured_is_kept_whatever_it_says(bare: Machine, script: Path, code: int) -> None:
    stand_in_for_calibrate(bare, script, f"{WRITES_ALARMS}exit {code}")
    done = bare.run(script, "--device=host", "--seeds=1..3")
    assert done.returncode == code, done.stderr
    calls = bare.calls()
    assert (
        calls[1]
        == "cmake --build --preset cuda --target=gemmwatch-calibrate --target=gemmwatch-bench"
    )
    assert calls[2] == "calibrate --device=host --seeds=1..3"
    assert "bench --gemmwatch_device=host --gemmwatch_selection=smoke" in calls
    assert any(call.startswith("python3 -m correctness.calibration.keep /") for call in calls)


def test_what_was_not_measured_is_not_kept(bare: Machine, script: Path) -> None:
    stand_in_for_calibrate(bare, script, "exit 4")
    done = bare.run(script, "--device=gpu")
    assert done.returncode == 4
    assert not any("keep" in call for call in bare.calls())
