"""Run the migrations on the connection, and in the transaction, that `askback.store.migrate` passes."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from askback.store.migrate import VERSION_TABLE
from askback.store.schema import metadata

connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # SQLite cannot alter a table in place, so alembic copies it.
    render_as_batch=connection.dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
