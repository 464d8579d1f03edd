"""The search in a long menu on Discord: private to the person who searches, and each pick counts once."""

from __future__ import annotations

import pytest

from askback.domain.form import Form, Question
from askback_discord.clicks import TAKEN
from askback_discord.option_search import STALE
from askback_sandbox.discord.clicks import Delivery, Target
from askback_sandbox.discord.values import Done
from askback_sandbox.json_values import as_text, objects
from askback_sandbox.model.script import turn

from .discord import DiscordDesk
from .discord.view import controls
from .driver import ADA, BEN, Card, Talk, card, form_of, line, notice, program_asks, settled, until

pytestmark = pytest.mark.only("discord", reason="Slack's own menus search")
SEARCH = "Search…"
TICKETS = [f"Ticket {number} <@everyone>" for number in range(1, 1001)]


async def begun(desk: DiscordDesk) -> Talk:
    desk.model.script(turn("I am listening."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "I am listening.")
    return talk


async def search(desk: DiscordDesk, shown: Card, query: str) -> str:
    """Search as ada; return the words of the private message."""
    await desk.open_field(ADA, shown, SEARCH)
    (found,) = await desk.submit(ADA, query)
    return found


async def pick_found(desk: DiscordDesk, *labels: str) -> Done:
    """Choose in the menu of ada's newest private message."""
    found = desk.told(ADA)[-1]
    (menu,) = (one for one in controls(found.components) if one.kind != "button")
    options = objects(menu.handle.get("options"))
    values = [as_text(one["value"]) for label in labels for one in options if label in as_text(one["label"])]
    assert len(values) == len(labels), options
    custom_id = as_text(menu.handle["custom_id"])
    target = Target(person=ADA, channel=found.channel, message=found.id, custom_id=custom_id)
    return await desk.services.discord.clicks.select(target, values, Delivery())


async def test_one_of_a_thousand_is_found_and_chosen(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Which ticket?", TICKETS)) as asked:
        shown = await card(desk, talk, "Which ticket?")
        pings = len(desk.pings())
        said = await search(desk, shown, "777")
        assert "1 of 1,000 options contain “777”." in said
        assert (await pick_found(desk, "Ticket 777 ")).acked
        outcome = await asked.outcome()
        assert outcome.answers[0].choices[0].index == 776
        assert desk.notices(ADA)[-1] == TAKEN, "the menu is gone with the question"
        await settled(desk, talk, "Ticket 777")
        assert len(desk.pings()) == pings


async def test_several_are_ticked_from_several_searches(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Which tickets?", TICKETS, multi_select=True)) as asked:
        shown = await card(desk, talk, "Which tickets?")
        assert "1,000 of 1,000 options contain “ticket”. The menu has the first 25" in await search(
            desk, shown, "ticket"
        )
        await pick_found(desk, "Ticket 3 ", "Ticket 5 ")
        await pick_found(desk, "Ticket 5 ")  # the same menu: 3 is unticked
        await card(desk, talk, "5. Ticket 5 <@everyone>  ✓", without="3. Ticket 3 <@everyone>  ✓")
        assert "1 of 1,000" in await search(desk, desk.newest(shown), "ticket 900")
        await pick_found(desk, "Ticket 900 ")
        await card(desk, talk, "900. Ticket 900 <@everyone>  ✓")
        await desk.press(ADA, desk.newest(shown), "Submit")
        outcome = await asked.outcome()
    assert [choice.index for choice in outcome.answers[0].choices] == [4, 899]


async def test_nothing_found_says_so_and_offers_another_search(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Which ticket?", TICKETS)):
        shown = await card(desk, talk, "Which ticket?")
        assert "No option contains “**nothing** @here”." in await search(desk, shown, "**nothing** @here")
        await desk.press_on_notice(ADA, SEARCH)
        await until(lambda: desk.field(ADA) is not None, "the field is open again")


async def test_only_those_who_are_asked_can_search_and_only_the_current_question(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Which ticket?", TICKETS)) as asked:
        shown = await card(desk, talk, "Which ticket?")
        await desk.press(BEN, shown, SEARCH)
        await notice(desk, BEN, "can answer")
        assert desk.field(BEN) is None
        await search(desk, shown, "777")
        await desk.pick(ADA, shown, "Ticket 1 <@everyone>")
        await asked.outcome()
        await pick_found(desk, "Ticket 777 ")
        assert "already been answered" in desk.notices(ADA)[-1]
        await desk.press(ADA, shown, SEARCH)
        assert "already been answered" in desk.notices(ADA)[-1]
        assert desk.field(ADA) is None


async def test_a_search_on_an_old_card_of_a_form_says_that_it_has_moved_on(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    first = form_of("Which ticket?", TICKETS).questions[0]
    async with program_asks(desk, talk, Form(questions=(first, Question(id="b", prompt="Why?")))):
        shown = await card(desk, talk, "Which ticket?")
        await desk.press(ADA, shown, "Next")
        await card(desk, talk, "Why?")
        await desk.press(ADA, shown, SEARCH)
        await notice(desk, ADA, STALE)
