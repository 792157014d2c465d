"""The folder of a site is replaced whole: built beside it, then swapped by two renames.

A reader sees the old site or the new one, and for the moment between the renames none. A build that
was killed in that moment has left the old site beside its place: the next build puts it back first.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reports.files import ReportError

MARK = ".gemmwatch-site"  # in every site, so that no other folder is ever replaced


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Gives a folder to build in; at the end without an error it takes the place of `folder`."""
    folder = folder.resolve()
    check_replaceable(folder)
    new, old = (folder.with_name(f".{folder.name}.{state}") for state in ("new", "old"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _only_builder(new):
            _put_back(folder, old)
            (new / MARK).touch()
            yield new
            _swap(folder, new, old)
    except OSError as error:
        raise ReportError(
            f"{folder}: cannot be written ({error.strerror}); check the folder and the disk"
        ) from error


def check_replaceable(folder: Path) -> None:
    if not folder.exists() or (folder / MARK).exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise ReportError(
            f"{folder}: is there already and is no site that gemmwatch made; "
            "name a folder that does not exist, or remove this one"
        )


@contextmanager
def _only_builder(new: Path) -> Iterator[None]:
    """Holds an empty `new`. What a killed build left in it is removed; one that lives is not
    disturbed, since its lock on the folder lives as long as it does."""
    new.mkdir(exist_ok=True)
    held = os.open(new, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = new.exists() and os.path.samestat(os.fstat(held), new.stat())
        except BlockingIOError:
            mine = False
        if not mine:
            raise ReportError(f"{new}: another build of this site is at work; wait for it")
        _empty(new)
        try:
            yield
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    finally:
        os.close(held)


def _empty(folder: Path) -> None:
    for inside in folder.iterdir():
        if inside.is_dir() and not inside.is_symlink():
            shutil.rmtree(inside)
        else:
            inside.unlink()


def _swap(folder: Path, new: Path, old: Path) -> None:
    if old.exists():  # of a build that was killed right after its swap
        shutil.rmtree(old)
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        _put_back(folder, old)
        raise
    if old.exists():
        shutil.rmtree(old)


def _put_back(folder: Path, old: Path) -> None:
    if old.exists() and not folder.exists():
        old.rename(folder)
