"""The exact results that models receive."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askback.domain.outcome import Answer, Choice, Outcome, OutcomeStatus
from askback.tools import QuestionTool
from askback.tools.base import describe_unanswered, shorten
from support.cases import ANN, NOON, ended
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
    SIX,
    STATUSES,
    USER,
    answered,
    chose,
    entry,
    one_line,
    outcomes,
    wrote,
)

# Results: AskUserQuestion


def test_an_answer_is_told_in_the_words_that_models_know():
    result = USER.build_result(AUTH, answered(chose("q1", (0, "OAuth 2.0"))))
    assert result.text == (
        'User has answered your questions: "Which authentication method should we use?"="OAuth 2.0". '
        "You can now continue with the user's answers in mind."
    )
    assert result.data == {"Which authentication method should we use?": "OAuth 2.0"}
    assert not result.is_error


def test_several_choices_are_joined_and_come_as_a_list():
    outcome = answered(chose("q1", (0, "User Login"), (2, "API"), text="And search"), chose("q2", (1, "MongoDB")))
    result = USER.build_result(FEATURES, outcome)
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
    result = USER.build_result(FEATURES, answered(chose("q1", (1, "Dashboard")), wrote("q2", "A file")))
    assert result.data == {
        "Which features should we implement?": ["Dashboard"],
        "What database should we use?": "A file",
    }


def test_equal_questions_are_told_apart():
    result = USER.build_result({"questions": [ENTRY] * 3}, answered(*(wrote(f"q{n}", str(n)) for n in (1, 2, 3))))
    assert result.data == {"Q?": "1", "Q? (2)": "2", "Q? (3)": "3"}
    assert result.text.startswith('User has answered your questions: "Q?"="1", "Q? (2)"="2", "Q? (3)"="3". ')


def test_a_question_that_is_called_like_the_second_of_two_equal_ones_hides_nothing():
    questions = [ENTRY | {"question": text} for text in ("Q?", "Q? (2)", "Q?")]
    result = USER.build_result({"questions": questions}, answered(*(wrote(f"q{n}", str(n)) for n in (1, 2, 3))))
    assert result.data == {"Q?": "1", "Q? (2)": "2", "Q? (3)": "3"}


# Results: question


def test_question_counts_its_index_from_one_and_echoes_what_was_asked():
    choice = Choice(index=1, value="lite", label="SQLite")
    outcome = answered(Answer(question_id="db", choices=(choice,)), wrote("name", "Zoë"))
    result = MANY.build_result(DATABASES, outcome)
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
    result = MANY.build_result(DATABASES, outcome)
    assert (result.data["answers"], result.data["cancelled"], result.data["reason"]) == ([], True, status)
    assert result.data["message"] == describe_unanswered(outcome)
    assert json.loads(result.text) == result.data
    assert not result.is_error


# Results: askQuestion


def test_ask_question_counts_its_index_from_zero_and_gives_the_time():
    result = ONE.build_result(LANGUAGE, answered(chose("question", (0, "JavaScript"))))
    assert result.data == {"answer": "JavaScript", "isCustom": False, "selectedIndex": 0, "timestamp": 1795176000000}
    assert datetime.fromtimestamp(1795176000, UTC) == NOON
    assert json.loads(result.text) == result.data


def test_a_written_answer_of_ask_question_has_no_index():
    result = ONE.build_result(LANGUAGE, answered(wrote("question", "Haskell")))
    assert result.data == {"answer": "Haskell", "isCustom": True, "timestamp": 1795176000000}


def test_a_timeout_of_ask_question_is_typed():
    result = ONE.build_result(LANGUAGE, ended("timed_out"))
    assert result.data == {"answer": "timeout", "isCustom": False, "timedOut": True, "timestamp": 1795176000000}
    assert json.loads(result.text) == result.data
    assert not result.is_error


@pytest.mark.parametrize("status", ["cancelled", "declined", "undeliverable"])
def test_every_other_end_of_ask_question_is_typed_too(status: OutcomeStatus):
    outcome = ended(status, reason="Not now")
    result = ONE.build_result(LANGUAGE, outcome)
    assert result.data == {
        "answer": status,
        "isCustom": False,
        status: True,
        "message": describe_unanswered(outcome),
        "timestamp": 1795176000000,
    }


@settings(deadline=None, max_examples=100)
@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(-14, 14))  # noqa: DTZ001
def test_the_timestamp_is_exact_to_the_millisecond_in_every_time_zone(moment: datetime, hours: int):
    at = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    stamp = ONE.build_result(LANGUAGE, Outcome(status="timed_out", at=at)).data["timestamp"]
    assert stamp == (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


# Results: the sentences

SAID = {
    "wrong thread": (
        'The question was cancelled without an answer. They wrote: "Wrong thread" Do not assume an answer.'
    ),
    "withdrawn": 'The question was cancelled without an answer. The reason: "It is done." Do not assume an answer.',
    "not in channel": (
        "The question could not be delivered: The bot is not in this channel. "
        "Nobody saw it, so do not assume an answer."
    ),
}


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (ended("timed_out"), "Nobody answered in time. This is not an answer or a choice: do not assume one."),
        (
            ended("cancelled"),
            "The question was cancelled without an answer. Do not assume an answer.",
        ),
        (ended("cancelled", by=ANN, reason="Wrong thread"), SAID["wrong thread"]),
        (ended("cancelled", reason="It is done."), SAID["withdrawn"]),
        (ended("declined"), "The person declined to answer for now. Do not assume an answer."),
        (
            ended("declined", reason="Tell me more"),
            'The person declined to answer for now. They wrote: "Tell me more" Do not assume an answer.',
        ),
        (
            ended("undeliverable"),
            (
                "The question could not be delivered: the platform cannot reach anybody here. "
                "Nobody saw it, so do not assume an answer."
            ),
        ),
        (ended("undeliverable", reason="The bot is not in this channel."), SAID["not in channel"]),
    ],
)
def test_an_end_without_an_answer_is_a_sentence_for_the_model(outcome: Outcome, said: str):
    assert describe_unanswered(outcome) == said
    result = USER.build_result(AUTH, outcome)
    assert (result.text, result.data) == (said, {"status": outcome.status, "message": said})
    assert not result.is_error


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(EXAMPLES), st.data())
def test_a_result_never_fails_and_its_index_and_answer_agree(
    example: tuple[QuestionTool[Any], dict[str, Any]], data: st.DataObject
):
    tool, sent = example
    asked = tool.parse(sent)
    outcome = data.draw(outcomes(asked))
    result = tool.build_result(sent, outcome)
    result.text.encode()
    json.loads(json.dumps(result.data))
    assert not result.is_error
    assert one_line(tool.summarize_result(outcome))
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
    elif tool is ANY:
        assert list(result.data["answers"]) == [question["id"] for question in sent["questions"]]
    else:
        assert list(result.data) == [question["question"] for question in sent["questions"]]
        for question, told in zip(sent["questions"], result.data.values(), strict=True):
            assert isinstance(told, list) == question["multiSelect"]


# Summaries


@pytest.mark.parametrize(
    ("tool", "data", "summary"),
    [
        (USER, AUTH, "AskUserQuestion · 1 question · Auth Method"),
        (USER, FEATURES, "AskUserQuestion · 2 questions · Features, Database"),
        (USER, entry(header=""), "AskUserQuestion · 1 question · Q?"),
        (MANY, DATABASES, "question · 2 questions · Database, Q2"),
        (MANY, {}, "question · 0 questions"),
        (ANY, json.loads(ANY.example), "ask · 2 questions · Where do we deploy?, On which day?"),
        (ONE, PROCEED, "askQuestion · 2 options · Do you want to proceed with this action?"),
        (USER, SIX, "AskUserQuestion · invalid input"),
        (ONE, None, "askQuestion · invalid input"),
    ],
)
def test_a_call_is_summed_up_in_one_line(tool: QuestionTool[Any], data: Any, summary: str):
    assert tool.summarize_call(data) == summary


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
    for tool in (USER, MANY, ONE, ANY):
        assert tool.summarize_result(outcome) == summary


@pytest.mark.parametrize("text", ["a\nb", "a\r\n\x85\u2028\u2029\x0b\x0c\x1c\x1eb", "x" * 500])
def test_a_summary_stays_one_line_whatever_was_written(text: str):
    assert one_line(shorten(text, 200))
    assert one_line(USER.summarize_call(entry(header=None, question=text)))
    assert one_line(MANY.summarize_call({"questions": [{"prompt": "P?", "label": text[:200]}]}))
    assert one_line(ONE.summarize_call({"question": text, "options": ["A", "B"]}))
    for status in STATUSES:
        outcome = answered(wrote("q1", text)) if status == "answered" else ended(status, reason=text)
        assert one_line(USER.summarize_result(outcome))


# What follows from a timeout


FALLBACK = (chose("where", (0, "Staging")),)


def test_a_halt_tells_the_model_to_stop_in_every_tools_convention():
    halted = ended("timed_out", halted=True)
    for tool, data in EXAMPLES:
        result = tool.build_result(data, halted)
        assert "Nobody answered in time. Stop here: do not continue this work" in result.text, tool.name
        assert not result.is_error
    assert ONE.build_result(LANGUAGE, halted).data["timedOut"] is True
    assert MANY.build_result(DATABASES, halted).data["reason"] == "timed_out"
    assert ANY.build_result(json.loads(ANY.example), halted).data["halted"] is True


def test_a_default_is_told_as_one_that_nobody_chose():
    call = json.loads(ANY.example)
    call["questions"] = [{**call["questions"][0], "default": "Staging"}]
    result = ANY.build_result(call, ended("timed_out", fallback=FALLBACK))
    assert result.data["status"] == "timed_out"
    assert result.data["fallback"] == {"where": "Staging"}
    assert "answers" not in result.data
    assert 'The default applies, as the card announced: "Staging". Nobody chose this' in str(result.data["message"])
    assert ANY.summarize_result(ended("timed_out", fallback=FALLBACK)).endswith('default: "Staging"')


def test_a_plain_timeout_is_told_as_before():
    assert ONE.build_result(LANGUAGE, ended("timed_out")).data.keys() == {
        "answer", "isCustom", "timedOut", "timestamp",
    }  # fmt: skip
