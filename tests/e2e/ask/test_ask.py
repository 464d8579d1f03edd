"""`askback ask`, as a pipeline runs it: a process with a platform, alone or in parallel with a bot."""

from __future__ import annotations

from .office import Office


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
        "written": False,
    }
    assert outcome["votes"][0]["choice"] == "Yes"
    await office.settled("Deploy 1.4.2?", "Yes")
    assert "askback: Waiting for anyone until " in asked.err
    assert "askback: Posted the question in #deploys." in asked.err
    assert not asked.err.count("Traceback")


async def test_the_card_is_in_the_language_that_the_command_names_and_the_terminal_stays_english(
    office: Office,
) -> None:
    asked = await office.ask("--language", "de")
    assert "Gefragt: " in office.reads(await office.card())
    await office.click("ada", "Yes")
    await asked.outcome()
    await office.until(lambda: any("Genehmigt" in office.reads(one) for one in office.shown()))
    assert "askback: Answered by " in asked.err


async def test_two_have_to_agree_and_each_vote_is_told(office: Office) -> None:
    asked = await office.ask("--quorum", "2")
    await office.click("ada", "Yes")
    await asked.said(": Yes")
    assert not asked.is_over
    await office.click("ben", "Yes")
    outcome = await asked.outcome()
    assert len({vote["id"] for vote in outcome["votes"]}) == 2
    assert "askback: Waiting for 2 of anyone until " in asked.err


async def test_for_ever_has_no_deadline(office: Office) -> None:
    asked = await office.ask("--wait", "forever")
    await asked.said("Waiting for anyone without a deadline.")
    await office.click("ada", "Yes")
    await asked.outcome()


async def test_it_asks_in_the_thread_of_a_message_and_people_can_answer_in_their_own_words(office: Office) -> None:
    first = await office.ask()
    card = await office.card()
    office.write_in_thread("ben", card, "Where to, then?")
    if office.platform == "slack":
        link = f"https://local.slack.com/archives/{card.channel}/p{card.ts.replace('.', '')}"
    else:
        link = f"https://discord.com/channels/{office.services.discord.guild.id}/{card.channel}/{card.id}"
    options = ("--option", "Staging", "--option", "Production", "--allow-custom")
    asked = await office.start("ask", "Where?", "--to", link, *options, "--who", "@ada")
    inner = await office.card("Where?")
    assert (inner.thread_ts == card.ts) if office.platform == "slack" else (inner.channel == card.id)
    await office.fill("ada", "Something else…", "Canary first", "Where?")
    assert (await asked.outcome())["answer"] == "Canary first"
    await office.click("ada", "Yes")
    await first.outcome()


async def test_without_options_people_write(office: Office) -> None:
    asked = await office.start("ask", "Which version?", "--to", f"{office.platform}:@ada", "--wait", "1s")
    assert (await asked.outcome(4))["answer"] is None
    assert "askback: Waiting for @ada until " in asked.err


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
