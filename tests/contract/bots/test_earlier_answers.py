"""The agent gets a person's earlier answers to the same question, if the operator wants it."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback_sandbox.model.script import turn

from .driver import ADA, BEN, Desk, PlatformTests, asks, card, line, one, settled, turn_of

NOTE = "Earlier answers by"


async def answer(
    desk: Desk, person: str, option: str, key: str, *, question: str = "Where to?", direct: bool = False
) -> list[str]:
    """Let a person begin a conversation in which they choose an option. Return what the model read with the result."""
    desk.model.script(turn(asks(one(question, "Staging", "Production"))), turn(f"Done with {key}."), when=key)
    talk = await (desk.direct if direct else desk.mention)(person, f"{key}, please")
    await desk.press(person, await card(desk, talk), option)
    await settled(desk, talk, option)
    await line(desk, talk, f"Done with {key}.")
    return (await turn_of(desk, key, 2)).texts


async def test_an_answer_comes_with_the_same_persons_earlier_ones_newest_first(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_EARLIER_ANSWERS", "2")
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        assert await answer(desk, ADA, "Staging", "one") == []
        assert await answer(desk, BEN, "Production", "two") == [], "those of others are none of theirs"
        (note,) = await answer(desk, ADA, "Production", "three")
        assert note.startswith(f"[{NOTE} ada to “Where to?”"), note
        assert [row.partition(": ")[2] for row in note.splitlines()[1:]] == ["“Staging”]"]
        (note,) = await answer(desk, ADA, "Staging", "four")
        assert [row.partition(": ")[2] for row in note.splitlines()[1:]] == ["“Production”", "“Staging”]"]
        (note,) = await answer(desk, ADA, "Staging", "five")
        assert len(note.splitlines()) == 3, "there are as many as the setting says"


async def test_only_answers_to_the_same_question_in_the_same_channel_come_with_it(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_EARLIER_ANSWERS", "9")
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        assert await answer(desk, ADA, "Staging", "one", direct=True) == []
        assert await answer(desk, ADA, "Staging", "two") == [], "others in the channel did not read the first answer"
        assert await answer(desk, ADA, "Staging", "three", question="Where from?") == []
        (note,) = await answer(desk, ADA, "Production", "four", question="where  TO?")
        assert len(note.splitlines()) == 2, "spaces and capitals make no other question"


async def test_without_the_setting_the_agent_gets_none(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
        assert await answer(desk, ADA, "Staging", "one") == []
        assert await answer(desk, ADA, "Staging", "two") == []
