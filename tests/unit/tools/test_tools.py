"""Inputs of models are understood, or refused with the reason and an example."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askback.domain.form import Form
from askback.errors import CallerError, ModelError
from askback.tools import TOOLS, QuestionsTool, QuestionTool, get_tool
from support.tool_calls import (
    ANY,
    AUTH,
    DATABASES,
    ENTRY,
    EXAMPLES,
    FEATURES,
    LANGUAGE,
    MANY,
    ONE,
    PROCEED,
    RATE,
    SIX,
    USER,
    entry,
    one_line,
    outcomes,
)

# Schemas

OPTIONS = [{"label": label, "description": ""} for label in "ABCDE"]
VALUES = [{"value": "a", "label": "A"}]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_the_schema_is_json_schema_2020_12_with_nothing_to_look_up(tool: QuestionTool[Any]):
    schema = tool.input_schema
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    assert schema["type"] == "object"
    assert "$ref" not in json.dumps(schema)
    assert "title" not in json.dumps(schema)
    assert '"description"' in json.dumps(schema)


@pytest.mark.parametrize(("tool", "data"), EXAMPLES)
def test_the_schema_accepts_what_the_design_documents_send(tool: QuestionTool[Any], data: dict[str, Any]):
    jsonschema_rs.Draft202012Validator(tool.input_schema).validate(data)
    tool.parse(data)


@pytest.mark.parametrize(
    ("tool", "wrong"),
    [
        (USER, {}),
        (USER, {"questions": []}),
        (USER, {"questions": AUTH["questions"] * 5}),
        (USER, {"questions": [{"question": "Q?", "header": "H"}]}),
        (USER, {"questions": [{"question": "Q?", "header": "H", "options": [{"label": "A"}]}]}),
        (USER, entry(options=OPTIONS[:1])),
        (USER, entry(options=OPTIONS[:5])),
        (USER, entry(question="Q" * 10_001)),
        (USER, entry(question="")),
        (USER, entry(header="H" * 201)),
        (USER, entry(options=[{"label": "A" * 2_001, "description": ""}, OPTIONS[0]])),
        (USER, entry(options=[{"label": "A", "description": "d" * 4_001}, OPTIONS[1]])),
        (USER, entry(options=[{"label": "A", "description": "", "preview": "p" * 10_001}, OPTIONS[1]])),
        (MANY, {"questions": [{"id": f"q{n}", "prompt": "P?", "options": VALUES} for n in range(21)]}),
        (MANY, {"questions": [{"id": "i" * 201, "prompt": "P?", "options": VALUES}]}),
        (MANY, {"questions": [{"id": "a", "label": "l" * 201, "prompt": "P?", "options": VALUES}]}),
        (MANY, {"questions": [{"id": "a", "prompt": "P" * 10_001, "options": VALUES}]}),
        (MANY, {"questions": [{"id": "a", "prompt": "P?", "options": [{"value": "v" * 2_001, "label": "l"}]}]}),
        (MANY, {"questions": [{"id": "a", "prompt": "P?", "options": [{"value": "v", "label": "l" * 2_001}]}]}),
        (MANY, {"questions": [{"id": "a", "prompt": "P?", "options": [VALUES[0] | {"description": "d" * 4_001}]}]}),
        (MANY, {"questions": [{"id": "a", "prompt": "P?", "options": [VALUES[0]] * 1_001}]}),
        (ONE, {"question": "Q?", "options": ["a"] * 1_001}),
        (MANY, {}),
        (MANY, {"questions": []}),
        (MANY, {"questions": [{"prompt": "P?", "options": []}]}),
        (MANY, {"questions": [{"id": "a", "prompt": "P?", "options": [{"label": "A"}]}]}),
        (ONE, {"question": "Q?"}),
        (ONE, {"question": "Q?", "options": ["one"]}),
        (ONE, {"question": "Q" * 501, "options": ["a", "b"]}),
        (ONE, {"question": "Q?", "options": ["a", "b" * 201]}),
        (ONE, LANGUAGE | {"customPlaceholder": "x" * 101}),
    ],
)
def test_the_schema_tells_models_what_the_design_documents_demand(tool: QuestionTool[Any], wrong: dict[str, Any]):
    assert not jsonschema_rs.Draft202012Validator(tool.input_schema).is_valid(wrong)


@pytest.mark.parametrize(
    ("tool", "right"),
    [
        (USER, {"questions": AUTH["questions"] * 4}),
        (USER, entry(options=OPTIONS[:2])),
        (USER, entry(options=OPTIONS[:4])),
        (USER, entry(options=[])),
        (USER, entry(question="Q" * 10_000, header="H" * 200, options=OPTIONS[:3])),
        (
            USER,
            entry(options=[{"label": "A" * 2_000, "description": "d" * 4_000, "preview": "p" * 10_000}, OPTIONS[0]]),
        ),
        (MANY, {"questions": [{"id": f"q{n}", "prompt": "P?", "options": VALUES} for n in range(20)]}),
        (MANY, {"questions": [{"id": "i" * 200, "label": "l" * 200, "prompt": "P" * 10_000, "options": []}]}),
        (MANY, {"questions": [{"id": "a", "prompt": "P?", "options": [{"value": "v" * 2_000, "label": "l" * 2_000}]}]}),
        (ONE, {"question": "Q" * 500, "options": ["a" * 200, "b"], "customPlaceholder": "x" * 100}),
    ],
)
def test_what_the_schema_allows_at_its_limits_is_understood(tool: QuestionTool[Any], right: dict[str, Any]):
    jsonschema_rs.Draft202012Validator(tool.input_schema).validate(right)
    tool.parse(right)


@pytest.mark.parametrize("count", [0, 5])
def test_ask_user_question_takes_one_to_four_questions(count: int):
    with pytest.raises(ModelError, match=f"it has {count} questions: ask 1 to 4 at a time"):
        USER.parse({"questions": [ENTRY] * count})


@pytest.mark.parametrize("count", [1, 5])
def test_ask_user_question_takes_two_to_four_options(count: int):
    with pytest.raises(ModelError, match="give 2 to 4 options, or none"):
        USER.parse(entry(options=OPTIONS[:count]))


def test_everything_that_is_wrong_is_told_on_a_line_of_its_own():
    wrong = {"questions": [{"header": "H", "options": OPTIONS[:2]}, entry(options=OPTIONS[:1])["questions"][0], ENTRY]}
    with pytest.raises(ModelError) as caught:
        USER.parse(wrong)
    lines = caught.value.problem.splitlines()
    assert lines[0] == "The input of AskUserQuestion is invalid, so nobody was asked: "
    assert [line.partition(":")[0] for line in lines[1:]] == ["- questions[0].question", "- questions[1]"]


def test_tools_are_found_by_name_and_an_unknown_name_is_told_which_there_are():
    assert list(TOOLS) == ["AskUserQuestion", "question", "askQuestion", "ask"]
    assert isinstance(get_tool("question"), QuestionsTool)
    with pytest.raises(CallerError, match=r"'asks'\. The tools are AskUserQuestion, question, askQuestion, ask\."):
        get_tool("asks")


# Proper inputs


def test_ask_user_question_becomes_a_form():
    asked = USER.parse(FEATURES)
    first, second = asked.questions
    assert (first.prompt, first.header, first.multi_select) == ("Which features should we implement?", "Features", True)
    assert (second.multi_select, first.allow_custom, second.allow_custom) == (False, True, True)
    assert [(option.label, option.description) for option in second.options] == [
        ("PostgreSQL", "Relational database"),
        ("MongoDB", "Document database"),
    ]


def test_question_becomes_a_form_with_its_own_ids_and_values():
    first, second = MANY.parse(DATABASES).questions
    assert (first.id, first.header, first.prompt) == ("db", "Database", "Which database should we use?")
    assert [(option.value, option.label, option.description) for option in first.options] == [
        ("pg", "PostgreSQL", "Relational"),
        ("lite", "SQLite", None),
    ]
    assert (second.id, second.header, second.allow_custom) == ("name", None, True)


def test_ask_question_becomes_a_form_of_one_question():
    (rate,) = ONE.parse(RATE).questions
    assert [option.label for option in rate.options] == ["Excellent", "Good", "Fair", "Poor"]
    assert (rate.allow_custom, rate.placeholder) == (True, "Or describe your experience...")
    (proceed,) = ONE.parse(PROCEED).questions
    assert (proceed.allow_custom, proceed.placeholder) == (False, "Enter your answer…")
    (language,) = ONE.parse({"question": "Which?", "options": ["A", "B"]}).questions
    assert language.allow_custom


def test_a_preview_is_kept():
    data = {"question": "Q?", "header": "H", "options": [{"label": "A", "preview": "a = 1\n"}, {"label": "B"}]}
    (asked,) = USER.parse({"questions": [data]}).questions
    assert [option.preview for option in asked.options] == ["a = 1\n", None]


# Inputs that cannot be understood

REFUSED: list[tuple[QuestionTool[Any], Any, str]] = [
    (USER, None, "should be an object"),
    (USER, 7, "should be an object"),
    (USER, "", "should be an object"),
    (USER, '{"questions": [{"question": "Whi', "should be an object"),
    (USER, {}, "questions: is missing: give it"),
    (USER, {"questions": []}, "it has 0 questions: ask 1 to 4 at a time"),
    (USER, SIX, "it has 6 questions: ask 1 to 4 at a time"),
    (USER, {"questions": '[{"question": "Whi'}, "questions: should be a valid list"),
    (USER, {"questions": 3}, "questions: should be a valid list"),
    (USER, {"questions": [[["deep"]]]}, "questions[0]: should be an object"),
    (USER, {"questions": [{"header": "H", "options": ["A", "B"]}]}, "questions[0].question: is missing: give it"),
    (USER, entry(question="  "), "questions[0].question: is empty: write the question"),
    (USER, entry(question="x" * 10_001), "questions[0].question: has 10,001 characters: shorten"),
    (USER, entry(question=["a"]), "questions[0].question: should be a valid string"),
    (USER, entry(header="x" * 201), "questions[0].header: has 201 characters: shorten"),
    (USER, entry(options=["A"]), "questions[0]: offers 1 option: give 2 to 4 options, or none"),
    (USER, entry(options=["A", "B", "C", "D", "E"]), "questions[0]: offers 5 options: give 2 to 4 options"),
    (USER, entry(options=["A", "A"]), "questions[0]: offers the same label twice: make each option's label different"),
    (USER, entry(options=["A", {"description": "no label"}]), "questions[0].options[1].label: is missing: give it"),
    (USER, entry(options=["A", " "]), "questions[0].options[1].label: is empty"),
    (USER, entry(options=["A", "x" * 2001]), "questions[0].options[1].label: has 2,001 characters"),
    (USER, entry(options="A, B"), "questions[0].options: is one text: give a list with an entry for each option"),
    (USER, entry(options='["A", "B'), "questions[0].options: is one text: give a list"),
    (MANY, entry(options="A, B"), "questions[0].options: is one text: give a list"),
    (ONE, {"question": "Q?", "options": "A, B"}, "options: is one text: give a list"),
    (ANY, {"questions": [{"id": "a", "question": "Q?", "options": "A, B"}]}, "questions[0].options: is one text"),
    (USER, entry(multiSelect="perhaps"), "questions[0].multiSelect: should be a valid boolean"),
    (MANY, {"questions": [{"id": "a", "label": "L"}]}, "questions[0].prompt: is missing: give it"),
    (MANY, {"questions": [{"id": "a", "prompt": "P?"}] * 2}, "questions: the id 'a' is used more than once"),
    (MANY, {"questions": [{"prompt": "P?"}] * 21}, "questions: has 21 questions: give 1 to 20"),
    (MANY, {"questions": [{"prompt": "P?", "label": "x" * 201}]}, "questions[0].label: has 201 characters: shorten"),
    (
        MANY,
        {"questions": [{"prompt": "P?", "options": [{"value": "a", "label": "A"}, {"value": "a", "label": "B"}]}]},
        "questions[0].options: the value 'a' is used more than once",
    ),
    (ONE, {}, "question: is missing: give it"),
    (ONE, "Which?", "should be an object"),
    (ONE, {"question": " ", "options": ["A", "B"]}, "question: is empty: write the question"),
    (ONE, {"question": "x" * 501, "options": ["A", "B"]}, "question: is too long: shorten it to 500"),
    (ONE, {"question": "Q?", "options": ["A"]}, "give at least 2 options"),
    (ONE, {"question": "Q?", "options": [], "allowCustom": False}, "give at least 2 options"),
    (ONE, {"question": "Q?", "options": ["A", "x" * 201]}, "options[1]: is too long: shorten it to 200"),
    (ONE, {"question": "Q?", "options": ["A", " "]}, "options[1]: is empty"),
    (ONE, {"question": "Q?", "options": ["A", {"x": 1}]}, "options[1]: should be a valid string"),
    (ONE, RATE | {"customPlaceholder": "x" * 101}, "customPlaceholder: is too long: shorten it to 100"),
]


@pytest.mark.parametrize(("tool", "data", "why"), REFUSED, ids=[f"{one[0].name}-{one[2][:40]}" for one in REFUSED])
def test_what_cannot_be_understood_is_refused_with_the_reason_and_an_example(
    tool: QuestionTool[Any], data: Any, why: str
):
    with pytest.raises(ModelError) as refused:
        tool.parse(data)
    said = str(refused.value)
    assert said.startswith(f"The input of {tool.name} is invalid, so nobody was asked: {why}")
    assert said.endswith(f". Call it again like this: {tool.example}")
    result = tool.build_error_result(refused.value)
    assert result.is_error
    assert why in result.text


def test_all_that_is_wrong_is_told_at_once_fifty_things_at_the_most():
    with pytest.raises(ModelError) as refused:
        USER.parse({"questions": [{"options": ["A"]}, entry(multiSelect="x", options=[{}, {}])["questions"][0]]})
    for field in ("[0].question", "[1].multiSelect", "[1].options[0].label", "[1].options[1].label"):
        assert f"\n- questions{field}: " in str(refused.value)
    with pytest.raises(ModelError) as refused:
        USER.parse({"questions": [{} for _ in range(56)]})
    assert len(refused.value.problem.splitlines()) == 52
    assert re.search(r"\n- questions\[49\]\.question: .*\n- and 6 more like these\. Call it again", str(refused.value))


@pytest.mark.parametrize(
    "data", [{"questions": []}, {}, None, "", {"questions": None}, [], "[]", {"questions": [None]}]
)
def test_question_without_questions_says_so_in_its_own_convention(data: Any):
    with pytest.raises(ModelError) as refused:
        MANY.parse(data)
    assert refused.value.problem == "Error: No questions provided"
    assert str(refused.value).endswith(MANY.example)
    result = MANY.build_error_result(refused.value)
    told = json.loads(result.text)
    assert told == result.data
    assert (told["questions"], told["answers"], told["cancelled"]) == ([], [], True)
    assert told["error"] == "Error: No questions provided"
    assert MANY.example in told["message"]
    assert result.is_error


# Arbitrary inputs

any_text = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["A", "[", "{", '{"label": "A"}', "true", "\ud800", "[]"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
option_like = json_values | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(["label", "value", "description", "preview", "title"], json_values)
)
question_like = json_values | st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(["question", "prompt", "id", "label", "header", "multiSelect", "multiple"], json_values)
    | {"options": json_values | st.lists(option_like | any_text, max_size=5)},
)
input_like = (
    json_values
    | question_like
    | st.fixed_dictionaries({"questions": st.lists(question_like, max_size=5) | json_values})
    | st.fixed_dictionaries(
        {"question": json_values, "options": st.lists(option_like | any_text, max_size=4) | json_values},
        optional=dict.fromkeys(["allowCustom", "customPlaceholder"], json_values),
    )
)


@settings(deadline=None, max_examples=120)
@given(st.sampled_from([USER, MANY, ONE, ANY]), input_like, st.data())
def test_anything_is_understood_or_refused_with_an_example(tool: QuestionTool[Any], sent: Any, data: st.DataObject):
    if data.draw(st.booleans()):
        sent = json.dumps(sent)
    assert one_line(tool.summarize_call(sent))
    try:
        asked = tool.parse(sent)
    except ModelError as error:
        refusal = tool.build_error_result(error)
        said, is_error = str(error), refusal.is_error
        refusal.text.encode()
    else:
        said, is_error = "", False
        assert Form.model_validate_json(asked.model_dump_json()) == asked
        assert not tool.build_result(sent, data.draw(outcomes(asked))).is_error
    assert said == "" or (is_error and tool.example in said and tool.build_error_result(ModelError(said)).text)


DEEP: Any = "x"
for _ in range(5000):
    DEEP = [DEEP]

HUGE: dict[str, Any] = {
    "deep JSON": "[" * 200_000,
    "deep objects": '{"questions":' * 100_000,
    "deep values": DEEP,
    "deep values as questions": {"questions": DEEP},
    "deep values as a label": {"questions": [{"question": "Q?", "options": [{"label": DEEP}, "B"]}]},
    "a deep field that nobody knows": {"questions": [{"nobody": DEEP}], "question": {"nobody": DEEP}},
    "a megabyte of text": {"question": "x" * 1_000_000, "options": ["A", "B"]},
    "a megabyte of label": {"question": "Q?", "options": ["x" * 1_000_000, "B"]},
    "thousands of options": {"question": "Q?", "options": ["x"] * 5_000},
    "thousands of questions": {"questions": [{}] * 5_000},
    "a number too long to write": {"question": 10**5000, "options": [10**5000, "B"]},
    "a number too long to read": '{"question": ' + "1" * 5000 + ', "options": ["A"]}',
    "not a number": {"questions": float("nan"), "question": float("inf"), "options": [float("-inf"), "B"]},
    "no JSON at all": {"question": object(), "options": {1, 2}},
    "bytes": b"Which?",
}


@pytest.mark.parametrize("sent", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_deep_and_huge_inputs_are_answered_in_a_short_text(tool: QuestionTool[Any], sent: Any):
    try:
        said = tool.parse(sent).questions[0].prompt
    except ModelError as error:
        said = str(error)
    assert len(said) < 10_000
    assert one_line(tool.summarize_call(sent))
