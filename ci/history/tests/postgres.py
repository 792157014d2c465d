"""A PostgreSQL server of the tests' own: a temporary folder, a Unix socket, no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The server refuses to run as root, so root starts it as somebody without rights.
_USER = "nobody"


def server_programs() -> Path | None:
    """Where the newest installed server has its programs; Debian keeps them off PATH."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_release)
    return installed[-1].parent if installed else None


def _release(path: Path) -> float:
    return float(path.parts[-3])


@contextmanager
def running_server(programs: Path) -> Iterator[Path]:
    """The folder of its socket; superuser gemmwatch, no password."""
    folder = Path(tempfile.mkdtemp(prefix="gemmwatch-pg-"))  # short: a socket's path is limited
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _USER)
        data = folder / "data"
        _run(programs / "initdb", "-D", data, "-U", "gemmwatch", "-A", "trust", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        log = folder / "log"
        _run(programs / "pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")
        try:
            yield folder
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def _run(*words: str | Path) -> None:
    unprivileged = ["setpriv", f"--reuid={_USER}", "--clear-groups"] if os.geteuid() == 0 else []
    # Not captured: the server would inherit the pipe and keep it open.
    subprocess.run(
        [*unprivileged, *words], check=True, stdout=subprocess.DEVNULL, cwd="/",
        env=os.environ | {"LC_ALL": "C"},
    )  # fmt: skip
