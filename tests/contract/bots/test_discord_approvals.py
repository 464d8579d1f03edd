"""Several people decide on Discord: the roles at each click, reasons by modals, all answers ephemeral."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from askback.domain.ask_policy import Approval
from askback.domain.card_labels import EVERYTHING
from askback.domain.form import Form
from askback.domain.who import Who
from askback_discord.clicks import NOT_WHOLE
from askback_discord.details_modal import FILE
from askback_sandbox.discord.clicks import Delivery
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.guild import RELEASE

from .discord import DiscordDesk
from .driver import ADA, BEN, CY, card, form_of, line, notice, program_asks, settled, until

pytestmark = pytest.mark.only("discord", reason="roles, callbacks and follow-ups are Discord's")
PROMPT = "Deploy 1.4.2?"


def deploy(**more: Any) -> Form:
    return form_of(PROMPT, ["Yes", "No"], allow_custom=False, **more)


def approval(**more: Any) -> Approval:
    return Approval(refusing=("v1",), **{"quorum": 1, **more})


def give(desk: DiscordDesk, person: str, *roles: str) -> None:
    """Give the person exactly these roles from now on."""
    desk.guild.add_person(replace(desk.guild.people[desk.actor(person).id], roles=roles))


ROLE = Who(groups=(RELEASE.id,))


async def test_a_role_that_was_taken_away_while_the_reason_was_written_does_not_count(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    async with program_asks(desk, talk, deploy(), who=ROLE, approval=approval(reasons="both")) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.open_field(ADA, shown, "No")
        give(desk, ADA)
        (why,) = await desk.submit(ADA, "Not on a Friday")
        assert why.endswith("can answer this.")
        assert desk.kept(ADA) == "Not on a Friday", "what was written is given back"
        assert not asked.task.done()
        give(desk, BEN, RELEASE.id)
        await desk.open_field(BEN, shown, "Yes")
        await desk.submit(BEN, "Tested")
        assert [(vote.by.id, vote.reason) for vote in (await asked.outcome()).votes] == [(desk.actor(BEN).id, "Tested")]


async def test_the_role_that_everybody_has_is_everybody_and_notifies_nobody(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    async with program_asks(desk, talk, deploy(), who=Who(groups=(desk.guild.id,)), approval=approval()) as asked:
        shown = await card(desk, talk, PROMPT)
        assert not [ping for ping in desk.pings() if desk.guild.id in ping]
        await desk.press(BEN, shown, "Yes")
        assert (await asked.outcome()).votes[0].by.id == desk.actor(BEN).id


async def test_a_typed_vote_counts_by_the_roles_of_its_author_now(desk: DiscordDesk) -> None:
    talk = await desk.mention(CY, "hello")
    await until(lambda: any(one.bot for one in desk.lines(talk)), "the bot answers")
    async with program_asks(desk, talk, deploy(), who=ROLE, approval=approval(quorum=2)) as asked:
        await card(desk, talk, PROMPT)
        await desk.say(ADA, "Yes", talk)
        await card(desk, talk, "1 of 2 agree")
        give(desk, ADA)
        await desk.say(ADA, "No", talk)
        give(desk, BEN, RELEASE.id)
        await desk.say(BEN, "Yes", talk)
        await settled(desk, talk, "Approved")
        assert [vote.choice.label for vote in (await asked.outcome()).votes] == ["Yes", "Yes"]


async def test_a_reason_that_comes_after_the_decision_is_given_back(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    rules = approval(reasons="no")
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=rules) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.open_field(BEN, shown, "No")
        await desk.press(ADA, shown, "Yes")
        await settled(desk, talk, "Approved")
        await desk.submit_once(BEN, "Wait, the *migration* is missing")
        await until(lambda: desk.kept(BEN), "the text is given back")
        assert desk.kept(BEN) == "Wait, the *migration* is missing"
        assert not (await asked.outcome()).refused


async def test_a_reason_of_blanks_opens_its_own_field_again(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    async with program_asks(desk, talk, deploy(), ADA, BEN, approval=approval(reasons="no")) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.open_field(BEN, shown, "No")
        assert await desk.submit(BEN, "  ") == ("Please say why: this decision needs a reason.",)
        field = desk.field(BEN)
        assert field is not None
        assert "Why “No”?" in field.text, "of the same option"
        assert await desk.submit(BEN, "Not yet") == ()
        assert (await asked.outcome()).reason == "Not yet"


async def test_a_very_long_text_follows_as_a_file_that_the_ack_does_not_wait_for(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    text = "".join(f"step {n}: *copy* the build to machine {n} ```\n" for n in range(20_000))
    async with program_asks(desk, talk, deploy(details=text), ADA, approval=approval()):
        shown = await card(desk, talk, PROMPT)
        desk.guild.faults.add(DiscordFault(kind="delay", operation="execute_webhook", seconds=3.5))
        clicked = await desk.press(ADA, shown, EVERYTHING)
        assert clicked.acked
        assert clicked.ms is not None
        assert clicked.ms < 3_000
        (content,) = await until(lambda: [*desk.guild.files.values()], "the file is there")
        assert content.decode() == text
        (post,) = [post for post in desk.guild.posts.values() if post.attachments]
        assert post.ephemeral_to == desk.actor(ADA).id
        assert post.attachments[0]["filename"] == FILE


async def test_further_messages_wait_where_discord_says_that_they_are_too_many(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    text = "\n".join(f"step {n}: copy the build to machine {n}" for n in range(120))
    async with program_asks(desk, talk, deploy(details=text), ADA, approval=approval()):
        desk.guild.faults.ratelimit("execute_webhook", retry_after=1)
        await desk.press(ADA, await card(desk, talk, PROMPT), EVERYTHING)
        told = "\n".join(desk.notices(ADA))
        assert [step for step in text.splitlines() if f"{step}\n" not in f"{told}\n"] == []
        assert "notice_lost" not in desk.journal.actions()


async def test_a_reminder_is_a_reply_to_its_card(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    async with program_asks(desk, talk, deploy(), who=ROLE, approval=approval(), remind=[1.0, 3.0, 6.0]):
        shown = await card(desk, talk, PROMPT)
        await line(desk, talk, "Reminder: “Deploy 1.4.2?” still waits for you.")
        post = next(post for post in desk.guild.posts.values() if "Reminder" in post.content)
        assert post.reference == shown.id
        assert post.mention_roles == (RELEASE.id,)


async def test_a_forged_reason_for_an_option_that_is_not_there_changes_nothing(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    async with program_asks(desk, talk, deploy(), ADA, approval=approval(reasons="no")) as asked:
        shown = await card(desk, talk, PROMPT)
        await desk.open_field(ADA, shown, "No")
        opened = desk.guild.modals[desk.actor(ADA).id]
        desk.guild.modals[desk.actor(ADA).id] = replace(
            opened, modal={**opened.modal, "custom_id": f"{opened.custom_id}7"}
        )
        done = await desk.services.discord.clicks.submit(
            ADA, desk.guild.modals[desk.actor(ADA).id].custom_id, {"askback:text": "x"}, Delivery()
        )
        assert done.acked
        await notice(desk, ADA, "There is no such option.")
        assert not asked.task.done()


async def test_whoever_cannot_be_shown_everything_is_told_so(desk: DiscordDesk) -> None:
    talk = await desk.thread(CY, "It is release day.")
    async with program_asks(desk, talk, deploy(details="many words " * 20_000), ADA, approval=approval()):
        desk.guild.faults.fail("execute_webhook", 403, 50013)
        await desk.press(ADA, await card(desk, talk, PROMPT), EVERYTHING)
        await notice(desk, ADA, NOT_WHOLE, count=2)
        assert "notice_lost" in desk.journal.actions()
