"""The schema: what the migrations make is what the code expects, forwards and backwards."""

from __future__ import annotations

import alembic.command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect

from ci.history.database import migrate, migrations, open_database
from ci.history.tables import metadata


def test_the_migrations_make_the_tables_of_the_code(db: str) -> None:
    with open_database(db).transaction() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_migrations_can_be_undone_and_done_again(db: str) -> None:
    with open_database(db).transaction() as connection:
        alembic.command.downgrade(migrations(connection), "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
        migrate(connection)
        assert set(metadata.tables) < set(inspect(connection).get_table_names())
