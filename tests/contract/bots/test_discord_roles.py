"""The members of a role on Discord may answer, as far as Discord tells who they are."""

from __future__ import annotations

import asyncio

import pytest

from askback.domain.identity import Place
from askback.domain.who import Who
from askback_discord.interaction_response import MESSAGE
from askback_sandbox.discord.clicks import Delivery
from askback_sandbox.discord.guild import RELEASE
from askback_sandbox.json_values import as_object

from .discord import DiscordDesk
from .discord.posts import fruit
from .driver import ADA, BEN, CY, card, form_of, notice

pytestmark = pytest.mark.only("discord", reason="interactions are Discord's own")


async def role_asks(desk: DiscordDesk, to: Place, group: str = RELEASE.id) -> asyncio.Task[object]:
    who = Who(groups=(group,))
    return asyncio.create_task(desk.host.manager.ask(form_of("Ship it?", ["Yes", "No"]), to=to, who=who, timeout=None))


async def test_members_of_a_role_may_answer_and_others_are_told_privately(desk: DiscordDesk) -> None:
    talk = await desk.mention(CY, "hello")
    await desk.room(talk)
    task = await role_asks(desk, desk.place(talk))
    shown = await card(desk, talk, "Ship it?")
    assert list(desk.pings()) == [f"@{RELEASE.id}"], "the role is mentioned, once"
    await desk.press(BEN, shown, "No")
    await notice(desk, BEN, "can answer")
    await desk.press(ADA, shown, "Yes")
    outcome = await asyncio.wait_for(task, 10)
    assert outcome.by.is_same_person(desk.actor(ADA))  # type: ignore[attr-defined]
    assert outcome["q"].labels == ("Yes",)  # type: ignore[index]


async def test_a_role_counts_as_the_payload_has_it_also_where_the_guild_is_not_known(desk: DiscordDesk) -> None:
    talk = await desk.mention(CY, "hello")
    await desk.room(talk)
    unheard_of = "1100000000000000777"
    task = await role_asks(desk, desk.place(talk), unheard_of)
    shown = await card(desk, talk, "Ship it?")
    await desk.press(ADA, shown, "No")
    await notice(desk, ADA, "can answer")
    payload = desk.payload(BEN, shown, shown.control("Yes"))
    payload["member"] = {**as_object(payload["member"]), "roles": [unheard_of]}
    assert (await desk.services.discord.clicks.raw(payload, Delivery())).acked
    assert (await asyncio.wait_for(task, 10)).status == "answered"  # type: ignore[attr-defined]


async def test_where_no_roles_are_told_nobody_is_in_one(desk: DiscordDesk) -> None:
    talk = await desk.direct(ADA, "hello")
    task = await role_asks(desk, desk.place(talk))
    shown = await card(desk, talk, "Ship it?")
    await desk.press(ADA, shown, "Yes")
    await notice(desk, ADA, "can answer")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_click_by_a_person_without_a_member_is_still_answered(desk: DiscordDesk) -> None:
    _, shown = await fruit(desk)
    payload = desk.payload(BEN, shown, shown.control("Pear"))
    del payload["message"]
    assert (await desk.services.discord.clicks.raw(payload, Delivery())).acked
    assert desk.callbacks() == [MESSAGE]
    await notice(desk, BEN, "can answer")
