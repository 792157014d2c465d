"""scripts/run: the order of its steps and the answer it ends with; each step is a stand-in."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import Machine, write_script


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def script(bare: Machine, checkout: Callable[..., Path]) -> Path:
    """scripts/run on a machine that has everything, measures at once and finds nothing wrong."""
    root = checkout("run", "lib.sh")
    write_script(root / "scripts/setup", "exit 0")
    bare.logging("cmake")
    bare.logging("nvcc")
    bare.script("nvidia-smi", "exit 9")
    stand_in_for_check(bare, root, "exit 0")
    stand_in_for_gemmwatch(bare, root, "0")
    return root / "scripts/run"


def stand_in_for_check(machine: Machine, root: Path, body: str) -> None:
    write_script(root / "build/cuda/correctness/gemmwatch-check", machine.note("check") + body)


def stand_in_for_gemmwatch(
    machine: Machine, root: Path, code: str, writes: str = "run.json verdict.json"
) -> None:
    measure = f"""
        [[ $1 == run ]] || exit 0
        while [[ $1 != --out ]]; do shift; done
        cd "$2"
        for file in {writes}; do echo "{{}}" >"$file"; done
        exit {code}"""
    write_script(root / "scripts/gemmwatch", machine.note("gemmwatch $*") + measure)


def test_steps_follow_one_another_and_the_scoreboard_is_last(
    bare: Machine, script: Path, out: Path
) -> None:
    done = bare.run(script, "smoke", "--out", out, "--trials", "2")
    assert done.returncode == 0, done.stderr
    assert bare.calls() == [
        "cmake --preset cuda",
        "cmake --build --preset cuda",
        "check",
        f"gemmwatch run --selection smoke --judge --out {out} --trials 2",
        f"gemmwatch report {out}/run.json --verdict {out}/verdict.json --out {out}/report",
        f"gemmwatch scoreboard {out}/run.json",
    ]


@pytest.mark.parametrize("code", [1, 3, 4])
def test_the_judges_code_is_the_answer_and_the_report_is_drawn_all_the_same(
    bare: Machine, script: Path, out: Path, code: int
) -> None:
    stand_in_for_gemmwatch(bare, script.parents[1], str(code))
    done = bare.run(script, "smoke", "--out", out)
    assert done.returncode == code
    assert bare.calls()[-1] == f"gemmwatch scoreboard {out}/run.json"


def test_a_build_that_fails_is_no_regression(bare: Machine, script: Path, out: Path) -> None:
    bare.script("cmake", 'echo "error: no such operator"; exit 1')
    done = bare.run(script, "smoke", "--out", out)
    assert done.returncode == 2
    assert "no such operator" in done.stderr
    assert bare.calls() == []


def test_incorrect_results_are_never_measured(bare: Machine, script: Path, out: Path) -> None:
    stand_in_for_check(bare, script.parents[1], 'echo "[  FAILED  ] tiled/fp32"; exit 1')
    done = bare.run(script, "smoke", "--out", out)
    assert done.returncode == 3
    assert "tiled/fp32" in done.stderr
    assert bare.calls()[-1] == "check"


def test_a_check_that_crashes_is_no_pass(bare: Machine, script: Path, out: Path) -> None:
    stand_in_for_check(bare, script.parents[1], "kill -SEGV $$")
    done = bare.run(script, "smoke", "--out", out)
    assert done.returncode == 3
    assert bare.calls()[-1] == "check"


def test_an_earlier_runs_results_are_not_reported_as_this_ones(
    bare: Machine, script: Path, out: Path
) -> None:
    out.mkdir()
    (out / "run.json").write_text("{}")
    stand_in_for_gemmwatch(bare, script.parents[1], "4", writes="")
    done = bare.run(script, "smoke", "--out", out)
    assert done.returncode == 4
    assert not any("report" in call or "scoreboard" in call for call in bare.calls())
    assert (out / "run.json").read_text() == "{}"


@pytest.mark.parametrize(("gpus", "selection"), [("exit 0", "pr"), ("exit 9", "smoke")])
def test_the_machine_chooses_the_selection(
    bare: Machine, script: Path, out: Path, gpus: str, selection: str
) -> None:
    bare.script("nvidia-smi", gpus)
    assert bare.run(script, "--out", out).returncode == 0
    assert any(f"--selection {selection} " in call for call in bare.calls())


def test_results_go_to_the_repository_by_default(bare: Machine, script: Path) -> None:
    assert bare.run(script).returncode == 0
    assert (script.parents[1] / "out/smoke/run.json").exists()


@pytest.mark.parametrize("arguments", [["quick"], ["--out"]])
def test_bad_usage_stops_before_anything_is_done(
    bare: Machine, script: Path, arguments: list[str]
) -> None:
    done = bare.run(script, *arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr
    assert bare.calls() == []


def test_help_is_usage(bare: Machine, script: Path) -> None:
    done = bare.run(script, "--help")
    assert done.returncode == 0
    assert "Usage: scripts/run" in done.stdout
