"""A command that ends early comes back to its question by its key."""

from __future__ import annotations

import re
import signal
import sqlite3
from contextlib import closing
from importlib.resources import files

import pytest

from .office import Office

BEFORE = """
    DROP INDEX ix_asks_status_attend_at;
    ALTER TABLE asks RENAME COLUMN attend_at TO deadline;
    CREATE INDEX ix_asks_status_deadline ON asks (status, deadline);
    UPDATE askback_version SET version_num = '0003_several_machines';
    UPDATE asks SET policy = json_remove(policy, '$.approval.approving', '$.approval.wider');
"""
"""SQL that restores the tables from before the migration 0004, and the policies of that time."""
_VERSIONS = files("askback.store") / "migrations" / "versions"
_ADDED = "".join(
    one.read_text(encoding="utf-8")
    for one in sorted(_VERSIONS.iterdir(), key=lambda one: one.name)
    if one.name.endswith(".py") and one.name >= "0005"
)
BEFORE += "".join(
    [
        *(f"DROP INDEX {name};" for name in re.findall(r'create_index\("(\w+)"', _ADDED)),
        *(
            f"ALTER TABLE {one} DROP COLUMN {of};"
            for one, of in re.findall(r'add_column\("(\w+)", sa.Column\("(\w+)"', _ADDED)
        ),
        *(f"DROP TABLE {name};" for name in re.findall(r'create_table\(\s*"(\w+)"', _ADDED)),
    ]
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_leaves_it_open_and_says_how_to_come_back(office: Office, number: int, code: int) -> None:
    asked = await office.ask()
    await office.card()
    asked.signal(number)
    said = await asked.refused(code)
    key = said.rsplit("askback ask --key ", 1)[1].strip()
    assert "The question stays open." in said
    again = await office.start("ask", "--key", key)
    await office.click("ada", "Yes")
    assert (await again.outcome())["key"] == key
    once_more = await office.start("ask", "--key", key)
    assert (await once_more.outcome())["answer"] == "Yes"


async def test_after_a_kill_the_same_key_finds_the_same_question(office: Office) -> None:
    asked = await office.ask("--key", "k")
    card = await office.card()
    await asked.kill()
    again = await office.ask("--key", "k")
    await again.said("This question was asked before")
    await office.click("ada", "Yes")
    assert (await again.outcome())["answer"] == "Yes"
    assert len([one for one in office.shown() if "Deploy 1.4.2?" in office.reads(one)]) == 1, card


async def test_by_a_key_that_is_taken_nothing_else_is_asked(office: Office) -> None:
    asked = await office.ask("--key", "k")
    await office.click("ada", "Yes")
    await asked.outcome()
    other = await office.start("ask", "Deploy 1.5?", "--to", f"{office.platform}:#deploys", "--key", "k")
    assert "belongs to another question ('Deploy 1.4.2?'" in await other.refused()
    stricter = await office.ask("--key", "k", "--quorum", "2")
    assert "this question was asked under other rules" in await stricter.refused()


@pytest.mark.parametrize("over", [False, True], ids=["open", "over"])
async def test_by_a_key_that_is_taken_nobody_else_is_asked_and_in_no_other_place(office: Office, over: bool) -> None:
    later = ("--escalate", "1h=@ben")
    asked = await office.ask("--key", "k", *later, "--requested-by", "@cy", approvers="@ada")
    if over:
        await office.click("ada", "Yes")
        await asked.outcome()
    else:
        await office.card()
        await asked.kill()
    same = (*later, "--requested-by", "@cy")
    for to, approvers, more, words in (
        ("#general", "@ada", same, "in another place (…) than --to names now"),
        ("#deploys", "anyone", same, "of other people (ada (U"),
        ("#deploys", "@ada", same[2:], "of other people (ada (U"),
        ("#deploys", "@ada", later, "for other requesters (cy (U"),
    ):
        other = await office.ask("--key", "k", *more, to=to, approvers=approvers)
        said = await other.refused()
        assert all(part in said for part in words.replace("(U", "(").split("…"))
        assert "Give the new question another key" in said
    # The same people by other names, and after those of the escalation were asked.
    again = await office.ask("--key", "k", "--requested-by", "@cy", "--approvers", "@ben", approvers="@ada")
    if not over:
        await again.said("This question was asked before")
        await office.click("ada", "Yes")
    assert (await again.outcome())["answer"] == "Yes"
    assert len([one for one in office.shown() if "Deploy 1.4.2?" in office.reads(one)]) == 1


async def test_the_first_wait_stays_and_another_one_is_told_to_change_nothing(office: Office) -> None:
    asked = await office.ask("--key", "k", "--wait", "forever")
    await office.card()
    await asked.kill()
    again = await office.ask("--key", "k", "--wait", "1s")
    await again.said("Waiting for anyone without a deadline.")
    assert "The question keeps the --wait with which it was first asked: the new value has no effect." in again.err
    await office.click("ada", "Yes")
    assert (await again.outcome())["answer"] == "Yes"
    once_more = await office.ask("--key", "k", "--wait", "1s")
    assert (await once_more.outcome())["answer"] == "Yes"
    assert "--wait" not in once_more.err, "it is over: there is nothing to wait for"


async def test_with_the_same_wait_nothing_is_said_of_it(office: Office) -> None:
    asked = await office.ask("--key", "k")
    await office.card()
    await asked.kill()
    again = await office.ask("--key", "k")
    await again.said("This question was asked before")
    assert "--wait" not in again.err
    await office.click("ada", "Yes")
    await again.outcome()


async def test_where_a_name_cannot_be_looked_up_again_the_key_alone_leads_back(office: Office) -> None:
    asked = await office.ask("--key", "k")
    await office.click("ada", "Yes")
    await asked.outcome()
    again = await office.ask("--key", "k", approvers="@gone-from-here")
    said = await again.refused()
    assert "To wait for it without looking up the names, give only its key." in said
    assert "The bot sees no person or " in said
    alone = await office.start("ask", "--key", "k")
    assert (await alone.outcome())["answer"] == "Yes"


async def test_who_has_left_a_group_since_it_was_asked_keeps_nobody_from_its_outcome(office: Office) -> None:
    office.put_group("pair", "ada", "ben")
    asked = await office.ask("--key", "k", "--quorum", "2", approvers="@pair")
    for person in ("ada", "ben"):
        await office.click(person, "Yes")
    await asked.outcome()
    office.take_from_group("pair", "ben")
    again = await office.ask("--key", "k", "--quorum", "2", approvers="@pair")
    assert (await again.outcome())["answer"] == "Yes"


async def test_a_key_that_is_not_known_needs_a_question(office: Office) -> None:
    asked = await office.start("ask", "--key", "nothing")
    assert "This database has no question with the key 'nothing'" in await asked.refused()
    asked = await office.start("ask")
    assert "The question is missing: give one, a form (--form), or the key" in await asked.refused()


async def test_on_a_database_of_before_an_upgrade_a_key_alone_says_so_and_with_its_question_finds_it(
    office: Office,
) -> None:
    asked = await office.ask("--key", "k")
    await office.card()
    await asked.kill()
    with closing(sqlite3.connect(office.database)) as database:
        database.executescript(BEFORE)
    alone = await office.start("ask", "--key", "k")
    assert "An older askback wrote this database (version 0003_several_machines)" in await alone.refused()
    again = await office.ask("--key", "k")
    await again.said("This question was asked before")
    await office.click("ada", "Yes")
    assert (await again.outcome())["answer"] == "Yes"
