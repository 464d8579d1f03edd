"""The text field and the ephemeral notices: within Discord's limits, and submissions are read tolerantly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.actions import SubmitText
from askback.domain.text_field import TextField, build_text_field
from askback.domain.text_rules import TextRules
from askback_discord import control_ids, ephemeral, limits, text_modal
from support.discord_cards import ASK, accepted_modal, displays, do, elements, interview, options, question, said
from support.discord_markdown import read, seen
from support.forms import build_field

RECORDED = Path(__file__).parents[4] / "shared/payloads/discord_modal_submit/hikari_001.json"
FIELD = build_field(ASK)


def shown(field: TextField) -> Any:
    made: Any = text_modal.build_modal(field)
    accepted_modal(made)
    return made


def entry(made: Any) -> Any:
    return made["components"][-1]["component"]


def test_the_field_asks_the_question() -> None:
    made = shown(FIELD)
    assert made["title"] == "Your answer"
    assert displays(made["components"]) == ["**Which one?**"]
    assert made["components"][-1]["label"] == "Your answer"
    assert made["components"][-1]["description"] == "Up to 1,000 characters."
    assert entry(made)["style"] == 2
    assert entry(made)["placeholder"] == "Enter…"
    assert entry(made)["required"] is False
    assert "value" not in entry(made)


def test_its_header_is_its_title_as_far_as_it_fits() -> None:
    assert shown(FIELD.evolve(header="Database"))["title"] == "Database"
    long = shown(FIELD.evolve(header="A header that goes on and on " * 4))["title"]
    assert long.startswith("A header that goes on")
    assert long.endswith("…")
    assert len(long) <= 45
    assert shown(FIELD.evolve(header="\u200b"))["title"] == "Your answer"


@pytest.mark.parametrize("prompt", ["long " * 700, "two\nlines", "- *a*\n# b", "a\u202bb" + "c" * 500])
def test_the_whole_question_stands_above_it(prompt: str) -> None:
    assert prompt.strip() in said(shown(FIELD.evolve(prompt=prompt))["components"])


@pytest.mark.parametrize("prompt", ["long " * 1000, "*" * 2100])
def test_a_question_that_is_too_long_for_it_is_where_it_was(prompt: str) -> None:
    assert "The message shows all of it." in said(shown(FIELD.evolve(prompt=prompt))["components"])


def test_what_was_written_stands_in_it() -> None:
    at = do(interview(question(options=options(2), multi_select=True)), SubmitText(text="x" * 1001))
    made = shown(build_text_field(ASK, at))
    assert entry(made)["value"] == "x" * 1001
    assert "chosen" in made["components"][-1]["description"]


def test_a_kept_text_that_is_too_long_says_so() -> None:
    made = shown(FIELD.evolve(value="y" * 5000))
    assert entry(made)["value"] == "y" * 4000
    assert "only its beginning" in made["components"][-1]["description"]


def submitted(*components: Any, custom_id: Any = None) -> Any:
    return {"custom_id": custom_id or text_modal.build_modal(FIELD)["custom_id"], "components": [*components]}


def test_what_is_sent_is_read() -> None:
    data = submitted(
        {"type": 10, "id": 1},
        {
            "type": 18,
            "id": 2,
            "component": {"type": 4, "id": 3, "custom_id": control_ids.TEXT, "value": "mine\nand more"},
        },
    )
    assert text_modal.read_text(data) == "mine\nand more"
    assert text_modal.parse_ref(data) == control_ids.Control(kind="field", ask_id=ASK, step=3)


def test_what_comes_in_rows_is_read_too() -> None:
    data = submitted({"type": 1, "components": [{"type": 4, "custom_id": control_ids.TEXT, "value": "mine"}]})
    assert text_modal.read_text(data) == "mine"


def test_a_recorded_modal_of_somebody_else_is_not_ours() -> None:
    if not RECORDED.exists():
        pytest.skip("the recorded payloads are not on this machine")
    data = json.loads(RECORDED.read_text())["data"]
    assert text_modal.parse_ref(data) is None
    assert text_modal.read_text(data) == ""
    data["components"][1]["components"][0]["custom_id"] = control_ids.TEXT
    assert text_modal.read_text(data) == "Longer Text"


def test_another_control_is_no_field() -> None:
    assert (
        text_modal.parse_ref(
            {"custom_id": control_ids.to_custom_id(control_ids.Control(kind="next", ask_id=ASK, step=3))}
        )
        is None
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(control_ids.TEXT),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["components", "component", "custom_id", "value", "type"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["components", "custom_id", "id"]), JSON))
def test_reading_never_raises(data: Any) -> None:
    assert isinstance(text_modal.read_text(data), str)
    text_modal.parse_ref(data)


@given(st.text(min_size=1), st.text(), st.text(max_size=6000))
def test_any_field_can_be_opened(prompt: str, header: str, value: str) -> None:
    field = {**FIELD.model_dump(), "prompt": prompt, "header": header, "value": value}
    try:
        made = TextField(**field)
    except ValueError:
        return  # an unpaired surrogate
    shown(made)


def test_a_notice_is_for_one_person_and_literal() -> None:
    made: Any = ephemeral.build_notice("Not answered yet: *Data_base* @everyone <@1>.")
    limits.check_message(made)
    assert made["flags"] == limits.EPHEMERAL
    assert made["allowed_mentions"] == {"parse": []}
    assert seen(read(made["content"])) == "Not answered yet: *Data_base* @everyone <@1>."
    assert "components" not in made


@pytest.mark.parametrize("words", ["word " * 900, "*" * 2500, "\u202e*" * 1500, "漢" * 4000])
def test_a_long_notice_is_shortened_and_says_so(words: str) -> None:
    made: Any = ephemeral.build_notice(words)
    assert limits.count_utf16_units(made["content"]) <= 2000
    assert "…" in made["content"]


def test_a_text_that_was_not_taken_can_be_mended() -> None:
    made: Any = ephemeral.try_again("Please write an answer: it is empty.", FIELD)
    limits.check_message(made)
    found = elements([made])
    assert [one["label"] for one in found] == ["Try again"]
    assert control_ids.parse(found[0]["custom_id"]) == control_ids.Control(kind="retry", ask_id=ASK, step=3)


def test_a_notice_that_has_served_loses_its_button() -> None:
    made: Any = ephemeral.to_replacement(ephemeral.build_notice("Your answer counts."))
    assert made["components"] == []
    assert made["content"] == "Your answer counts."


def test_a_number_or_a_date_is_one_line_unless_a_rejected_text_has_more() -> None:
    assert entry(shown(FIELD.evolve(rules=TextRules(kind="uri"))))["style"] == 1
    assert entry(shown(FIELD))["style"] == 2
    date = question(rules=TextRules(kind="date"))
    assert build_text_field(ASK, interview(date)).is_line
    assert not build_text_field(ASK, interview(question())).is_line
    assert not build_text_field(ASK, do(interview(date), SubmitText(text="today\nor later"))).is_line
