"""Hand each outcome over to an agent framework at most once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009_hand_overs"
down_revision = "0008_confirmed_messages"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hand_overs",
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text()),
        sa.Column("claimed_at", sa.BigInteger()),
        sa.Column("claimed_until", sa.BigInteger()),
        sa.PrimaryKeyConstraint("framework", "run", "call", name="pk_hand_overs"),
        sa.CheckConstraint(
            "state IN ('asked', 'claimed', 'acknowledged', 'unknown')", name=op.f("ck_hand_overs_state")
        ),
    )
    op.create_index("ix_hand_overs_ask_id", "hand_overs", ["ask_id"])
    op.create_index("ix_hand_overs_holder", "hand_overs", ["holder"])
    op.create_index("ix_hand_overs_framework_state", "hand_overs", ["framework", "state"])
