"""Record which programs wait for the answers to their questions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012_waits"
down_revision = "0011_files"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("asks", sa.Column("absence", sa.Text()))
    op.create_table(
        "waits",
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("waits_until", sa.BigInteger(), nullable=False),
        sa.Column("patience", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("told", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("lost", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("ask_id", name="pk_waits"),
    )
    op.create_index("ix_waits_told_waits_until", "waits", ["told", "waits_until"])
