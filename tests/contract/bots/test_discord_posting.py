"""Posts and changes of the Discord bot: once, named, without unwanted pings, in threads that are archived or gone."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest

from askback.domain.ask import Ask
from askback.domain.card import SHOW_QUESTION
from askback.domain.form import Form, Option, Question
from askback.domain.identity import MessageRef
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.who import Who
from askback.ports.platform import Messages
from askback_discord import limits
from askback_discord.posting import DiscordPlatform
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.values import MEMBER_PERMISSIONS, Permission, Post
from askback_sandbox.json_values import as_object, as_text
from askback_sandbox.model.script import turn

from . import discord
from .discord import OPENAPI, DiscordDesk
from .discord.view import component_text, controls, is_card
from .driver import (
    ADA,
    BEN,
    CY,
    Card,
    Talk,
    asks,
    card,
    form_of,
    line,
    one,
    program_asks,
    settled,
    turn_of,
    until,
)

pytestmark = pytest.mark.only("discord", reason="threads, nonces and codes are Discord's own")
PROSE = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."


async def begun(desk: DiscordDesk) -> Talk:
    """Return a conversation without any pending work."""
    desk.model.script(turn("I am listening."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "I am listening.")
    return talk


async def fruit(desk: DiscordDesk) -> tuple[Talk, Card]:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


def platform(desk: DiscordDesk) -> DiscordPlatform:
    found = desk.host.platforms["discord"]
    assert isinstance(found, DiscordPlatform)
    return found


async def recorded(desk: DiscordDesk) -> None:
    """Wait until the bot has stored the location of the visible cards."""

    async def unwanted(ask: Ask) -> Messages:
        raise AssertionError(f"{ask.id} is not drawn")

    for ask in await desk.host.manager.list_open_asks():
        await desk.host.manager.cards.draw(ask.id, unwanted)


def creates(desk: DiscordDesk) -> list[dict[str, object]]:
    """Return the bodies of messages that the bot asked Discord to create."""
    return [dict(call.body) for call in desk.guild.log if call.operation == "create_message"]


def cards_created(desk: DiscordDesk) -> list[dict[str, object]]:
    """Return the bodies of cards, including their parts."""
    return [body for body in creates(desk) if int(str(body.get("flags") or 0)) & limits.COMPONENTS_V2]


# Archived threads


async def test_a_thread_that_is_archived_while_a_question_is_open_is_opened_again(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.services.discord.posting.change_place(discord.archived(await desk.room(talk)))
    await until(lambda: not desk.guild.places[str(talk.thread)].archived, "it is opened")
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")


async def test_a_thread_in_which_nobody_is_asked_stays_archived(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    await desk.press(ADA, shown, "Pear")
    await line(desk, talk, "So be it, then.")
    desk.services.discord.posting.change_place(discord.archived(await desk.room(talk)))
    other, _ = await fruit(desk)
    desk.services.discord.posting.change_place(discord.archived(await desk.room(other)))
    await until(lambda: not desk.guild.places[str(other.thread)].archived, "the other one is opened")
    assert desk.guild.places[str(talk.thread)].archived


async def test_a_thread_that_was_archived_while_the_bot_was_away_is_opened_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        async with desk.bot():
            talk, shown = await fruit(desk)
        desk.guild.put_place(discord.archived(await desk.room(talk)))
        async with desk.bot():
            await until(lambda: not desk.guild.places[str(talk.thread)].archived, "it is opened")
            await desk.press(ADA, shown, "Pear")
            await settled(desk, talk, "Pear")
    assert not desk.journal.unexpected()


async def test_a_change_in_an_archived_thread_opens_it_first_50083(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        shown = await card(desk, talk, "Go?")
        thread = await desk.room(talk)
        desk.guild.put_place(discord.archived(thread))
        earlier = desk.operations().count("update_message")
        (ask,) = await desk.host.manager.list_open_asks()
        assert await desk.host.manager.cancel(ask.id)
        over = await settled(desk, talk, "Cancelled")
        assert over.id == shown.id
        assert (await asking.outcome()).status == "cancelled"
    codes = [as_object(call.answer).get("code") for call in desk.guild.log if call.operation == "update_message"]
    first, *others = codes[earlier:]
    assert (first, set(others)) == (50083, {None})
    assert not desk.guild.places[thread.id].archived


async def test_a_thread_that_may_not_be_opened_is_named_and_ends_nothing(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        await card(desk, talk, "Go?")
        desk.guild.put_place(replace(discord.archived(await desk.room(talk)), locked=True))
        (ask,) = await desk.host.manager.list_open_asks()
        await desk.host.manager.cancel(ask.id)
        assert (await asking.outcome()).status == "cancelled"
        await until(lambda: "delivery_rejected" in desk.journal.actions(), "it is named")


# Gone


async def test_a_deleted_thread_ends_its_questions_and_the_agent_hears_why(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    talk, _ = await fruit(desk)
    desk.services.discord.posting.remove_place(await desk.room(talk))
    newest = await turn_of(desk, "fruit", 2)
    assert "deleted" in newest.result
    await until(lambda: "delivery_rejected" in desk.journal.actions(), "the text has no place either")
    assert desk.operations().count("create_thread_from_message") == 1, "no thread is begun anew"


async def test_a_deleted_channel_ends_the_questions_in_its_threads(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        await card(desk, talk, "Go?")
        desk.guild.places.pop(str(talk.thread))
        desk.services.discord.posting.remove_place(desk.guild.places[talk.channel])
        outcome = await asking.outcome()
        assert outcome.status == "undeliverable"
        assert "deleted" in str(outcome.reason)


async def test_a_thread_that_was_deleted_while_the_bot_was_away_ends_its_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.journal.announce("delivery_rejected")
        async with desk.bot():
            talk, _ = await fruit(desk)
            await recorded(desk)
        desk.services.discord.posting.remove_place(await desk.room(talk))
        async with desk.bot():
            assert "deleted" in (await turn_of(desk, "fruit", 2)).result
    assert not desk.journal.unexpected()


async def test_a_channel_that_never_was_fails_the_ask_at_once_with_the_reason(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    place = desk.place(Talk("1100000000000000301", None)).evolve(channel="1100000000000000999", thread=None)
    began = time.monotonic()
    outcome = await desk.host.manager.ask(form_of("Go?", ["Yes", "No"]), to=place, who=Who.from_people(desk.actor(ADA)))
    assert outcome.status == "undeliverable"
    assert "does not exist" in str(outcome.reason)
    assert time.monotonic() - began < 30, "it is not tried for the minute that a passing refusal is"


async def test_a_message_that_a_thread_was_to_start_from_and_is_gone_fails_the_ask(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    place = desk.place(Talk("1100000000000000301", "1100000000000000998"))
    outcome = await desk.host.manager.ask(form_of("Go?", ["Yes", "No"]), to=place, who=Who.from_people(desk.actor(ADA)))
    assert outcome.status == "undeliverable"
    assert "was deleted" in str(outcome.reason)


async def test_a_deleted_card_is_posted_anew_by_another_name(desk: DiscordDesk) -> None:
    """With the same nonce, Discord would return the deleted message."""
    talk = await begun(desk)
    option = (Option(value="a", label="Rome"), Option(value="b", label="Oslo"))
    form = Form(questions=tuple(Question(id=name, prompt=f"{name}?", options=option) for name in ("One", "Two")))
    async with program_asks(desk, talk, form):
        shown = await card(desk, talk, "One?")
        await desk.open_field(ADA, shown)
        await desk.delete(shown)
        assert await desk.submit(ADA, "Lima") == ()
        await card(desk, talk, "Two?")
    first, second = cards_created(desk)
    assert first["nonce"] != second["nonce"]


# Permissions


async def test_without_the_permission_to_send_the_tool_call_fails_at_once_with_the_reason_50013(
    desk: DiscordDesk,
) -> None:
    desk.journal.announce("delivery_rejected")
    general = desk.guild.place("general")
    assert general is not None
    desk.guild.put_place(replace(general, denied=int(Permission.SEND_MESSAGES_IN_THREADS)))
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    await desk.mention(ADA, "fruit, please")
    result = (await turn_of(desk, "fruit", 2)).result
    assert "I lack one of these permissions there" in result
    assert "Send Messages" in result


async def test_without_the_permission_to_begin_threads_the_tool_call_fails_with_the_reason(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    general = desk.guild.place("general")
    assert general is not None
    desk.guild.put_place(replace(general, denied=int(Permission.CREATE_PUBLIC_THREADS)))
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    await desk.mention(ADA, "fruit, please")
    assert "Create Public Threads" in (await turn_of(desk, "fruit", 2)).result


async def test_a_channel_that_the_bot_does_not_see_fails_the_ask_with_the_reason(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    hidden = desk.guild.place("private-room")
    assert hidden is not None
    assert hidden.denied == int(MEMBER_PERMISSIONS)
    outcome = await desk.host.manager.ask(
        form_of("Go?", ["Yes", "No"]), to=desk.place(Talk(hidden.id, None)), who=Who.from_people(desk.actor(ADA))
    )
    assert outcome.status == "undeliverable"
    assert "View Channel" in str(outcome.reason)


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


# Once


async def test_the_name_of_a_message_is_its_asks_and_its_parts(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    long = tuple(Option(value=f"v{n}", label=f"Label {n}", description="word " * 150) for n in range(12))
    form = Form(questions=(Question(id="q", prompt="Which?", options=long),))
    async with program_asks(desk, talk, form):
        await card(desk, talk, "Which?")
        (ask,) = await desk.host.manager.list_open_asks()
        await recorded(desk)
        names = [str(body["nonce"]) for body in cards_created(desk)]
        assert len(names) >= 3
        assert len(set(names)) == len(names)
        assert all(name.startswith(ask.id) and len(name) <= limits.NONCE for name in names)


async def test_a_card_of_several_messages_is_posted_whole_and_settled_in_its_first_message(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    long = tuple(Option(value=f"v{n}", label=f"Label {n}", description=f"about {n} " * 80) for n in range(12))
    form = Form(questions=(Question(id="q", prompt="Which?", options=long),))
    async with program_asks(desk, talk, form) as asking:
        shown = await card(desk, talk, "Which?")
        parts = await until(lambda: _posts_of(desk, talk) if len(_posts_of(desk, talk)) >= 3 else None, "all parts")
        shown = desk.newest(shown)
        assert all(f"{n}. Label {n - 1}" in shown.text for n in range(1, 13))
        assert "Continues in the next message" in shown.text
        assert [bool(control) for control in map(_has_controls, parts)] == [True] + [False] * (len(parts) - 1)
        await desk.pick(ADA, shown, "Label 11")
        assert (await asking.outcome())["q"].labels == ("Label 11",)
    over = await settled(desk, talk, "✓ Label 11")
    assert over.buttons == (SHOW_QUESTION,)
    await until(lambda: [post.id for post in _posts_of(desk, talk)] == [parts[0].id], "the others are deleted")


def _posts_of(desk: DiscordDesk, talk: Talk) -> list[Post]:
    return [post for post in desk._posts(talk) if is_card(post)]


def _has_controls(post: Post) -> bool:
    return bool(list(controls(post.components)))


async def test_a_post_whose_answer_got_lost_is_found_by_its_controls(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    desk.lose_answer("post", times=2)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        shown = await card(desk, talk, "Go?")
        await until(lambda: "list_messages" in desk.operations(), "it is looked up")
        await desk.press(ADA, shown, "Yes")
        await asking.outcome()
    assert len(desk.cards(talk)) == 1


async def test_the_later_parts_of_a_card_are_not_doubled_by_a_lost_answer(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    long = tuple(Option(value=f"v{n}", label=f"Label {n}", description="word " * 150) for n in range(12))
    desk.guild.faults.add(DiscordFault(kind="delay", operation="create_message", seconds=0.2, times=3))
    form = Form(questions=(Question(id="q", prompt="Which?", options=long),))
    async with program_asks(desk, talk, form):
        await until(lambda: len(_posts_of(desk, talk)) == 1, "the first part stands there")
        desk.lose_answer("post")
        await until(lambda: "delivery_later" in desk.journal.actions(), "it is tried again")
        shown = await until(lambda: _complete(desk, talk), "all is there")
        await until(lambda: len(_posts_of(desk, talk)) >= 3, "all parts")
        texts = [component_text(post.components) for post in _posts_of(desk, talk)]
        assert len(set(texts)) == len(texts)
        assert shown.text.count("12. Label 11") == 1


def _complete(desk: DiscordDesk, talk: Talk) -> Card | None:
    found = desk.cards(talk)
    return found[0] if found and "12. Label 11" in found[0].text else None


async def test_a_text_that_is_posted_again_with_other_words_stands_there_once_with_the_newer(
    desk: DiscordDesk,
) -> None:
    talk = await desk.direct(ADA, "hello")
    place = desk.place(talk)
    before = len([one for one in desk.lines(talk) if one.bot])
    first = await platform(desk).write_text(place, "It begins", (), "say:x")
    again = await platform(desk).write_text(place, "It begins, and it ends.", (), "say:x")
    assert first == again
    assert [one.text for one in desk.lines(talk) if one.bot][before:][:1] == ["It begins, and it ends."]


async def test_a_text_that_became_shorter_leaves_nothing_of_the_longer_one(desk: DiscordDesk) -> None:
    talk = await desk.direct(ADA, "hello")
    place = desk.place(talk)
    long = await platform(desk).write_text(place, "word " * 900, (), "say:y")
    assert len(long) == 3
    short = await platform(desk).write_text(place, "Just this.", long, "say:y")
    assert short == long[:1]
    assert not {message.id for message in long[1:]} & set(desk.guild.posts)


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


async def test_a_text_with_the_words_of_the_one_before_is_posted_too(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discord tells no names of messages, and the process that knew the last text was killed."""

    class KilledError(Exception):
        """Ends a bot without waiting for anything."""

    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.script(turn("Hello."), when="hello")

        def said() -> int:
            return [one.text for one in desk.lines(talk)].count("The same.")

        with suppress(KilledError):
            async with desk.bot():
                talk = await desk.mention(ADA, "hello")
                await line(desk, talk, "Hello.")
                store = desk.host.store
                conversation = await store.find_conversation(desk.place(talk))
                assert conversation is not None

                async def enqueue(target: str) -> None:
                    text = OutgoingMessage(target=target, text="The same.", markdown=False)
                    await store.enqueue_message(text, conversation.id)

                await enqueue("first")
                await until(lambda: said() == 1, "the first one is posted")
                while await store.get_time_until_due() is not None:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                desk.cut("post")
                await enqueue("second")
                await until(lambda: "delivery_later" in desk.journal.actions(), "the second one is tried")
                raise KilledError
        async with desk.bot():
            await until(lambda: said() == 2, "the second one is posted")
