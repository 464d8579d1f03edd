"""Store the time of a failed turn's retry with its conversation, so that any process can run it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003_several_machines"
down_revision = "0002_living_with_it"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("turn_after", sa.BigInteger()))
