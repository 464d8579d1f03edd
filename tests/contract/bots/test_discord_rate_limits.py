"""Discord's rate limits: a call waits only if no requests are left, and people are notified of a long wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from askback_sandbox.discord.values import Window
from askback_sandbox.model.script import turn
from support.clocks import DrivenTime
from support.engine import eventually

from . import discord
from .driver import ADA, GENERAL, line, until

CREATE_THREAD = "create_thread_from_message"
MINUTES = 295.0


async def test_threads_are_started_while_requests_are_left_in_a_window_of_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch) as desk:
        desk.guild.windows[CREATE_THREAD] = Window(50, MINUTES, refuses=True)
        for number in range(3):
            desk.model.script(turn(f"Answer {number}."), when=f"question {number}")
            talk = await desk.mention(ADA, f"question {number}")
            await line(desk, talk, f"Answer {number}.")
        assert "no_thread" not in desk.journal.actions()


async def test_where_no_thread_may_be_started_for_minutes_people_hear_so_and_are_answered_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driven: DrivenTime
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch) as desk:
        desk.guild.windows[CREATE_THREAD] = Window(1, MINUTES, refuses=True)
        desk.model.script(turn("One."), when="first")
        desk.model.script(turn("Two."), when="second")
        await line(desk, await desk.mention(ADA, "first"), "One.")
        talk = await desk.mention(ADA, "second")
        told = await until(lambda: replies(desk), "people hear of the wait")
        (sentence,) = told
        assert sentence.startswith("Discord does not let me start a thread here for about 5 minutes.")

        async def put_off() -> bool:
            due = await desk.host.store.get_time_until_due()
            return due is not None and due.total_seconds() > MINUTES / 2

        await eventually(put_off)
        driven.advance(MINUTES)
        desk.host.wake()
        await line(desk, talk, "Two.")
        assert [one.text for one in desk.lines(talk) if one.bot] == ["Two."]
        assert refused(desk) <= 6, "it is not tried again and again"


def replies(desk: Any) -> list[str]:
    """Return the bot's messages in the channel itself."""
    channel = desk.guild.place(GENERAL).id
    return [post.content for post in desk.guild.history(channel) if post.author == desk.guild.bot.id]


def refused(desk: Any) -> int:
    return sum(call.operation == CREATE_THREAD and call.status == 429 for call in desk.guild.log)
