"""Add authors of messages to the model, messages of cards, edits, reserved tokens and times of first tries."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0005_trust"
down_revision = "0004_team_approvals"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("transcript", sa.Column("authors", sa.Text()))
    op.add_column("inbox", sa.Column("edited_at", sa.BigInteger()))
    op.add_column("inbox", sa.Column("edit_of", sa.BigInteger()))
    op.add_column("inbox", sa.Column("ask_id", sa.Text()))
    card_messages = op.create_table(
        "card_messages",
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("gone_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("ask_id", "channel", "message", name="pk_card_messages"),
    )
    op.create_index("ix_card_messages_channel_message", "card_messages", ["channel", "message"])
    # Record the cards of asks that are open now, so that they too are posted again after a deletion.
    asked = op.get_bind().execute(sa.text("SELECT id, messages FROM asks WHERE status = 'open' AND messages <> '[]'"))
    rows = [
        {"ask_id": ask_id, "channel": channel, "message": message}
        for ask_id, messages in asked
        for channel, message in dict.fromkeys((one["channel"], one["id"]) for one in json.loads(messages))
    ]
    if rows:
        op.bulk_insert(card_messages, rows)
    op.add_column("outbox", sa.Column("tried_at", sa.BigInteger()))
    op.add_column("outbox", sa.Column("noted_at", sa.BigInteger()))
    op.create_index("ix_outbox_leased_until_due_at", "outbox", ["leased_until", "due_at"])
    op.add_column("asks", sa.Column("posted_at", sa.BigInteger()))
    op.create_table(
        "reservations",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_reservations_conversation_id", "reservations", ["conversation_id"])
    op.create_index("ix_reservations_day", "reservations", ["day"])
