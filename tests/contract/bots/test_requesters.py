"""People never approve their own words alone, on any platform and anywhere that they wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.ask_policy import OWN_REQUEST
from askback.manager.denials import UNREADABLE_GROUPS
from askback_sandbox.model.script import call, turn
from support.engine import eventually

from .driver import (
    ADA,
    BEN,
    CY,
    Card,
    Desk,
    PlatformTests,
    Talk,
    asks,
    card,
    group_of,
    line,
    notice,
    one,
    person_of,
    turn_of,
)
from .shed import Shed
from .slack import SlackDesk

EXTRA = "tools_whose_requests_have_requesters"
STAGING = call("deploy", version="1.4.2", plan="staging")
WIPE = call("wipe", version="1.3.0")
PRODUCTION = call("deploy", version="6.6.6", plan="production")


@pytest.fixture(autouse=True)
def shed(platform: str, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch) -> Shed:
    return Shed.needing_approval(platform, tests_of, monkeypatch, EXTRA)


async def test_who_denies_with_other_words_does_not_approve_these_alone(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(turn(STAGING), turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release 1.4.2 to staging, please")
    await desk.open_field(BEN, await card(desk, talk, "1.4.2"), "Deny")
    assert await desk.submit(BEN, "No: deploy 6.6.6 to production instead.") == ()
    shown = await card(desk, talk, "6.6.6")
    await desk.press(BEN, shown, "Approve")
    await notice(desk, BEN, OWN_REQUEST)
    assert shed.ran == []
    await desk.press(CY, shown, "Approve")
    await line(desk, talk, "It is out.")
    assert shed.ran == [("6.6.6", "production")]


async def test_who_wrote_before_the_agent_was_called_does_not_approve_that_alone(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="production")
    talk = await desk.thread(BEN, "deploy 6.6.6 to production please")
    await desk.mention_in(ADA, "can you help ben?", talk)
    shown = await card(desk, talk, "6.6.6")
    await desk.press(BEN, shown, "Approve")
    await notice(desk, BEN, OWN_REQUEST)
    assert shed.ran == []
    await desk.press(CY, shown, "Approve")
    await line(desk, talk, "It is out.")
    assert shed.ran == [("6.6.6", "production")]


@pytest.mark.only("slack", reason="Discord does not say who wrote what is forwarded")
async def test_whose_words_somebody_else_shared_does_not_approve_them_alone(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="production")
    talk = await desk.thread(ADA, "what about this?")
    await desk.share(ADA, "deploy 6.6.6 to production please", BEN, talk)
    await desk.mention_in(ADA, "can you help ben?", talk)
    shown = await card(desk, talk, "6.6.6")
    assert "ben (shared by ada): deploy 6.6.6 to production please" in (await turn_of(desk, "what about", 1)).texts[0]
    await refused_then_approved(desk, talk, shed, shown, BEN)


async def refused_then_approved(desk: Desk, talk: Talk, shed: Shed, shown: Card, *suspects: str) -> None:
    """Check that each suspect is refused with a notice; cy, who wrote nothing, approves."""
    for suspect in suspects:
        await desk.press(suspect, shown, "Approve")
        await notice(desk, suspect, OWN_REQUEST)
    assert ("6.6.6", "production") not in shed.ran
    await desk.press(CY, shown, "Approve")
    await line(desk, talk, "It is out.")
    assert shed.ran.count(("6.6.6", "production")) == 1


async def test_who_writes_while_approvers_are_waited_for_does_not_approve_what_follows(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(turn(STAGING), turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release 1.4.2 to staging, please")
    shown = await card(desk, talk, "1.4.2")
    await desk.say(BEN, "and deploy 6.6.6 to production", talk)
    await line(desk, talk, "Got it.")
    await desk.press(CY, shown, "Approve")
    await refused_then_approved(desk, talk, shed, await card(desk, talk, "6.6.6"), BEN)


async def test_what_others_denied_is_still_the_request_of_who_worded_it(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.join_group(ADA)
    desk.model.script(turn(PRODUCTION), turn(PRODUCTION), turn("It is out."), when="production")
    talk = await desk.thread(BEN, "deploy 6.6.6 to production please")
    await desk.mention_in(ADA, "can you help ben?", talk)
    shown = await card(desk, talk, "6.6.6")
    await desk.open_field(CY, shown, "Deny")
    assert await desk.submit(CY, "Not on a Friday.") == ()
    # Everyone in the group wrote something: Slack lists its members, and Discord counts them.
    said = (await line(desk, talk, "no approver is left to decide.")).text
    assert all(desk.actor(suspect).name in said for suspect in (BEN, CY))
    await line(desk, talk, "It is out.")
    assert shed.ran == []


async def test_what_was_approved_is_done_with_and_its_authors_decide_about_the_next_request(
    desk: Desk, shed: Shed
) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(turn(STAGING), turn("Staging is out."), turn(PRODUCTION), turn("It is out."), when="staging")
    talk = await desk.thread(BEN, "deploy 1.4.2 to staging please")
    await desk.mention_in(ADA, "can you help ben?", talk)
    await desk.press(CY, await card(desk, talk, "1.4.2"), "Approve")
    await line(desk, talk, "Staging is out.")
    await desk.say(ADA, "now production", talk)
    await desk.press(BEN, await card(desk, talk, "6.6.6"), "Approve")
    await line(desk, talk, "It is out.")
    assert shed.ran == [("1.4.2", "staging"), ("6.6.6", "production")]


async def test_where_all_approvers_wrote_it_people_hear_so_at_once_with_names_and_settings(
    desk: Desk, shed: Shed
) -> None:
    desk.join_group(BEN)
    desk.model.script(turn(STAGING), turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release 1.4.2 to staging, please")
    await desk.open_field(BEN, await card(desk, talk, "1.4.2"), "Deny")
    assert await desk.submit(BEN, "No: deploy 6.6.6 to production instead.") == ()
    said = (await line(desk, talk, "no approver is left to decide.")).text
    assert f"{desk.actor(BEN).name} wrote what I act on" in said
    assert "approvers" in said
    assert "approval_own" in said
    assert "write “new”" in said
    result = (await turn_of(desk, "release", 3)).result
    assert "wrote what you act on" in result
    assert "was not run" in result
    assert shed.ran == []


@pytest.fixture
def listed_twice(platform: str, shed: Shed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two people decide: ben, and the members of the group, in which he is as well."""
    del shed  # it names the group alone
    monkeypatch.setenv("ASKBACK_APPROVERS", f"{person_of(platform, BEN)},{group_of(platform)}")
    monkeypatch.setenv("ASKBACK_APPROVAL_QUORUM", "2")


async def test_an_approver_who_is_listed_and_in_the_group_counts_once(
    listed_twice: None, desk: Desk, shed: Shed
) -> None:
    desk.join_group(ADA)
    desk.join_group(BEN)
    desk.model.script(turn(PRODUCTION), turn("Thanks."), when="release")
    talk = await desk.mention(ADA, "release, please")
    said = (await line(desk, talk, "2 people have to agree, but only 1 can.")).text
    assert "ada asked for this" in said.casefold()
    assert "only 1 can" in (await turn_of(desk, "release", 2)).result
    assert not await desk.host.store.list_open(desk.place(talk))
    assert shed.ran == []


async def test_an_approver_who_is_listed_and_in_the_group_is_asked_if_others_are_left(
    listed_twice: None, desk: Desk, shed: Shed
) -> None:
    for person in (ADA, BEN, CY):
        desk.join_group(person)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release, please")
    await desk.press(BEN, await card(desk, talk, "6.6.6"), "Approve")
    await desk.press(CY, await card(desk, talk, "1 of 2 agree"), "Approve")
    await line(desk, talk, "It is out.")
    assert shed.ran == [("6.6.6", "production")]


@pytest.fixture
def gone(platform: str, shed: Shed, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name a group as approvers that does not exist, and return its id."""
    del shed  # it names another group
    mark, group = {"slack": ("", "S0GONE"), "discord": ("@&", "1100000000000000499")}[platform]
    monkeypatch.setenv("ASKBACK_APPROVERS", f"{platform}:{mark}{group}")
    return group


async def test_where_the_approvers_are_a_group_that_does_not_exist_people_hear_so_at_once(
    gone: str, desk: Desk, shed: Shed
) -> None:
    desk.model.script(turn(PRODUCTION), turn("Thanks."), when="release")
    talk = await desk.mention(ADA, "release, please")
    said = (await line(desk, talk, "no approver is left to decide.")).text
    what = {"slack": "user group", "discord": "role"}[desk.platform]
    assert f"I cannot read the group {gone}: there is no such {what}" in said
    assert "The setting for that is “approvers”" in said
    result = (await turn_of(desk, "release", 2)).result
    assert f"I cannot read the group {gone}" in result
    assert not await desk.host.store.list_open(desk.place(talk))
    assert shed.ran == []


@pytest.mark.only("slack", reason="Discord tells the roles of whoever clicks")
async def test_whoever_clicks_after_their_group_has_gone_hears_the_reason(
    monkeypatch: pytest.MonkeyPatch, desk: SlackDesk, shed: Shed
) -> None:
    monkeypatch.setattr("askback_slack.groups.CACHE_SECONDS", 0.0)
    desk.join_group(BEN)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release, please")
    shown = await card(desk, talk, "6.6.6")
    desk.workspace.faults.fail("usergroups.users.list", "missing_scope", times=None)
    await desk.press(BEN, shown, "Approve")
    told = await notice(desk, BEN, UNREADABLE_GROUPS)
    assert "reinstall it from manifests/slack.json" in told
    assert "in a moment" not in told
    assert shed.ran == []


@pytest.fixture
def escalated_to_ben(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask ben as well after a second; only that makes him an approver."""
    ben = {"slack": "U0LOCALBEN", "discord": "1100000000000000202"}[platform]
    monkeypatch.setenv("ASKBACK_APPROVAL_ESCALATE_TO", f"{platform}:{ben}")
    monkeypatch.setenv("ASKBACK_APPROVAL_ESCALATE_AFTER", "1s")


@pytest.mark.usefixtures("escalated_to_ben")
async def test_who_is_asked_later_does_not_approve_their_own_words_either(desk: Desk, shed: Shed) -> None:
    desk.join_group(CY)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="production")
    talk = await desk.thread(BEN, "deploy 6.6.6 to production please")
    await desk.mention_in(ADA, "can you help ben?", talk)
    await card(desk, talk, "6.6.6")

    async def escalated() -> bool:
        (ask,) = await desk.host.store.list_open(desk.place(talk))
        return not ask.policy.escalations and any(one.id == desk.actor(BEN).id for one in ask.policy.who.people)

    await eventually(escalated)
    await refused_then_approved(desk, talk, shed, await card(desk, talk, "6.6.6"), BEN)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Approvers may let a tool run for the rest of a conversation."""
    monkeypatch.setenv("ASKBACK_APPROVAL_ALWAYS", "true")


@pytest.mark.usefixtures("always")
async def test_an_always_does_not_run_what_its_giver_worded_in_a_denial_of_something_else(
    desk: Desk, shed: Shed
) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(
        turn(STAGING), turn("Staging is out."), turn(WIPE), turn(PRODUCTION), turn("It is out."), when="release"
    )
    talk = await desk.mention(ADA, "release 1.4.2 to staging, please")
    await desk.press(BEN, await card(desk, talk, "1.4.2"), "Always in this conversation")
    await line(desk, talk, "Staging is out.")
    await desk.say(ADA, "and wipe the old one", talk)
    await desk.open_field(BEN, await card(desk, talk, "Run wipe?"), "Deny")
    assert await desk.submit(BEN, "No: deploy 6.6.6 to production instead.") == ()
    await refused_then_approved(desk, talk, shed, await card(desk, talk, "6.6.6"), BEN)


async def test_who_answers_in_words_of_their_own_does_not_approve_what_follows(desk: Desk, shed: Shed) -> None:
    desk.join_group(ADA)
    desk.join_group(CY)
    question = asks(one("Which version?", "1.4.2", "1.5.0"))
    desk.model.script(turn(question), turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release, please")
    await desk.open_field(ADA, await card(desk, talk, "Which version?"))
    assert await desk.submit(ADA, "6.6.6 on production") == ()
    shown = await card(desk, talk, "6.6.6")
    await refused_then_approved(desk, talk, shed, shown, ADA)


async def test_who_is_picked_does_not_approve_alone_what_follows_their_name(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    who = {"questions": [{"id": "who", "question": "Who reviews it?", "picks": "people"}]}
    desk.model.script(turn(call("ask", **who)), turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release it, please")
    await desk.choose(ADA, await card(desk, talk, "Who reviews it?"), BEN)
    shown = await card(desk, talk, "6.6.6")
    await desk.press(BEN, shown, "Approve")
    await notice(desk, BEN, OWN_REQUEST)
    assert shed.ran == [], "Ben may have asked for this by the name that he chose"
    await desk.press(CY, shown, "Approve")
    await line(desk, talk, "It is out.")
    assert shed.ran == [("6.6.6", "production")]


async def test_the_card_names_also_who_wrote_before_the_agent_was_called(desk: Desk, shed: Shed) -> None:
    desk.join_group(CY)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="production")
    talk = await desk.thread(BEN, "deploy 6.6.6 to production please")
    await desk.mention_in(ADA, "can you help ben?", talk)
    text = (await card(desk, talk, "6.6.6")).text
    assert "Requested by" in text
    assert "(cannot vote)" in text
    people = {"slack": (ADA, BEN), "discord": tuple(desk.actor(who).id for who in (ADA, BEN))}[desk.platform]
    assert all(who in text for who in people), text


# One account with two tenants


async def press_as_of(desk: SlackDesk, person: str, seen: Card, label: str, tenant: str) -> None:
    """Press with a payload that names another team of the organisation as the person's."""
    payload: Any = desk._payload(person, seen, seen.control(label), [])
    payload["user"]["team_id"] = payload["team"]["id"] = tenant
    assert (await desk.services.people.raw(payload)).acked


@pytest.mark.only("slack", reason="only there a person has a tenant")
async def test_a_requester_with_the_id_of_another_workspace_is_still_the_requester(desk: SlackDesk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(BEN, "release, please")
    shown = await card(desk, talk, "6.6.6")
    await press_as_of(desk, BEN, shown, "Approve", "T0ELSEWHERE")
    await notice(desk, BEN, OWN_REQUEST)
    await refused_then_approved(desk, talk, shed, shown)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Require two approvals."""
    monkeypatch.setenv("ASKBACK_APPROVAL_QUORUM", "2")


@pytest.mark.usefixtures("two")
@pytest.mark.only("slack", reason="only there a person has a tenant")
async def test_one_person_has_one_vote_whatever_workspace_they_appear_with(desk: SlackDesk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.join_group(CY)
    desk.model.script(turn(PRODUCTION), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release, please")
    shown = await card(desk, talk, "6.6.6")
    await desk.press(BEN, shown, "Approve")
    shown = await card(desk, talk, "1 of 2 agree")
    await press_as_of(desk, BEN, shown, "Approve", "T0ELSEWHERE")
    await notice(desk, BEN, "Your vote is already “Approve”.")
    assert shed.ran == []
    await refused_then_approved(desk, talk, shed, shown)
