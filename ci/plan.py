"""What a run is going to measure, and whether a folder holds the same run already begun."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ci.bench_program import BenchProgram
from ci.catalog import SCHEMA, Catalog
from ci.errors import BadInput, NoAnswer
from ci.files import read_json, write_json

# What a run owns in its output folder; nothing else in there is touched.
_PLAN, _TRIALS, _CHOICES, _RUN = "plan.json", "trials", "choices.json", "run.json"
_PREVIOUS = "run.previous.json"


@dataclass(frozen=True)
class Plan:
    """The points and trials of a run. Equal identities measure the same thing."""

    catalog: Catalog
    program: BenchProgram
    filter: str
    trials: int
    base_seed: int
    points: tuple[str, ...]
    started: str  # ISO; of the first command, however often it was resumed

    @property
    def seeds(self) -> list[int]:
        return [self.base_seed + trial for trial in range(self.trials)]

    def identity(self) -> dict[str, Any]:
        """All that may not differ between the parts of one run."""
        return {
            "selection": self.program.selection,
            "load": self.program.load,
            "fingerprint": dict(self.catalog.fingerprint),
            "injected": self.catalog.injected,
            "build": self.program.digest,
            "filter": self.filter,
            "trials": self.trials,
            "base_seed": self.base_seed,
            "points": list(self.points),
        }


def selected_points(catalog: Catalog, selection: str, pattern: str) -> tuple[str, ...]:
    """The ids to measure. Raises BadInput or NoAnswer when there are none, and says why."""
    if not catalog.points:
        reasons = sorted(set(catalog.refused.values()))
        raise NoAnswer(
            f'selection "{selection}" has no point on this device ({catalog.device}'
            + (f"; {catalog.device_note}" if catalog.device_note else "")
            + f"); {len(catalog.refused)} are refused"
            + (f", such as: {reasons[0]}" if reasons else "")
        )
    try:
        matching = tuple(p.id for p in catalog.points if re.search(pattern, p.id))
    except re.error as error:
        raise BadInput(
            f"--filter {pattern}", f"no regular expression ({error})", "see Python's re"
        ) from error
    if not matching:
        raise BadInput(
            f"--filter {pattern}",
            f'matches none of the {len(catalog.points)} points of selection "{selection}"',
            f"an id looks like {catalog.points[0].id}; `gemmwatch list` shows the names",
        )
    return matching


@dataclass(frozen=True)
class RunFolder:
    """The output folder of a run."""

    path: Path

    @property
    def run_json(self) -> Path:
        return self.path / _RUN

    @property
    def choices(self) -> Path:
        return self.path / _CHOICES

    @property
    def finished(self) -> bool:
        return self.run_json.exists()

    def trial(self, index: int) -> Path:
        return self.path / _TRIALS / f"{index:03}"

    def create(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / ".lock").touch()
        except OSError as error:
            raise BadInput(
                f"--out {self.path}", f"cannot be written ({error.strerror})", "give another folder"
            ) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps a second run out of the folder.

        Bench processes inherit the lock: one that outlives a killed orchestrator still holds it.
        """
        with (self.path / ".lock").open("w") as lock:
            os.set_inheritable(lock.fileno(), True)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise BadInput(
                    f"--out {self.path}",
                    "another run is writing here, or a bench process of a killed one",
                    "wait for it or end it, or give another folder",
                ) from error
            yield

    def clear(self) -> None:
        """Makes room for a new run; the last finished one stays as run.previous.json.

        The plan goes last: an interrupted clearing leaves a run with fewer trials, never trials
        that a later plan would take for its own.
        """
        if self.finished:
            self.run_json.replace(self.path / _PREVIOUS)
        if (self.path / _PLAN).exists():
            if (self.path / _TRIALS).exists():
                shutil.rmtree(self.path / _TRIALS)
            self.choices.unlink(missing_ok=True)
            (self.path / _PLAN).unlink()

    def begin(self, plan: Plan) -> str:
        """Writes the plan, or checks that the folder holds the same one. Returns when it began."""
        file = self.path / _PLAN
        if file.exists():
            fields = read_json(file, "start again with --fresh")
            self._require_same(fields.object("identity").value, plan)
            return fields.text("started")
        if (self.path / _TRIALS).exists():
            raise BadInput(
                f"--out {self.path}", "holds trials/ of something else", "give another folder"
            )
        document = {"schema": SCHEMA, "started": plan.started, "identity": plan.identity()}
        write_json(file, document)
        return plan.started

    def _require_same(self, begun: dict[str, Any], plan: Plan) -> None:
        wanted = plan.identity()
        different = [key for key in wanted if wanted[key] != begun.get(key)]
        if different:
            raise BadInput(
                f"--out {self.path}",
                f"holds a run that was begun with another {', '.join(different)}",
                "start again with --fresh, or give another folder",
            )
