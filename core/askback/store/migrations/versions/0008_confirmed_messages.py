"""Tell the messages of a card from deleted messages that may have been its."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008_confirmed_messages"
down_revision = "0007_unshown_texts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("card_messages", sa.Column("confirmed", sa.Boolean(), nullable=False, server_default=sa.text("true")))
