"""scripts/lab and scripts/comment: what a workflow's steps start; each step is a stand-in."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import Machine, write_script


@pytest.fixture
def script(bare: Machine, checkout: Callable[..., Path]) -> Path:
    root = checkout("lab", "lib.sh")
    write_script(root / "scripts/setup", bare.note("setup $*"))
    check = root / "build/cuda/correctness/gemmwatch-check"
    write_script(check, bare.note("check") + 'exit "${WRONG:-0}"')
    write_script(
        root / "scripts/gemmwatch",
        bare.note("gemmwatch $*")
        + """
        [[ $1 == locked ]] || exit "${CODE:-0}"
        export GEMMWATCH_GPU=${GPU-GPU-1}
        exec "${@:3}"
        """,
    )
    for name in ("cmake", "nvcc"):
        bare.logging(name)
    bare.logging(
        "nvidia-smi",
        """
        [[ $* != *"${REFUSED:-nothing}"* ]] || exit 1
        [[ $* != *--query* ]] || echo "${CLOCK:-1500}"
        """,
    )
    return root / "scripts/lab"


@pytest.mark.parametrize("code", [0, 1, 3, 4])
def test_it_builds_checks_and_ends_as_the_command_does(
    bare: Machine, script: Path, code: int
) -> None:
    done = bare.run(script, "gate", "--base", "main", CODE=str(code))
    assert done.returncode == code
    assert bare.calls() == [
        "setup ",
        "cmake --preset cuda",
        "cmake --build --preset cuda",
        f"gemmwatch locked -- {script} --locked cuda gate --base main",
        "check",
        "gemmwatch gate --base main",
    ]


def test_a_night_also_needs_the_packages_of_the_history(bare: Machine, script: Path) -> None:
    assert bare.run(script, "nightly").returncode == 0
    assert bare.calls()[0] == "setup --with history"


def test_a_wrong_result_is_never_measured(bare: Machine, script: Path) -> None:
    done = bare.run(script, "nightly", WRONG="1")
    assert done.returncode == 3
    assert bare.calls()[-1] == "check"


@pytest.mark.parametrize("code", [0, 1])
def test_clocks_are_locked_on_request_and_given_back_whatever_happens(
    bare: Machine, script: Path, code: int
) -> None:
    done = bare.run(script, "nightly", GEMMWATCH_CLOCK_MHZ="1500", CODE=str(code))
    assert done.returncode == code
    locked, *calls = bare.calls()[3:]
    assert locked.startswith("gemmwatch locked")
    assert calls == [
        "nvidia-smi --id=GPU-1 --lock-gpu-clocks=1500",
        "check",
        "nvidia-smi --id=GPU-1 --query-gpu=clocks.sm --format=csv,noheader,nounits",
        "gemmwatch nightly",
        "nvidia-smi --id=GPU-1 --reset-gpu-clocks",
    ]


def test_clocks_that_may_not_be_locked_are_not_passed_over(bare: Machine, script: Path) -> None:
    done = bare.run(script, "nightly", GEMMWATCH_CLOCK_MHZ="1500", REFUSED="--lock")
    assert done.returncode == 2
    assert "unset GEMMWATCH_CLOCK_MHZ" in done.stderr
    assert bare.calls()[-1] == "nvidia-smi --id=GPU-1 --lock-gpu-clocks=1500"


def test_another_clock_than_was_asked_for_is_not_measured(bare: Machine, script: Path) -> None:
    done = bare.run(script, "nightly", GEMMWATCH_CLOCK_MHZ="1500", CLOCK="1485")
    assert done.returncode == 2
    assert "locked to 1500 MHz, but it reads 1485" in done.stderr
    assert "gemmwatch nightly" not in bare.calls()
    assert bare.calls()[-1] == "nvidia-smi --id=GPU-1 --reset-gpu-clocks"


def test_a_clock_is_not_asked_for_where_there_is_no_gpu(bare: Machine, script: Path) -> None:
    done = bare.run(script, "nightly", GEMMWATCH_CLOCK_MHZ="1500", GPU="")
    assert done.returncode == 2
    assert "there is no GPU" in done.stderr
    assert not any(call.startswith(("nvidia-smi", "check")) for call in bare.calls())


def test_without_a_command_it_says_how_it_is_used(bare: Machine, script: Path) -> None:
    assert bare.run(script).returncode == 2
    done = bare.run(script, "--help")
    assert (done.returncode, done.stdout.startswith("Usage: scripts/lab")) == (0, True)
    assert bare.calls() == []


def test_the_comment_takes_no_compiler(ready: Machine, checkout: Callable[..., Path]) -> None:
    root = checkout("comment", "lib.sh", "missing_requirements.py")
    (root / "pyproject.toml").write_text(
        "[project]\ndependencies = []\n[project.optional-dependencies]\n"
    )
    write_script(root / "scripts/gemmwatch", ready.note("gemmwatch $*"))
    for name in ("g++", "cmake", "ninja"):
        ready.lose(name)
    assert ready.run(root / "scripts/comment").returncode == 0
    assert ready.calls() == ["gemmwatch comment"]
