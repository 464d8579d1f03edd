"""The text field: complete, within Slack's limits, and submissions are read tolerantly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.actions import SubmitText
from askback.domain.text_field import TextField, build_text_field
from askback.domain.text_rules import TextRules
from askback.internal.clock import utc_now
from askback_slack import limits, not_now_modal, text_modal
from support.forms import build_field
from support.slack_cards import ASK, accepted_view, do, interview, options, question, strings

REF = text_modal.FieldRef(ask_id=ASK, step=3, channel="C1", message_ts="1700000000.000100")
FIELD = build_field(ASK)


def shown(field: TextField) -> Any:
    made: Any = text_modal.build_view(field, REF)
    accepted_view(made)
    return made


def entry(view: Any) -> Any:
    return view["blocks"][-1]["element"]


def test_the_field_asks_the_question() -> None:
    view = shown(FIELD)
    assert view["blocks"][-1]["label"]["text"] == "Which one?"
    assert entry(view)["placeholder"]["text"] == "Enter…"
    assert entry(view)["multiline"] is True
    assert "initial_value" not in entry(view)
    assert view["notify_on_close"] is True
    assert [view[name]["text"] for name in ("title", "submit", "close")] == [
        "Your answer",
        "Send",
        "Back to the options",
    ]


@pytest.mark.parametrize("prompt", ["long " * 2000, "two\nlines", "word" * 100, "a\u202bb" + "c" * 500])
def test_a_longer_question_stands_above_it_whole(prompt: str) -> None:
    view = shown(FIELD.evolve(prompt=prompt))
    above = "".join(strings(view["blocks"][:-1]))
    assert prompt in above
    assert view["blocks"][-1]["label"]["text"] == "Your answer"


def test_what_was_written_stands_in_it() -> None:
    at = do(interview(question(options=options(2), multi_select=True)), SubmitText(text="x" * 1001))
    view = shown(build_text_field(ASK, at))
    assert entry(view)["initial_value"] == "x" * 1001
    assert "ticked" in view["blocks"][-1]["hint"]["text"]


def test_more_than_a_field_holds_is_said() -> None:
    view = shown(FIELD.evolve(value="👋" * 2000))
    assert entry(view)["initial_value"] == "👋" * 1500
    assert any("only its beginning" in text for text in strings(view["blocks"]))


@given(st.text(max_size=400).filter(lambda text: bool(text.strip())), st.text(max_size=150), st.text(max_size=4000))
def test_any_field_is_accepted(prompt: str, placeholder: str, value: str) -> None:
    shown(FIELD.evolve(prompt=prompt, placeholder=placeholder, value=value))


@pytest.mark.parametrize("reference", [REF, REF.evolve(declines=True)])
def test_what_it_belongs_to_is_read_back(reference: text_modal.FieldRef) -> None:
    view = text_modal.build_view(FIELD, reference)
    assert text_modal.parse_ref(view) == reference
    assert limits.count_utf16_units(str(view["private_metadata"])) < limits.PRIVATE_METADATA


def test_processes_of_earlier_releases_read_it_and_are_read() -> None:
    written = str(text_modal.build_view(FIELD, REF)["private_metadata"])
    assert (json.loads(written)["turn"], "step" in written) == (REF.step, False)
    later = str(not_now_modal.build_view(FIELD, REF, utc_now())["private_metadata"])
    assert json.loads(later) == json.loads(written)
    assert text_modal.parse_ref({"private_metadata": written}) == REF


@pytest.mark.parametrize(
    "metadata",
    ["", "{", "[]", "null", "7", '{"ask_id": 1}', '{"ask_id": "a", "turn": -1}', "[" * 100_000, None, 7, '"\ud800"'],
)
def test_foreign_metadata_belongs_to_nothing(metadata: Any) -> None:
    assert text_modal.parse_ref({"private_metadata": metadata}) is None
    assert text_modal.parse_ref({}) is None


def test_the_text_is_read() -> None:
    view = shown(FIELD)
    block = view["blocks"][-1]
    values = {block["block_id"]: {block["element"]["action_id"]: {"type": "plain_text_input", "value": " hi\n"}}}
    assert text_modal.read_text({"state": {"values": values}}) == " hi\n"


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {"values": None},
        {"values": {"askback:answer": 1}},
        {"values": {"askback:answer": {"askback:text": {"value": None}}}},
    ],
)
def test_nothing_written_is_empty(state: Any) -> None:
    assert text_modal.read_text({"state": state}) == ""
    assert text_modal.read_text({}) == ""


@pytest.mark.parametrize(
    ("rules", "value", "made"),
    [
        (TextRules(kind="integer"), "", {"type": "number_input", "is_decimal_allowed": False}),
        (
            TextRules(kind="number", minimum=0.5, maximum=9),
            "4.2",
            {
                "type": "number_input",
                "is_decimal_allowed": True,
                "min_value": "0.5",
                "max_value": "9",
                "initial_value": "4.2",
            },
        ),
        (TextRules(kind="email"), "ada@example.com", {"type": "email_text_input", "initial_value": "ada@example.com"}),
        (TextRules(kind="date"), "2026-11-24", {"type": "datepicker", "initial_date": "2026-11-24"}),
        (TextRules(kind="date"), "", {"type": "datepicker"}),
        (TextRules(kind="time"), "16:30", {"type": "timepicker", "initial_time": "16:30"}),
        (TextRules(kind="time"), "", {"type": "timepicker"}),
        (
            TextRules(kind="date-time"),
            "2026-11-24T16:30:00+01:00",
            {"type": "datetimepicker", "initial_date_time": 1_795_534_200},
        ),
        (TextRules(kind="date-time"), "1970-01-01T00:00:00Z", {"type": "datetimepicker"}),
    ],
)
def test_a_number_an_address_and_a_date_have_slacks_own_fields(
    rules: TextRules, value: str, made: dict[str, Any]
) -> None:
    view = shown(FIELD.evolve(rules=rules, value=value))
    assert {name: one for name, one in entry(view).items() if name not in ("action_id", "focus_on_load")} == made


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (TextRules(kind="integer"), "seven"),
        (TextRules(kind="number"), "1e3"),
        (TextRules(kind="date"), "tomorrow"),
        (TextRules(kind="time"), "half past four"),
        (TextRules(kind="email"), "ada at example"),
        (TextRules(kind="uri"), ""),
        (TextRules(), ""),
    ],
)
def test_a_text_that_such_a_field_cannot_hold_is_kept(rules: TextRules, value: str) -> None:
    made = entry(shown(FIELD.evolve(rules=rules, value=value)))
    assert made["type"] == "plain_text_input"
    assert made.get("initial_value", "") == value


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"type": "number_input", "value": "4.2"}, "4.2"),
        ({"type": "email_text_input", "value": "ada@example.com"}, "ada@example.com"),
        ({"type": "datepicker", "selected_date": "2026-11-24"}, "2026-11-24"),
        ({"type": "datepicker", "selected_date": None}, ""),
        ({"type": "timepicker", "selected_time": "16:30"}, "16:30"),
        ({"type": "timepicker", "selected_time": None}, ""),
        ({"type": "datetimepicker", "selected_date_time": 1_795_534_200}, "2026-11-24T15:30:00Z"),
        ({"type": "datetimepicker", "selected_date_time": None}, ""),
        ({"type": "datetimepicker", "selected_date_time": 10**20}, ""),
        ({"type": "datetimepicker", "selected_date_time": True}, ""),
    ],
)
def test_what_such_a_field_holds_is_read_as_a_text(state: dict[str, Any], text: str) -> None:
    assert text_modal.read_text({"state": {"values": {"askback:answer": {"askback:text": state}}}}) == text


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"minimum": 1, "maximum": 9}, {"min_value": "1", "max_value": "9"}),
        ({"minimum": 1234567890123456, "maximum": 2**53 - 1}, {
            "min_value": "1234567890123456", "max_value": "9007199254740991",
        }),
        ({"minimum": -0.25, "maximum": 0.1}, {"min_value": "-0.25", "max_value": "0.1"}),
        ({"minimum": 0.00001, "maximum": 1e30}, {}),
    ],
)  # fmt: skip
def test_slack_gets_each_limit_of_a_number_exactly_or_not_at_all(limits: Any, told: dict[str, str]) -> None:
    """A rounded limit would refuse answers that are right, and Slack's examples have no exponents."""
    made = entry(shown(FIELD.evolve(rules=TextRules(kind="number", **limits))))
    assert {name: value for name, value in made.items() if name in ("min_value", "max_value")} == told


def test_a_number_or_a_date_is_one_line_unless_a_rejected_text_has_more() -> None:
    assert entry(shown(FIELD.evolve(rules=TextRules(kind="uri"))))["multiline"] is False
    assert entry(shown(FIELD.evolve(rules=TextRules(schema_format="uuid"))))["multiline"] is False
    assert entry(shown(FIELD.evolve(rules=TextRules(schema_format="markdown"))))["multiline"] is True
    assert entry(shown(FIELD))["multiline"] is True
    date = question(rules=TextRules(kind="date"))
    assert build_text_field(ASK, interview(date)).is_line
    assert not build_text_field(ASK, interview(question())).is_line
    assert not build_text_field(ASK, do(interview(date), SubmitText(text="today\nor later"))).is_line
