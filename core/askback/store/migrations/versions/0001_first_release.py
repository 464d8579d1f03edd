"""Create the tables of the first release."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001_first_release"
down_revision = None
branch_labels = None
depends_on = None

_Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("place_key", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("starter", sa.Text(), nullable=False),
        sa.Column("wants_turn", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("told_seq", sa.Integer()),
        sa.Column("prose", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_conversations"),
        sa.UniqueConstraint("place_key", name="uq_conversations_place_key"),
    )
    op.create_index(
        "ix_conversations_wants_turn",
        "conversations",
        ["updated_at"],
        sqlite_where=sa.text("wants_turn = 1"),
        postgresql_where=sa.text("wants_turn"),
    )
    op.create_table(
        "transcript",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("unfinished", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "seq", name="pk_transcript"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name="fk_transcript_conversation_id"),
        sa.CheckConstraint("role IN ('user', 'assistant')", name=op.f("ck_transcript_role")),
    )
    op.create_table(
        "inbox",
        sa.Column("id", _Serial, nullable=False, autoincrement=True),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("dedupe_key", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("taken_seq", sa.Integer()),
        sa.PrimaryKeyConstraint("id", name="pk_inbox"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name="fk_inbox_conversation_id"),
        sa.UniqueConstraint("conversation_id", "dedupe_key", name="uq_inbox_conversation_id_dedupe_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_inbox_conversation_id_taken_seq", "inbox", ["conversation_id", "taken_seq"])
    op.create_table(
        "calls",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("tool_use_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Text()),
        sa.Column("result", sa.Text()),
        sa.Column("is_error", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("conversation_id", "seq", "position", name="pk_calls"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name="fk_calls_conversation_id"),
    )
    op.create_index("ix_calls_ask_id", "calls", ["ask_id"])
    op.create_table(
        "asks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text()),
        sa.Column("conversation_id", sa.Text()),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("place_key", sa.Text(), nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("interview", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text()),
        sa.Column("messages", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("drawn_revision", sa.Integer(), nullable=False, server_default=sa.text("-1")),
        sa.Column("revision", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("asked_by", sa.Text()),
        sa.Column("post_after", sa.BigInteger(), nullable=False),
        sa.Column("deadline", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("settled_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_asks"),
        sa.UniqueConstraint("key", name="uq_asks_key"),
        sa.CheckConstraint("length(id) <= 22", name=op.f("ck_asks_id")),
        sa.CheckConstraint(
            "status IN ('open', 'answered', 'cancelled', 'declined', 'timed_out', 'undeliverable')",
            name=op.f("ck_asks_status"),
        ),
    )
    op.create_index("ix_asks_conversation_id", "asks", ["conversation_id"])
    op.create_index("ix_asks_place_key", "asks", ["place_key"])
    op.create_index("ix_asks_status_deadline", "asks", ["status", "deadline"])
    op.create_table(
        "actions",
        sa.Column("id", _Serial, nullable=False, autoincrement=True),
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_actions"),
        sa.ForeignKeyConstraint(["ask_id"], ["asks.id"], name="fk_actions_ask_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_actions_ask_id", "actions", ["ask_id"])
    op.create_table(
        "outbox",
        sa.Column("id", _Serial, nullable=False, autoincrement=True),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text()),
        sa.Column("ask_id", sa.Text()),
        sa.Column("revision", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("payload", sa.Text()),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("leased_until", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("first_failed_at", sa.BigInteger()),
        sa.Column("last_error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("target", name="uq_outbox_target"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_conversation_id", "outbox", ["conversation_id"])
    op.create_index("ix_outbox_due_at", "outbox", ["due_at"])
    op.create_table(
        "meta",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )


def downgrade() -> None:
    raise NotImplementedError("The first release cannot be downgraded: restore a backup.")
