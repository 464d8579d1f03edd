"""Inputs with a clear meaning are understood like proper ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback.domain.outcome import Answer, Choice
from askback.tools import TOOLS, QuestionTool, get_tool
from askback.tools.aliases import CHOICES, LABEL
from support.cases import HOSTILE
from support.tool_calls import ENTRY, MANY, ONE, PLAIN, USER, answered, chose, entry, wrote

# Lenient forms: each is understood as the plain one

OPTIONS = ENTRY["options"]


LENIENT: dict[str, Any] = {
    "options as texts": entry(options=["A", "B"]),
    "options as JSON": entry(options=json.dumps(OPTIONS)),
    "options as JSON of texts": entry(options='["A", "B"]'),
    "options as JSON in JSON": entry(options=json.dumps(json.dumps(OPTIONS))),
    "each option as JSON": entry(options=[json.dumps(option) for option in OPTIONS]),
    "options as a tuple": entry(options=("A", "B")),
    "questions as JSON": {"questions": json.dumps(PLAIN["questions"])},
    "each question as JSON": {"questions": [json.dumps(ENTRY)]},
    "all as JSON": json.dumps(PLAIN),
    "all as JSON in JSON": "\n " + json.dumps(PLAIN, indent=1),
    "all as JSON in JSON, with space around": f" {json.dumps(json.dumps(PLAIN))} ",
    "a bare list": PLAIN["questions"],
    "a bare list as JSON": json.dumps(PLAIN["questions"]),
    "one question without the list": ENTRY,
    "one question without the list, as JSON": json.dumps(ENTRY),
    "one question instead of the list": {"questions": ENTRY},
    "one question under its singular": {"question": ENTRY},
    "the list under its singular": {"question": [ENTRY]},
    "the list null beside a single question": {"questions": None} | ENTRY,
    "null beside the question": {"questions": [None, ENTRY, None]},
    "null beside the options": entry(options=["A", None, "B"]),
    "null in every place that may be empty": entry(
        multiSelect=None, options=[{"label": "A", "description": None, "preview": None}, "B"], preview=None
    ),
    "no multiSelect": {"questions": [{key: ENTRY[key] for key in ("question", "header", "options")}]},
    "multiSelect as text": entry(multiSelect="false"),
    "multiSelect as a number": entry(multiSelect=0),
    "prompt": {"questions": [{"prompt": "Q?", "header": "H", "options": OPTIONS}]},
    "text": {"questions": [{"text": "Q?", "header": "H", "options": OPTIONS}]},
    "label for header": {"questions": [{"question": "Q?", "label": "H", "options": OPTIONS}]},
    "title for header": {"questions": [{"question": "Q?", "title": "H", "options": OPTIONS}]},
    "choices": {"questions": [{"question": "Q?", "header": "H", "choices": OPTIONS}]},
    "option titles": entry(options=[{"title": "A"}, {"name": "B"}]),
    "option texts": entry(options=[{"text": "A"}, {"value": "B"}]),
    "other case": {"Questions": [{"Question": "Q?", "HEADER": "H", "Options": [{"Label": "A"}, {"label": "B"}]}]},
    "fields that nobody knows": entry(colour="red", metadata={"x": [1]}) | {"id": 7, "answers": {}},
    "blank descriptions": entry(options=[{"label": "A", "description": " "}, {"label": "B", "preview": ""}]),
}


@pytest.mark.parametrize("data", LENIENT.values(), ids=LENIENT)
def test_the_same_question_in_other_words_is_the_same_form(data: Any):
    assert USER.parse(data) == USER.parse(PLAIN)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("choices", ["options", *CHOICES])
@pytest.mark.parametrize("label", ["label", *LABEL])
def test_every_tool_understands_options_under_the_same_names(tool: str, choices: str, label: str):
    one = {"question": "Q?", choices: [{label: "A"}, {label: "B"}]}
    data = one if tool == "askQuestion" else {"questions": [{"id": "q", "header": "H", **one}]}
    assert [option.label for option in get_tool(tool).parse(data).questions[0].options] == ["A", "B"]


LENIENT_SEVERAL = {
    "multiple": entry(multiple=True, multiSelect=None),
    "multi_select": {"questions": [{"question": "Q?", "header": "H", "options": OPTIONS, "multi_select": True}]},
    "multi-select": {"questions": [{"question": "Q?", "header": "H", "options": OPTIONS, "multi-select": True}]},
    "multiselect": {"questions": [{"question": "Q?", "header": "H", "options": OPTIONS, "multiselect": True}]},
    "allowMultiple": {"questions": [{"question": "Q?", "header": "H", "options": OPTIONS, "allowMultiple": "yes"}]},
    '"true"': entry(multiSelect="true"),
    '" TRUE "': entry(multiSelect=" TRUE "),
    "1": entry(multiSelect=1),
    '"on"': entry(multiSelect="on"),
}


@pytest.mark.parametrize("data", LENIENT_SEVERAL.values(), ids=LENIENT_SEVERAL)
def test_several_choices_are_meant_by_many_names(data: Any):
    assert USER.parse(data) == USER.parse(entry(multiSelect=True))
    assert USER.parse(data).questions[0].multi_select


@pytest.mark.parametrize("header", [None, "", "  "], ids=["null", "empty", "blank"])
def test_a_header_may_be_missing(header: str | None):
    assert USER.parse(entry(header=header)).questions[0].header is None


def test_a_long_header_is_kept_whole():
    assert USER.parse(entry(header="A very long header " * 9)).questions[0].header == "A very long header " * 9


@pytest.mark.parametrize(
    ("sent", "read"),
    [(1, "1"), (2.5, "2.5"), (True, "true"), (False, "false"), (-0.0, "-0.0"), (10**20, "1" + "0" * 20)],
)
def test_numbers_and_truth_values_as_labels_are_read_as_texts(sent: Any, read: str):
    for options in ([sent, "B"], [{"label": sent}, "B"]):
        assert USER.parse(entry(options=options)).questions[0].options[0].label == read
        assert MANY.parse(entry(options=options)).questions[0].options[0].label == read
        assert ONE.parse({"question": "Q?", "options": options}).questions[0].options[0].label == read


@pytest.mark.parametrize(
    "literal", ["{}", "[]", "[1, 2]", '{"a": 1}', "[x] done", "{name}", "null", "true", "42", "[[wiki]]"]
)
def test_an_option_that_looks_like_json_is_what_people_read(literal: str):
    for tool, data in (
        (USER, entry(options=[literal, "B"])),
        (MANY, entry(options=[literal, "B"])),
        (ONE, {"question": "Q?", "options": [literal, "B"]}),
    ):
        assert tool.parse(data).questions[0].options[0].label == literal


@pytest.mark.parametrize("data", [entry(options=[]), entry(options=None), entry(options="[]"), entry(options="")])
def test_a_question_without_options_asks_for_a_text(data: Any):
    (asked,) = USER.parse(data).questions
    assert (asked.options, asked.allow_custom) == ((), True)


@pytest.mark.parametrize(
    "data",
    [
        {"questions": ["What is its name?"]},
        ["What is its name?"],
        {"questions": "What is its name?"},
        "What is its name?",
    ],
)
def test_a_bare_text_is_a_question(data: Any):
    for tool in (USER, MANY):
        (asked,) = tool.parse(data).questions
        assert (asked.prompt, asked.options) == ("What is its name?", ())


def test_a_bare_text_in_quotes_keeps_them():
    for sent in ('"[urgent] Which one?"', {"questions": '"[urgent] Which one?"'}):
        assert USER.parse(sent).questions[0].prompt == '"[urgent] Which one?"'


@pytest.mark.parametrize(
    "data",
    [
        {"questions": [{"question": "P?", "header": "L", "choices": [{"id": "a", "text": "A"}, "B"]}]},
        {"questions": json.dumps([{"text": "P?", "title": "L", "options": ['{"value": "a", "label": "A"}', "B"]}])},
        [{"key": None, "prompt": "P?", "label": "L", "options": [{"value": "a", "title": "A"}, {"value": "B"}]}],
        {"prompt": "P?", "label": "L", "options": [{"value": "a", "label": "A"}, {"value": "  ", "label": "B"}]},
    ],
)
def test_question_too_is_understood_in_other_words(data: Any):
    plain = [
        {
            "id": "q1",
            "label": "L",
            "prompt": "P?",
            "options": [{"value": "a", "label": "A"}, {"value": "B", "label": "B"}],
        }
    ]
    assert MANY.parse(data) == MANY.parse({"questions": plain})


@pytest.mark.parametrize(
    "data",
    [
        {"question": "Q?", "options": '["A", "B"]'},
        {"question": "Q?", "options": [{"label": "A"}, {"value": "B"}]},
        {"prompt": "Q?", "choices": ["A", "B"], "allow_custom": "true"},
        {"text": "Q?", "answers": ["A", None, "B"], "allowCustom": None, "customPlaceholder": None},
        {"question": "Q?", "options": ["A", "B"], "custom_placeholder": " ", "extra": 1},
        '{"question": "Q?", "options": ["A", "B"]}',
    ],
)
def test_ask_question_too_is_understood_in_other_words(data: Any):
    assert ONE.parse(data) == ONE.parse({"question": "Q?", "options": ["A", "B"], "allowCustom": True})


def test_ids_that_were_not_given_never_take_one_that_was():
    asked = MANY.parse(
        {"questions": [{"prompt": "One?"}, {"id": "q1", "prompt": "Two?"}, {"id": 7, "prompt": "Three?"}]}
    )
    assert [question.id for question in asked.questions] == ["q1_", "q1", "7"]


def test_equal_options_of_ask_question_are_told_apart_by_their_index():
    data = {"question": "Q?", "options": ["Same", "Same", "Other"]}
    (asked,) = ONE.parse(data).questions
    assert [option.label for option in asked.options] == ["Same", "Same", "Other"]
    second = Answer(question_id="question", choices=(Choice(index=1, value=asked.options[1].value, label="Same"),))
    assert ONE.build_result(data, answered(second)).data["selectedIndex"] == 1


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_arrives_literally_and_comes_back_literally(text: str):
    data = entry(question=text, header=text, options=[{"label": text, "description": text, "preview": text}, "B"])
    (asked,) = USER.parse(json.dumps(data)).questions
    assert (asked.prompt, asked.header, asked.options[0].label) == (text, text, text)
    assert (asked.options[0].description, asked.options[0].preview) == (text, text)
    assert USER.build_result(data, answered(chose("q1", (0, text)))).data == {text: text}
    many = {"questions": [{"id": text, "prompt": text, "options": [{"value": text, "label": text}]}]}
    result = MANY.build_result(many, answered(wrote(text, text)))
    assert json.loads(result.text) == result.data
    assert result.data["answers"] == [{"id": text, "value": text, "label": text, "wasCustom": True}]
    one = {"question": text, "options": [text, "B"]}
    result = ONE.build_result(one, answered(wrote("question", text)))
    assert json.loads(result.text)["answer"] == text


@pytest.mark.parametrize("half", ["\ud800", "a\ud83d"])
def test_half_characters_are_mended_at_the_entrance(half: str):
    mended = half[:-1] + "\ufffd"
    cases: list[tuple[QuestionTool[Any], dict[str, Any]]] = [
        (USER, entry(question=half, header=half, options=[half, {"label": "B", "description": half, "preview": half}])),
        (
            MANY,
            {"questions": [{"id": half, "label": half, "prompt": half, "options": [{"value": half, "label": half}]}]},
        ),
        (ONE, {"question": half, "options": [half, "B"], "customPlaceholder": half}),
    ]
    for tool, data in cases:
        for sent in (data, json.dumps(data)):
            asked = tool.parse(sent)
            asked.model_dump_json().encode()
            assert asked.questions[0].prompt == mended
            assert asked.questions[0].options[0].label == mended
            outcome = answered(chose(asked.questions[0].id, (0, mended)))
            tool.build_result(sent, outcome).text.encode()
            tool.summarize_call(sent).encode()
