"""What each action of `gemmwatch history` does."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, func, insert, select

from ci.errors import BadInput, Exit
from ci.files import whole_file, write_whole
from ci.history import evaluation, trial_table
from ci.history.database import Database, open_database
from ci.history.nights import load_nights
from ci.history.recall import StoredRun, find_run, stored_runs, track_runs
from ci.history.recorded import Naming, read_recorded
from ci.history.remember import attach_resources, attach_verdict, remember
from ci.history.retention import expendable
from ci.history.tables import anchors, points, resources, results, runs, verdicts
from ci.history.trends import trends_json
from ci.records import Outcome


def add(arguments: argparse.Namespace) -> Exit:
    if len(arguments.runs) > 1 and (arguments.verdict or arguments.resources):
        raise BadInput("--verdict, --resources", "belong to one run", "add one run at a time")
    naming = Naming(arguments.machine, arguments.selection, arguments.commit)
    recorded = [read_recorded(path, naming) for path in arguments.runs]  # all are sound, or none
    database = open_database(arguments.db)
    for path, run in zip(arguments.runs, recorded, strict=True):
        with database.transaction() as connection:
            new = remember(connection, run)
            if arguments.verdict:
                attach_verdict(connection, run, arguments.verdict)
            if arguments.resources:
                attach_resources(connection, run, arguments.resources)
            stored = find_run(connection, run.digest)
        print(f"{path}: {'added' if new else 'known already'} as {stored.id}, {stored.track}")
    return Exit.ok


def list_runs(arguments: argparse.Namespace) -> Exit:
    with open_database(arguments.db).reading() as connection:
        found = stored_runs(connection, arguments.machine, arguments.selection)
    if arguments.json:
        print(json.dumps([_entry(run) for run in found], indent=1))
        return Exit.ok
    for run in found:
        words = [run.id, f"{run.finished:%Y-%m-%d %H:%M}", run.commit[:12] or "-", run.machine]
        words += [run.selection, f"{run.trials} trials", run.answer or "not judged"]
        print("  ".join(words + ["anchor"] * run.anchor + ["disturbed"] * bool(run.doubts)))
    if not found:
        print("no runs yet; `gemmwatch history add RUN.json` adds one")
    return Exit.ok


def _entry(run: StoredRun) -> dict[str, object]:
    return {
        "run": run.digest,
        "finished": run.finished.isoformat(),
        "commit": run.commit,
        "machine": run.machine,
        "selection": run.selection,
        "trials": run.trials,
        "answer": run.answer,
        "anchor": run.anchor,
        "doubts": list(run.doubts),
        "fingerprint": dict(run.fingerprint),
    }


def show(arguments: argparse.Namespace) -> Exit:
    with open_database(arguments.db).reading() as connection:
        run = find_run(connection, arguments.run)
        query = (
            select(points.c.name, results.c.outcome, results.c.reason)
            .join(points, points.c.id == results.c.point)
            .where(results.c.run == run.number)
            .order_by(points.c.name)
        )
        outcomes = connection.execute(query).all()
        judged = connection.scalars(select(verdicts.c.verdict).where(verdicts.c.run == run.number))
        verdict_counts = Counter(judged)
        functions = connection.scalar(
            select(func.count()).select_from(resources).where(resources.c.run == run.number)
        )
    print(json.dumps(_entry(run), indent=1))
    print("points: " + _counted(Counter(outcome for _, outcome, _ in outcomes)))
    print("verdicts: " + (_counted(verdict_counts) or "none"))
    print(f"device functions: {functions}")
    for name, outcome, reason in outcomes:
        if outcome not in (Outcome.passed, Outcome.refused):
            print(f"  {outcome}: {name}: {reason}")
    return Exit.ok


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))


def anchor(arguments: argparse.Namespace) -> Exit:
    with open_database(arguments.db).transaction() as connection:
        run = find_run(connection, arguments.run)
        if run.doubts:
            raise BadInput(arguments.run, f"was disturbed ({run.doubts[0]})", "choose another run")
        set_anchor(connection, run)
    print(f"{run.id} of {run.finished:%Y-%m-%d} is the anchor of {run.track}")
    return Exit.ok


def set_anchor(connection: Connection, run: StoredRun) -> None:
    here = (anchors.c.machine == run.machine) & (anchors.c.selection == run.selection)
    connection.execute(delete(anchors).where(here))
    row = {"machine": run.machine, "selection": run.selection, "run": run.number}
    connection.execute(insert(anchors), [row])


def prune(arguments: argparse.Namespace) -> Exit:
    before = datetime.now(UTC) - timedelta(days=arguments.older_than)
    with open_database(arguments.db).transaction() as connection:
        found = stored_runs(connection, arguments.machine, arguments.selection)
        going = expendable(found, before, arguments.keep)
        if not arguments.dry_run:
            numbers = [run.number for run in going]
            connection.execute(delete(runs).where(runs.c.id.in_(numbers)))
    verb = "would remove" if arguments.dry_run else "removed"
    for run in going:
        print(f"{verb} {run.id} of {run.finished:%Y-%m-%d}, {run.track}")
    print(f"{verb} {len(going)} of {len(found)} runs")
    return Exit.ok


def export(arguments: argparse.Namespace) -> Exit:
    database = open_database(arguments.db)
    if arguments.format == "trends":
        _export_trends(arguments, database)
    else:
        _export_table(arguments, database)
    return Exit.ok


def _export_trends(arguments: argparse.Namespace, database: Database) -> None:
    with database.reading() as connection:
        chosen = track_runs(connection, arguments.machine, arguments.selection)
        nights = load_nights(connection, chosen)
    content = trends_json(nights)
    if arguments.to:
        write_whole(arguments.to, content)
    else:
        sys.stdout.write(content.decode())


def _export_table(arguments: argparse.Namespace, database: Database) -> None:
    if arguments.format == "parquet" and not arguments.to:
        raise BadInput("--format parquet", "is no text for a terminal", "give --to FILE")
    with database.reading() as connection:
        chosen = stored_runs(connection, arguments.machine, arguments.selection)
    rows = trial_table.rows_of_runs(database, chosen)
    if not arguments.to:
        trial_table.write_csv(rows, sys.stdout)
        return
    with whole_file(arguments.to) as file:
        if arguments.format == "parquet":
            trial_table.write_parquet(rows, file)
        else:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            trial_table.write_csv(rows, text)
            text.detach()  # flushed; the file is closed by whoever opened it


def evaluate(_arguments: argparse.Namespace) -> Exit:
    print(evaluation.report())
    return Exit.ok
