"""Record which addresses get the outcomes of asks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013_webhooks"
down_revision = "0012_waits"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("leased_until", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("tried_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sa.UniqueConstraint("ask_id", "url", name="uq_webhooks_ask_id_url"),
        sa.CheckConstraint("state IN ('pending', 'delivered', 'failed')", name=op.f("ck_webhooks_state")),
    )
    op.create_index("ix_webhooks_state_due_at", "webhooks", ["state", "due_at"])
