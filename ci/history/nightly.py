"""A night: measure, remember, judge, draw. Killed anywhere, the same command goes on with it.

Each step leaves a file or a row that the next start finds: trials, run.json, the run in the history
(known by its content), verdicts, the site; night.json says that all of it is done. A start that
finds night.json begins the next night.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ci.canary import measure_canary
from ci.errors import BadInput, Exit, NoAnswer
from ci.files import write_json, write_whole
from ci.gate import gate
from ci.history.database import Database, open_database
from ci.history.epochs import difference
from ci.history.recall import StoredRun, find_run, stored_runs, track_runs
from ci.history.recorded import Naming, read_recorded
from ci.history.remember import attach_resources, attach_verdict, remember
from ci.history.samples import recall_samples
from ci.history.trends import trends_json
from ci.measure import RunOptions, measure
from ci.plan import RunFolder
from ci.policy import policy_for
from ci.records import Run, load_run
from ci.resources.record import resources_of
from ci.verdicts import PointVerdict

# What outweighs what, where several answers are one exit code.
_GRAVITY = (Exit.ok, Exit.no_answer, Exit.regression, Exit.incorrect)


@dataclass(frozen=True)
class Night:
    """The command line, and where in the folder each thing lies."""

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


def spend(night: Night) -> Exit:
    """The whole night, or what is left of it."""
    database = open_database(night.db)  # first: what cannot be remembered need not be measured
    whole = RunFolder(night.folder)
    whole.create()
    with whole.locked():
        begin(night)
        run = measured(night)
        stored = remembered(night, database)
        remember_resources(night, database)
        code = judged(night, database, run, stored)
        drawn(night, database, stored)
        finish(night, stored, code)
    return code


def begin(night: Night) -> None:
    """Makes room if the last night is done, or is to be given up. Its end comes off last."""
    if night.done.exists() or night.options.fresh:
        night.run_folder.clear()
        for folder in (night.previous, night.anchor, night.canary):
            if folder.exists():
                shutil.rmtree(folder)
        night.done.unlink(missing_ok=True)


def measured(night: Night) -> Run:
    if night.run_folder.finished:
        return load_run(night.run_folder.run_json)
    return measure(night.options)


def remembered(night: Night, database: Database) -> StoredRun:
    recorded = read_recorded(night.run_folder.run_json, Naming(machine=night.machine))
    with database.transaction() as connection:
        new = remember(connection, recorded)
        stored = find_run(connection, recorded.digest)
    print(f"{'added to' if new else 'known to'} the history as {stored.id}: {database.name}")
    return stored


def remember_resources(night: Night, database: Database) -> None:
    """Of the build that was measured, if its object files are there."""
    try:
        found = resources_of(night.options.program.path)
    except BadInput as error:
        print(f"the night goes on without the resources of device code: {error}")
        return
    if found:
        found.write(night.resources)
        recorded = read_recorded(night.run_folder.run_json, Naming(machine=night.machine))
        with database.transaction() as connection:
            attach_resources(connection, recorded, night.resources)


def judged(night: Night, database: Database, run: Run, stored: StoredRun) -> Exit:
    """Against the previous night and the anchor; the worse answer is the night's."""
    with database.transaction() as connection:
        track = stored_runs(connection, stored.machine, stored.selection)
    earlier = [other for other in track[: track.index(stored)] if not other.doubts]
    previous = earlier[-1] if earlier else None
    anchor = next((other for other in track if other.anchor and other != stored), None)
    codes = [run.samples.exit_code, _epoch_code(previous, stored, anchor)]
    bases = {night.previous: previous, night.anchor: anchor}
    comparable = {out: base for out, base in bases.items() if base and not _moved(base, stored)}
    canary = _canary(night, run) if comparable else []
    for out, base in comparable.items():
        print(f"\n{out.name}:")
        with database.transaction() as connection:
            samples = recall_samples(connection, base)
        codes.append(gate(samples, run.samples, out, night.options.strict, canary))
    if night.previous in comparable:
        recorded = read_recorded(night.run_folder.run_json)
        with database.transaction() as connection:
            attach_verdict(connection, recorded, night.previous / "verdict.json")
    return max(codes, key=_GRAVITY.index)


def _epoch_code(previous: StoredRun | None, stored: StoredRun, anchor: StoredRun | None) -> Exit:
    """Says what cannot be compared. An old anchor is no doubt: each epoch has first nights too."""
    if anchor is None:
        print("no anchor yet; once a night is a release: gemmwatch history anchor RUN")
    elif moved := _moved(anchor, stored):
        print(f"the anchor {anchor.id} is of another epoch ({moved}): choose a new one")
    if previous is None:
        print("this is the first night here: there is none to judge it against")
    elif moved := _moved(previous, stored):
        print(f"a new epoch ({moved}): there is no night to judge this one against")
        return Exit.no_answer
    return Exit.ok


def _moved(old: StoredRun, new: StoredRun) -> str:
    moved = difference(old.fingerprint, new.fingerprint)
    return "; ".join(f"{key} was {was} and is {now}" for key, (was, now) in moved.items())


def _canary(night: Night, run: Run) -> list[PointVerdict]:
    policy = policy_for(run.samples.device)
    return measure_canary(
        run, night.options.program, night.canary, night.run_folder.choices, policy
    )


def drawn(night: Night, database: Database, stored: StoredRun) -> None:
    """The site, by this same command in a process of its own: ci imports nothing of reports."""
    with database.transaction() as connection:
        content = trends_json(connection, track_runs(connection, stored.machine, stored.selection))
    write_whole(night.trends, content)
    files: list[str | Path] = ["--trends", night.trends, "--run", night.run_folder.run_json]
    verdict = night.previous / "verdict.json"
    if verdict.exists():
        files += ["--verdict", verdict]
    report = [sys.executable, sys.argv[0], "report", "--site", night.site, *files]
    done = subprocess.run(report, check=False)
    if done.returncode != 0:
        raise NoAnswer(
            f"the site could not be made (its command ended with {done.returncode}); the night is "
            "remembered and judged, and the same command tries the site again"
        )


def finish(night: Night, stored: StoredRun, code: Exit) -> None:
    write_json(night.done, {"run": stored.id, "exit_code": code})
