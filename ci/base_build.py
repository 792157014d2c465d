"""The build that head is compared with: of the merge-base, in a worktree, kept by its commit."""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ci.bench_program import ROOT
from ci.errors import BadInput
from ci.policy import BUILDS_KEPT

BUILDS = ROOT / ".gemmwatch" / "builds"
_TARGET = "gemmwatch-bench"
_PROGRAM = Path("bench") / _TARGET

# How the head was configured, which the base must be as well.
_SHARED_SETTINGS = re.compile(
    r"^(CMAKE_BUILD_TYPE|CMAKE_(?:CXX|CUDA)_COMPILER(?:_LAUNCHER)?|CMAKE_PREFIX_PATH"
    r"|GEMMWATCH_(?!FAULT)\w+)"  # a planted fault is head's alone
    r":\w+=(.+)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class BaseBuild:
    program: Path
    label: str  # in words
    commit: str  # "unknown" for a build that was given as a folder
    flags: tuple[str, str]  # of the command that asked for it


def given_build(folder: Path) -> BaseBuild:
    """A build folder, or the bench program itself."""
    program = folder / _PROGRAM if folder.is_dir() else folder
    if not program.is_file():
        raise BadInput(
            f"--base-build {folder}", f"there is no {_PROGRAM} in it", f"build {_TARGET} there"
        )
    return BaseBuild(program.resolve(), str(folder), "unknown", ("--base-build", str(folder)))


def build_merge_base(ref: str, head: Path, tree: Path = ROOT, cache: Path = BUILDS) -> BaseBuild:
    """Builds where HEAD of tree and ref parted, configured as head's build folder is.

    A build that is there already is used again; the cache keeps the few that were used last.
    """
    commit = _merge_base(tree, ref)
    settings = _settings(head)
    folder = cache / f"{commit[:12]}-{_digest(settings)}"
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _check_out(tree, commit, folder / "source")
        _build(folder, settings)
        (folder / "used").touch()
    _prune(tree, cache)
    label = f"{commit[:12]}, the merge-base with {ref}"
    return BaseBuild(folder / "build" / _PROGRAM, label, commit, ("--base", ref))


def _merge_base(tree: Path, ref: str) -> str:
    way_out = "give a branch, tag or commit that shares history with HEAD, fetched deep enough"
    return _run(["git", "-C", str(tree), "merge-base", ref, "HEAD"], f"--base {ref}", way_out)


def _settings(head: Path) -> dict[str, str]:
    """What the CMake cache of head's build says; nothing for a program outside of one."""
    cache = head.parents[1] / "CMakeCache.txt"
    text = cache.read_text(encoding="utf-8", errors="replace") if cache.exists() else ""
    return dict(_SHARED_SETTINGS.findall(text))


def _digest(settings: Mapping[str, str]) -> str:
    return hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()[:8]


def _check_out(tree: Path, commit: str, source: Path) -> None:
    if (source / ".git").exists():
        return
    if source.exists():  # half a checkout
        shutil.rmtree(source)
    _git(tree, "worktree", "prune")
    _git(tree, "worktree", "add", "--detach", "--force", str(source), commit)


def _build(folder: Path, settings: Mapping[str, str]) -> None:
    way_out = f"see what is wrong in {folder}/source, or give a build with --base-build DIR"
    build = folder / "build"
    flags = [f"-D{name}={value}" for name, value in settings.items()]
    configure = ["cmake", "-S", str(folder / "source"), "-B", str(build), "-G", "Ninja", *flags]
    what = f"the base in {folder}"
    _run(configure, what, way_out)
    _run(["cmake", "--build", str(build), "--target", _TARGET], what, way_out)


def _prune(tree: Path, cache: Path) -> None:
    from_oldest = sorted(cache.glob("*/used"), key=lambda stamp: stamp.stat().st_mtime)
    for stamp in from_oldest[:-BUILDS_KEPT]:
        _git(tree, "worktree", "remove", "--force", str(stamp.parent / "source"))
        shutil.rmtree(stamp.parent)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One build of a commit at a time; a second gate waits for it and finds it done."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _git(tree: Path, *words: str) -> str:
    return _run(["git", "-C", str(tree), *words], f"git {words[0]}", "see its message")


def _run(command: Sequence[str], what: str, way_out: str) -> str:
    """The output of a command. Raises BadInput with its last words if it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise BadInput(what, f"{command[0]} cannot be run ({error.strerror})", way_out) from error
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise BadInput(what, f"{command[0]} failed: {words}", way_out)
    return done.stdout.strip()
