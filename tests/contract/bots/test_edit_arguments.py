"""Approvers change what a call runs with: shown to all, voted on again, and told to the model."""

from __future__ import annotations

import asyncio
import re
import sys
from types import ModuleType
from typing import Literal

import pytest

from askback import tool
from askback.domain.apply_edit import EDITED_MEANWHILE, NO_CHANGE
from askback.domain.ask_policy import OWN_REQUEST
from askback.domain.card_labels import EDIT
from askback.domain.voting import CHANGED_SINCE
from askback_sandbox.model.script import call, turn

from .driver import (
    ADA,
    BEN,
    CY,
    GROUPS,
    Card,
    Desk,
    PlatformTests,
    Talk,
    card,
    line,
    notice,
    settled,
    turn_of,
    until,
)
from .offers import known

EXTRA = "tools_whose_arguments_people_change"
OLD, NEW = "1.4.2", "1.4.3"


class Shed:
    """Tools whose calls people may change, and their effects."""

    def __init__(self) -> None:
        self.ran: list[object] = []

    @tool(approval="Move {version} to {where}?", edit=True)
    def move(
        self, version: str, where: Literal["staging", "production"] = "staging", replicas: int | None = None
    ) -> str:
        """Move a version.

        Args:
            version: The tag of the release.
        """
        self.ran.append((version, where, replicas))
        return f"{version} is on {where}"

    @tool(approval=True, edit=["note"])
    def announce(self, channel: str, note: str, urgent: bool = False) -> str:
        """Announce it."""
        self.ran.append((channel, note, urgent))
        return "announced"

    @tool(approval=True, edit=True)
    def fill(
        self,
        word_0: str,
        word_1: str,
        word_2: str,
        word_3: str,
        word_4: str,
        word_5: str,
        word_6: str,
        word_7: str,
        word_8: str,
        word_9: str,
        word_10: str,
    ) -> str:
        """Fill in eleven words."""
        raise AssertionError("nobody approves it")

    @tool(approval=True)
    def wipe(self, version: str) -> str:
        """Wipe a version."""
        self.ran.append(version)
        return "wiped"


@pytest.fixture
def quorum() -> int:
    return 1


@pytest.fixture(autouse=True)
def shed(platform: str, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch, quorum: int) -> Shed:
    made = Shed()
    module = ModuleType(EXTRA)
    vars(module)["tools"] = [made.move, made.announce, made.fill, made.wipe]
    monkeypatch.setitem(sys.modules, EXTRA, module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(tests_of.desk, "TOOLS", f"AskUserQuestion,{EXTRA}:tools")
    mark = "" if platform == "slack" else "@&"
    monkeypatch.setenv("ASKBACK_APPROVERS", f"{platform}:{mark}{GROUPS[platform]}")
    monkeypatch.setenv("ASKBACK_APPROVAL_QUORUM", str(quorum))
    return made


async def asked(
    desk: Desk, name: str = "move", title: str = "Move “", *, by: tuple[str, ...] = (BEN, CY), **arguments: object
) -> tuple[Talk, Card]:
    """Return the card about a call that ada requested, and about which these people decide."""
    for person in by:
        desk.join_group(person)
    given = arguments or {"version": OLD}
    desk.model.script(turn(call(name, **given)), turn("Done."), turn("I see."), when="release")
    talk = await desk.mention(ADA, "release, please")
    return talk, await card(desk, talk, title)


async def change(desk: Desk, person: str, shown: Card, **entries: str | list[str]) -> tuple[str, ...]:
    """Change arguments in the modal; return the reasons if it stays open or is offered again."""
    labels = {field.label.partition(":")[0]: field.label for field in await desk.open_form(person, shown, EDIT)}
    return await desk.send_form(person, {labels[name]: entry for name, entry in entries.items()})


async def changed(desk: Desk, talk: Talk, text: str) -> Card:
    """Wait until a card says so, and return it."""
    return await until(lambda: next((one for one in desk.cards(talk) if text in one.text), None), f"a card says {text}")


async def test_a_changed_call_runs_with_what_the_approvers_saw_last_and_the_model_reads_the_change(
    desk: Desk, shed: Shed
) -> None:
    talk, shown = await asked(desk)
    fields = {field.label: field for field in await desk.open_form(BEN, shown, EDIT)}
    assert [*fields] == ["version: The tag of the release.", "where", "replicas"]
    assert fields["version: The tag of the release."].value == OLD
    assert await desk.send_form(BEN, {"version: The tag of the release.": NEW, "where": ["production"]}) == ()
    newest = await changed(desk, talk, f"version  {OLD} → {NEW}")
    assert f"Move “{NEW}” to “production”?" in newest.text
    assert "where  (not given) → production" in newest.text
    assert re.search(rf"changed by <@?{desk.actor(BEN).id}>", newest.text)
    assert shed.ran == []
    await desk.press(CY, newest, "Approve")
    over = await settled(desk, talk, "Approved with changes")
    assert f"version  {OLD} → {NEW}" in over.text
    await line(desk, talk, "Done.")
    assert shed.ran == [(NEW, "production", None)]
    result = (await turn_of(desk, "release", 2)).result
    assert f'"version" is "{NEW}" and not "{OLD}" (changed by ' in result
    assert '"where" is "production" (changed by ' in result
    assert result.endswith(f"{NEW} is on production")


async def test_a_vote_on_the_card_from_before_a_change_does_not_count(desk: Desk, shed: Shed) -> None:
    talk, old = await asked(desk)
    assert await change(desk, BEN, old, version=NEW) == ()
    await desk.press(CY, old, "Approve")
    await notice(desk, CY, CHANGED_SINCE)
    newest = await changed(desk, talk, f"→ {NEW}")
    assert "agree" not in newest.text
    assert shed.ran == []
    await desk.press(CY, newest, "Approve")
    await settled(desk, talk, "Approved")
    await line(desk, talk, "Done.")
    assert shed.ran == [(NEW, "staging", None)]


@pytest.mark.parametrize("quorum", [2])
async def test_a_change_removes_the_votes_from_before_it(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk)
    await desk.press(CY, shown, "Approve")
    voted = await changed(desk, talk, "1 of 2 agree")
    assert await change(desk, BEN, voted, version=NEW) == ()
    newest = await changed(desk, talk, f"→ {NEW}")
    assert "agree" not in newest.text
    told = await line(desk, talk, "because ben changed the call. Please decide again: “Move ‘1.4.3’ to (not given)?”")
    assert desk.actor(CY).id in told.text
    await desk.press(BEN, newest, "Approve")
    await changed(desk, talk, "1 of 2 agree")
    assert shed.ran == []
    await desk.press(CY, newest, "Approve")
    await settled(desk, talk, "Approved")
    await line(desk, talk, "Done.")
    assert shed.ran == [(NEW, "staging", None)]


@pytest.mark.parametrize("quorum", [2])
async def test_a_vote_and_a_change_in_the_same_moment_never_join(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk)
    for number in range(4):
        version = f"v2.{number}"
        labels = {field.label.partition(":")[0]: field.label for field in await desk.open_form(BEN, shown, EDIT)}
        await asyncio.gather(desk.send_form(BEN, {labels["version"]: version}), desk.press(CY, shown, "Approve"))
        shown = await changed(desk, talk, f"{OLD} → {version}")
        assert "agree" not in shown.text, "cy saw another version"
    await desk.press(BEN, shown, "Approve")
    await changed(desk, talk, "1 of 2 agree")
    assert shed.ran == []


async def test_of_two_changes_from_the_same_card_the_second_is_not_applied_and_its_text_is_not_lost(
    desk: Desk, shed: Shed
) -> None:
    talk, shown = await asked(desk)
    labels = [field.label for field in await desk.open_form(BEN, shown, EDIT)]
    await desk.open_form(CY, shown, EDIT)
    assert await desk.send_form(BEN, {labels[0]: NEW}) == ()
    await changed(desk, talk, f"→ {NEW}")
    refused = await desk.send_form(CY, {labels[0]: "9.9.9"})
    assert any(EDITED_MEANWHILE in one for one in (*refused, *desk.notices(CY)))
    assert "9.9.9" in desk.alone(CY) or any(field.value == "9.9.9" for field in desk.form(CY)) or refused
    assert not any("9.9.9" in one.text for one in desk.cards(talk))


async def test_whoever_changed_the_call_cannot_be_the_only_one_who_approves_it(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk)
    assert await change(desk, BEN, shown, version=NEW) == ()
    newest = await changed(desk, talk, "Whoever changed the arguments cannot approve them alone.")
    await desk.press(BEN, newest, "Approve")
    voted = await changed(desk, talk, "1 of 1 agree")
    assert shed.ran == []
    await desk.press(CY, voted, "Approve")
    await settled(desk, talk, "Approved with changes")
    await line(desk, talk, "Done.")
    assert shed.ran == [(NEW, "staging", None)]


async def test_only_those_who_decide_may_change_the_call(desk: Desk, shed: Shed) -> None:
    _talk, shown = await asked(desk, by=(ADA, BEN))
    await desk.press(ADA, shown, EDIT)
    await notice(desk, ADA, OWN_REQUEST)
    await desk.press(CY, shown, EDIT)
    await notice(desk, CY, "can answer this.")
    assert not desk.form(ADA)
    assert not desk.form(CY)


async def test_a_value_that_the_schema_refuses_is_refused_at_its_field(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk, version=OLD, replicas=3)
    fields = {field.label.partition(":")[0]: field for field in await desk.open_form(BEN, shown, EDIT)}
    assert fields["replicas"].value == "3"
    assert await desk.send_form(BEN, {fields["replicas"].label: "1.5"})
    (newest,) = desk.cards(talk)
    assert "→" not in newest.text
    assert await change(desk, BEN, newest, replicas="4") == ()
    newest = await changed(desk, talk, "replicas  3 → 4")
    await desk.press(CY, newest, "Approve")
    await line(desk, talk, "Done.")
    assert shed.ran == [(OLD, "staging", 4)]


async def test_an_empty_field_removes_an_optional_argument_and_the_tool_runs_without_it(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk, version=OLD, where="production", replicas=3)
    fields = {field.label.partition(":")[0]: field for field in await desk.open_form(BEN, shown, EDIT)}
    refused = await desk.send_form(BEN, {fields["version"].label: " ", fields["replicas"].label: ""})
    assert refused or desk.form(BEN)
    assert "→" not in (await card(desk, talk, "Move “")).text
    assert await change(desk, BEN, shown, where=["(not given)"], replicas="") == ()
    newest = await changed(desk, talk, "replicas  3 → (removed)")
    assert "where  production → (removed)" in newest.text
    assert f"Move “{OLD}” to (not given)?" in newest.text
    await desk.press(CY, newest, "Approve")
    over = await settled(desk, talk, "Approved with changes")
    assert "replicas  3 → (removed)" in over.text
    await line(desk, talk, "Done.")
    assert shed.ran == [(OLD, "staging", None)]
    result = (await turn_of(desk, "release", 2)).result
    assert '"replicas" is left out and not 3 (changed by ' in result


async def test_who_changes_nothing_reads_that_and_the_votes_stay(desk: Desk, shed: Shed) -> None:
    _talk, shown = await asked(desk)
    refused = await change(desk, BEN, shown)
    assert any(NO_CHANGE in one for one in (*refused, *desk.notices(BEN)))


async def test_only_the_named_arguments_may_change_and_text_stays_literal(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk, "announce", "Run announce?", channel="#all", note="Hello\n")
    labels = [field.label for field in await desk.open_form(BEN, shown, EDIT)]
    assert labels == ["note"]
    hostile = "<!channel> @everyone *now*\nsecond line"
    assert await desk.send_form(BEN, {"note": hostile}) == ()
    newest = await changed(desk, talk, "→")
    await desk.press(CY, newest, "Approve")
    await line(desk, talk, "Done.")
    assert shed.ran == [("#all", hostile, False)]
    assert not any("everyone" in ping or "channel" in ping for ping in desk.pings())


async def test_a_value_that_no_field_holds_cannot_be_changed_and_the_card_says_why(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk, "announce", "Run announce?", channel="#all", note="x" * 3_001)
    assert EDIT not in shown.buttons
    assert "Nobody can change the arguments here, because “note” does not fit into a field." in shown.text
    await desk.press(BEN, shown, "Approve")
    await line(desk, talk, "Done.")
    assert shed.ran == [("#all", "x" * 3_001, False)]


async def test_a_tool_that_does_not_allow_it_has_the_controls_that_it_had(desk: Desk, shed: Shed) -> None:
    _talk, shown = await asked(desk, "wipe", "Run wipe?", version=OLD)
    assert [*shown.buttons] == ["Approve", "Deny", "Remind me…", "Withdraw request"]


async def test_a_message_is_no_vote_once_somebody_has_changed_the_call(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk)
    await known(desk)
    assert await change(desk, BEN, shown, version=NEW) == ()
    await changed(desk, talk, f"→ {NEW}")
    await desk.say(CY, "approve", talk)
    await until(lambda: any(CHANGED_SINCE in one for one in (*desk.notices(CY), *desk.replies(CY))), "cy reads why")
    assert "agree" not in (await changed(desk, talk, f"→ {NEW}")).text
    assert shed.ran == []


async def test_a_change_back_to_the_first_value_leaves_no_change_and_no_vote(desk: Desk, shed: Shed) -> None:
    talk, shown = await asked(desk)
    assert await change(desk, BEN, shown, version=NEW) == ()
    newest = await changed(desk, talk, f"→ {NEW}")
    assert await change(desk, BEN, newest, version=OLD) == ()
    back = await until(lambda: next((one for one in desk.cards(talk) if "→" not in one.text), None), "it is back")
    await desk.press(BEN, back, "Approve")
    await settled(desk, talk, "Approved")
    await line(desk, talk, "Done.")
    assert shed.ran == [(OLD, "staging", None)]
    assert (await turn_of(desk, "release", 2)).result == f"{OLD} is on staging"


async def test_arguments_that_no_window_holds_cannot_be_changed_and_the_card_says_why(desk: Desk, shed: Shed) -> None:
    given = {f"word_{number}": "x" for number in range(11)}
    _talk, shown = await asked(desk, "fill", "Run fill?", **given)
    assert EDIT not in shown.buttons
    assert "Nobody can change the arguments here, because they do not fit into one window." in shown.text
