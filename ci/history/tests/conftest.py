"""The history's command, its two kinds of database, and runs with a known truth."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ci.history.command
from ci.command_line import run_command
from ci.history.tests.postgres import running_server, server_programs
from ci.tests.synthetic import catalog_document, run_document

POINTS = ("tiled/fp32/nn/64x64x64", "control/fp32/nn/64x64x64")
FIRST_NIGHT = datetime(2026, 1, 1, 2, tzinfo=UTC)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    programs = server_programs()
    if programs is None:
        if os.environ.get("GEMMWATCH_TEST_ALL") == "1":
            pytest.fail("there is no PostgreSQL server; install Debian's postgresql")
        pytest.skip("no PostgreSQL server")
    with running_server(programs) as socket:
        yield socket


_numbers = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database as --db takes it, once of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite")
    socket: Path = request.getfixturevalue("postgres")
    return new_database(socket)


def new_database(socket: Path) -> str:
    name = f"history{next(_numbers)}"
    with psycopg.connect(
        host=str(socket), user="gemmwatch", dbname="postgres", autocommit=True
    ) as connection:
        connection.execute(f"create database {name}".encode())
    return f"postgresql://gemmwatch@/{name}?host={socket}"


@dataclass
class History:
    """`gemmwatch history --db DB`, in this process."""

    db: str
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str | Path) -> int:
        """The exit code."""
        try:
            arguments = ["history", "--db", self.db, *map(str, words)]
            return run_command(arguments, [ci.history.command.add_parser])
        except SystemExit as usage:  # argparse
            assert isinstance(usage.code, int)
            return usage.code

    def runs(self) -> Any:
        return self._json("list", "--json")

    def trends(self, *words: str) -> Any:
        return self._json("export", "--format", "trends", *words)

    def rows(self) -> list[str]:
        """The trials as lines of CSV, without the header."""
        return self.output("export", "--format", "csv").splitlines()[1:]

    def output(self, *words: str | Path) -> str:
        self.capture.readouterr()
        assert self(*words) == 0
        return self.capture.readouterr().out

    def _json(self, *words: str) -> Any:
        return json.loads(self.output(*words))


@pytest.fixture
def history(db: str, capsys: pytest.CaptureFixture[str]) -> History:
    """On either database."""
    return History(db, capsys)


@pytest.fixture
def filed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> History:
    """On an SQLite file, where the database does not matter."""
    return History(str(tmp_path / "history.sqlite"), capsys)


@dataclass
class RunFiles:
    """Writes run.json files, a night apart unless it is said otherwise."""

    folder: Path
    nights: Iterator[int] = field(default_factory=count)

    def __call__(
        self,
        series: Mapping[str, Sequence[float]] | None = None,
        *,
        night: int | None = None,
        fingerprint: Mapping[str, str] | None = None,
        commit: str | None = None,
        injected: str = "",
        **meta: Any,
    ) -> Path:
        number = next(self.nights)
        night = number if night is None else night
        catalog = catalog_document()
        catalog["fingerprint"] |= fingerprint or {}
        catalog["environment"] = {"commit": commit or f"{night:040x}"}
        catalog["injected"] = injected
        finished = (FIRST_NIGHT + timedelta(days=night)).isoformat()
        meta = {"finished": finished} | meta
        trials = series or {POINTS[0]: [0.1, 0.11, 0.12], POINTS[1]: [0.0, 0.0, 0.0]}
        path = self.folder / f"run{number}.json"
        path.write_text(json.dumps(run_document(catalog, trials, **meta)))
        return path


@pytest.fixture
def run_file(tmp_path: Path) -> RunFiles:
    return RunFiles(tmp_path)


@pytest.fixture
def edited() -> Callable[..., Path]:
    """Changes a JSON file in place."""

    def edit(path: Path, change: Callable[[Any], object]) -> Path:
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))
        return path

    return edit
