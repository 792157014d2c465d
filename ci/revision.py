"""Which commit the measured tree is of."""

from __future__ import annotations

import subprocess
from pathlib import Path


def revision(tree: Path) -> str:
    """The commit of a checkout, with "-dirty" if it was changed since; "unknown" without git."""
    commit = _git(tree, "rev-parse", "HEAD")
    if not commit:
        return "unknown"
    return f"{commit}-dirty" if _git(tree, "status", "--porcelain", "-uno") else commit


def _git(tree: Path, *words: str) -> str:
    try:
        asked = subprocess.run(
            ["git", "-C", str(tree), *words], capture_output=True, text=True, check=False
        )
    except OSError:  # no git on this machine
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
