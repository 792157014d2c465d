"""The merge-base in a worktree, on a repository whose build is a copied file."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.base_build import build_merge_base
from ci.errors import BadInput
from ci.policy import BUILDS_KEPT

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(toy NONE)
set(CMAKE_BUILD_TYPE "none" CACHE STRING "")
file(WRITE ${CMAKE_BINARY_DIR}/bench/type "${CMAKE_BUILD_TYPE}${GEMMWATCH_FAULT}")
add_custom_target(gemmwatch-bench
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${CMAKE_SOURCE_DIR}/program bench/gemmwatch-bench)
"""

Commit = Callable[[str], str]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "CMakeLists.txt").write_text(PROJECT)
    return folder


@pytest.fixture
def commit(tree: Path) -> Commit:
    """Commits a program with this text; returns the commit."""

    def make(program: str) -> str:
        (tree / "program").write_text(program)
        git(tree, "add", ".")
        git(tree, "commit", "--quiet", "-m", program)
        return git(tree, "rev-parse", "HEAD")

    return make


@pytest.fixture
def head(tmp_path: Path) -> Path:
    """The bench program of a build folder that was configured as Release, with a fault."""
    program = tmp_path / "head" / "bench" / "gemmwatch-bench"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "head" / "CMakeCache.txt").write_text(
        "CMAKE_BUILD_TYPE:STRING=Release\nGEMMWATCH_FAULT:STRING=planted\nOTHER:BOOL=ON\n"
    )
    return program


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_it_is_where_the_branches_parted_that_is_built(
    tree: Path, commit: Commit, head: Path, tmp_path: Path
) -> None:
    parted = commit("old")
    git(tree, "checkout", "--quiet", "-b", "feature")
    commit("mine")
    git(tree, "checkout", "--quiet", "main")
    commit("theirs")
    git(tree, "checkout", "--quiet", "feature")
    build = build_merge_base("main", head, tree, tmp_path / "builds")
    assert build.program.read_text() == "old"
    assert build.commit == parted
    assert build.flags == ("--base", "main")
    assert (tree / "program").read_text() == "mine"  # the user's own checkout is left alone


def test_it_is_configured_as_head_is_but_without_its_fault(
    tree: Path, commit: Commit, head: Path, tmp_path: Path
) -> None:
    commit("old")
    build = build_merge_base("main", head, tree, tmp_path / "builds")
    assert (build.program.parent / "type").read_text() == "Release"


def test_a_build_is_used_again_and_another_configuration_is_another_build(
    tree: Path, commit: Commit, head: Path, tmp_path: Path
) -> None:
    commit("old")
    first = build_merge_base("main", head, tree, tmp_path / "builds").program
    made = first.stat().st_mtime_ns
    assert build_merge_base("main", head, tree, tmp_path / "builds").program == first
    assert first.stat().st_mtime_ns == made
    cache = head.parents[1] / "CMakeCache.txt"
    cache.write_text(cache.read_text().replace("Release", "Debug"))
    assert build_merge_base("main", head, tree, tmp_path / "builds").program != first


def test_only_the_builds_that_were_used_last_are_kept(
    tree: Path, commit: Commit, head: Path, tmp_path: Path
) -> None:
    builds = []
    for number in range(BUILDS_KEPT + 1):
        commit(f"program {number}")
        builds.append(build_merge_base("main", head, tree, tmp_path / "builds").program)
    assert [build.exists() for build in builds] == [False] + [True] * BUILDS_KEPT
    assert len(git(tree, "worktree", "list").splitlines()) == 1 + BUILDS_KEPT


def test_half_a_checkout_is_made_again(
    tree: Path, commit: Commit, head: Path, tmp_path: Path
) -> None:
    commit("old")
    first = build_merge_base("main", head, tree, tmp_path / "builds").program
    (first.parents[2] / "source" / ".git").unlink()
    (first.parents[2] / "source" / "program").unlink()
    assert build_merge_base("main", head, tree, tmp_path / "builds").program.read_text() == "old"


def test_what_cannot_be_built_is_bad_input_that_says_why(
    tree: Path, commit: Commit, head: Path, tmp_path: Path
) -> None:
    commit("old")
    with pytest.raises(BadInput, match=r"--base nowhere: git failed: .*nowhere"):
        build_merge_base("nowhere", head, tree, tmp_path / "builds")
    (tree / "CMakeLists.txt").write_text("nonsense(")
    commit("broken")
    with pytest.raises(BadInput, match=r"(?s)cmake failed: .*--base-build"):
        build_merge_base("main", head, tree, tmp_path / "builds")
