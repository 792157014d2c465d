"""Reading the history: its runs, its tracks, its anchors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from ci.errors import BadInput, NoAnswer
from ci.history.tables import anchors, runs

_SHORT = 12  # digits of a digest that people are shown


@dataclass(frozen=True)
class StoredRun:
    """A run as it lies in the database, without its points."""

    number: int
    digest: str
    source: str
    machine: str
    selection: str
    finished: datetime
    commit: str
    trials: int
    fingerprint: Mapping[str, str]
    environment: Mapping[str, str]
    doubts: Sequence[str]
    catalog: int
    answer: str
    anchor: bool

    @property
    def id(self) -> str:
        return self.digest[:_SHORT]

    @property
    def track(self) -> Track:
        return Track(self.machine, self.selection)


@dataclass(frozen=True, order=True)
class Track:
    """Whose nights follow each other: one selection on one machine."""

    machine: str
    selection: str

    def __str__(self) -> str:
        return f'--machine "{self.machine}" --selection {self.selection}'


def stored_runs(
    connection: Connection, machine: str | None = None, selection: str | None = None
) -> list[StoredRun]:
    """All runs, or those of a machine or a selection, oldest first."""
    query = (
        select(runs, anchors.c.run.is_not(None).label("anchor"))
        .outerjoin(anchors, anchors.c.run == runs.c.id)
        .order_by(runs.c.finished, runs.c.id)
    )
    if machine:
        query = query.where(runs.c.machine == machine)
    if selection:
        query = query.where(runs.c.selection == selection)
    found = []
    for row in connection.execute(query).mappings():
        fields = dict(row)
        fields["number"] = fields.pop("id")
        fields["finished"] = datetime.fromisoformat(fields["finished"])
        found.append(StoredRun(**fields))
    return found


def find_run(connection: Connection, prefix: str) -> StoredRun:
    """The run whose id begins so. Raises BadInput unless there is exactly one."""
    way_out = "`gemmwatch history list` shows the ids"
    if not re.fullmatch(r"[0-9a-f]{4,64}", prefix):
        raise BadInput(prefix, "is no id of a run (four or more hex digits)", way_out)
    matching = [run for run in stored_runs(connection) if run.digest.startswith(prefix)]
    if len(matching) != 1:
        wrong = f"begins the ids of {len(matching)} runs" if matching else "is no run's id"
        raise BadInput(prefix, wrong, way_out)
    return matching[0]


def track_runs(
    connection: Connection, machine: str | None, selection: str | None
) -> list[StoredRun]:
    """The nights of the one track that these words leave, oldest first."""
    found = stored_runs(connection, machine, selection)
    tracks = sorted({run.track for run in found})
    if not tracks:
        raise NoAnswer("the history has no such run; `gemmwatch history add RUN.json` adds one")
    if len(tracks) > 1:
        raise BadInput(
            "the history", "holds several machines or selections",
            "choose one: " + "; ".join(map(str, tracks)),
        )  # fmt: skip
    return found
