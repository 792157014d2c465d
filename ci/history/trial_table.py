"""The trials as a table, a row each, for a spreadsheet or a data frame: CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pyarrow
import pyarrow.parquet
from sqlalchemy import Connection, Row, Select, select

from ci.history.recall import StoredRun
from ci.history.tables import COUNTERS, points, runs, samples


def as_csv(connection: Connection, chosen: Sequence[StoredRun]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    found = connection.execute(_query(chosen))
    writer.writerow(found.keys())
    writer.writerows(found)
    return text.getvalue().encode()


def as_parquet(connection: Connection, chosen: Sequence[StoredRun]) -> bytes:
    found = connection.execute(_query(chosen))
    rows: Sequence[Row[tuple[object, ...]]] = found.all()
    columns = zip(*rows, strict=True) if rows else [()] * len(_SCHEMA)
    arrays = [pyarrow.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=_SCHEMA), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


_SCHEMA = pyarrow.schema(
    [(name, pyarrow.string()) for name in ("run", "finished", "machine", "selection", "commit")]
    + [("point", pyarrow.string()), ("trial", pyarrow.int32())]
    + [(counter, pyarrow.float64()) for counter in COUNTERS]
)


def _query(chosen: Sequence[StoredRun]) -> Select[tuple[object, ...]]:
    return (
        select(
            runs.c.digest.label("run"), runs.c.finished, runs.c.machine, runs.c.selection,
            runs.c.commit, points.c.name.label("point"), samples.c.trial,
            *(samples.c[counter] for counter in COUNTERS),
        )
        .join(runs, runs.c.id == samples.c.run)
        .join(points, points.c.id == samples.c.point)
        .where(samples.c.run.in_([run.number for run in chosen]))
        .order_by(runs.c.finished, runs.c.id, points.c.name, samples.c.trial)
    )  # fmt: skip
