"""Posts of the Discord bot appear once, whole and under their own names, whatever gets lost on the way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from askback.domain.card_labels import SHOW_QUESTION
from askback.domain.form import Form, Option, Question
from askback.domain.outgoing_message import OutgoingMessage
from askback_discord import limits
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.values import Post
from askback_sandbox.model.script import turn

from . import discord
from .discord import DiscordDesk
from .discord.posts import begun, cards_created, platform, recorded
from .discord.view import component_text, controls, is_card
from .driver import ADA, Card, Talk, card, form_of, line, program_asks, settled, until

pytestmark = pytest.mark.only("discord", reason="threads, nonces and codes are Discord's own")


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
