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

_held: set[Path] = set()


@contextmanager
def device_lock(catalog: Catalog) -> Iterator[None]:
    """Waits until nobody else on this host measures on the catalog's GPU, and says so.

    A host has cores for several, and its figures promise less: it is not locked. Whoever holds the
    lock may take it again. Bench processes inherit it: one that outlives a killed orchestrator
    still disturbs whoever comes next.
    """
    gpu = catalog.environment.get("gpu_uuid", "") if catalog.device == "gpu" else ""
    path = Path(tempfile.gettempdir()) / f"gemmwatch-{re.sub(r'[^A-Za-z0-9-]', '_', gpu)}.lock"
    if not gpu or path in _held:
        yield
        return
    lock = _open(path)
    try:
        os.set_inheritable(lock, True)
        _wait(lock, path)
        _held.add(path)
        yield
    finally:
        _held.discard(path)
        os.close(lock)


def _open(path: Path) -> int:
    """Readable is enough for a lock, and all that another user's file in /tmp may allow."""
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)


def _wait(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting: another gemmwatch measures on this GPU ({path})", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)
