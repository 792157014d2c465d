"""The commit that a run records."""

import subprocess
from pathlib import Path

import pytest

from ci.revision import revision


def git(tree: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(tree), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_names_the_commit(checkout: Path) -> None:
    assert revision(checkout) == git(checkout, "rev-parse", "HEAD")


def test_says_that_the_tree_was_changed(checkout: Path) -> None:
    (checkout / "file").write_text("2")
    assert revision(checkout) == git(checkout, "rev-parse", "HEAD") + "-dirty"


def test_without_a_repository_or_without_git(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    assert revision(outside) == "unknown"
    monkeypatch.setenv("PATH", str(outside))
    assert revision(checkout) == "unknown"
