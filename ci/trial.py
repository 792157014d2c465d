"""One trial: every point visited once, in as few processes as crashes and interruptions allow.

The folder of a trial holds, for each process, its points, journal, rows and log, and failures.json
with the points that a process died or hung on. It is complete once trial.json is there. A trial
that was interrupted goes on from these files: its measured points are kept, and the point that was
being measured is measured again.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ci.bench_program import BenchProgram, Ending, ProcessFiles, begun_points
from ci.catalog import Catalog, kernel_of
from ci.errors import BadInput, NoAnswer
from ci.files import read_json, write_json, write_whole
from ci.policy import DISK_RESERVE_BYTES, Policy
from ci.records import Outcome
from ci.rows import Row, RowFile, failure_of, read_rows, row_id


@dataclass(frozen=True, slots=True)
class Failure:
    outcome: Outcome
    reason: str


@dataclass
class TrialResult:
    """rows: the points that passed. failures: the others that were tried."""

    context: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)

    def settled(self, point: str) -> bool:
        return point in self.rows or point in self.failures


@dataclass(frozen=True)
class Trial:
    """A trial of a run, in its folder."""

    folder: Path
    choices: Path
    seed: int
    points: Sequence[str]
    program: BenchProgram
    catalog: Catalog
    policy: Policy

    @property
    def complete(self) -> bool:
        return (self.folder / "trial.json").exists()

    def run(self, on_progress: Callable[[int], None], warn: Callable[[str], None]) -> TrialResult:
        """Measures what is not yet measured. on_progress gets the number of points done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        result = self.read()
        while pending := self._pending(result):
            done = len(self.points) - len(pending)
            on_progress(done)
            files = self._new_process(pending)
            ending = self.program.measure(
                files, self.seed, self.policy, partial(_begun, on_progress, done)
            )
            self._absorb(files, pending, ending, warn)
            result = self.read()
        write_json(self.folder / "trial.json", {"schema": 1, "seed": self.seed})
        return self.read()

    def read(self) -> TrialResult:
        """What is settled so far."""
        result = TrialResult()
        for path in sorted(self.folder.glob("rows-*.json")):
            part = read_rows(path)
            self._check_same_machine(path, part)
            result.context = result.context or part.context
            for row in part.rows:
                if failure := failure_of(row):
                    result.failures[row_id(row)] = Failure(*failure)
                else:
                    result.rows[row_id(row)] = row
        result.failures.update(self._blamed())
        return result

    def _pending(self, result: TrialResult) -> list[str]:
        """What is left to measure, after giving up on kernels that keep crashing."""
        pending = [point for point in self.points if not result.settled(point)]
        crashed = Counter(kernel_of(point) for point in self._blamed())
        hopeless = {k for k, n in crashed.items() if n >= self.policy.crashes_per_kernel}
        skipped = [point for point in pending if kernel_of(point) in hopeless]
        if skipped:
            self._blame({point: Failure(Outcome.failed, _skip_reason(point)) for point in skipped})
        return [point for point in pending if point not in skipped]

    def _new_process(self, points: Sequence[str]) -> ProcessFiles:
        number = len(list(self.folder.glob("points-*.txt")))
        files = ProcessFiles(
            points=self.folder / f"points-{number:03}.txt",
            journal=self.folder / f"journal-{number:03}.txt",
            rows=self.folder / f"rows-{number:03}.json",
            log=self.folder / f"log-{number:03}.txt",
            choices=self.choices,
        )
        write_whole(files.points, "".join(f"{point}\n" for point in points))
        return files

    def _absorb(
        self,
        files: ProcessFiles,
        pending: Sequence[str],
        ending: Ending,
        warn: Callable[[str], None],
    ) -> None:
        """Blames the points that a finished process owes. Each process settles at least one."""
        with_row = {row_id(row) for row in read_rows(files.rows).rows}
        owed = [point for point in pending if point not in with_row]
        if owed and shutil.disk_usage(self.folder).free < DISK_RESERVE_BYTES:
            raise NoAnswer(f"{self.folder}: the disk is full; free some space")
        unfinished = [point for point in begun_points(files.journal) if point in owed]
        if ending.complete:
            reason = f"the bench program ended normally ({ending.reason}) without a result for it"
            self._blame({point: Failure(Outcome.failed, reason) for point in owed})
        elif unfinished:
            outcome = Outcome.timed_out if ending.timed_out else Outcome.failed
            self._blame({unfinished[-1]: Failure(outcome, ending.reason)})
            warn(f"{unfinished[-1]}: {ending.reason} (log: {files.log})")
        elif not with_row:
            raise NoAnswer(_died_early(files, ending))
        else:
            warn(f"the bench program ended between two points: {ending.reason} (log: {files.log})")

    def _blamed(self) -> dict[str, Failure]:
        path = self.folder / "failures.json"
        if not path.exists():
            return {}
        entries = read_json(path, "run again with --fresh").named_objects("failures")
        return {
            point: Failure(Outcome(entry.text("outcome")), entry.text("reason"))
            for point, entry in entries.items()
        }

    def _blame(self, failures: Mapping[str, Failure]) -> None:
        entries = {
            point: {"outcome": failure.outcome, "reason": failure.reason}
            for point, failure in (self._blamed() | dict(failures)).items()
        }
        write_json(self.folder / "failures.json", {"failures": entries})

    def _check_same_machine(self, path: Path, part: RowFile) -> None:
        """A driver that was replaced under a run makes its trials incomparable."""
        if not part.rows:
            return
        measured = json.loads(part.context.get("gemmwatch_catalog", "{}")).get("fingerprint")
        if measured != dict(self.catalog.fingerprint):
            raise BadInput(
                path,
                f"measured with the fingerprint {measured}, the run has "
                f"{dict(self.catalog.fingerprint)}",
                "start again with --fresh",
            )


def _begun(on_progress: Callable[[int], None], done: int, begun: int) -> None:
    on_progress(done + begun - 1)


def _skip_reason(point: str) -> str:
    return f"not tried: {kernel_of(point)} had crashed or hung too often in this trial"


def _died_early(files: ProcessFiles, ending: Ending) -> str:
    words = files.log.read_text(encoding="utf-8", errors="replace").strip()[-1000:]
    return (
        f"the bench program ended before its first point: {ending.reason}; "
        f"its last words (all in {files.log}): {words or 'none'}"
    )
