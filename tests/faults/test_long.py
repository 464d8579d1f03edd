"""The long fault run in short: many conversations, repeated kills, and nothing is lost, duplicated or left over.

The tests also check the count itself: it notices the errors that it is made for.
"""

from __future__ import annotations

import pytest

from support.processes import Launcher

from .count import Tally, counted
from .record import Order, Record, Request
from .scenarios import Story
from .stage import play

POINTS = (
    "after:receive", "commit:end_turn", "random", "before:decide", "after:decide", "called:card", "after:start_call",
    "approval:voted", "call:draw", "commit:begin_turn", "approval:decided", "ack", "after:lease", "approval:started",
    "random",
)  # fmt: skip


async def played(launcher: Launcher, order: Order) -> Tally:
    return counted(await play(order, launcher))


def wrong(tally: Tally) -> dict[str, list[str]]:
    return {kind: found for kind, found in tally.violations.items() if found}


async def test_kills_with_work_in_flight_lose_nothing(platform: str, launcher: Launcher) -> None:
    tally = await played(launcher, Order(platform, "sqlite", seed=3, points=POINTS, deadline=5.0))
    assert not wrong(tally)
    assert tally.kills == len(POINTS)
    # A kill at a random moment may find nothing to do.
    assert tally.with_work >= len([point for point in POINTS if point != "random"])
    assert tally.outcomes["answered"]
    assert tally.repeated <= tally.turns_in_flight
    assert {point for point in POINTS if point.startswith("approval:")} <= {*tally.points}
    assert tally.approvals["approved"]
    assert tally.approvals["interrupted"]


async def test_without_a_kill_nothing_is_wrong_either(platform: str, launcher: Launcher) -> None:
    order = Order(
        platform, "sqlite", 5, (), kinds=("buttons", "form", "tool", "approval"), least=4, contrary=1.0, calm=True
    )
    tally = await played(launcher, order)
    assert not wrong(tally)
    assert tally.conversations >= 4
    assert tally.repeated == 0


async def test_a_turn_that_is_requested_twice_is_noticed_even_if_a_process_was_killed(
    platform: str, launcher: Launcher
) -> None:
    order = Order(
        platform, "sqlite", 5, ("commit:end_turn",), spoil="again", kinds=("buttons",), talks=2, least=2, calm=True
    )
    tally = await played(launcher, order)
    assert "calls" in wrong(tally)
    assert tally.points["commit:end_turn"] == 1


@pytest.mark.parametrize(
    ("processes", "repeated"),
    [
        (("killed", "next"), False),
        # The last request of the killed process is read late, after those of the next one.
        (("next", "killed"), False),
        (("next", "next"), True),
        (("killed", "next", "next"), True),
        (("next", "third"), True),
    ],
)
def test_a_request_is_repeated_only_if_its_process_was_killed(processes: tuple[str, ...], repeated: bool) -> None:
    record = Record(Order("slack", "sqlite", 5, ()), stories=[Story("s0000", "buttons")], killed={"killed": 1.0})
    record.requests = [Request(number, "s0000", 0, 2.0, process) for number, process in enumerate(processes)]
    record.log = [{"number": number, "request": {"messages": []}} for number in range(len(processes))]
    assert ("calls" in wrong(counted(record))) is repeated


async def test_people_who_deny_a_call_end_it_with_their_reason(platform: str, launcher: Launcher) -> None:
    order = Order(
        platform, "sqlite", 5, (), kinds=("approval",), talks=2, least=2, contrary=0.0, calm=True, plans=("deny",)
    )
    tally = await played(launcher, order)
    assert not wrong(tally)
    assert tally.approvals["denied"] == tally.approvals["asked"] >= 2


async def test_a_click_that_is_acked_before_its_commit_is_missed(platform: str, launcher: Launcher) -> None:
    order = Order(
        platform, "sqlite", 7, ("before:decide",), spoil="ack", kinds=("buttons",), talks=2, contrary=0.0, calm=True
    )
    assert "clicks" in wrong(await played(launcher, order))


async def test_a_click_that_is_applied_to_what_it_saw_is_missed(platform: str, launcher: Launcher) -> None:
    order = Order(
        platform, "sqlite", 7, (), spoil="stale", kinds=("buttons",), talks=3, least=3, contrary=1.0, calm=True
    )
    assert "clicks" in wrong(await played(launcher, order))


async def test_a_click_that_counts_for_another_step_is_noticed(platform: str, launcher: Launcher) -> None:
    order = Order(
        platform, "sqlite", 7, (), spoil="step", kinds=("form",), talks=2, least=2, contrary=1.0, calm=True, drain=6.0
    )
    assert "clicks" in wrong(await played(launcher, order))


async def test_cards_that_people_delete_come_back_and_edits_count_once(platform: str, launcher: Launcher) -> None:
    order = Order(platform, "sqlite", 5, (), kinds=("deleted", "edit"), least=8, contrary=0.5, calm=True)
    tally = await played(launcher, order)
    assert not wrong(tally)
    assert tally.changes["deleted"]
    assert tally.changes["replaced"]
    assert tally.changes["both"]


async def test_a_deleted_card_that_stays_away_is_missed(platform: str, launcher: Launcher) -> None:
    assert "gone" in await changes(platform, launcher, "forgotten", kind="deleted")


async def test_a_deleted_card_that_comes_back_twice_is_noticed(platform: str, launcher: Launcher) -> None:
    assert "cards" in await changes(platform, launcher, "twofold", kind="deleted")


async def test_an_edit_that_is_dropped_is_missed(platform: str, launcher: Launcher) -> None:
    assert "edits" in await changes(platform, launcher, "unedited", kind="edit")


async def test_an_edit_that_is_told_beside_what_it_replaces_is_noticed(platform: str, launcher: Launcher) -> None:
    assert "edits" in await changes(platform, launcher, "beside", kind="edit")


async def changes(platform: str, launcher: Launcher, spoil: str, *, kind: str) -> dict[str, list[str]]:
    order = Order(
        platform, "sqlite", 7, (), spoil=spoil, kinds=(kind,), talks=2, least=2, contrary=0.0, calm=True, deadline=8.0,
        drain=6.0,
    )  # fmt: skip
    return wrong(await played(launcher, order))


async def test_without_the_outbox_cards_are_left_unsettled(platform: str, launcher: Launcher) -> None:
    order = Order(
        platform, "sqlite", 7, (), spoil="outbox", kinds=("deadline",), talks=1, least=1, deadline=6.0, drain=4.0
    )
    assert "unsettled" in wrong(await played(launcher, order))


async def approvals(
    platform: str,
    launcher: Launcher,
    spoil: str,
    *,
    deadline: float = 5.0,
    contrary: float = 0.0,
    plans: tuple[str, ...] = (),
) -> dict[str, list[str]]:
    order = Order(
        platform, "sqlite", 5, (), spoil=spoil, kinds=("approval",), talks=2, least=2, contrary=contrary, calm=True,
        deadline=deadline, plans=plans,
    )  # fmt: skip
    return wrong(await played(launcher, order))


async def waiting(
    platform: str, launcher: Launcher, spoil: str | None, *points: str, deadline: float, plan: str, talks: int = 1
) -> Tally:
    order = Order(
        platform, "sqlite", 5, points, spoil=spoil, kinds=("waiting",), talks=1, least=talks, contrary=0.0, calm=True,
        deadline=deadline, plans=(plan,),
    )  # fmt: skip
    return await played(launcher, order)


async def test_a_kill_once_a_reminder_was_sent_sends_it_no_second_time(platform: str, launcher: Launcher) -> None:
    tally = await waiting(platform, launcher, None, "reminder:told", deadline=30.0, plan="escalated")
    assert not wrong(tally)
    assert tally.points["reminder:told"] == 1
    assert tally.approvals["reminded"] >= 1


async def test_a_reminder_that_is_sent_again_after_a_kill_is_noticed(platform: str, launcher: Launcher) -> None:
    # The bot is back before the next moment.
    tally = await waiting(platform, launcher, "nameless", "reminder:told", deadline=50.0, plan="escalated")
    assert "reminded" in wrong(tally)


async def test_a_reminder_of_what_is_over_is_noticed(platform: str, launcher: Launcher) -> None:
    # The notification about the first call comes while the others still run.
    tally = await waiting(platform, launcher, "overdue", deadline=3.0, plan="silent", talks=3)
    assert "overdue" in wrong(tally)


async def test_people_who_are_never_asked_later_on_are_missed(platform: str, launcher: Launcher) -> None:
    assert "unreminded" in wrong(await waiting(platform, launcher, "hushed", deadline=6.0, plan="silent"))


async def test_a_tool_that_runs_unasked_is_noticed(platform: str, launcher: Launcher) -> None:
    # No other person votes, so any call that runs was not approved.
    assert "ungranted" in await approvals(platform, launcher, "granted", deadline=2.0, plans=("silent",))


async def test_a_tool_that_runs_with_something_else_than_was_approved_is_noticed(
    platform: str, launcher: Launcher
) -> None:
    assert "changed" in await approvals(platform, launcher, "digest")


async def test_a_vote_that_takes_the_place_of_all_others_is_noticed(platform: str, launcher: Launcher) -> None:
    assert "votes" in await approvals(platform, launcher, "vote", deadline=1.5)


async def test_a_person_who_counts_as_two_is_noticed(platform: str, launcher: Launcher) -> None:
    assert {"counted", "ungranted"} <= {*await approvals(platform, launcher, "person", contrary=1.0)}


async def test_votes_that_are_applied_to_what_they_saw_are_missed(platform: str, launcher: Launcher) -> None:
    # Both approve within a moment, and the spoil makes the first wait for the second.
    assert "votes" in await approvals(platform, launcher, "stale", plans=("agree",))
