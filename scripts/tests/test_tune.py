"""scripts/tune: what it checks, measures and writes; each step is a stand-in."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import Machine, write_script


@pytest.fixture
def script(bare: Machine, checkout: Callable[..., Path]) -> Path:
    """scripts/tune on a machine with a GPU, where nothing goes wrong unless RUN or TUNE says so."""
    root = checkout("tune", "lib.sh")
    write_script(root / "scripts/setup", "exit 0")
    for command in ("cmake", "nvcc"):
        bare.logging(command)
    bare.script("nvidia-smi", 'exit "${NO_GPU:-0}"')
    check = root / "build/cuda/correctness/gemmwatch-check"
    write_script(check, bare.note("check $*") + 'exit "${WRONG:-0}"')
    write_script(
        root / "scripts/gemmwatch",
        bare.note("gemmwatch $*") + '[[ $1 != run ]] || exit "${RUN:-0}"; exit "${TUNE:-0}"',
    )
    return root / "scripts/tune"


def test_it_checks_measures_and_writes(bare: Machine, script: Path) -> None:
    done = bare.run(script)
    assert done.returncode == 0, done.stderr
    out = script.parents[1] / "out/tune"
    assert bare.calls() == [
        "cmake --preset cuda",
        "cmake --build --preset cuda",
        "check --gtest_brief=1 --selection=tune",
        f"gemmwatch run --selection tune --trials 3 --out {out}",
        f"gemmwatch tune {out}/run.json",
    ]
    assert "git diff kernels/dispatch/tuned.cpp" in done.stdout


def test_trials_and_folder_are_the_users(bare: Machine, script: Path, tmp_path: Path) -> None:
    assert bare.run(script, "--out", tmp_path / "here", "--trials", "7").returncode == 0
    assert bare.calls()[-2:] == [
        f"gemmwatch run --selection tune --trials 3 --out {tmp_path}/here --trials 7",
        f"gemmwatch tune {tmp_path}/here/run.json",
    ]


def test_a_finished_tuning_is_made_anew_and_an_interrupted_one_goes_on(
    bare: Machine, script: Path, tmp_path: Path
) -> None:
    (tmp_path / "trials").mkdir()
    assert bare.run(script, "--out", tmp_path).returncode == 0
    assert "--fresh" not in bare.calls()[-2]
    (tmp_path / "run.json").touch()
    assert bare.run(script, "--out", tmp_path).returncode == 0
    assert "--fresh" in bare.calls()[-2]


def test_without_a_gpu_nothing_is_built(bare: Machine, script: Path) -> None:
    done = bare.run(script, NO_GPU="9")
    assert done.returncode == 2
    assert "needs an NVIDIA GPU" in done.stderr
    assert bare.calls() == []


def test_wrong_results_are_not_measured(bare: Machine, script: Path) -> None:
    assert bare.run(script, WRONG="1").returncode == 3
    assert bare.calls()[-1].startswith("check")


@pytest.mark.parametrize("code", ["2", "3", "4", "130"])
def test_a_run_without_an_answer_writes_nothing(bare: Machine, script: Path, code: str) -> None:
    assert bare.run(script, RUN=code).returncode == int(code)
    assert bare.calls()[-1].startswith("gemmwatch run")


def test_a_kernel_that_failed_is_told_and_the_others_are_tuned(bare: Machine, script: Path) -> None:
    assert bare.run(script, RUN="1").returncode == 1
    assert bare.calls()[-1].startswith("gemmwatch tune")


def test_a_table_that_was_not_written_is_not_to_be_reviewed(bare: Machine, script: Path) -> None:
    done = bare.run(script, TUNE="4")
    assert done.returncode == 4
    assert "git diff" not in done.stdout


def test_bad_usage_and_help(bare: Machine, script: Path) -> None:
    assert bare.run(script, "--out").returncode == 2
    done = bare.run(script, "--help")
    assert (done.returncode, done.stdout.startswith("Usage: scripts/tune")) == (0, True)
    assert bare.calls() == []
