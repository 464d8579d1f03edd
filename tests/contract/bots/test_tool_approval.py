"""Tools that need approval, on every platform: the card shows the exact call, and only that runs, once."""

from __future__ import annotations

import pytest

from askback.domain.ask_policy import OWN_REQUEST
from askback.domain.card_labels import EVERYTHING
from askback_sandbox.model.script import call, turn

from .command import askback
from .driver import ADA, BEN, CY, Desk, PlatformTests, card, line, notice, settled, turn_of, until
from .offers import USE, known, offer
from .shed import Shed

EXTRA = "tools_that_need_approval_at_the_desk"
PLAN = "\n".join(f"copy step {number} to machine {number} <!channel> @everyone *" for number in range(120))


@pytest.fixture(autouse=True)
def shed(platform: str, tests_of: PlatformTests, monkeypatch: pytest.MonkeyPatch) -> Shed:
    return Shed.needing_approval(platform, tests_of, monkeypatch, EXTRA)


async def test_the_question_is_in_the_words_of_the_tools_author(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    hostile = "1.4” to “nowhere”? Ben approved it. <!channel> @everyone {where}"
    desk.model.script(turn(call("move", version=hostile)), turn("It is there."), when="release")
    talk = await desk.mention(ADA, "release, please")
    shown = await card(desk, talk, "Move “")
    assert "Move “1.4’ to ‘nowhere’? Ben approved it. <!channel> @everyone {w…” to (not given)?" in shown.text
    assert "Approval · move" in shown.text
    assert f"version  {hostile}" in shown.text
    await desk.press(BEN, shown, "Approve")
    await settled(desk, talk, "Move “1.4")
    await line(desk, talk, "It is there.")
    assert shed.ran == [(hostile, "staging")]
    assert not any(name in ping for ping in desk.pings() for name in ("channel", "everyone", "here"))


async def test_the_tools_own_rule_spares_people_what_is_small_and_the_tool_learns_who_approved_the_rest(
    desk: Desk, shed: Shed
) -> None:
    desk.join_group(BEN)
    desk.model.script(
        turn(call("refund", amount=100)), turn(call("refund", amount=101)), turn("All is paid."), when="refund"
    )
    talk = await desk.mention(ADA, "refund, please")
    shown = await card(desk, talk, "Refund 101?")
    assert shed.ran == [("100", "")]
    assert len(desk.cards(talk)) == 1
    await desk.press(BEN, shown, "Approve")
    await line(desk, talk, "All is paid.")
    assert shed.ran == [("100", ""), ("101", desk.actor(BEN).id)]


async def test_the_group_decides_about_the_whole_arguments_and_the_tool_runs_once_with_these(
    desk: Desk, shed: Shed
) -> None:
    desk.join_group(ADA)
    desk.join_group(BEN)
    desk.model.script(turn(call("deploy", version="1.4.2", plan=PLAN)), turn("It is out."), when="release")
    talk = await desk.mention(ADA, "release, please")
    shown = await card(desk, talk, "Run deploy?")
    assert "version  1.4.2" in shown.text
    assert "copy step 14 to machine 14 <!channel> @everyone *" in shown.text
    assert "machine 15 " not in shown.text
    assert "… and 105 more lines (" in shown.text
    await desk.press(ADA, shown, "Approve")
    await notice(desk, ADA, OWN_REQUEST)
    await desk.press(CY, shown, "Approve")
    await notice(desk, CY, "can answer this.")
    await desk.press(BEN, shown, EVERYTHING)
    await until(lambda: "machine 119 " in desk.alone(BEN), "ben sees it to its end")
    assert not [ping for ping in desk.pings() if "everyone" in ping or "channel" in ping]
    assert shed.ran == []
    await desk.press(BEN, shown, "Approve")
    await settled(desk, talk, "Approved")
    await line(desk, talk, "It is out.")
    assert (await turn_of(desk, "release", 2)).result == "1.4.2 is live"
    assert shed.ran == [("1.4.2", PLAN)]


async def test_denied_with_a_reason_it_does_not_run_and_the_model_reads_why(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.model.script(turn(call("deploy", version="1.4.2")), turn("Then not."), when="release")
    talk = await desk.mention(ADA, "release, please")
    shown = await card(desk, talk, "Run deploy?")
    await desk.open_field(BEN, shown, "Deny")
    assert await desk.submit(BEN, "Not on a Friday.") == ()
    await line(desk, talk, "Then not.")
    name = desk.actor(BEN).name
    assert (
        await turn_of(desk, "release", 2)
    ).result == f"deploy was denied by {name}: Not on a Friday. It was not run."
    assert shed.ran == []


async def test_of_two_requests_a_member_of_the_group_may_use_what_they_typed_for_the_first(
    desk: Desk, shed: Shed
) -> None:
    desk.join_group(BEN)
    both = turn(call("deploy", version="1.4.2"), call("deploy", version="1.5.0"))
    desk.model.script(both, turn("Both are done."), when="release")
    talk = await desk.mention(ADA, "release, please")
    await card(desk, talk, "1.4.2")
    await card(desk, talk, "1.5.0")
    await known(desk)
    await desk.say(BEN, "approve", talk)
    await desk.press(BEN, await offer(desk, talk), USE)
    await settled(desk, talk, "Approved")
    await desk.press(BEN, await card(desk, talk, "1.5.0"), "Approve")
    await line(desk, talk, "Both are done.")
    assert [version for version, _ in shed.ran] == ["1.4.2", "1.5.0"]


async def test_a_question_back_approves_nothing(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.model.script(turn(call("deploy", version="1.4.2")), turn("Then not."), when="release")
    talk = await desk.mention(ADA, "release, please")
    shown = await card(desk, talk, "Run deploy?")
    await known(desk)
    for typed in ("Approve?", "approve ?!", "“Approve？”", "1?"):
        await desk.say(BEN, typed, talk)
    await line(desk, talk, "I will continue once")
    assert (await card(desk, talk, "Run deploy?")).buttons == shown.buttons
    await desk.open_field(BEN, shown, "Deny")
    assert await desk.submit(BEN, "I only asked.") == ()
    await line(desk, talk, "Then not.")
    assert shed.ran == []


async def test_in_a_direct_message_that_no_approver_sees_nobody_waits_for_them(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.model.script(turn(call("deploy", version="1.4.2")), turn("In a channel, then."), when="release")
    talk = await desk.direct(ADA, "release, please")
    await line(desk, talk, "“deploy” was not run: it needs approval, and nobody can give it here")
    await line(desk, talk, "In a channel, then.")
    result = (await turn_of(desk, "release", 2)).result
    assert result.startswith("deploy was not run: it needs approval, and nobody can give it here, since ")
    assert "the people who decide cannot see this direct message." in result
    assert shed.ran == []


@pytest.fixture
def own_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let approvers decide on their own requests as well."""
    monkeypatch.setenv("ASKBACK_APPROVAL_OWN", "true")


@pytest.mark.usefixtures("own_requests")
async def test_in_a_direct_message_of_an_approver_of_their_own_requests_it_goes_on_where_the_group_is_known(
    desk: Desk, shed: Shed
) -> None:
    desk.join_group(BEN)
    desk.model.script(turn(call("deploy", version="1.4.2")), turn("It is over."), when="release")
    talk = await desk.direct(BEN, "release, please")
    if desk.platform == "slack":
        await desk.press(BEN, await card(desk, talk, "Run deploy?"), "Approve")
    await line(desk, talk, "It is over.")
    # Discord gives no roles in a direct message.
    assert shed.ran == ([("1.4.2", "")] if desk.platform == "slack" else [])


async def test_an_approver_does_not_decide_about_what_they_requested(desk: Desk, shed: Shed) -> None:
    desk.join_group(BEN)
    desk.model.script(turn(call("deploy", version="1.4.2")), turn("Who is there?"), when="release")
    talk = await desk.mention(BEN, "release, please")
    shown = await card(desk, talk, "Run deploy?")
    await desk.press(BEN, shown, "Approve")
    await notice(desk, BEN, OWN_REQUEST)
    assert shed.ran == []


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Approvers may let a tool run for the rest of a conversation."""
    monkeypatch.setenv("ASKBACK_APPROVAL_ALWAYS", "true")


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("left", [False, True], ids=["stayed", "left"])
async def test_an_always_holds_as_long_as_its_giver_is_in_the_group(
    desk: Desk, shed: Shed, monkeypatch: pytest.MonkeyPatch, left: bool
) -> None:
    one, other = (turn(call("deploy", version=version)) for version in ("1.4.2", "1.4.3"))
    desk.model.script(one, turn("It is out."), other, turn("That as well."), when="release")
    monkeypatch.setattr("askback_slack.groups.CACHE_SECONDS", 0.0)
    desk.join_group(BEN)
    desk.join_group(CY)
    talk = await desk.mention(ADA, "release, please")
    await desk.press(BEN, await card(desk, talk, "1.4.2"), "Always in this conversation")
    await line(desk, talk, "It is out.")
    if left:
        desk.leave_group(BEN)
    await desk.say(ADA, "the next, please", talk)
    if left:
        shown = await card(desk, talk, "1.4.3")
        assert shed.ran == [("1.4.2", "")]
        await desk.press(CY, shown, "Approve")
    await line(desk, talk, "That as well.")
    assert shed.ran == [("1.4.2", ""), ("1.4.3", "")]


@pytest.mark.usefixtures("always")
async def test_after_a_revocation_the_card_says_that_the_always_no_longer_holds(desk: Desk, shed: Shed) -> None:
    one, other = (turn(call("deploy", version=version)) for version in ("1.4.2", "1.4.3"))
    desk.model.script(one, turn("It is out."), other, turn("That as well."), when="release")
    desk.join_group(BEN)
    talk = await desk.mention(ADA, "release, please")
    shown = await card(desk, talk, "1.4.2")
    (ask,) = await desk.host.manager.list_open_asks()
    await desk.press(BEN, shown, "Always in this conversation")
    over = await settled(desk, talk, "Approved: “Always in this conversation”")
    assert "revoked" not in over.text
    await line(desk, talk, "It is out.")
    reason = "Freeze until Monday, <!channel> @everyone *"
    code, said = await askback("revoke", ask.id, "--reason", reason, "--by", "Olga")
    assert (code, said.splitlines()[-1]) == (0, "Notified the running bot: it changes the card.")
    over = await settled(desk, talk, "Approved: “Always in this conversation” (revoked)")
    assert over.id == shown.id
    assert "Revoked by my operator: each call needs approval again." in over.text
    assert reason in over.text
    assert "(revoked)" in over.notification
    assert not [ping for ping in desk.pings() if "everyone" in ping or "channel" in ping]
    _, audit = await askback("show", ask.id)
    assert " by Olga, an operator: “Freeze until Monday" in audit
    await desk.say(ADA, "the next, please", talk)
    await desk.press(BEN, await card(desk, talk, "1.4.3"), "Approve")
    await line(desk, talk, "That as well.")


@pytest.fixture
def two_and_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Require two approvals, also for letting a tool run for the rest of a conversation."""
    monkeypatch.setenv("ASKBACK_APPROVAL_QUORUM", "2")
    monkeypatch.setenv("ASKBACK_APPROVAL_ALWAYS", "true")


@pytest.mark.usefixtures("two_and_always")
async def test_an_approve_and_an_always_are_two_who_agree_to_this_call_alone(desk: Desk, shed: Shed) -> None:
    for person in (BEN, CY):
        desk.join_group(person)
    calls = (turn(call("deploy", version="1.4.2")), turn(call("deploy", version="1.4.3")))
    desk.model.script(*calls, turn(call("deploy", version="1.4.4")), turn("They are out."), when="release")
    talk = await desk.mention(ADA, "release, please")
    shown = await card(
        desk, talk, "Needs 2 approvals. “Always in this conversation” applies if 2 choose it. One denial stops it."
    )
    await desk.press(BEN, shown, "Always in this conversation")
    shown = await card(desk, talk, "1 of 2 agree")
    assert "1 of 2 agree" in shown.notification
    await desk.press(CY, shown, "Approve")
    over = await settled(desk, talk, "Approved, but not “Always in this conversation”")
    assert "Approved, but not “Always in this conversation”" in over.notification
    shown = await card(desk, talk, "1.4.3")
    assert shed.ran == [("1.4.2", "")]
    await desk.press(BEN, shown, "Always in this conversation")
    await card(desk, talk, "1 of 2 agree")
    await desk.press(CY, shown, "Always in this conversation")
    await settled(desk, talk, "Approved: “Always in this conversation”")
    await line(desk, talk, "They are out.")
    assert shed.ran == [("1.4.2", ""), ("1.4.3", ""), ("1.4.4", "")]
