"""custom_ids: they are read back exactly, and foreign ones are rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback_discord import control_ids
from askback_discord.control_ids import Control, parse, to_custom_id

WITH = ["choose", "pick", "tick", "page", "vote"]
EITHER = ["goto", "retry"]
WITHOUT = [kind for kind in control_ids.KINDS if kind not in {*WITH, *EITHER}]
NUMBER = st.integers(0, 999_999_999)
ASK = st.text("ABCabc019_-", min_size=1, max_size=48)


@given(
    st.one_of(
        st.builds(Control, kind=st.sampled_from(WITH), ask_id=ASK, step=NUMBER, revision=NUMBER, arg=NUMBER),
        st.builds(Control, kind=st.sampled_from(WITHOUT), ask_id=ASK, step=NUMBER, revision=NUMBER),
        st.builds(Control, kind=st.sampled_from(EITHER), ask_id=ASK, step=NUMBER, arg=st.none() | NUMBER),
    )
)
def test_what_is_written_is_read_back(control: Control) -> None:
    name = to_custom_id(control)
    assert len(name) <= 100
    assert parse(name) == control


@pytest.mark.parametrize(
    "foreign",
    [
        None,
        7,
        b"askback:next:a:0:0",
        "",
        "next",
        "askback",
        "askback:next:a:0",
        "askback:next:a:0:0:0",
        "askback:choose:a:0:0",
        "askback:choose:a:0:0:",
        "askback:choose:a:0:0:-1",
        "askback:choose:a:0:0:01",
        "askback:choose:a:0:0:1:2",
        "askback:choose:a:0:0:1\n",
        "askback:choose:a b:0:0:1",
        f"askback:choose:{'a' * 49}:0:0:1",
        "askback:choose:a:0:0:1000000000",
        "askback:choose:a:٣:0:1",
        "askback:unknown:a:0:0",
        "Askback:next:a:0:0",
        " askback:next:a:0:0",
    ],
)
def test_what_is_foreign_is_nothing(foreign: object) -> None:
    assert parse(foreign) is None


@given(st.one_of(st.text(), st.from_regex(r"askback:[a-z]{0,8}:\w{0,60}:\d{0,12}:\d{0,12}(:-?\d{0,12})?")))
def test_reading_never_raises(name: str) -> None:
    found = parse(name)
    assert found is None or to_custom_id(found) == name


def test_pages_of_one_revision_are_different_drawings() -> None:
    drawings = {Control("tick", "a", 0, revision, page).drawing for revision in range(9) for page in range(40)}
    assert len(drawings) == 9 * 40
