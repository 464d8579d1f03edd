"""Add the texts of the model that people could not see, until the model learns of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007_unshown_texts"
down_revision = "0006_contested_drawings"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("conversations", sa.Column("unshown", sa.Text()))
