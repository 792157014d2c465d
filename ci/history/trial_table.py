"""The trials as a table, a row each, for a spreadsheet or a data frame: CSV or Parquet.

A year of nights is millions of rows, so they pass by a run at a time.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TextIO

import pyarrow
import pyarrow.parquet
from sqlalchemy import Row, Select, select

from ci.history.database import Database
from ci.history.recall import StoredRun
from ci.history.tables import COUNTERS, points, runs, samples

Rows = Sequence[Row[tuple[object, ...]]]

_SCHEMA = pyarrow.schema(
    [(name, pyarrow.string()) for name in ("run", "finished", "machine", "selection", "commit")]
    + [("point", pyarrow.string()), ("trial", pyarrow.int32())]
    + [(counter, pyarrow.float64()) for counter in COUNTERS]
)


def rows_of_runs(database: Database, chosen: Iterable[StoredRun]) -> Iterator[Rows]:
    """The rows of each run. A transaction a run: a run never changes, and writers do not wait."""
    for run in chosen:
        with database.reading() as connection:
            rows = connection.execute(_query(run)).all()
        yield rows


def write_csv(of_runs: Iterable[Rows], text: TextIO) -> None:
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_SCHEMA.names)
    for rows in of_runs:
        writer.writerows(rows)


def write_parquet(of_runs: Iterable[Rows], file: IO[bytes]) -> None:
    """A row group a run."""
    with pyarrow.parquet.ParquetWriter(file, _SCHEMA) as writer:
        for rows in of_runs:
            columns = zip(*rows, strict=True) if rows else [()] * len(_SCHEMA)
            arrays = [pyarrow.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=_SCHEMA))


def _query(run: StoredRun) -> Select[tuple[object, ...]]:
    """The columns of _SCHEMA."""
    return (
        select(
            runs.c.digest, runs.c.finished, runs.c.machine, runs.c.selection, runs.c.commit,
            points.c.name, samples.c.trial, *(samples.c[counter] for counter in COUNTERS),
        )
        .join(runs, runs.c.id == samples.c.run)
        .join(points, points.c.id == samples.c.point)
        .where(samples.c.run == run.number)
        .order_by(points.c.name, samples.c.trial)
    )  # fmt: skip
