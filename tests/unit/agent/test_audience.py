"""Names that the model writes refer to people in the thread, and never allow more than the setting does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.agent.audience import Answerers, find_people, resolve_addressees
from askback.domain.ask_policy import Policy
from askback.domain.conversation import Conversation
from askback.domain.identity import Actor, Place
from askback.domain.who import Who
from askback.errors import InvalidValue, ModelError

PLACE = Place(platform="local", tenant="T1", channel="C1", thread="1")
NAMES = ("Ada", "ada", "Ben Okri", "ben.okri", "B-2", "U1", "U2", "★", "", "аda", "@ada", "O\u202eda")


def person(number: int, name: str, *, tenant: str | None = "T1", groups: tuple[str, ...] = ()) -> Actor:
    return Actor(platform="local", id=f"U{number}", tenant=tenant, name=name, groups=groups)


people = st.builds(
    person,
    st.integers(1, 5),
    st.sampled_from(NAMES),
    tenant=st.sampled_from(("T1", None, "T2")),
    groups=st.sampled_from(((), ("G1",), ("G2",))),
)
settings_of = st.one_of(
    st.sampled_from(("starter", "participants", "allowed")).map(lambda kind: Answerers(kind=kind)),
    st.builds(
        lambda who: Answerers(kind="given", by_platform={"local": who}),
        st.one_of(
            st.just(Who(groups=("G1",))),
            st.lists(people, min_size=1, max_size=2).map(lambda some: Who(people=tuple(some))),
            people.map(lambda one: Who(people=(one,), groups=("G2",))),
        ),
    ),
)


def setting(answerers: Answerers, starter: Actor) -> Who:
    if answerers.kind == "given":
        return answerers.by_platform["local"]
    if answerers.kind == "starter":
        return Who.from_people(starter)
    return Who(people=(starter,), open_to=answerers.kind)


@given(
    answerers=settings_of,
    starter=people,
    wrote=st.lists(people, max_size=6),
    names=st.lists(st.sampled_from((*NAMES, "U3", "<@U4>", "@everyone", "here")), max_size=3),
    actor=people,
    admitted=st.booleans(),
    direct=st.booleans(),
)
def test_no_question_is_open_to_anybody_beyond_the_setting(
    answerers: Answerers,
    starter: Actor,
    wrote: list[Actor],
    names: list[str],
    actor: Actor,
    admitted: bool,
    direct: bool,
):
    here = (starter, *wrote)
    conversation = Conversation(id="c", place=PLACE, starter=starter)
    those = resolve_addressees(answerers, conversation, here, starter if direct else None)
    try:
        policy = those.to_policy(Policy(who=Who.from_people(starter)), names)
    except ModelError:
        return
    allowed = setting(answerers, starter).contains(actor, here, admitted=admitted)
    if policy.explain_denial(actor, here, admitted=admitted) is None:
        assert allowed or (direct and answerers.kind != "given" and actor.is_same_person(starter))
    if names:
        assert not policy.who.open_to
        assert not policy.who.groups
        assert all(any(one.is_same_person(other) for other in here) for one in policy.who.people)
    if direct:
        assert all(one.is_same_person(starter) for one in policy.who.people)


@given(wrote=st.lists(people, min_size=1, max_size=6))
def test_everybody_can_be_addressed_by_their_id(wrote: list[Actor]):
    for one in wrote:
        others = {other.tenant for other in wrote if other.id == one.id and other.tenant}
        if len(others) > 1:
            with pytest.raises(ModelError, match="could be several people"):
                find_people([one.id], wrote)
        else:
            (found,) = find_people([f"<@{one.id.lower()}>"], wrote)
            assert found.id == one.id


ADA, BEN = person(1, "Ada Lovelace"), person(2, "Ben Okri")


@pytest.mark.parametrize(
    "name", ["Ben Okri", "ben okri", "@Ben Okri", " BEN  OKRI ", "U2", "<@U2>", "<@!u2>", "ben.okri", "ben", "@Okri"]
)
def test_a_name_is_read_whatever_its_case_and_spaces(name: str):
    assert find_people([name, "U2"], (ADA, BEN)) == (BEN,)


def test_a_name_that_somebody_had_before_still_is_theirs():
    assert find_people(["ada"], (person(1, "ada"), ADA, BEN)) == (ADA,)


def test_who_takes_the_name_of_another_makes_it_mean_nobody():
    with pytest.raises(ModelError, match=r"could be several people: “Ada Lovelace” \(U1\), “ada lovelace” \(U2\)"):
        find_people(["Ada Lovelace"], (ADA, person(2, "ada lovelace")))


def test_a_first_name_that_two_have_means_nobody_and_a_whole_name_goes_before_it():
    with pytest.raises(ModelError, match="could be several people"):
        find_people(["ben"], (ADA, BEN, person(3, "Ben Nevis")))
    assert find_people(["ben"], (ADA, BEN, person(3, "ben"))) == (person(3, "ben"),)


def test_who_takes_the_id_of_another_as_a_name_is_not_meant_by_it():
    assert find_people(["U1"], (ADA, person(2, "U1"))) == (ADA,)


def test_a_name_of_nobody_comes_back_with_those_who_can_be_asked():
    with pytest.raises(ModelError, match="there is no 'cy' here to ask"):
        find_people(["Ben Okri", "cy"], (ADA, BEN))
    with pytest.raises(ModelError, match="There is nobody in this thread to address"):
        find_people(["cy"], ())


def test_a_name_that_hides_something_is_listed_on_one_line_and_cut():
    with pytest.raises(ModelError) as refused:
        find_people(["cy"], (person(1, "x\ny" + "z" * 500),))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250


def test_on_a_platform_where_nobody_is_given_nobody_is_asked():
    conversation = Conversation(id="c", place=PLACE, starter=ADA)
    those = resolve_addressees(
        Answerers(kind="given", by_platform={"other": Who.from_people(ADA)}), conversation, (ADA,), None
    )
    with pytest.raises(ModelError, match="the setting “answerers” lists no one on local"):
        those.to_policy(Policy(who=Who.from_people(ADA)), ())


def test_an_older_process_reads_what_names_nobody_but_people():
    """An unknown field would make an older process unable to read the row."""
    plain = Policy(who=Who.from_people(ADA)).model_dump_json()
    assert "open_to" not in plain
    assert "within" not in plain
    assert "is_program" not in plain
    open_to = Policy(who=Who(people=(ADA,), open_to="participants"))
    assert Policy.model_validate_json(open_to.model_dump_json()) == open_to


def test_whom_it_is_open_to_names_somebody_or_is_said():
    assert Who(open_to="allowed")
    with pytest.raises(InvalidValue, match="is empty: give people or groups"):
        Who()
