"""Opening the database: an SQLite file or a PostgreSQL server, brought to the current schema."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import alembic.command
import alembic.util
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ci.bench_program import ROOT
from ci.errors import BadInput

VARIABLE = "GEMMWATCH_HISTORY_DB"
DEFAULT = ROOT / ".gemmwatch" / "history.sqlite"

_MIGRATIONS = Path(__file__).parent / "migrations"
_WAIT_S = 60.0  # for another writer of an SQLite file; adding a run takes about a second
_READS = "gemmwatch_reads"  # the option of a connection that writes nothing
_MIGRATION_LOCK = 0x67656D6D  # any number that no other program of the server takes: "gemm"


@dataclass(frozen=True)
class Database:
    """A database at the current schema; each transaction is whole or did not happen."""

    engine: Engine
    name: str  # without its password

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with _explained(self.name), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """For what writes nothing: it waits for no writer, and should not keep one waiting."""
        reader = self.engine.execution_options(**{_READS: True})
        with _explained(self.name), reader.begin() as connection:
            yield connection


def open_database(location: str | None = None) -> Database:
    """location: a file, an sqlite:// or a postgresql:// URL; default: the variable, else DEFAULT.

    Raises BadInput for one that cannot be used.
    """
    url = _url(location or os.environ.get(VARIABLE) or str(DEFAULT))
    name = url.database if _is_file(url) else url.render_as_string(hide_password=True)
    database = Database(_engine(url), str(name))
    with database.reading() as connection:
        current = _is_current(connection)
    if not current:
        with database.transaction() as connection:
            migrate(connection)
    return database


def _is_current(connection: Connection) -> bool:
    newest = ScriptDirectory.from_config(migrations(connection)).get_current_head()
    return MigrationContext.configure(connection).get_current_revision() == newest


def migrate(connection: Connection, revision: str = "head") -> None:
    """Brings the schema to a revision. Of two programs that come at once, one does it."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
    try:
        alembic.command.upgrade(migrations(connection), revision)
    except alembic.util.CommandError as error:
        raise BadInput(
            "the history", f"has a schema that this program does not know ({error})",
            "use the newer gemmwatch that wrote it",
        ) from error  # fmt: skip


def migrations(connection: Connection) -> Config:
    """Alembic's configuration; there is no alembic.ini, since every database is given by hand."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _url(location: str) -> URL:
    try:
        url = make_url(location) if "://" in location else URL.create("sqlite", database=location)
    except ArgumentError as error:
        raise _no_database(location) from error
    dialect = url.get_backend_name()
    if dialect == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if dialect != "sqlite" or not url.database:
        raise _no_database(location)
    return url


def _no_database(location: str) -> BadInput:
    return BadInput(
        f"--db {location}",
        "is no database",
        f"give a file, or postgresql://HOST/NAME; or {VARIABLE}",
    )


def _is_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _engine(url: URL) -> Engine:
    if not _is_file(url):
        # A server without an encoding of its own would answer in bytes.
        return create_engine(url, connect_args={"client_encoding": "utf8"})
    Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": _WAIT_S})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


# Python's sqlite3 would begin late and as a reader; two that then both want to write fail at once
# in place of waiting for each other.
def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    connection.execute("pragma foreign_keys = on")


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get(_READS, False)
    connection.exec_driver_sql("begin" if reads else "begin immediate")


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise BadInput(
            name, f"the database cannot be used ({reason})", f"see --db and {VARIABLE}"
        ) from error
