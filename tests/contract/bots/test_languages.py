"""Cards are in the conversation's language, and private notices and windows in that of their reader."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from askback.manager.denials import DenialThrottle
from askback_sandbox.model.script import call, turn
from askback_sandbox.slack.faults import Fault

from .driver import ADA, BEN, CY, Card, Desk, PlatformTests, Talk, asks, card, line, notice, one, turn_of, until
from .offers import offers
from .shed import Shed


@pytest.fixture
async def quiet_desk(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only_starter: None
) -> AsyncIterator[Desk]:
    """A desk without a bot. Ada reads German, Ben Spanish, and Cy Polish, which nobody translated."""
    del only_starter
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.speaks(ADA, "de-DE" if desk.platform == "slack" else "de")
        desk.speaks(BEN, "es-ES")
        desk.speaks(CY, "pl-PL" if desk.platform == "slack" else "pl")
        desk.server_speaks("de")
        yield desk


async def fruit(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("Bon appetit."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    return talk, await card(desk, talk)


async def test_a_card_speaks_the_language_of_the_person_who_began_and_a_notice_that_of_its_reader(
    quiet_desk: Desk,
) -> None:
    desk = quiet_desk
    async with desk.bot():
        talk, shown = await fruit(desk)
        assert "Gefragt: " in shown.text
        assert shown.buttons[-2:] == ("Etwas anderes…", "Nicht jetzt…")
        # Slack tells nobody's language with a click, so the notice waits a moment for it.
        await desk.press(BEN, shown, "Apple")
        assert (await notice(desk, BEN, "")).startswith("Solo ada puede")
        await desk.press(CY, shown, "Apple")
        await notice(desk, CY, "can answer this")  # nobody translated Polish
        field = await desk.open_field(ADA, shown, "Etwas anderes…")
        assert field.placeholder == "Gib deine Antwort ein…"
        assert await desk.submit(ADA, "  ") != ()
    # Another process draws the card again, and knows nothing of this one.
    async with desk.bot():
        shown = await card(desk, talk)
        await desk.press(ADA, shown, "Apple")
        over = await card(desk, talk, "Beantwortet von")
        assert "✓ Apple" in over.text
        assert over.buttons == ("Frage anzeigen",)
        result = (await turn_of(desk, "fruit", 2)).result
        assert '"Which fruit?"="Apple"' in result
        await line(desk, talk, "Bon appetit.")


@pytest.mark.only("slack", reason="Discord tells the language with the click")
async def test_the_first_window_of_a_person_is_in_their_language(quiet_desk: Desk) -> None:
    desk = quiet_desk
    async with desk.bot():
        _, shown = await fruit(desk)
    async with desk.bot():  # this process knows nobody's language
        field = await desk.open_field(ADA, shown, "Etwas anderes…")
        assert field.placeholder == "Gib deine Antwort ein…"


@pytest.mark.only("slack", reason="Discord tells the language with the click")
async def test_a_slow_look_up_of_a_language_delays_no_ack_and_the_notice_for_a_moment_only(quiet_desk: Desk) -> None:
    desk = quiet_desk
    async with desk.bot():
        _, shown = await fruit(desk)
        desk.workspace.faults.add(Fault(kind="delay", method="users.info", seconds=4))  # type: ignore[attr-defined]
        clicked = await desk.press(BEN, shown, "Apple")
        assert clicked.ms is not None
        assert clicked.ms < 1_000
        began = time.monotonic()
        assert (await notice(desk, BEN, "")).startswith("Nur ada kann"), "the language of the card"
        assert time.monotonic() - began < 3


async def test_the_second_click_of_a_person_finds_their_language(
    quiet_desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = quiet_desk
    async with desk.bot():
        monkeypatch.setattr(desk.host.manager, "_denials", DenialThrottle(0.0))
        _, shown = await fruit(desk)
        await desk.press(BEN, shown, "Apple")
        await notice(desk, BEN, "")
        field = await desk.open_field(ADA, shown, "Nicht jetzt…")
        assert field.ways[:2] == ("Erst besprechen", "Erinnere mich in einer Stunde")
        await desk.press(BEN, shown, "Pear")
        await notice(desk, BEN, "Solo ada puede", count=2)


async def test_the_setting_decides_about_cards_and_not_about_private_notices(
    quiet_desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = quiet_desk
    monkeypatch.setenv("ASKBACK_LANGUAGE", "en")
    async with desk.bot():
        _, shown = await fruit(desk)
        assert "Asked: " in shown.text
        assert shown.buttons[-1] == "Not now…"
        field = await desk.open_field(ADA, shown, "Not now…")
        assert field.ways[:1] == ("Erst besprechen",)


async def test_an_approval_is_decided_in_the_language_of_the_conversation(
    tests_of: PlatformTests, platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shed = Shed.needing_approval(platform, tests_of, monkeypatch, "tools_in_german_at_the_desk")
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.speaks(ADA, "de")
        desk.server_speaks("de")
        desk.speaks(BEN, "fr")
        desk.join_group(BEN)
        async with desk.bot():
            desk.model.script(turn(call("deploy", version="1.4.2")), turn("It is out."), when="release")
            talk = await desk.mention(ADA, "release, please")
            shown = await card(desk, talk, "deploy ausführen?")
            assert shown.buttons[:2] == ("Genehmigen", "Ablehnen")
            assert "Braucht 1 Zustimmung. Eine Ablehnung stoppt es." in shown.text
            await desk.press(BEN, shown, "Genehmigen")
            await until(lambda: [one for one in desk.cards(talk) if "Genehmigt" in one.text], "the decision")
            await line(desk, talk, "It is out.")
    assert shed.ran == [("1.4.2", "")]


async def test_the_messages_of_the_bot_speak_the_language_of_the_conversation(quiet_desk: Desk) -> None:
    desk = quiet_desk
    async with desk.bot():
        talk, _shown = await fruit(desk)
        await desk.say(ADA, "What about plums?", talk)
        (offered,) = await until(lambda: offers(desk, talk, "Als deine Antwort verwenden"), "an offer")
        assert "Ist das deine Antwort auf “Which fruit?”" in offered.text
        assert offered.buttons == ("Als deine Antwort verwenden", "Nur eine Nachricht", "Erst besprechen")
        await desk.say(ADA, "stop", talk)
        await line(desk, talk, "Gestoppt von ada.")
        await until(lambda: [one for one in desk.cards(talk) if "Abgebrochen" in one.text], "the end")
