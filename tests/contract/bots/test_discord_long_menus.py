"""A long menu on Discord has pages, and ticks on one page keep those of others."""

from __future__ import annotations

import pytest

from askback_discord.interaction_response import UPDATE

from .discord import DiscordDesk
from .discord.posts import begun
from .driver import ADA, BEN, card, form_of, gather, notice, program_asks, settled

pytestmark = pytest.mark.only("discord", reason="interactions are Discord's own")
SIXTY = [f"Place {number}" for number in range(1, 61)]


async def test_a_menu_of_sixty_options_has_pages_and_one_on_the_third_is_chosen(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Where to?", SIXTY)) as asking:
        first = await card(desk, talk, "Where to?")
        assert all(f"{number}. Place {number}" in first.text for number in range(1, 61)), "all stand in the body"
        assert [choice.label for choice in first.menu.choices] == [f"{n}. Place {n}" for n in range(1, 26)]
        assert "Page 1 of 3" in first.buttons
        await desk.press(ADA, first, "▶")
        second = desk.newest(first)
        assert second.menu.choices[0].label == "26. Place 26"
        await desk.press(ADA, second, "▶")
        third = desk.newest(first)
        assert [choice.label for choice in third.menu.choices] == [f"{n}. Place {n}" for n in range(51, 61)]
        await desk.press(ADA, third, "◀")
        assert desk.newest(first).menu.choices[0].label == "26. Place 26"
        # A person who still sees the third page can use it.
        await desk.pick(ADA, third, "Place 57")
        assert (await asking.outcome())["q"].labels == ("Place 57",)
    await settled(desk, talk, "Place 57")
    assert set(desk.callbacks()) == {UPDATE}


async def test_ticks_on_one_page_keep_those_of_others_and_the_page_stays(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Where to?", SIXTY, multi_select=True)) as asking:
        shown = await card(desk, talk, "Where to?")
        await desk.pick(ADA, shown, "Place 2", "Place 3")
        await desk.press(ADA, desk.newest(shown), "▶")
        await desk.press(ADA, desk.newest(shown), "▶")
        third = desk.newest(shown)
        await desk.pick(ADA, third, "Place 60")
        third = desk.newest(shown)
        assert third.menu.choices[0].label == "51. Place 51", "the page is not left by a tick"
        assert [choice.label for choice in third.menu.choices if choice.on] == ["60. Place 60"]
        await desk.press(ADA, third, "◀")
        await desk.press(ADA, desk.newest(shown), "◀")
        first = desk.newest(shown)
        assert [choice.label for choice in first.menu.choices if choice.on] == ["2. Place 2", "3. Place 3"]
        await desk.pick(ADA, first, "Place 3")
        await desk.press(ADA, desk.newest(shown), "Submit")
        assert (await asking.outcome())["q"].labels == ("Place 3", "Place 60")


async def test_a_page_is_turned_only_by_whoever_may_answer(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Where to?", SIXTY)):
        shown = await card(desk, talk, "Where to?")
        await desk.press(BEN, shown, "▶")
        await notice(desk, BEN, "can answer")
        assert desk.newest(shown) == shown


async def test_a_page_turned_late_brings_no_settled_card_back_to_life(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Where to?", SIXTY)) as asking:
        shown = await card(desk, talk, "Where to?")
        await gather(desk.pick(ADA, shown, "Place 7"), desk.press(ADA, shown, "▶"), desk.press(ADA, shown, "▶"))
        await asking.outcome()
        over = await settled(desk, talk, "Place 7")
        await desk.press(ADA, shown, "▶")
        assert await settled(desk, talk) == over
        assert not any(one.is_live for one in desk.cards(talk))
