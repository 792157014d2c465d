"""Alembic's entry: runs the migrations in the transaction that ci/history/database.py opened."""

from __future__ import annotations

from alembic import context

from ci.history.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
context.run_migrations()
