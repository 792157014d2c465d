"""scripts/gemmwatch: the command finds its repository and its Python from wherever it is called."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import ROOT, Machine

SCRIPT = ROOT / "scripts/gemmwatch"


@pytest.fixture
def linked(ready: Machine, tmp_path: Path) -> Path:
    """The command as a user's ~/bin would have it."""
    link = tmp_path / "bin/gemmwatch"
    link.parent.mkdir()
    link.symlink_to(SCRIPT)
    return link


def test_it_works_through_a_link_from_any_folder(
    ready: Machine, linked: Path, tmp_path: Path
) -> None:
    done = ready.run(linked, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "usage: gemmwatch" in done.stdout


def test_paths_are_relative_to_the_caller(ready: Machine, linked: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{ not JSON")
    broken = ready.run(linked, "report", "run.json", cwd=tmp_path)
    absent = ready.run(linked, "report", "run.json", cwd=tmp_path / "bin")
    assert (broken.returncode, absent.returncode) == (2, 2)
    assert "run.json" in broken.stderr
    assert broken.stderr != absent.stderr  # one was found and could not be read


def test_an_unknown_command_is_bad_usage(ready: Machine) -> None:
    done = ready.run(SCRIPT, "frobnicate")
    assert done.returncode == 2
    assert "frobnicate" in done.stderr


def test_without_its_environment_it_says_what_to_run(
    bare: Machine, checkout: Callable[..., Path]
) -> None:
    root = checkout("gemmwatch", "lib.sh", "missing_requirements.py")
    done = bare.run(root / "scripts/gemmwatch", "list")
    assert done.returncode == 2
    assert f"{root}/scripts/setup" in done.stderr


@pytest.mark.parametrize("command", ["history", "nightly"])
def test_a_python_without_the_packages_of_the_history_is_told_apart(
    ready: Machine, checkout: Callable[..., Path], command: str
) -> None:
    root = checkout("gemmwatch", "lib.sh", "missing_requirements.py")
    (root / "scripts/cli.py").write_text("print('started')")
    (root / "pyproject.toml").write_text(
        "[project]\ndependencies = []\n[project.optional-dependencies]\nhistory = ['no-such>=1']\n"
    )
    assert ready.run(root / "scripts/gemmwatch", "list").stdout == "started\n"
    done = ready.run(root / "scripts/gemmwatch", command)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith(f"{root}/scripts/setup --with history")
