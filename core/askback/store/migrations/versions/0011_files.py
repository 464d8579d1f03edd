"""Store the files that people attach to messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011_files"
down_revision = "0010_languages"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("conversation_id", sa.Text()),
        sa.Column("ask_id", sa.Text()),
        sa.Column("inbox_id", sa.BigInteger()),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("place_key", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("message", sa.Text()),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text()),
        sa.Column("size", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("tokens", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("problem", sa.Text()),
        sa.Column("seq", sa.Integer()),
        sa.Column("block", sa.Integer()),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("leased_until", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("first_failed_at", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sa.CheckConstraint("state IN ('pending', 'stored', 'failed')", name=op.f("ck_files_state")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_files_ask_id", "files", ["ask_id"])
    op.create_index("ix_files_inbox_id", "files", ["inbox_id"])
    op.create_index("ix_files_conversation_id_seq", "files", ["conversation_id", "seq"])
    op.create_index("ix_files_state_due_at", "files", ["state", "due_at"])
