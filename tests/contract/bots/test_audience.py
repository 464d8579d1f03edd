"""The people who may answer the agent's questions: a setting, and the people whom the model addresses among them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from askback_sandbox.model.script import ToolCall, call, turn

from .driver import (
    ADA,
    BEN,
    CY,
    Card,
    Desk,
    PlatformTests,
    Talk,
    cancel,
    card,
    gather,
    group_of,
    line,
    notice,
    one,
    person_of,
    settled,
    turn_of,
    until,
)
from .offers import known, offers

GOING_ON = "So be it, then."
WRITE_FIRST = "Only people who have written in this thread can answer. Write something here, then click again."

Opened = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def opened(tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: str) -> Opened:
    """Return a function that opens a desk on either store, with `ASKBACK_ANSWERERS`."""
    del stored
    monkeypatch.setattr("askback_slack.groups.CACHE_SECONDS", 0.0)

    @asynccontextmanager
    async def desk_with(answerers: str | None = None) -> AsyncIterator[Desk]:
        if answerers is not None:
            monkeypatch.setenv("ASKBACK_ANSWERERS", answerers)
        async with tests_of.open_desk(tmp_path, monkeypatch) as desk:
            yield desk
            assert not desk.journal.unexpected()

    return desk_with


def ask(to: Any = None, **more: Any) -> ToolCall:
    addressed = {} if to is None else {"to": to}
    return call("AskUserQuestion", questions=[one("Which fruit?", "Apple", "Pear", **more)], **addressed)


async def fruit(desk: Desk, *calls: ToolCall, writes: tuple[str, ...] = ()) -> tuple[Talk, Card]:
    """Let ada begin and others write; then the agent asks."""
    if writes:
        first = [turn("Who else?"), *(turn(f"Hello {person}.") for person in writes[:-1])]
        desk.model.script(*first, *(turn(one) for one in calls or (ask(),)), turn(GOING_ON), when="fruit")
    else:
        desk.model.script(*(turn(one) for one in calls or (ask(),)), turn(GOING_ON), when="fruit")
    talk = await desk.mention(ADA, "fruit, please; plan it with ben")
    for number, person in enumerate(writes):
        await line(desk, talk, "Who else?" if number == 0 else f"Hello {writes[number - 1]}.")
        await desk.say(person, f"{person} here", talk)
    shown = await card(desk, talk)
    await known(desk)
    return talk, shown


async def answered(desk: Desk, talk: Talk, asked: int = 2) -> None:
    await settled(desk, talk, "Pear")
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", asked)).result


async def test_who_has_written_in_the_thread_may_answer_also_after_the_card_came(opened: Opened) -> None:
    async with opened() as desk:
        talk, shown = await fruit(desk)
        assert "anyone in this thread" in shown.text
        await desk.press(BEN, shown, "Apple")
        await notice(desk, BEN, WRITE_FIRST)
        await desk.say(BEN, "I am here", talk)
        await line(desk, talk, "once somebody answers")
        assert len(desk.pings()) == 1, "the card mentions whoever began, and nobody else"
        await desk.press(BEN, shown, "Pear")
        await answered(desk, talk)


async def test_nobody_is_told_to_take_part_in_a_question_that_is_over(opened: Opened) -> None:
    async with opened() as desk:
        talk, shown = await fruit(desk)
        await desk.press(ADA, shown, "Pear")
        await answered(desk, talk)
        await desk.press(BEN, shown, "Apple")
        await notice(desk, BEN, "This question has already been answered. Your click changed nothing.")


async def test_a_label_that_somebody_of_the_thread_types_is_the_answer(opened: Opened) -> None:
    async with opened() as desk:
        talk, _ = await fruit(desk)
        await desk.say(BEN, "pear", talk)
        await answered(desk, talk)


async def test_other_words_of_people_whom_the_card_does_not_name_are_messages(opened: Opened) -> None:
    async with opened() as desk:
        talk, shown = await fruit(desk)
        await desk.say(BEN, "a mango would be nice", talk)
        await line(desk, talk, "once somebody answers")
        assert not offers(desk, talk)
        await desk.press(ADA, shown, "Pear")
        newest = await turn_of(desk, "fruit", 2)
        assert newest.texts == ["ben: a mango would be nice"]


async def test_of_two_people_of_the_thread_who_answer_at_once_one_counts(opened: Opened) -> None:
    async with opened() as desk:
        talk, shown = await fruit(desk, writes=(BEN,))
        await gather(desk.press(ADA, shown, "Pear"), desk.press(BEN, shown, "Pear"))
        await answered(desk, talk, 3)
        await until(lambda: desk.notices(ADA) + desk.notices(BEN), "one of them is told")
        (told,) = desk.notices(ADA) + desk.notices(BEN)
        assert "has already been answered" in told


async def test_only_who_began_answers_where_the_setting_says_so(opened: Opened) -> None:
    async with opened("starter") as desk:
        talk, shown = await fruit(desk, writes=(BEN,))
        await desk.press(BEN, shown, "Apple")
        await notice(desk, BEN, "can answer this.")
        await desk.press(ADA, shown, "Pear")
        await answered(desk, talk, 3)


async def test_anybody_who_may_talk_to_the_bot_answers_where_the_setting_says_so(
    opened: Opened, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of.allow(monkeypatch, people=[ADA, BEN])
    async with opened("allowed") as desk:
        talk, shown = await fruit(desk)
        assert "anyone here" in shown.text
        await desk.press(CY, shown, "Apple")
        await notice(desk, CY, "You may not talk with me, so you cannot answer this.")
        await desk.press(BEN, shown, "Pear")
        await answered(desk, talk)


async def test_the_access_list_also_rules_among_those_who_have_written_in_the_thread(
    opened: Opened, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of.allow(monkeypatch, groups=["release"])  # ada is its only member
    async with opened() as desk:
        desk.join_group(BEN)
        talk, shown = await fruit(desk, writes=(BEN,))
        desk.leave_group(BEN)
        await desk.press(BEN, shown, "Apple")
        await notice(desk, BEN, "You may not talk with me, so you cannot answer this.")
        await desk.press(ADA, shown, "Pear")
        await answered(desk, talk, 3)


async def test_given_people_and_groups_answer_and_nobody_else(opened: Opened, platform: str) -> None:
    async with opened(f"{person_of(platform, BEN)},{group_of(platform)}") as desk:
        desk.leave_group(ADA)
        desk.join_group(CY)
        talk, shown = await fruit(desk, writes=(CY,))
        await desk.press(ADA, shown, "Apple")
        await notice(desk, ADA, "Only the people named on the card can answer this.")
        await desk.press(CY, shown, "Pear")
        await answered(desk, talk, 3)


async def test_where_those_who_are_given_do_not_see_it_nobody_is_asked_and_people_hear_why(
    opened: Opened, platform: str
) -> None:
    async with opened(person_of(platform, BEN)) as desk:
        desk.model.script(turn(ask()), turn("Never mind."), when="fruit")
        talk = await desk.direct(ADA, "fruit, please")
        await line(desk, talk, "the people who may answer cannot see this direct message")
        assert "Nobody was asked." in (await turn_of(desk, "fruit", 2)).result
        assert not desk.cards(talk)


NO_SUCH_GROUP = {"slack": "slack:S0LOCALXYZ", "discord": "discord:@&1100000000000000099"}
"""A group that does not exist, in the setting's notation."""


@pytest.mark.parametrize("is_missing", [False, True])
async def test_where_no_member_of_the_given_group_is_left_to_answer_nobody_is_asked_and_people_hear_why(
    opened: Opened, platform: str, is_missing: bool
) -> None:
    given = NO_SUCH_GROUP[platform] if is_missing else group_of(platform)
    async with opened(given) as desk:
        desk.leave_group(ADA)
        desk.model.script(turn(ask()), turn("Never mind."), when="fruit")
        talk = await desk.mention(ADA, "fruit, please")
        heard = await line(
            desk, talk, "Nobody can answer my questions here: the setting “answerers” lists only the group"
        )
        number = given.rpartition("&")[2].rpartition(":")[2]
        assert f"the group {number}" in heard.text
        assert ("I cannot read" in heard.text) == is_missing
        assert ("Nobody is in the group" in heard.text) != is_missing
        assert "and my operator can change it." in heard.text
        result = (await turn_of(desk, "fruit", 2)).result
        assert result.startswith("Nobody was asked.")
        assert result.endswith("Go on without asking until somebody writes that it has changed.")
        assert f"the group {number}" in result
        await line(desk, talk, "Never mind.")
        assert not desk.cards(talk)


async def test_a_group_that_cannot_be_read_does_not_keep_the_other_people_from_being_asked(
    opened: Opened, platform: str
) -> None:
    async with opened(f"{NO_SUCH_GROUP[platform]},{group_of(platform)}") as desk:
        talk, shown = await fruit(desk)
        await desk.press(ADA, shown, "Pear")
        await answered(desk, talk)


@pytest.mark.parametrize("to", [["ben"], "@Ben", [{"name": "BEN"}]])
async def test_whom_the_model_addresses_is_mentioned_and_answers_alone(opened: Opened, to: Any) -> None:
    async with opened() as desk:
        talk, shown = await fruit(desk, ask(to), writes=(BEN,))
        assert "anyone" not in shown.text
        assert len(desk.pings()) == 1
        assert desk.actor(BEN).id in desk.pings()[0]
        await desk.press(ADA, shown, "Apple")
        await notice(desk, ADA, "Only ben can answer")
        assert "ben" in desk.notices(ADA)[0].casefold()
        await desk.say(ADA, "pear", talk)
        await line(desk, talk, "once ben answers")
        await desk.say(BEN, "pear", talk)
        await answered(desk, talk, 3)


async def test_who_began_may_end_a_question_that_is_for_somebody_else(opened: Opened) -> None:
    async with opened() as desk:
        talk, shown = await fruit(desk, ask(["ben"]), writes=(BEN,))
        await cancel(desk, ADA, shown)
        await settled(desk, talk, "Cancelled")
        assert "was cancelled" in (await turn_of(desk, "fruit", 3)).result


async def test_a_name_that_nobody_of_the_thread_has_comes_back_with_those_who_can_be_asked(opened: Opened) -> None:
    async with opened() as desk:
        talk, shown = await fruit(desk, ask(["cy"]), ask(["ben", "ada"]), writes=(BEN,))
        refused = await turn_of(desk, "fruit", 3)
        assert "there is no 'cy' here to ask. You can ask ada, ben, or leave `to` out." in refused.result
        await desk.press(BEN, shown, "Pear")
        await answered(desk, talk, 4)


async def test_nobody_is_addressed_beyond_the_setting(opened: Opened) -> None:
    async with opened("starter") as desk:
        talk, shown = await fruit(desk, ask(["ben"]), ask(["ada"]), writes=(BEN,))
        assert "You can ask ada, or" in (await turn_of(desk, "fruit", 3)).result
        await desk.press(ADA, shown, "Pear")
        await answered(desk, talk, 4)
