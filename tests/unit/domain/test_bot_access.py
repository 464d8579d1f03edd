"""The people who may talk to the bot; unknown people and places are refused."""

from __future__ import annotations

import pytest

from askback.domain.bot_access import DIRECT, Access, Opening
from askback.domain.identity import Actor, Place
from askback.inbound.commands import parse_command
from askback.settings.durations import parse_duration

ANN = Actor(platform="board", tenant="T1", id="U1", groups=("G1",))
CHANNEL = Place(platform="board", tenant="T1", channel="C1")


def may(access: Access, actor: Actor = ANN, place: Place = CHANNEL, *, direct: bool = False) -> bool:
    return access.explain_denial(actor, place, direct=direct) is None


def test_without_any_rule_it_is_closed_unless_it_is_said_to_be_open():
    assert not may(Access())
    assert may(Access(open=True))


@pytest.mark.parametrize(
    ("access", "allowed"),
    [
        (Access(people=("U1",)), True),
        (Access(people=("U2",)), False),
        (Access(groups=("G1",)), True),
        (Access(groups=("G2",)), False),
        (Access(people=("U2",), groups=("G1",)), True),
        (Access(channels=("C1",)), True),
        (Access(channels=("C2",)), False),
        (Access(tenants=("T1",)), True),
        (Access(tenants=("T2",)), False),
        (Access(people=("U1",), channels=("C2",)), False),
        (Access(people=("U2",), channels=("C1",)), False),
    ],
)
def test_who_is_not_on_a_list_that_is_set_stays_out(access: Access, allowed: bool):
    assert may(access) is allowed


def test_at_home_means_members_of_ones_own_workspace_and_an_unknown_one_is_none():
    home = Access(home="T1", open=True)
    assert may(home)
    assert not may(home, ANN.evolve(tenant="T2"))
    assert not may(home, ANN.evolve(tenant=None))
    assert may(Access(home="T1", people=("U1",)), ANN.evolve(tenant="T2")), "named people may come from elsewhere"


@pytest.mark.parametrize(
    ("access", "allowed"),
    [
        (Access(open=True), True),
        (Access(channels=("C1",)), False),
        (Access(channels=("C1", DIRECT)), True),
        (Access(tenants=("T1",)), False),
        (Access(people=("U1",), channels=("C9",)), True),
        (Access(people=("U2",)), False),
    ],
)
def test_direct_messages_are_no_channel(access: Access, allowed: bool):
    assert may(access, place=Place(platform="board", channel="D1"), direct=True) is allowed


def test_administrators_are_named_or_in_a_group():
    assert Access(admins=("U1",)).is_admin(ANN)
    assert Access(admin_groups=("G1",)).is_admin(ANN)
    assert not Access(people=("U1",), groups=("G1",)).is_admin(ANN)


def test_the_log_says_which():
    assert (
        Access().describe() == "Nobody may talk to the bot: the settings allow no people, groups, channels or servers."
    )
    assert Access(open=True, home="T1").describe() == "Everybody in its own workspace may talk to the bot."
    assert "2 people, 1 channel" in Access(people=("U1", "U2"), channels=("C1",)).describe()


def test_whoever_is_refused_by_a_bot_that_talks_with_nobody_reads_what_to_set():
    opening = Opening(tenants="ALLOW_TEAMS", people="ALLOW_PEOPLE", otherwise="close it", why="It is open.")
    closed = Access(opening=opening, owners=("U1",))
    here, direct = Place(platform="chat", tenant="T1", channel="C1"), Place(platform="chat", channel="D1")
    stranger, owner = Actor(platform="chat", id="U2"), Actor(platform="chat", id="U1")
    assert closed.explain_denial(stranger, here, direct=False) == (
        "I do not talk with anybody here yet. Ask my operator to set ALLOW_TEAMS=T1"
    )
    assert str(closed.explain_denial(stranger, direct, direct=True)).endswith("set ALLOW_PEOPLE=U2")
    assert closed.explain_denial(owner, here, direct=False) == (
        "I do not talk with anybody here yet. It is open. Set ALLOW_TEAMS=T1 and start me again, or close it."
    )
    assert closed.describe().endswith("Set ALLOW_TEAMS to the ids of your servers, or close it.")
    allowed = closed.evolve(tenants=("T2",))
    assert "ALLOW_TEAMS" not in str(allowed.explain_denial(owner, here, direct=False)), (
        "others are not told the settings"
    )
    assert closed.evolve(open=True).explain_denial(stranger, here, direct=False) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("stop", "stop"),
        (" Cancel! ", "stop"),
        ("/new", "new"),
        ("NEW.", "new"),
        ("stop it", None),
        ("", None),
        ("question", "show"),
        ("Show the question!", "show"),
        ("where is the card?", "show"),
        ("/questions", "show"),
        ("where’s the question", "show"),
        ("card", None),
        ("stop?", None),
        ("that question", None),
        ("the question is open", None),
    ],
)
def test_only_the_word_alone_is_an_order(text: str, command: str | None):
    assert parse_command(text) == command


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5h", 5400), ("1d 12h", 129_600), ("2W", 1_209_600)]
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 parsecs", "-3d", "1d!", "d"])
def test_what_is_no_duration_is_told_how_to_write_one(text: str):
    with pytest.raises(ValueError, match="such as 90s, 12h or 30d"):
        parse_duration(text)
