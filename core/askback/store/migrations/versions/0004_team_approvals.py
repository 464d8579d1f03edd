"""Rename the deadline column, because it now also holds the times of reminders and escalations."""

from __future__ import annotations

from alembic import op

revision = "0004_team_approvals"
down_revision = "0003_several_machines"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_asks_status_deadline", "asks")
    # Use plain SQL, since alembic would copy the table on SQLite, which can rename columns in place.
    op.execute("ALTER TABLE asks RENAME COLUMN deadline TO attend_at")
    op.create_index("ix_asks_status_attend_at", "asks", ["status", "attend_at"])
