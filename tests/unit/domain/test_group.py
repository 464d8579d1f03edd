"""The members of groups: people who are known to be among the unnamed ones are counted once, by name."""

from __future__ import annotations

from askback.domain.group import GroupMembers, name_members
from askback.domain.identity import Actor

ANN, BEN, CID = (
    Actor(platform="board", tenant="T1", id=f"U{number}", name=name, groups=("G1",))
    for number, name in enumerate(("Ann", "Ben", "Cid"), 1)
)


def test_known_people_among_the_unnamed_members_of_a_group_are_named() -> None:
    groups = {
        "G1": GroupMembers(others=2),
        "G2": GroupMembers(people=(BEN,)),
        "G3": GroupMembers(unreadable="there is no such user group."),
        "G4": GroupMembers(people=(CID,), others=0),
    }
    ann, ben = ANN.evolve(groups=("G1", "G2", "G3")), BEN.evolve(groups=())
    named = name_members(groups, (ann, ben))
    assert named == {**groups, "G1": GroupMembers(people=(ann,), others=1)}
    assert [group.is_complete for group in named.values()] == [False, True, False, True]


def test_a_group_in_which_more_people_are_found_than_were_counted_has_no_unnamed_members() -> None:
    """A platform may count the members a moment before it says who is one, and others joined since."""
    named = name_members({"G1": GroupMembers(people=(CID,), others=1)}, (ANN, BEN))
    assert named == {"G1": GroupMembers(people=(CID, ANN, BEN), others=0)}
    assert named["G1"].is_complete
