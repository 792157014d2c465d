"""What a night is asked for, and where in its folder each thing lies."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ci.measure import RunOptions
from ci.plan import RunFolder


@dataclass(frozen=True)
class Night:
    options: RunOptions  # of the measuring; its folder is inside this one
    folder: Path
    site: Path
    db: str | None
    machine: str | None

    @property
    def run_folder(self) -> RunFolder:
        return RunFolder(self.options.folder)

    @property
    def previous(self) -> Path:
        return self.folder / "previous"

    @property
    def anchor(self) -> Path:
        return self.folder / "anchor"

    @property
    def canary(self) -> Path:
        return self.folder / "canary"

    @property
    def trends(self) -> Path:
        return self.folder / "trends.json"

    @property
    def resources(self) -> Path:
        return self.folder / "resources.json"

    @property
    def done(self) -> Path:
        return self.folder / "night.json"

    def make_room(self) -> None:
        """If the last night is done, or is to be given up. Its end comes off last."""
        if self.done.exists() or self.options.fresh:
            self.run_folder.clear()
            for folder in (self.previous, self.anchor, self.canary):
                if folder.exists():
                    shutil.rmtree(folder)
            self.done.unlink(missing_ok=True)
