"""`askback ask`, as a pipeline runs it: a process with a platform, alone or in parallel with a bot."""

from __future__ import annotations

import re
import signal
import sqlite3
from contextlib import closing
from importlib.resources import files

import pytest

from askback.store.sqlite.lockfile import WorkerLock
from support.processes import Launcher

from .office import OFFICES, OPTIONS, Office

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
    (_VERSIONS / name).read_text(encoding="utf-8")
    for name in (
        "0005_trust.py",
        "0006_contested_drawings.py",
        "0007_unshown_texts.py",
        "0008_confirmed_messages.py",
        "0009_hand_overs.py",
        "0010_languages.py",
        "0011_files.py",
        "0012_waits.py",
        "0013_webhooks.py",
    )
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


async def test_by_itself_it_asks_waits_and_prints_the_outcome(office: Office) -> None:
    asked = await office.ask("--key", "1.4.2")
    await office.click("ada", "Yes")
    outcome = await asked.outcome()
    assert outcome == {
        "id": outcome["id"],
        "key": "1.4.2",
        "status": "answered",
        "approved": True,
        "answer": "Yes",
        "answers": None,
        "by": outcome["by"],
        "by_id": outcome["by_id"],
        "reason": None,
        "votes": outcome["votes"],
        "at": outcome["at"],
        "fallback": None,
        "halted": False,
        "note": None,
        "notes": None,
    }
    assert outcome["votes"][0]["choice"] == "Yes"
    await office.settled("Deploy 1.4.2?", "Yes")
    assert "askback: Waiting for anyone until " in asked.err
    assert "askback: Posted the question in #deploys." in asked.err
    assert not asked.err.count("Traceback")


async def test_beside_a_bot_it_only_writes_and_the_bot_asks(office: Office) -> None:
    await office.bot()
    # With these settings it could not open its own connection.
    office.settings = {"SLACK_APP_TOKEN": "xapp-wrong", "ASKBACK_DISCORD_GATEWAY_URL": "ws://127.0.0.1:9/"}
    asked = await office.ask()
    await office.click("ben", "Yes")
    assert (await asked.outcome())["answer"] == "Yes"
    await office.settled("Deploy 1.4.2?", "Yes")


async def test_the_card_is_in_the_language_that_the_command_names_and_the_terminal_stays_english(
    office: Office,
) -> None:
    asked = await office.ask("--language", "de")
    assert "Gefragt: " in office.reads(await office.card())
    await office.click("ada", "Yes")
    await asked.outcome()
    await office.until(lambda: any("Genehmigt" in office.reads(one) for one in office.shown()))
    assert "askback: Answered by " in asked.err


async def test_a_no_ends_with_3(office: Office) -> None:
    asked = await office.ask()
    await office.click("ada", "No")
    outcome = await asked.outcome(3)
    assert (outcome["status"], outcome["approved"], outcome["answer"]) == ("refused", False, "No")
    assert "askback: Refused by " in asked.err


async def test_what_is_neither_a_yes_nor_a_no_is_an_answer_that_approves_nothing_and_ends_with_6(
    office: Office,
) -> None:
    asked = await office.ask("--option", "Later")
    await office.click("ada", "Later")
    outcome = await asked.outcome(6)
    assert (outcome["status"], outcome["approved"], outcome["answer"]) == ("answered", False, "Later")
    shown = await office.settled("Deploy 1.4.2?", "Decided: “Later”")
    assert "Approved" not in shown
    assert "askback: Answered by " in asked.err


@pytest.mark.parametrize("no", [(), ("--option", "No")], ids=["alone", "beside a no"])
async def test_where_no_option_is_a_yes_every_answer_ends_with_0_and_approves_nothing(
    office: Office, no: tuple[str, ...]
) -> None:
    options = ("--option", "Staging", "--option", "Production", *no)
    to = f"{office.platform}:#deploys"
    asked = await office.start("ask", "Where to?", "--to", to, *options, "--approvers", "anyone")
    await office.click("ada", "Staging", "Where to?")
    outcome = await asked.outcome()
    assert (outcome["status"], outcome["approved"], outcome["answer"]) == ("answered", None, "Staging")
    told = (
        "askback: No option is a “yes”, so Staging and Production all exit with 0. Name those that approve with --yes"
    )
    assert (told in asked.err) == bool(no)


async def test_when_nobody_answers_it_ends_with_4(office: Office) -> None:
    asked = await office.ask("--wait", "1s")
    assert (await asked.outcome(4))["status"] == "timed_out"


async def test_what_cannot_be_delivered_ends_with_5(office: Office) -> None:
    office.refuse_posts()
    asked = await office.ask()
    outcome = await asked.outcome(5)
    assert outcome["status"] == "undeliverable"
    assert outcome["reason"]


async def test_two_have_to_agree_and_each_vote_is_told(office: Office) -> None:
    asked = await office.ask("--quorum", "2")
    await office.click("ada", "Yes")
    await asked.said(": Yes")
    assert not asked.is_over
    await office.click("ben", "Yes")
    outcome = await asked.outcome()
    assert len({vote["id"] for vote in outcome["votes"]}) == 2
    assert "askback: Waiting for 2 of anyone until " in asked.err


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


async def test_two_at_once_on_one_file_both_come_to_their_end(office: Office) -> None:
    first = await office.ask("--key", "first")
    await office.card()
    second = await office.start(
        "ask", "Deploy 1.5?", "--to", f"{office.platform}:@ben", "--option", "Go", "--key", "second"
    )
    await office.click("ada", "Yes")
    assert (await first.outcome())["answer"] == "Yes"
    # The first has ended, and it was the one that served the second.
    await office.click("ben", "Go", "Deploy 1.5?")
    assert (await second.outcome())["answer"] == "Go"


async def test_two_on_different_platforms_on_one_file_both_come_to_their_end(
    office: Office, launcher: Launcher
) -> None:
    both = office.services.environment
    (other,) = set(OFFICES) - {office.platform}
    there = OFFICES[other](office.services, office.folder, launcher)
    first = await office.start(
        "ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", *OPTIONS, "--approvers", "anyone", **both
    )
    await office.card()
    second = await office.start("ask", "Deploy 1.5?", "--to", f"{other}:@ben", "--option", "Go", **both)
    await there.card("Deploy 1.5?")
    await office.click("ada", "Yes")
    assert (await first.outcome())["answer"] == "Yes"
    # The first has ended, and it was the one that served both platforms.
    await there.click("ben", "Go", "Deploy 1.5?")
    assert (await second.outcome())["answer"] == "Go"


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


async def test_when_the_bot_beside_it_ends_it_goes_on_by_itself(office: Office) -> None:
    bot = await office.bot()
    asked = await office.ask()
    await office.card()
    bot.signal(signal.SIGTERM)
    await bot.ended()
    await asked.said("The bot has stopped.")
    await office.until(lambda: office.connections == 1)
    await office.click("ada", "Yes")
    assert (await asked.outcome())["answer"] == "Yes"


async def test_a_bot_that_is_started_meanwhile_is_told_what_to_do(office: Office) -> None:
    asked = await office.ask()
    await office.card()
    bot = await office.start(office.platform, ANTHROPIC_API_KEY="sk-local")
    code, _ = await bot.ended()
    assert code == 2
    assert "`askback ask` uses this database until its question is answered" in bot.err
    assert "Stop it with Ctrl-C; its question stays open." in bot.err
    await office.click("ada", "Yes")
    await asked.outcome()


async def test_for_ever_has_no_deadline(office: Office) -> None:
    asked = await office.ask("--wait", "forever")
    await asked.said("Waiting for anyone without a deadline.")
    await office.click("ada", "Yes")
    await asked.outcome()


async def test_without_options_people_write(office: Office) -> None:
    asked = await office.start("ask", "Which version?", "--to", f"{office.platform}:@ada", "--wait", "1s")
    assert (await asked.outcome(4))["answer"] is None
    assert "askback: Waiting for @ada until " in asked.err


@pytest.mark.parametrize(
    ("to", "approvers", "more", "words"),
    [
        ("#deploy", "anyone", (), "The bot sees no channel '#deploy'. Did you mean #deploys?"),
        ("#deploys", "@relase", (), "Did you mean @release?"),
        ("#deploys", "@adda", (), "Did you mean @ada?"),
        ("@bem", "anyone", (), "Did you mean @ben?"),
        ("#deploys", "@release", ("--quorum", "2"), "2 people have to agree, but only 1 person is in @release"),
        (
            "@ada",
            "@ben",
            (),
            "the people who decide cannot see this direct message. Use --to to ask in a channel that they can see",
        ),
        ("@ben", "@release", (), " direct message"),
        ("@ada", "anyone", ("--quorum", "2"), "2 people decide together, and only one sees this direct message"),
        ("#deploys", "@ada", ("--quorum", "2"), "but only 1 person is in @ada"),
        ("#deploys", "@release", ("--requested-by", "@ada"), ""),
        ("#deploys", "@ada", ("--requested-by", "@ada"), "but nobody is in @ada (requesters do not count)"),
        ("#deploys", "{platform}:@ada", ("--quorum", "2"), "but only 1 person is in @ada"),
        ("#deploys", "anyone", ("--no", "Maybe"), "there is no such option. The options are Yes, No."),
        ("#deploys", "anyone", ("--wait", "soon"), "--wait soon is not a duration"),
        ("#deploys", "anyone", ("--escalate", "@leads"), "such as --escalate 1h=@leads"),
        ("#deploys", "anyone", ("--option", "Yes"), "is given more than once"),
    ],
)
async def test_what_is_asked_wrongly_ends_with_2(
    office: Office, to: str, approvers: str, more: tuple[str, ...], words: str
) -> None:
    if not words:
        if office.platform == "discord":
            return  # Discord gives the number of members of a role, not their names
        words = "but nobody is in @release (requesters do not count)"
    asked = await office.ask(*more, to=to, approvers=approvers.format(platform=office.platform))
    assert words in await asked.refused()
    assert not office.shown()


async def test_a_question_that_nobody_could_answer_is_not_asked(office: Office) -> None:
    office.put_group("nobody")
    asked = await office.start("ask", "Which version?", "--to", f"{office.platform}:#deploys", "--who", "@nobody")
    assert "There is nobody in @nobody: name other people or groups who may answer." in await asked.refused()
    assert not office.shown()


async def test_details_are_read_from_a_file_and_shown_to_who_wants_them(office: Office) -> None:
    (office.folder / "diff.txt").write_text("- old\n+ new\n", encoding="utf-8")
    asked = await office.ask("--details", "diff.txt", "--reasons", "no")
    card = await office.card()
    assert len(office.buttons(card)) > 2
    await office.click("ada", "Yes")
    await asked.outcome()
    asked = await office.ask("--details", "nothing.txt")
    assert "--details nothing.txt cannot be read" in await asked.refused()


async def test_beside_a_bot_of_another_platform_on_one_file_it_says_what_to_do(
    office: Office, launcher: Launcher
) -> None:
    (other,) = set(OFFICES) - {office.platform}
    there = OFFICES[other](office.services, office.folder, launcher)
    bot = await there.bot()
    asked = await office.ask()
    said = await asked.refused()
    assert f"serves {other}, not {office.platform}" in said
    assert "`askback run`" in said
    assert not bot.is_over
    assert not office.shown()
    await there.close()


async def test_beside_a_program_that_runs_no_bot_on_one_file_it_waits_for_nobody_and_says_so(office: Office) -> None:
    with WorkerLock(office.database, "a program", frozenset()):
        asked = await office.ask()
        assert (
            f"Another process uses this SQLite database and runs no bot. Let that process run the {office.platform}"
            in await asked.refused()
        )
