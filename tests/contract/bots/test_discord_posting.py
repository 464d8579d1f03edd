"""Posts of the Discord bot: rate limits, mentions, the pace of changes, links and logs."""

from __future__ import annotations

import logging
from itertools import pairwise

import aiohttp
import pytest

from askback.domain.identity import MessageRef
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.json_values import as_text
from askback_sandbox.model.script import turn

from .discord import OPENAPI, DiscordDesk
from .discord.posts import begun, fruit, platform
from .driver import ADA, BEN, CY, asks, card, form_of, line, one, program_asks, settled, until
from .driver.conversations import PROSE

pytestmark = pytest.mark.only("discord", reason="threads, nonces and codes are Discord's own")


# Rate limits


async def test_a_rate_limit_of_discords_is_waited_for(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    desk.guild.faults.ratelimit("create_message", retry_after=1, via=True)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])):
        await card(desk, talk, "Go?")
    assert "delivery_later" not in desk.journal.actions(), "discord.py waits by itself"


async def test_a_rate_limit_of_the_proxy_in_front_of_discord_is_the_outboxs_to_wait_for(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    desk.guild.faults.ratelimit("create_message", retry_after=1, via=False)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])):
        await card(desk, talk, "Go?")
    assert "delivery_later" in desk.journal.actions()
    assert any("again in 1.0 s" in record.getMessage() for record in desk.journal.records)


async def test_a_long_rate_limit_blocks_nothing_and_is_waited_for_by_the_outbox(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    desk.guild.faults.ratelimit("create_message", retry_after=45, via=True)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])):
        await until(lambda: "delivery_later" in desk.journal.actions(), "it is put off")
        assert any("again in 45.0 s" in record.getMessage() for record in desk.journal.records)


# Mentions


async def test_only_those_who_must_answer_are_mentioned_and_only_when_the_card_is_posted(desk: DiscordDesk) -> None:
    hostile = "@everyone <@1100000000000000202> <@&1100000000000000010> @here"
    desk.model.script(
        turn(f"Listen, {hostile}!", asks(one(f"Which? {hostile}", f"A {hostile}", "B"))),
        turn(f"Done, {hostile}."),
        when="noise",
    )
    talk = await desk.mention(CY, "noise")
    shown = await card(desk, talk, "Which?")
    await desk.press(CY, shown, shown.buttons[1])
    await line(desk, talk, "Done,")
    (ping,) = desk.pings()
    assert ping == f"@{desk.actor(CY).id}"
    told = [post for post in desk.guild.posts.values() if post.author == desk.guild.bot.id and post.mention_everyone]
    assert not told


async def test_a_card_for_several_people_mentions_each_of_them(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"]), ADA, BEN):
        await card(desk, talk, "Go?")
    assert sorted(desk.pings()) == sorted(f"@{desk.actor(person).id}" for person in (ADA, BEN))


# The agent's text


async def test_the_agents_text_is_changed_no_oftener_than_discord_allows(desk: DiscordDesk) -> None:
    desk.model.script(turn(PROSE * 2), when="story")
    desk.model.delay = 0.05
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins here.")
    await until(lambda: any(one.text.count("Here it ends.") == 2 for one in desk.lines(talk)), "it ends", within=30)
    changes = [call.at for call in desk.guild.log if call.operation == "update_message"]
    assert len(changes) >= 2, "it arrives as it is written"
    gaps = [later - earlier for earlier, later in pairwise(changes[:-1])]
    # Calls take different times to arrive, so only the mean of the gaps is certain.
    assert sum(gaps) >= 0.95 * len(gaps), gaps
    assert len([one for one in desk.lines(talk) if one.bot]) == 1


# Discord's OpenAPI document


async def test_every_body_is_held_against_discords_own_document(desk: DiscordDesk) -> None:
    if not OPENAPI.exists():
        pytest.skip("Discord's OpenAPI document is not on this machine")
    talk = await desk.direct(ADA, "hello")
    url = f"{desk.services.discord_api_url}/channels/{talk.channel}/messages"
    headers = {"Authorization": f"Bot {desk.guild.app.token}"}
    wrong = {"content": "x", "sticker_ids": ["1", "2", "3", "4"], "allowed_mentions": {"parse": []}}
    async with aiohttp.ClientSession() as session, session.post(url, json=wrong, headers=headers) as response:
        answer = await response.json()
    assert answer["code"] == 50035
    assert "OPENAPI_DOCUMENT" in str(answer)
    desk.guild.log.pop()


async def test_a_link_to_a_question_leads_to_its_message(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    await desk.say(BEN, "hm", talk)
    said = await line(desk, talk, "once somebody answers")
    assert said.links == (f"https://discord.com/channels/{desk.guild.id}/{talk.thread}/{shown.id}",)
    link = await platform(desk).get_permalink(MessageRef(channel="1100000000000000401", id="5"))
    assert link == "https://discord.com/channels/@me/1100000000000000401/5"


async def test_texts_and_tokens_of_interactions_are_in_no_log(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    desk.guild.faults.add(DiscordFault(kind="drop", operation="create_interaction_response"))
    assert await desk.submit(ADA, "my secret Quince") == ()
    await settled(desk, talk, "Quince")
    formatter = logging.Formatter("%(message)s")
    logged = "\n".join(
        formatter.format(record) for record in desk.journal.records if record.name.startswith("askback.")
    )
    assert "secret" not in logged
    assert not any(done.token in logged for done in desk.guild.done)
    assert as_text(desk.guild.app.token) not in logged
