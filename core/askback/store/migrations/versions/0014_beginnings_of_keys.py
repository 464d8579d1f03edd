"""Find asks by the beginnings of their keys."""

from __future__ import annotations

from alembic import op

revision = "0014_beginnings_of_keys"
down_revision = "0013_webhooks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_asks_key", "asks", ["key"], postgresql_ops={"key": "text_pattern_ops"})
