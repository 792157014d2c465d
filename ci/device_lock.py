"""One measurement at a time on a GPU, whichever checkout, job or user asks."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ci.catalog import Catalog

# The descriptor of the lock that this process, or one that started it, holds.
_HELD = "GEMMWATCH_HELD_LOCK"


@contextmanager
def device_lock(catalog: Catalog) -> Iterator[None]:
    """Waits until nobody else on this host measures on the catalog's GPU, and says so.

    A host has cores for several, and its figures promise less: it is not locked. Whoever holds the
    lock may take it again, also in a process that it starts: those inherit it, as bench processes
    do, since one that outlives a killed orchestrator still disturbs whoever comes next.
    """
    gpu = gpu_of(catalog)
    path = Path(tempfile.gettempdir()) / f"gemmwatch-{re.sub(r'[^A-Za-z0-9-]', '_', gpu)}.lock"
    if not gpu or _holds(path):
        yield
        return
    lock = _open(path)
    try:
        os.set_inheritable(lock, True)
        _wait(lock, path)
        os.environ[_HELD] = str(lock)
        yield
    finally:
        os.environ.pop(_HELD, None)
        os.close(lock)


def gpu_of(catalog: Catalog) -> str:
    """The UUID of the GPU that the catalog's points run on; "" for a host."""
    return catalog.environment.get("gpu_uuid", "") if catalog.device == "gpu" else ""


def _holds(path: Path) -> bool:
    """A descriptor of the lock's file that was inherited shares the lock itself."""
    try:
        return os.path.samestat(os.fstat(int(os.environ.get(_HELD, ""))), path.stat())
    except (ValueError, OSError):  # none is held, or that of another GPU
        return False


def _open(path: Path) -> int:
    """Readable is enough for a lock, and all that another user's file in /tmp may allow."""
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return _create(path)


def _create(path: Path) -> int:
    """Readable for all from the first moment, whatever the umask: another user may be waiting."""
    umask = os.umask(0)
    try:
        return os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
    except PermissionError:  # somebody was quicker: in /tmp nobody creates over another's file
        return os.open(path, os.O_RDONLY)
    finally:
        os.umask(umask)


def _wait(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting: another gemmwatch measures on this GPU ({path})", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)
