"""scripts/sanitize: each tool runs the one short list; what any of them finds is the answer."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from scripts.tests.machine import Machine, write_script

CHECK = "build/cuda/correctness/gemmwatch-check"

# Runs the program, then finds something if it is the tool that the test names.
SANITIZER = """
tool=$2; shift 6; "$@"; code=$?
if [[ $tool == "$FINDS" ]]; then echo "========= ERROR SUMMARY: 3 errors"; exit 99; fi
echo "========= ERROR SUMMARY: 0 errors"
exit $code
"""


@pytest.fixture
def run(bare: Machine, checkout: Callable[..., Path]) -> Callable[..., CompletedProcess[str]]:
    root = checkout("sanitize", "lib.sh")
    write_script(root / "scripts/setup", "exit 0")
    bare.script("cmake", "exit 0")
    bare.script("nvcc", "exit 0")
    bare.logging("compute-sanitizer", SANITIZER)

    def sanitize(*arguments: str, check: str = "exit 0", finds: str = "") -> CompletedProcess[str]:
        write_script(root / CHECK, bare.note("check $*") + check)
        return bare.run(root / "scripts/sanitize", *arguments, FINDS=finds)

    return sanitize


def test_all_four_tools_run_the_short_list(
    run: Callable[..., CompletedProcess[str]], bare: Machine
) -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    rows = [line.split()[:2] for line in done.stdout.splitlines()[-4:]]
    assert rows == [[tool, "clean"] for tool in ("memcheck", "racecheck", "initcheck", "synccheck")]
    first, *others = [call for call in bare.calls() if call.startswith("check ")]
    assert first == "check --device=gpu --under-sanitizer"
    assert others == [f"{first} --gtest_brief=1"] * 4


def test_one_finding_is_the_answer(run: Callable[..., CompletedProcess[str]]) -> None:
    done = run(finds="racecheck")
    assert done.returncode == 1
    results = {line.split()[0]: line for line in done.stdout.splitlines()[-4:]}
    assert "found" in results["racecheck"]
    assert "3 errors" in results["racecheck"]
    assert "clean" in results["initcheck"]


def test_a_program_that_fails_under_a_tool_is_no_pass(
    run: Callable[..., CompletedProcess[str]],
) -> None:
    done = run("memcheck", check='[[ "$*" != *brief* ]] || exit 139')
    assert done.returncode == 1
    assert "failed" in done.stdout


def test_tools_and_kernel_are_handed_on(
    run: Callable[..., CompletedProcess[str]], bare: Machine
) -> None:
    assert run("--kernel=tiled", "synccheck").returncode == 0
    calls = bare.calls()
    assert "check --device=gpu --under-sanitizer --kernel=tiled" in calls
    assert sum(call.startswith("compute-sanitizer --tool synccheck ") for call in calls) == 1
    assert not any("--tool memcheck" in call for call in calls)


def test_wrong_results_come_first(run: Callable[..., CompletedProcess[str]], bare: Machine) -> None:
    done = run(check="echo Failed; exit 3")
    assert done.returncode == 3
    assert "without any tool" in done.stderr
    assert not any(call.startswith("compute-sanitizer") for call in bare.calls())


def test_a_missing_gpu_is_said(run: Callable[..., CompletedProcess[str]]) -> None:
    done = run(check="echo 'nothing was checked: there is no GPU' >&2; exit 4")
    assert done.returncode == 2
    assert "there is no GPU" in done.stderr


def test_a_missing_compute_sanitizer_is_said(
    run: Callable[..., CompletedProcess[str]], bare: Machine
) -> None:
    bare.lose("compute-sanitizer")
    done = run()
    assert done.returncode == 2
    assert "CUDA toolkit" in done.stderr


def test_an_unknown_tool_is_named(run: Callable[..., CompletedProcess[str]]) -> None:
    done = run("leakcheck")
    assert done.returncode == 2
    assert "leakcheck" in done.stderr
