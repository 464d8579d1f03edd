"""Add the holder of a lease, the end of an older drawing, and the newest text of a conversation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006_contested_drawings"
down_revision = "0005_trust"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("leased_by", sa.Text()))
    op.add_column("outbox", sa.Column("contested_until", sa.BigInteger()))
    op.add_column("conversations", sa.Column("last_text", sa.Text()))
