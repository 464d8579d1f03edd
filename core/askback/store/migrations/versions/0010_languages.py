"""Record the language of the person who began a conversation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010_languages"
down_revision = "0009_hand_overs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("language", sa.Text()))
