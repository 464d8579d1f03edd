"""What models send is understood where the meaning is clear; what they get back is exact."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askback.errors import CallerError, ModelError
from askback.questions import DEFAULT_PLACEHOLDER, Answer, Choice, Form, Outcome, OutcomeStatus
from askback.tools import TOOLS, AskQuestion, AskUserQuestion, QuestionsTool, QuestionTool, tool_named
from askback.tools.base import shortened, waited
from core_cases import ANN, HOSTILE, NOON, ended

USER, MANY, ONE = AskUserQuestion(), QuestionsTool(), AskQuestion()

AUTH = {
    "questions": [
        {
            "question": "Which authentication method should we use?",
            "header": "Auth Method",
            "multiSelect": False,
            "options": [
                {"label": "OAuth 2.0", "description": "Industry-standard OAuth protocol"},
                {"label": "JWT", "description": "JSON Web Token authentication"},
                {"label": "API Key", "description": "Simple API key authentication"},
            ],
        }
    ]
}
FEATURES = {
    "questions": [
        {
            "question": "Which features should we implement?",
            "header": "Features",
            "multiSelect": True,
            "options": [
                {"label": "User Login", "description": "Authentication system"},
                {"label": "Dashboard", "description": "Analytics dashboard"},
                {"label": "API", "description": "REST API endpoints"},
            ],
        },
        {
            "question": "What database should we use?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {"label": "PostgreSQL", "description": "Relational database"},
                {"label": "MongoDB", "description": "Document database"},
            ],
        },
    ]
}
DATABASES = {
    "questions": [
        {
            "id": "db",
            "label": "Database",
            "prompt": "Which database should we use?",
            "options": [
                {"value": "pg", "label": "PostgreSQL", "description": "Relational"},
                {"value": "lite", "label": "SQLite"},
            ],
        },
        {"id": "name", "prompt": "What is it called?", "options": [{"value": "a", "label": "A"}]},
    ]
}
LANGUAGE = {"question": "Which language?", "options": ["JavaScript", "Python", "Rust"], "allowCustom": True}
PROCEED = {"question": "Do you want to proceed with this action?", "options": ["Yes", "No"], "allowCustom": False}
RATE = {
    "question": "How would you rate this feature?",
    "options": ["Excellent", "Good", "Fair", "Poor"],
    "allowCustom": True,
    "customPlaceholder": "Or describe your experience...",
}

EXAMPLES = [(USER, AUTH), (USER, FEATURES), (MANY, DATABASES), (ONE, LANGUAGE), (ONE, PROCEED), (ONE, RATE)]
EXAMPLES += [(tool, json.loads(tool.example)) for tool in (USER, MANY, ONE)]
STATUSES: tuple[OutcomeStatus, ...] = get_args(OutcomeStatus)


def answered(*answers: Answer) -> Outcome:
    return Outcome(status="answered", at=NOON, by=ANN, answers=answers)


def chose(question: str, *picked: tuple[int, str], text: str | None = None, values: bool = False) -> Answer:
    choices = tuple(
        Choice(index=index, value=label.lower() if values else label, label=label) for index, label in picked
    )
    return Answer(question_id=question, choices=choices, text=text)


def wrote(question: str, text: str) -> Answer:
    return Answer(question_id=question, text=text)


# Schemas


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


def test_tools_are_found_by_name_and_an_unknown_name_is_told_which_there_are():
    assert list(TOOLS) == ["AskUserQuestion", "question", "askQuestion"]
    assert isinstance(tool_named("question"), QuestionsTool)
    with pytest.raises(CallerError, match="'ask'; there are AskUserQuestion, question, askQuestion"):
        tool_named("ask")


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
    assert (proceed.allow_custom, proceed.placeholder) == (False, DEFAULT_PLACEHOLDER)
    (language,) = ONE.parse({"question": "Which?", "options": ["A", "B"]}).questions
    assert language.allow_custom


def test_a_preview_is_kept():
    data = {"question": "Q?", "header": "H", "options": [{"label": "A", "preview": "a = 1\n"}, {"label": "B"}]}
    (asked,) = USER.parse({"questions": [data]}).questions
    assert [option.preview for option in asked.options] == ["a = 1\n", None]


# Lenient forms: each is understood as the plain one

PLAIN = {
    "questions": [{"question": "Q?", "header": "H", "multiSelect": False, "options": [{"label": "A"}, {"label": "B"}]}]
}
ENTRY = PLAIN["questions"][0]
OPTIONS = ENTRY["options"]


def entry(**changes: Any) -> dict[str, Any]:
    return {"questions": [ENTRY | changes]}


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
    assert ONE.result(data, answered(second)).data["selectedIndex"] == 1


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_arrives_literally_and_comes_back_literally(text: str):
    data = entry(question=text, header=text, options=[{"label": text, "description": text, "preview": text}, "B"])
    (asked,) = USER.parse(json.dumps(data)).questions
    assert (asked.prompt, asked.header, asked.options[0].label) == (text, text, text)
    assert (asked.options[0].description, asked.options[0].preview) == (text, text)
    assert USER.result(data, answered(chose("q1", (0, text)))).data == {text: text}
    many = {"questions": [{"id": text, "prompt": text, "options": [{"value": text, "label": text}]}]}
    result = MANY.result(many, answered(wrote(text, text)))
    assert json.loads(result.text) == result.data
    assert result.data["answers"] == [{"id": text, "value": text, "label": text, "wasCustom": True}]
    one = {"question": text, "options": [text, "B"]}
    result = ONE.result(one, answered(wrote("question", text)))
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
            tool.result(sent, outcome).text.encode()
            tool.call_summary(sent).encode()


# What cannot be understood

SIX = {"questions": [ENTRY] * 6}
REFUSED: list[tuple[QuestionTool[Any], Any, str]] = [
    (USER, None, "should be an object"),
    (USER, 7, "should be an object"),
    (USER, "", "should be an object"),
    (USER, '{"questions": [{"question": "Whi', "should be an object"),
    (USER, {}, "questions: is missing: give it"),
    (USER, {"questions": []}, "it holds 0 questions: ask 1 to 4 at a time"),
    (USER, SIX, "it holds 6 questions: ask 1 to 4 at a time"),
    (USER, {"questions": '[{"question": "Whi'}, "questions: Input should be a valid list"),
    (USER, {"questions": 3}, "questions: Input should be a valid list"),
    (USER, {"questions": [[["deep"]]]}, "questions[0]: should be an object"),
    (USER, {"questions": [{"header": "H", "options": ["A", "B"]}]}, "questions[0].question: is missing: give it"),
    (USER, entry(question="  "), "questions[0].question: is empty: write the question"),
    (USER, entry(question="x" * 10_001), "questions[0].question: has 10,001 characters: shorten"),
    (USER, entry(question=["a"]), "questions[0].question: Input should be a valid string"),
    (USER, entry(header="x" * 201), "questions[0].header: has 201 characters: shorten"),
    (USER, entry(options=["A"]), "questions[0]: offers 1 option: give 2 to 4 options, or none"),
    (USER, entry(options=["A", "B", "C", "D", "E"]), "questions[0]: offers 5 options: give 2 to 4 options"),
    (USER, entry(options=["A", "A"]), "questions[0]: offers the same label twice: make each option's label different"),
    (USER, entry(options=["A", {"description": "no label"}]), "questions[0].options[1].label: is missing: give it"),
    (USER, entry(options=["A", " "]), "questions[0].options[1].label: is empty"),
    (USER, entry(options=["A", "x" * 2001]), "questions[0].options[1].label: has 2,001 characters"),
    (USER, entry(multiSelect="perhaps"), "questions[0].multiSelect: Input should be a valid boolean"),
    (MANY, {"questions": [{"id": "a", "label": "L"}]}, "questions[0].prompt: is missing: give it"),
    (MANY, {"questions": [{"id": "a", "prompt": "P?"}] * 2}, "questions: the id 'a' stands more than once"),
    (MANY, {"questions": [{"prompt": "P?"}] * 21}, "questions: holds 21 questions: give 1 to 20"),
    (MANY, {"questions": [{"prompt": "P?", "label": "x" * 201}]}, "questions[0].label: has 201 characters: shorten"),
    (
        MANY,
        {"questions": [{"prompt": "P?", "options": [{"value": "a", "label": "A"}, {"value": "a", "label": "B"}]}]},
        "questions[0].options: the value 'a' stands more than once",
    ),
    (ONE, {}, "question: is missing: give it"),
    (ONE, "Which?", "should be an object"),
    (ONE, {"question": " ", "options": ["A", "B"]}, "question: is empty: write the question"),
    (ONE, {"question": "x" * 501, "options": ["A", "B"]}, "question: is too long: shorten it to 500"),
    (ONE, {"question": "Q?", "options": ["A"]}, "give at least 2 options"),
    (ONE, {"question": "Q?", "options": [], "allowCustom": False}, "give at least 2 options"),
    (ONE, {"question": "Q?", "options": ["A", "x" * 201]}, "options[1]: is too long: shorten it to 200"),
    (ONE, {"question": "Q?", "options": ["A", " "]}, "options[1]: is empty"),
    (ONE, {"question": "Q?", "options": ["A", {"x": 1}]}, "options[1]: Input should be a valid string"),
    (ONE, RATE | {"customPlaceholder": "x" * 101}, "customPlaceholder: is too long: shorten it to 100"),
]


@pytest.mark.parametrize(("tool", "data", "why"), REFUSED, ids=[f"{one[0].name}-{one[2][:40]}" for one in REFUSED])
def test_what_cannot_be_understood_is_refused_with_the_reason_and_an_example(
    tool: QuestionTool[Any], data: Any, why: str
):
    with pytest.raises(ModelError) as refused:
        tool.parse(data)
    said = str(refused.value)
    assert said.startswith(f"{tool.name} could not be understood, and nobody was asked: {why}")
    assert said.endswith(f". Call it again like this: {tool.example}")
    result = tool.refusal(refused.value)
    assert result.is_error
    assert why in result.text


def test_all_that_is_wrong_is_told_at_once_ten_things_at_the_most():
    with pytest.raises(ModelError) as refused:
        USER.parse({"questions": [{"options": ["A"]}, entry(multiSelect="x", options=[{}, {}])["questions"][0]]})
    for field in ("[0].question", "[1].multiSelect", "[1].options[0].label", "[1].options[1].label"):
        assert f"questions{field}: " in str(refused.value)
    with pytest.raises(ModelError, match=r"questions\[9\]\.question: .*; and 6 more like these\. Call it again"):
        USER.parse({"questions": [{} for _ in range(16)]})


@pytest.mark.parametrize(
    "data", [{"questions": []}, {}, None, "", {"questions": None}, [], "[]", {"questions": [None]}]
)
def test_question_without_questions_says_so_in_its_own_convention(data: Any):
    with pytest.raises(ModelError) as refused:
        MANY.parse(data)
    assert refused.value.problem == "Error: No questions provided"
    assert str(refused.value).endswith(MANY.example)
    result = MANY.refusal(refused.value)
    told = json.loads(result.text)
    assert told == result.data
    assert (told["questions"], told["answers"], told["cancelled"]) == ([], [], True)
    assert told["error"] == "Error: No questions provided"
    assert MANY.example in told["message"]
    assert result.is_error


# Results: AskUserQuestion


def test_an_answer_is_told_in_the_words_that_models_know():
    result = USER.result(AUTH, answered(chose("q1", (0, "OAuth 2.0"))))
    assert result.text == (
        'User has answered your questions: "Which authentication method should we use?"="OAuth 2.0". '
        "You can now continue with the user's answers in mind."
    )
    assert result.data == {"Which authentication method should we use?": "OAuth 2.0"}
    assert not result.is_error


def test_several_choices_are_joined_and_come_as_a_list():
    outcome = answered(chose("q1", (0, "User Login"), (2, "API"), text="And search"), chose("q2", (1, "MongoDB")))
    result = USER.result(FEATURES, outcome)
    assert result.text == (
        'User has answered your questions: "Which features should we implement?"="User Login, API, And search", '
        '"What database should we use?"="MongoDB". '
        "You can now continue with the user's answers in mind."
    )
    assert result.data == {
        "Which features should we implement?": ["User Login", "API", "And search"],
        "What database should we use?": "MongoDB",
    }


def test_one_of_several_choices_is_a_list_of_one():
    result = USER.result(FEATURES, answered(chose("q1", (1, "Dashboard")), wrote("q2", "A file")))
    assert result.data == {
        "Which features should we implement?": ["Dashboard"],
        "What database should we use?": "A file",
    }


def test_equal_questions_are_told_apart():
    result = USER.result({"questions": [ENTRY] * 3}, answered(*(wrote(f"q{n}", str(n)) for n in (1, 2, 3))))
    assert result.data == {"Q?": "1", "Q? (2)": "2", "Q? (3)": "3"}
    assert result.text.startswith('User has answered your questions: "Q?"="1", "Q? (2)"="2", "Q? (3)"="3". ')


def test_a_question_that_is_called_like_the_second_of_two_equal_ones_hides_nothing():
    questions = [ENTRY | {"question": text} for text in ("Q?", "Q? (2)", "Q?")]
    result = USER.result({"questions": questions}, answered(*(wrote(f"q{n}", str(n)) for n in (1, 2, 3))))
    assert result.data == {"Q?": "1", "Q? (2)": "2", "Q? (3)": "3"}


# Results: question


def test_question_counts_its_index_from_one_and_echoes_what_was_asked():
    choice = Choice(index=1, value="lite", label="SQLite")
    outcome = answered(Answer(question_id="db", choices=(choice,)), wrote("name", "Zoë"))
    result = MANY.result(DATABASES, outcome)
    assert result.data == {
        "questions": [
            DATABASES["questions"][0],
            {"id": "name", "label": "Q2", "prompt": "What is it called?", "options": [{"value": "a", "label": "A"}]},
        ],
        "answers": [
            {"id": "db", "value": "lite", "label": "SQLite", "wasCustom": False, "index": 2},
            {"id": "name", "value": "Zoë", "label": "Zoë", "wasCustom": True},
        ],
        "cancelled": False,
    }
    assert json.loads(result.text) == result.data
    assert not result.is_error


@pytest.mark.parametrize("status", [status for status in STATUSES if status != "answered"])
def test_question_says_cancelled_with_the_reason_for_every_other_end(status: OutcomeStatus):
    outcome = ended(status)
    result = MANY.result(DATABASES, outcome)
    assert (result.data["answers"], result.data["cancelled"], result.data["reason"]) == ([], True, status)
    assert result.data["message"] == waited(outcome)
    assert json.loads(result.text) == result.data
    assert not result.is_error


# Results: askQuestion


def test_ask_question_counts_its_index_from_zero_and_gives_the_time():
    result = ONE.result(LANGUAGE, answered(chose("question", (0, "JavaScript"))))
    assert result.data == {"answer": "JavaScript", "isCustom": False, "selectedIndex": 0, "timestamp": 1795176000000}
    assert datetime.fromtimestamp(1795176000, UTC) == NOON
    assert json.loads(result.text) == result.data


def test_a_written_answer_of_ask_question_has_no_index():
    result = ONE.result(LANGUAGE, answered(wrote("question", "Haskell")))
    assert result.data == {"answer": "Haskell", "isCustom": True, "timestamp": 1795176000000}


def test_a_timeout_of_ask_question_is_typed():
    result = ONE.result(LANGUAGE, ended("timed_out"))
    assert result.data == {"answer": "timeout", "isCustom": False, "timedOut": True, "timestamp": 1795176000000}
    assert json.loads(result.text) == result.data
    assert not result.is_error


@pytest.mark.parametrize("status", ["cancelled", "declined", "undeliverable"])
def test_every_other_end_of_ask_question_is_typed_too(status: OutcomeStatus):
    outcome = ended(status, reason="Not now")
    result = ONE.result(LANGUAGE, outcome)
    assert result.data == {
        "answer": status,
        "isCustom": False,
        status: True,
        "message": waited(outcome),
        "timestamp": 1795176000000,
    }


@settings(deadline=None, max_examples=200)
@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(-14, 14))  # noqa: DTZ001
def test_the_timestamp_is_exact_to_the_millisecond_in_every_time_zone(moment: datetime, hours: int):
    at = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    stamp = ONE.result(LANGUAGE, Outcome(status="timed_out", at=at)).data["timestamp"]
    assert stamp == (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


# Results: the sentences

SAID = {
    "wrong thread": (
        'The question was cancelled without an answer. They wrote: "Wrong thread" '
        "Do not assume one; go on without it or ask again."
    ),
    "not in channel": (
        "The question could not be delivered: The bot is not in this channel. Nobody saw it; go on without an answer."
    ),
}


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (ended("timed_out"), "Nobody answered in time. This is no answer and no choice: do not assume one."),
        (
            ended("cancelled"),
            "The question was cancelled without an answer. Do not assume one; go on without it or ask again.",
        ),
        (ended("cancelled", reason="Wrong thread"), SAID["wrong thread"]),
        (ended("declined"), "The person declined to answer for now. Do not assume an answer."),
        (
            ended("declined", reason="Tell me more"),
            'The person declined to answer for now. They wrote: "Tell me more" Do not assume an answer.',
        ),
        (
            ended("undeliverable"),
            "The question could not be delivered: nobody can be reached here. Nobody saw it; go on without an answer.",
        ),
        (ended("undeliverable", reason="The bot is not in this channel."), SAID["not in channel"]),
    ],
)
def test_an_end_without_an_answer_is_a_sentence_for_the_model(outcome: Outcome, said: str):
    assert waited(outcome) == said
    result = USER.result(AUTH, outcome)
    assert (result.text, result.data) == (said, {"status": outcome.status, "message": said})
    assert not result.is_error


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
readable = texts.filter(lambda text: bool(text.strip()))


@st.composite
def outcomes(draw: st.DrawFn, asked: Form) -> Outcome:
    status = draw(st.sampled_from(STATUSES))
    if status != "answered":
        return Outcome(status=status, at=NOON, reason=draw(st.none() | texts))
    answers: list[Answer] = []
    for question in asked.questions:
        picked = draw(st.sets(st.integers(0, len(question.options) - 1))) if question.options else set[int]()
        picked = picked if question.multi_select else set(sorted(picked)[:1])
        choices = tuple(
            Choice(index=i, value=question.options[i].value, label=question.options[i].label) for i in sorted(picked)
        )
        text = draw(readable) if not choices or (question.multi_select and draw(st.booleans())) else None
        answers.append(Answer(question_id=question.id, choices=choices, text=text))
    return Outcome(status="answered", at=NOON, answers=tuple(answers))


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(EXAMPLES), st.data())
def test_a_result_never_fails_and_its_index_and_answer_agree(
    example: tuple[QuestionTool[Any], dict[str, Any]], data: st.DataObject
):
    tool, sent = example
    asked = tool.parse(sent)
    outcome = data.draw(outcomes(asked))
    result = tool.result(sent, outcome)
    result.text.encode()
    json.loads(json.dumps(result.data))
    assert not result.is_error
    assert one_line(tool.result_summary(outcome))
    if outcome.status != "answered":
        return
    if tool is ONE:
        given = result.data
        if given["isCustom"]:
            assert str(given["answer"]).strip()
            assert "selectedIndex" not in given
        else:
            assert given["answer"] == sent["options"][given["selectedIndex"]]
    elif tool is MANY:
        told: Any = result.data
        assert [answer["id"] for answer in told["answers"]] == [question["id"] for question in sent["questions"]]
        for answer, question in zip(told["answers"], sent["questions"], strict=True):
            if answer["wasCustom"]:
                assert answer["label"] == answer["value"]
                assert "index" not in answer
            else:
                option = question["options"][answer["index"] - 1]
                assert (answer["value"], answer["label"]) == (option["value"], option["label"])
    else:
        assert list(result.data) == [question["question"] for question in sent["questions"]]
        for question, told in zip(sent["questions"], result.data.values(), strict=True):
            assert isinstance(told, list) == question["multiSelect"]


# Summaries


def one_line(text: str) -> bool:
    return len(text.splitlines()) == 1 and 0 < len(text) <= 200


@pytest.mark.parametrize(
    ("tool", "data", "summary"),
    [
        (USER, AUTH, "AskUserQuestion · 1 question · Auth Method"),
        (USER, FEATURES, "AskUserQuestion · 2 questions · Features, Database"),
        (USER, entry(header=""), "AskUserQuestion · 1 question · Q?"),
        (MANY, DATABASES, "question · 2 questions · Database, Q2"),
        (MANY, {}, "question · 0 questions"),
        (ONE, PROCEED, "askQuestion · 2 options · Do you want to proceed with this action?"),
        (USER, SIX, "AskUserQuestion · not understood"),
        (ONE, None, "askQuestion · not understood"),
    ],
)
def test_a_call_is_summed_up_in_one_line(tool: QuestionTool[Any], data: Any, summary: str):
    assert tool.call_summary(data) == summary


@pytest.mark.parametrize(
    ("outcome", "summary"),
    [
        (answered(chose("q1", (0, "A"), (1, "B")), wrote("q2", "x\ny")), 'Answered · q1: "A", "B"; q2: "x\\ny"'),
        (ended("cancelled"), "Cancelled"),
        (ended("declined"), "Declined"),
        (ended("declined", reason="Too\nearly"), "Declined · Too early"),
        (ended("timed_out"), "Nobody answered in time"),
        (ended("undeliverable"), "Could not be delivered · no reason given"),
        (ended("undeliverable", reason="not_in_channel"), "Could not be delivered · not_in_channel"),
    ],
)
def test_a_result_is_summed_up_in_one_line(outcome: Outcome, summary: str):
    for tool in (USER, MANY, ONE):
        assert tool.result_summary(outcome) == summary


@pytest.mark.parametrize("text", ["a\nb", "a\r\n\x85\u2028\u2029\x0b\x0c\x1c\x1eb", "x" * 500])
def test_a_summary_stays_one_line_whatever_was_written(text: str):
    assert one_line(shortened(text, 200))
    assert one_line(USER.call_summary(entry(header=None, question=text)))
    assert one_line(MANY.call_summary({"questions": [{"prompt": "P?", "label": text[:200]}]}))
    assert one_line(ONE.call_summary({"question": text, "options": ["A", "B"]}))
    for status in STATUSES:
        outcome = answered(wrote("q1", text)) if status == "answered" else ended(status, reason=text)
        assert one_line(USER.result_summary(outcome))


# Anything at all

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


@settings(deadline=None, max_examples=250)
@given(st.sampled_from([USER, MANY, ONE]), input_like, st.data())
def test_anything_is_understood_or_refused_with_an_example(tool: QuestionTool[Any], sent: Any, data: st.DataObject):
    if data.draw(st.booleans()):
        sent = json.dumps(sent)
    assert one_line(tool.call_summary(sent))
    try:
        asked = tool.parse(sent)
    except ModelError as error:
        refusal = tool.refusal(error)
        said, is_error = str(error), refusal.is_error
        refusal.text.encode()
    else:
        said, is_error = "", False
        assert Form.model_validate_json(asked.model_dump_json()) == asked
        assert not tool.result(sent, data.draw(outcomes(asked))).is_error
    assert said == "" or (is_error and tool.example in said and tool.refusal(ModelError(said)).text)


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
    assert one_line(tool.call_summary(sent))
