"""Recorded trials, kept compactly: the log ratios of each session, a session a run on one card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ci.catalog import checked_id, require_schema
from ci.estimate import Array
from ci.files import Fields, read_json, reviewable, write_whole
from ci.records import Outcome, PointSamples, Run, Samples

FOLDER = Path(__file__).parent / "records"
_KIND = "gemmwatch-record"


@dataclass(frozen=True)
class Session:
    """The trials of one run: log ratios by point, a trial an element."""

    name: str
    card: str
    log_ratio: Mapping[str, Array]

    @property
    def trials(self) -> int:
        return next(iter(self.log_ratio.values())).size


@dataclass(frozen=True)
class Record:
    """Sessions of the same points. gates: which session really was judged against which."""

    name: str
    source: str
    device: str
    controls: frozenset[str]  # points of a control against itself: no kernel to slow
    sessions: tuple[Session, ...]
    gates: tuple[tuple[str, str], ...]  # base and head, by name

    def session(self, name: str) -> Session:
        return next(session for session in self.sessions if session.name == name)

    def card_trials(self, card: str) -> dict[str, Array]:
        """All trials of a card together."""
        same = [session for session in self.sessions if session.card == card]
        return {
            point: np.concatenate([session.log_ratio[point] for session in same])
            for point in same[0].log_ratio
        }


def load_records(folder: Path = FOLDER) -> list[Record]:
    return [_parse(path) for path in sorted(folder.glob("*.json"))]


def write_record(record: Record, path: Path) -> None:
    sessions = {
        session.name: {"card": session.card, "trials": session.trials}
        for session in record.sessions
    }
    document = {
        "schema": 1,
        "kind": _KIND,
        "source": record.source,
        "device": record.device,
        "controls": sorted(record.controls),
        "gates": [list(gate) for gate in record.gates],
        "sessions": sessions,
        "points": {
            point: {s.name: rounded(s.log_ratio[point]) for s in record.sessions}
            for point in record.sessions[0].log_ratio
        },
    }
    write_whole(path, reviewable(document))


def session_of(run: Run, name: str, points: Sequence[str]) -> Session:
    """These points of a run."""
    ratios = {point: run.samples.points[point].log_ratio for point in points}
    return Session(name, card_of(run.samples), ratios)


def card_of(samples: Samples) -> str:
    """A card goes by the first digits of its unique number."""
    return samples.environment.get("gpu_uuid", samples.machine)[:12]


def as_samples(name: str, log_ratio: Mapping[str, Array], device: str) -> Samples:
    """Log ratios as the judge takes them; times are not recorded, so each is 1."""
    points = {
        point: PointSamples(values, np.ones(values.size), np.ones(values.size))
        for point, values in log_ratio.items()
    }
    return Samples(
        label=name,
        date=datetime.fromtimestamp(0, UTC),
        selection="recorded",
        filter="",
        fingerprint={"device": device},
        environment={},
        injected="",
        trials=next(iter(log_ratio.values())).size,
        points=points,
        outcomes=dict.fromkeys(points, Outcome.passed),
        reasons={},
        controls=frozenset(),
        throttled=0.0,
    )


def rounded(values: Array) -> list[float]:
    return [round(float(value), 5) for value in values]


def _parse(path: Path) -> Record:
    fields = read_json(path, "restore it from version control")
    require_schema(fields)
    if fields.text("kind") != _KIND:
        fields.fail(f"its kind is not {_KIND}")
    points = fields.named_objects("points")
    for name, point in points.items():
        checked_id(point, name)
    sessions = tuple(
        Session(
            name,
            session.text("card"),
            {point: _series(of, name, session.integer("trials")) for point, of in points.items()},
        )
        for name, session in fields.named_objects("sessions").items()
    )
    gates = tuple(_gate(fields, gate, {s.name for s in sessions}) for gate in fields.value["gates"])
    return Record(
        name=path.stem,
        source=fields.text("source"),
        device=fields.text("device"),
        controls=frozenset(fields.strings("controls")),
        sessions=sessions,
        gates=gates,
    )


def _series(fields: Fields, session: str, trials: int) -> Array:
    values = fields.numbers(session)
    if len(values) != trials:
        fields.fail(f"{fields.where}.{session} has {len(values)} trials, not {trials}")
    return np.array(values)


def _gate(fields: Fields, gate: Any, names: set[str]) -> tuple[str, str]:
    if not (isinstance(gate, list) and len(gate) == 2 and set(gate) <= names):
        fields.fail(f"the gate {gate} is no pair of its sessions")
    return (gate[0], gate[1])
