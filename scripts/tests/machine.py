"""A machine to run the scripts on: a folder of commands that is all of PATH."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What the scripts use of a bare system.
BASICS = ["awk", "bash", "cat", "dirname", "env", "git", "grep", "head", "mkdir", "mktemp", "paste"]
BASICS += ["readlink", "rm", "sed", "sha256sum", "sort", "stat", "tail"]


class Machine:
    """Commands by name; `run` starts a script that sees no others."""

    def __init__(self, folder: Path) -> None:
        self.commands = folder / "commands"
        self.commands.mkdir()
        self._log = folder / "calls"
        self._log.touch()
        for name in BASICS:
            self.link(name)

    def link(self, name: str, target: str | None = None) -> None:
        """Has the real command."""
        path = target or shutil.which(name)
        assert path, f"the tests need {name}"
        self.script(name, f'exec "{path}" "$@"')

    def script(self, name: str, body: str) -> None:
        """Has a stand-in: some lines of bash."""
        write_script(self.commands / name, body)

    def logging(self, name: str, body: str = "") -> None:
        """Has a stand-in that also notes how it was called."""
        self.script(name, self.note(f"{name} $*") + body)

    def note(self, text: str) -> str:
        """A line of bash that adds to calls()."""
        return f'printf "%s\\n" "{text}" >>"{self._log}"\n'

    def lose(self, name: str) -> None:
        (self.commands / name).unlink()

    def calls(self) -> list[str]:
        return self._log.read_text().splitlines()

    def run(
        self, script: Path, *arguments: str | Path, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [script, *arguments],
            cwd=cwd,
            env={"PATH": str(self.commands), "HOME": os.environ.get("HOME", "/"), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )


def write_script(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
    path.chmod(0o755)
