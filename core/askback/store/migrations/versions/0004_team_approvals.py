"""A time for reminders and escalations as well, beside the deadline."""

from __future__ import annotations

from alembic import op

revision = "0004_team_approvals"
down_revision = "0003_several_machines"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_asks_status_deadline", "asks")
    # As plain SQL: alembic would copy the table on SQLite, which renames columns in place.
    op.execute("ALTER TABLE asks RENAME COLUMN deadline TO attend_at")
    op.create_index("ix_asks_status_attend_at", "asks", ["status", "attend_at"])
