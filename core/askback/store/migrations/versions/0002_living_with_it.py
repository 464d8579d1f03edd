"""Add stops, budgets, the operator's own tools, typed replies, and conversations that begin midway in a thread."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002_living_with_it"
down_revision = "0001_first_release"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Add columns without batch mode, since SQLite adds them in place and need not copy the table.
    op.add_column("conversations", sa.Column("stops", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("conversations", sa.Column("stopped_by", sa.Text()))
    op.add_column("conversations", sa.Column("midway", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("conversations", sa.Column("trace", sa.Text()))
    op.create_index("ix_conversations_updated_at", "conversations", ["updated_at"])
    op.add_column("asks", sa.Column("trace", sa.Text()))
    op.drop_index("ix_asks_conversation_id", "asks")
    op.drop_index("ix_asks_place_key", "asks")
    op.create_index("ix_asks_conversation_id_status", "asks", ["conversation_id", "status"])
    op.create_index("ix_asks_conversation_id_settled_at", "asks", ["conversation_id", "settled_at"])
    op.create_index("ix_asks_place_key_status", "asks", ["place_key", "status"])
    op.create_index("ix_asks_place_key_post_after", "asks", ["place_key", "post_after"])
    op.drop_index("ix_calls_ask_id", "calls")
    op.add_column("calls", sa.Column("started_at", sa.BigInteger()))
    op.add_column("calls", sa.Column("blocks", sa.Text()))
    op.add_column("inbox", sa.Column("files", sa.Text()))
    op.create_index("ix_inbox_dedupe_key", "inbox", ["dedupe_key"])
    op.create_table(
        "usage",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "day", name="pk_usage"),
    )
    op.create_index("ix_usage_day", "usage", ["day"])
    op.create_table(
        "offers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("inbox_id", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("message", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_offers"),
        sa.CheckConstraint("state IN ('open', 'answer', 'message')", name=op.f("ck_offers_state")),
    )
    op.create_index("ix_offers_ask_id", "offers", ["ask_id"])
    op.create_index("ix_offers_conversation_id", "offers", ["conversation_id"])
