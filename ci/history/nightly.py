"""A night: measure, remember, judge, draw. Killed anywhere, the same command goes on with it.

Each step leaves a file or a row that the next start finds: trials, run.json, the run in the history
(known by its content), verdicts, the site; night.json says that all of it is done. A start that
finds night.json begins the next night.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ci.errors import BadInput, Exit
from ci.files import write_json, write_whole
from ci.history.database import Database, open_database
from ci.history.night_answer import Answer, gravest, judged
from ci.history.night_folder import Night
from ci.history.nights import load_nights
from ci.history.recall import StoredRun, find_run, track_runs
from ci.history.recorded import Naming, RecordedRun, read_recorded
from ci.history.remember import attach_resources, attach_verdict, remember
from ci.history.trends import trends_json
from ci.measure import measure, planned
from ci.plan import RunFolder
from ci.records import Run, load_run
from ci.resources.record import resources_of


def spend(night: Night) -> Exit:
    """The whole night, or what is left of it."""
    database = open_database(night.db)  # first: what cannot be remembered need not be measured
    whole = RunFolder(night.folder)
    whole.create()
    with whole.locked():
        night.make_room()
        run = measured(night)
        recorded = read_recorded(night.run_folder.run_json, Naming(machine=night.machine))
        stored = remembered(recorded, database)
        remember_resources(night, database, recorded)
        answer = judged(night, database, run, stored)
        remember_verdict(answer, database, recorded)
        site = drawn(night, database, stored, answer)
        if site is Exit.ok:
            finish(night, stored, answer)
    return gravest([answer.code, site])


def measured(night: Night) -> Run:
    folder = night.run_folder
    if folder.finished:
        folder.begin(planned(night.options))  # what follows is of the build that was measured
        return load_run(folder.run_json)
    return measure(night.options)


def remembered(recorded: RecordedRun, database: Database) -> StoredRun:
    with database.transaction() as connection:
        new = remember(connection, recorded)
        stored = find_run(connection, recorded.digest)
    print(f"{'added to' if new else 'known to'} the history as {stored.id}: {database.name}")
    return stored


def remember_resources(night: Night, database: Database, recorded: RecordedRun) -> None:
    """Of the build that was measured, if its object files are there."""
    try:
        found = resources_of(night.options.program.path)
    except BadInput as error:
        print(f"the night goes on without the resources of device code: {error}")
        return
    if found:
        found.write(night.resources)
        with database.transaction() as connection:
            attach_resources(connection, recorded, night.resources)


def remember_verdict(answer: Answer, database: Database, recorded: RecordedRun) -> None:
    if answer.verdict:
        with database.transaction() as connection:
            attach_verdict(connection, recorded, answer.verdict)


def drawn(night: Night, database: Database, stored: StoredRun, answer: Answer) -> Exit:
    """The site, by this same command in a process of its own: ci imports nothing of reports."""
    with database.reading() as connection:
        track = track_runs(connection, stored.machine, stored.selection)
        nights = load_nights(connection, track)
    try:
        write_whole(night.trends, trends_json(nights))
    except OSError as error:
        return _no_site(night, f"{night.trends}: {error.strerror}")
    files: list[str | Path] = ["--trends", night.trends]
    if track[-1].digest == stored.digest:  # else another runner was later: the site is of its night
        files += ["--run", night.run_folder.run_json]
        files += ["--verdict", answer.verdict] if answer.verdict else []
    report = [sys.executable, sys.argv[0], "report", "--site", night.site, *files]
    done = subprocess.run(report, check=False)
    if done.returncode == 0:
        return Exit.ok
    return _no_site(night, f"its command ended with {done.returncode}")


def _no_site(night: Night, why: str) -> Exit:
    """No error: what the night found is not to be lost over it."""
    print(f"the site could not be made ({why}); the rest is done; {night.options.way_on}")
    return Exit.no_answer


def finish(night: Night, stored: StoredRun, answer: Answer) -> None:
    write_json(night.done, {"run": stored.id, "exit_code": answer.code})
