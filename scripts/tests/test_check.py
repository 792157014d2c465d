"""scripts/check: what its own steps find, and that a step that fails is not forgotten."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import Machine, write_script


@pytest.fixture
def script(checkout: Callable[..., Path]) -> Path:
    root = checkout("check", "lib.sh")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    return root / "scripts/check"


def test_the_scripts_themselves_are_self_contained(bare: Machine, script: Path) -> None:
    done = bare.run(script, "self")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("place", ["/home" + "/someone/x", "https://pypi" + ".org/simple"])
def test_a_private_path_or_a_registry_is_found_where_it_is(
    bare: Machine, script: Path, place: str
) -> None:
    (script.parents[1] / "notes.txt").write_text(f"fine\nsee {place}\n")
    done = bare.run(script, "self")
    assert done.returncode == 1
    assert f"notes.txt:2:see {place}" in done.stdout
    assert "check failed: self" in done.stderr


def test_a_tree_that_git_cannot_read_is_no_pass(bare: Machine, script: Path) -> None:
    bare.script("git", "exit 128")
    assert bare.run(script, "self").returncode == 1


def test_an_unknown_step_is_refused(bare: Machine, script: Path) -> None:
    done = bare.run(script, "speling")
    assert done.returncode == 2
    assert "speling" in done.stderr


@pytest.mark.parametrize("broken", ["actionlint", "zizmor", ""])
def test_both_linters_see_every_workflow(bare: Machine, script: Path, broken: str) -> None:
    root = script.parents[1]
    (root / "requirements-dev.lock").write_text("nothing\n")
    for name in ("python", "actionlint", "zizmor"):
        write_script(
            root / ".venv-dev/bin" / name, bare.note(f"{name} $*") + f"exit {int(name == broken)}"
        )
    stamp = subprocess.run(
        ["sha256sum"], input=b"nothing\n", capture_output=True, check=True
    ).stdout  # fmt: skip
    (root / ".venv-dev/lock.sha256").write_bytes(stamp)
    (root / ".github/workflows").mkdir(parents=True)
    (root / ".github/workflows/gate.yml").write_text("on: push\n")
    done = bare.run(script, "workflows")
    assert done.returncode == bool(broken), done.stderr
    called = [
        call.split()[0] for call in bare.calls() if call.endswith(".github/workflows/gate.yml")
    ]
    assert called == ["actionlint", "zizmor"]
