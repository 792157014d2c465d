"""Adding to the history. Every function works in the transaction that it is given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ci.catalog import require_schema
from ci.errors import BadInput
from ci.files import Fields, read_json
from ci.history.night import summarize
from ci.history.recall import Track
from ci.history.recorded import RecordedRun
from ci.history.tables import (
    COUNTERS,
    catalogs,
    points,
    resources,
    results,
    runs,
    samples,
    verdicts,
)
from ci.records import Outcome

Rows = list[dict[str, Any]]


def remember(connection: Connection, run: RecordedRun) -> bool:
    """Adds the run with all its trials; False if it is there already.

    Raises BadInput for a track of runs from elsewhere, whose numbers are of another kind.

    Writers take shared rows in one order (catalog, points by name, run), so that two of them wait
    for each other at most, and never in a circle.
    """
    catalog = _catalog(connection, run.catalog)
    numbers = _points(connection, run.outcomes)
    row = {
        "digest": run.digest,
        "source": run.source,
        "machine": run.machine,
        "selection": run.selection,
        "finished": run.finished.isoformat(timespec="seconds"),
        "commit": run.commit,
        "trials": run.trials,
        "fingerprint": dict(run.fingerprint),
        "environment": dict(run.environment),
        "doubts": run.doubts,
        "catalog": catalog,
        "answer": "",
    }
    statement = _insert_or_nothing(connection, runs, "digest").returning(runs.c.id)
    number = connection.scalar(statement, row)
    if number is None:
        return False
    _require_one_source(connection, run)
    connection.execute(insert(results), _results(run, number, numbers))
    if run.samples:
        connection.execute(insert(samples), _samples(run, number, numbers))
    return True


def _require_one_source(connection: Connection, run: RecordedRun) -> None:
    here = (runs.c.machine == run.machine) & (runs.c.selection == run.selection)
    sources = connection.scalars(select(runs.c.source).where(here).distinct())
    if others := set(sources) - {run.source}:
        raise BadInput(
            str(Track(run.machine, run.selection)),
            f"holds runs of {', '.join(sorted(others))}, and this one is of {run.source}",
            "name another selection",
        )


def attach_verdict(connection: Connection, run: RecordedRun, path: Path) -> None:
    """Remembers the verdict.json of a run; the last one given holds."""
    fields = read_json(path, "give the verdict.json that `gemmwatch gate` wrote for this run")
    require_schema(fields)
    head = fields.object("head")
    told = (head.texts("fingerprint"), head.integer("trials"), head.moment("finished"))
    if told != (dict(run.fingerprint), run.trials, run.finished):
        raise BadInput(path, "is the verdict on another run", "give that of this one")
    number = _locked(connection, run)
    items = fields.objects("points")
    numbers = _points(connection, (item.text("id") for item in items))
    connection.execute(delete(verdicts).where(verdicts.c.run == number))
    rows = [_verdict(item, number, numbers) for item in items]
    if rows:
        connection.execute(insert(verdicts), rows)
    answer = fields.text("answer")
    connection.execute(update(runs).where(runs.c.id == number).values(answer=answer))


def attach_resources(connection: Connection, run: RecordedRun, path: Path) -> None:
    """Remembers what the compiler made of each device function; the last document given holds."""
    fields = read_json(path, "give the resources.json of this run's build")
    require_schema(fields)
    number = _locked(connection, run)
    rows = [
        {
            "run": number,
            "function": function.text("function"),
            "arch": function.text("arch"),
            "document": function.value,
        }
        for function in fields.objects("functions")
    ]
    if len({(row["function"], row["arch"]) for row in rows}) < len(rows):
        fields.fail("it names a function twice for one arch")
    connection.execute(delete(resources).where(resources.c.run == number))
    if rows:
        connection.execute(insert(resources), rows)


def _locked(connection: Connection, run: RecordedRun) -> int:
    """The number of the run, whose attachments no other writer now changes."""
    query = select(runs.c.id).where(runs.c.digest == run.digest).with_for_update()
    number: int = connection.execute(query).scalar_one()
    return number


def _catalog(connection: Connection, document: Mapping[str, Any]) -> int:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    row = {"digest": digest, "document": dict(document)}
    _insert_absent(connection, catalogs, [row], "digest")
    query = select(catalogs.c.id).where(catalogs.c.digest == digest)
    number: int = connection.execute(query).scalar_one()
    return number


def _points(connection: Connection, names: Iterable[str]) -> Mapping[str, int]:
    """The numbers of points by name; makes those that are new."""
    rows = [{"name": name} for name in sorted(names)]
    if rows:
        _insert_absent(connection, points, rows, "name")
    return {name: number for number, name in connection.execute(select(points))}


def _insert_absent(connection: Connection, table: Table, rows: Rows, key: str) -> None:
    """Inserts what is not there yet, whoever else does the same."""
    wanted = table.c[key].in_([row[key] for row in rows])
    known = set(connection.scalars(select(table.c[key]).where(wanted)))
    if absent := [row for row in rows if row[key] not in known]:
        connection.execute(_insert_or_nothing(connection, table, key), absent)


def _insert_or_nothing(connection: Connection, table: Table, key: str) -> Any:
    """An insert that leaves a row with the same key as it is."""
    make = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return make(table).on_conflict_do_nothing(index_elements=[key])


def _results(run: RecordedRun, number: int, numbers: Mapping[str, int]) -> Rows:
    return [
        {
            "run": number,
            "point": numbers[name],
            "outcome": outcome,
            "reason": "" if outcome is Outcome.passed else run.reasons.get(name, ""),
            **summarize(run.samples.get(name, ())),
        }
        for name, outcome in run.outcomes.items()
    ]


def _samples(run: RecordedRun, number: int, numbers: Mapping[str, int]) -> Rows:
    return [
        {"run": number, "point": numbers[name], "trial": trial}
        | {counter: sample.get(counter) for counter in COUNTERS}
        for name, trials in run.samples.items()
        for trial, sample in enumerate(trials)
    ]


def _verdict(item: Fields, number: int, numbers: Mapping[str, int]) -> dict[str, Any]:
    shares = {key: item.number(key) if key in item else None for key in ("change", "low", "high")}
    return {
        "run": number,
        "point": numbers[item.text("id")],
        "verdict": item.text("verdict"),
        "reason": item.text("reason"),
        **shares,
    }
