"""Record until when a process keeps the answer for a later call to it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015_kept_answers"
down_revision = "0014_beginnings_of_keys"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("waits", sa.Column("kept_until", sa.BigInteger()))
