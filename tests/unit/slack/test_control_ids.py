"""Ids of controls and blocks: they are read back exactly, and foreign ones are rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.ask import create_ask_id
from askback_slack import control_ids, limits

ASK_IDS = st.builds(create_ask_id)
NUMBERS = st.integers(0, 999_999_999)


@given(st.sampled_from([*control_ids.KINDS]), ASK_IDS, NUMBERS, NUMBERS)
def test_a_control_is_read_back(kind: control_ids.Kind, ask_id: str, step: int, arg: int) -> None:
    control = control_ids.Control(
        kind=kind, ask_id=ask_id, step=step, arg=arg if kind in ("choose", "goto", "part") else None
    )
    assert control_ids.parse(control_ids.to_action_id(control)) == control
    assert len(control_ids.to_action_id(control)) <= limits.ID


@given(ASK_IDS, NUMBERS, st.integers(0, 99))
def test_a_revision_is_read_back(ask_id: str, revision: int, number: int) -> None:
    assert control_ids.parse_revision(control_ids.build_block_id(ask_id, revision, number)) == revision


@pytest.mark.parametrize(
    "foreign",
    [
        "",
        "askback",
        "askback:choose:abc:1",
        "askback:goto:abc:1",
        "askback:next:abc:1:0",
        "askback:next:abc:",
        "askback:next:abc:01",
        "askback:next:abc:-1",
        "askback:next:abc:٣",
        "askback:next:abc:1\n",
        "askback:next:a b:1",
        "askback:next::1",
        "askback:explode:abc:1",
        "Askback:next:abc:1",
        " askback:next:abc:1",
        "other:next:abc:1",
        "askback:next:" + "a" * 65 + ":1",
        "askback:choose:abc:1:9999999999",
        None,
        7,
        ["askback:next:abc:1"],
    ],
)
def test_what_is_foreign_is_nobodys(foreign: object) -> None:
    assert control_ids.parse(foreign) is None


@pytest.mark.parametrize("foreign", ["", "b", "askback:abc:1", "askback:abc:x:1", "askback:abc:1:1\n", None, 3])
def test_a_foreign_block_has_no_revision(foreign: object) -> None:
    assert control_ids.parse_revision(foreign) is None


@given(st.text() | st.from_regex(r"askback:.*:.*:.*", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    control = control_ids.parse(text)
    assert control is None or control_ids.to_action_id(control) == text
    control_ids.parse_revision(text)
