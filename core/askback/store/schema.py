"""The tables, described once for SQLite and PostgreSQL.

JSON columns are text that only askback reads. Times are microseconds since the epoch, UTC (`askback.internal.clock`).
Each change of this file needs a new migration, because migrations contain their own copy of the tables. A test compares
the two.
"""

from __future__ import annotations

__all__ = [
    "actions",
    "asks",
    "calls",
    "card_messages",
    "conversations",
    "files",
    "hand_overs",
    "inbox",
    "meta",
    "metadata",
    "offers",
    "outbox",
    "reservations",
    "transcript",
    "usage",
    "waits",
    "webhooks",
]

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite generates ids automatically only in a column of type INTEGER.
_Serial = BigInteger().with_variant(Integer(), "sqlite")

conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("place_key", Text, nullable=False, unique=True),
    Column("place", Text, nullable=False),
    Column("starter", Text, nullable=False),
    Column("wants_turn", Boolean, nullable=False, server_default=false()),
    Column("told_seq", Integer),
    Column("prose", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False, index=True),
    Column("stops", Integer, nullable=False, server_default=text("0")),
    Column("stopped_by", Text),
    Column("midway", Boolean, nullable=False, server_default=false()),
    Column("trace", Text),
    Column("turn_after", BigInteger),
    # JSON reference of the message with the newest text that the platform confirmed.
    Column("last_text", Text),
    # JSON array of the texts of the model that people could not see, until the model learns of them.
    Column("unshown", Text),
    # The language of the person who began it.
    Column("language", Text),
)
# Indexes only the conversations that have something to do. SQLite uses it for `where(wants_turn)` only if the condition
# is written exactly as SQLAlchemy renders it there. A test checks the query plan.
Index(
    "ix_conversations_wants_turn",
    conversations.c.updated_at,
    sqlite_where=text("wants_turn = 1"),
    postgresql_where=conversations.c.wants_turn,
)

transcript = Table(
    "transcript",
    metadata,
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("hidden", Boolean, nullable=False, server_default=false()),
    Column("unfinished", Boolean, nullable=False, server_default=false()),
    Column("created_at", BigInteger, nullable=False),
    # JSON array of the authors of a message to the model. NULL in rows of releases before 0005.
    Column("authors", Text),
    PrimaryKeyConstraint("conversation_id", "seq"),
    CheckConstraint("role IN ('user', 'assistant')", name="role"),
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("dedupe_key", Text, nullable=False, index=True),
    Column("author", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("taken_seq", Integer),
    Column("files", Text),
    # Time of the newest edit by the platform's clock, since edits may arrive out of order.
    Column("edited_at", BigInteger),
    # The row that this one is an edit of.
    Column("edit_of", BigInteger),
    # The ask that this message answered.
    Column("ask_id", Text),
    UniqueConstraint("conversation_id", "dedupe_key"),
    Index(None, "conversation_id", "taken_seq"),
    sqlite_autoincrement=True,
)

calls = Table(
    "calls",
    metadata,
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("tool_use_id", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("tool", Text, nullable=False),
    Column("input", Text, nullable=False),
    Column("ask_id", Text),
    Column("result", Text),
    Column("is_error", Boolean, nullable=False, server_default=false()),
    Column("started_at", BigInteger),
    Column("blocks", Text),
    PrimaryKeyConstraint("conversation_id", "seq", "position"),
)

asks = Table(
    "asks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, unique=True),
    Column("conversation_id", Text),
    Column("place", Text, nullable=False),
    Column("place_key", Text, nullable=False),
    Column("form", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("interview", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("outcome", Text),
    Column("messages", Text, nullable=False, server_default="[]"),
    Column("drawn_revision", Integer, nullable=False, server_default=text("-1")),
    Column("revision", Integer, nullable=False, server_default=text("0")),
    Column("asked_by", Text),
    Column("post_after", BigInteger, nullable=False),
    # The next of its deadline, reminders and escalations.
    Column("attend_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("settled_at", BigInteger),
    Column("trace", Text),
    # Time at which its card was first posted. NULL before that, and in rows of releases before 0005.
    Column("posted_at", BigInteger),
    # The reason why the card says that no program waits for the answer.
    Column("absence", Text),
    CheckConstraint("length(id) <= 22", name="id"),
    CheckConstraint(
        "status IN ('open', 'answered', 'cancelled', 'declined', 'timed_out', 'undeliverable')", name="status"
    ),
    # Also serves a search by the status alone.
    Index(None, "status", "attend_at"),
    # Finds keys by their beginnings. In most languages, PostgreSQL's other index of the keys has another order.
    Index(None, "key", postgresql_ops={"key": "text_pattern_ops"}),
    # Each index contains the second column of its search. Otherwise SQLite would use the index above and scan all open
    # asks.
    Index(None, "conversation_id", "status"),
    Index(None, "conversation_id", "settled_at"),
    Index(None, "place_key", "status"),
    Index(None, "place_key", "post_after"),
)

actions = Table(
    "actions",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("ask_id", Text, ForeignKey("asks.id"), nullable=False, index=True),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

# The messages of cards, in which a deletion is looked up. `asks.messages` lists those that make up the card now. A
# foreign key is missing on purpose, since a process of an earlier release deletes asks without knowing this table.
card_messages = Table(
    "card_messages",
    metadata,
    Column("ask_id", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("gone_at", BigInteger),
    # False for a deleted message that may have been the card's, while that was being posted.
    Column("confirmed", Boolean, nullable=False, server_default=text("true")),
    PrimaryKeyConstraint("ask_id", "channel", "message"),
    Index(None, "channel", "message"),
)

# Autoincrement never reuses an id. So the holder of a lease on a deleted row cannot mistake a new row for it.
outbox = Table(
    "outbox",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("target", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("conversation_id", Text, index=True),
    Column("ask_id", Text),
    Column("revision", Integer, nullable=False, server_default=text("0")),
    Column("payload", Text),
    Column("due_at", BigInteger, nullable=False, index=True),
    Column("leased_until", BigInteger),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("first_failed_at", BigInteger),
    Column("last_error", Text),
    # Time of the first lease. NULL in rows of releases before 0005.
    Column("tried_at", BigInteger),
    # Time at which due_at and leased_until were last written. A time in the future means that the clock went back.
    Column("noted_at", BigInteger),
    # The process that holds or held the lease. NULL in rows of releases before 0006.
    Column("leased_by", Text),
    # Time until which another process may draw an older revision of the card. Then it is drawn once more.
    Column("contested_until", BigInteger),
    # Serves searches for free rows by due time.
    Index(None, "leased_until", "due_at"),
    sqlite_autoincrement=True,
)

# Tokens that the model used, one row per conversation and day (days since the epoch, UTC).
usage = Table(
    "usage",
    metadata,
    Column("conversation_id", Text, nullable=False),
    Column("day", Integer, nullable=False, index=True),
    Column("tokens", BigInteger, nullable=False),
    PrimaryKeyConstraint("conversation_id", "day"),
)

# Running calls of the model, whose tokens `usage` counts in advance.
reservations = Table(
    "reservations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation_id", Text, nullable=False, index=True),
    Column("day", Integer, nullable=False, index=True),
    Column("tokens", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
)

# Messages that may be an answer. The author gets an offer to use the message as one.
offers = Table(
    "offers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("ask_id", Text, nullable=False, index=True),
    Column("conversation_id", Text, nullable=False, index=True),
    Column("inbox_id", BigInteger, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("message", Text),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint("state IN ('open', 'answer', 'message')", name="state"),
)

# The outcomes of asks for which agent frameworks wait. A foreign key is missing on purpose, since a process of an
# earlier release deletes asks without knowing this table.
hand_overs = Table(
    "hand_overs",
    metadata,
    Column("framework", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("call", Text, nullable=False),
    Column("ask_id", Text, nullable=False, index=True),
    Column("digest", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("holder", Text, index=True),
    Column("claimed_at", BigInteger),
    # Time until which the holder renews its claim. Afterwards, the outcome of the hand-over is unknown.
    Column("claimed_until", BigInteger),
    PrimaryKeyConstraint("framework", "run", "call"),
    CheckConstraint("state IN ('asked', 'claimed', 'acknowledged', 'unknown')", name="state"),
    Index(None, "framework", "state"),
)

# The files that people attach to messages. Foreign keys are missing on purpose, since a process of an earlier release
# deletes conversations and asks without knowing this table.
files = Table(
    "files",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    # A file belongs to a conversation, or to an ask.
    Column("conversation_id", Text),
    Column("ask_id", Text, index=True),
    # The message that it is attached to, and its index among what is attached there.
    Column("inbox_id", BigInteger, index=True),
    Column("position", Integer, nullable=False),
    Column("place_key", Text, nullable=False),
    Column("author", Text, nullable=False),
    # JSON reference of the message on the platform.
    Column("message", Text),
    # The file as the platform describes it, as JSON.
    Column("file", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("kind", Text),
    Column("size", Integer, nullable=False, server_default=text("0")),
    Column("tokens", Integer, nullable=False, server_default=text("0")),
    # The reason for a missing content, as JSON.
    Column("problem", Text),
    # The transcript row that took up the message, and the index of the block that represents the file.
    Column("seq", Integer),
    Column("block", Integer),
    Column("due_at", BigInteger, nullable=False),
    Column("leased_until", BigInteger),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("first_failed_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    # The last column, so that SQLite reads the others without it.
    Column("content", LargeBinary),
    CheckConstraint("state IN ('pending', 'stored', 'failed')", name="state"),
    Index(None, "conversation_id", "seq"),
    Index(None, "state", "due_at"),
    sqlite_autoincrement=True,
)

# The programs' asks for which some process waits, or waited. A foreign key is missing on purpose, since a process of an
# earlier release deletes asks without knowing this table.
waits = Table(
    "waits",
    metadata,
    Column("ask_id", Text, primary_key=True),
    # Time until which somebody counts as waiting. Each process renews it for the asks for which it waits. Once people
    # have answered, the time until which a caller should receive the answer.
    Column("waits_until", BigInteger, nullable=False),
    # Microseconds after that time until the card says that no caller waits. They grow with each absence.
    Column("patience", BigInteger, nullable=False, server_default=text("0")),
    # True while the card says that no caller waits.
    Column("told", Boolean, nullable=False, server_default=false()),
    # True if no later call can receive the answer, once nobody waits and the time below is past.
    Column("lost", Boolean, nullable=False, server_default=false()),
    # Time until which a later call to the process that waited can receive it. That process renews it while it runs.
    Column("kept_until", BigInteger),
    Index(None, "told", "waits_until"),
)

# The addresses that get the outcomes of asks. A foreign key is missing on purpose, since a process of an earlier
# release deletes asks without knowing this table.
webhooks = Table(
    "webhooks",
    metadata,
    # The id that the receiver sees, the same in each attempt.
    Column("id", Text, primary_key=True),
    Column("ask_id", Text, nullable=False),
    # The caller whose secret signs the outcome.
    Column("caller", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("state", Text, nullable=False),
    # Earliest time of the next attempt. The outcome is sent from then on, once the ask is settled.
    Column("due_at", BigInteger, nullable=False),
    Column("leased_until", BigInteger),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # Time of the first attempt.
    Column("tried_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint("state IN ('pending', 'delivered', 'failed')", name="state"),
    UniqueConstraint("ask_id", "url"),
    Index(None, "state", "due_at"),
)

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
