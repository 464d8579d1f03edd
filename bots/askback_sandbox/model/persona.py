"""The demo's scripted model: friendly, deterministic, and it asks the question that a message's word selects.

Like a real model, it reads the offered tools, their schemas and the history, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue

from .request import ASKING_TOOLS, ReceivedRequest, texts
from .script import ToolCall, Turn

__all__ = ["WORDS", "persona"]

Object = dict[str, JsonValue]


@dataclass(frozen=True)
class _Option:
    label: str
    description: str = ""


@dataclass(frozen=True)
class _Question:
    prompt: str
    header: str
    options: tuple[_Option, ...]
    several: bool = False


_HOSTILE = _Question(
    "Is this shown <@U0000000>, <!channel> & @everyone, `exactly` *as* _written_? ‮right to left‬ 🧨",
    "Hostile",
    (
        _Option("<!here> @channel", "must ping nobody"),
        _Option("```code``` *bold* ~gone~", "must not be formatted"),
        _Option("<https://example.com|a link> & <b>", "must not be a link"),
        _Option("🏳️‍🌈 مرحبا 你好 \u202eabc\u202c", "must be whole"),
    ),
)
# fmt: off
_CITIES = (
    "Amsterdam", "Athens", "Barcelona", "Berlin", "Bern", "Bologna", "Bratislava", "Brussels",
    "Bucharest", "Budapest", "Cologne", "Copenhagen", "Dublin", "Florence", "Geneva", "Hamburg",
    "Helsinki", "Kraków", "Lisbon", "Ljubljana", "London", "Lyon", "Madrid", "Milan",
    "Munich", "Oslo", "Paris", "Prague", "Stockholm", "Vienna",
)
# fmt: on
_QUESTIONS: dict[str, tuple[_Question, ...]] = {
    "single": (
        _Question(
            "Where shall I deploy the release?",
            "Target",
            (
                _Option("Staging (Recommended)", "Nobody but us sees it"),
                _Option("Production", "Everybody sees it"),
                _Option("Both", "Staging first, production an hour later"),
            ),
        ),
    ),
    "several": (
        _Question(
            "Which checks shall run before the release?",
            "Checks",
            (
                _Option("Unit tests", "2 minutes"),
                _Option("Browser tests", "11 minutes"),
                _Option("Load test", "30 minutes, needs a quiet staging"),
                _Option("Security scan", "5 minutes"),
            ),
            several=True,
        ),
    ),
    "list": (
        _Question(
            "In which city is the meeting?",
            "City",
            tuple(_Option(city) for city in _CITIES),
        ),
    ),
    "form": (
        _Question("What is the service called?", "Name", (_Option("billing"), _Option("checkout"))),
        _Question(
            "Which database does it use?",
            "Database",
            (
                _Option("PostgreSQL (Recommended)", "We know it well"),
                _Option("SQLite", "One file, no server"),
                _Option("None", "It keeps nothing"),
            ),
        ),
        _Question(
            "What else does it need?",
            "Extras",
            (_Option("A queue"), _Option("A cache"), _Option("A search index"), _Option("Nightly backups")),
            several=True,
        ),
        _Question("Who looks after it?", "Owner", (_Option("Team Green"), _Option("Team Blue"))),
    ),
    "text": (
        _Question(
            "How shall the announcement begin? Write it in your own words.",
            "Words",
            (_Option("Good news, everyone!"), _Option("A short note")),
        ),
    ),
    "long": (
        _Question(
            "Which of these plans do you prefer? They are long on purpose: nothing of them may be cut.",
            "Plan",
            (
                _Option(
                    "Move every customer to the new billing system in one weekend, with the old one kept "
                    "readable for a month and a way back that was rehearsed twice",
                    "Short and sharp: one weekend of work for everybody, and one date to announce",
                ),
                _Option(
                    "Move the customers in twelve groups, the smallest first, one group each week, and stop "
                    "between two groups whenever the error rate of the last one is above a tenth of a percent",
                    "Slow and calm: three months with two systems, each of which must be looked after",
                ),
            ),
        ),
    ),
    "hostile": (_HOSTILE,),
}
_MEANS: tuple[tuple[str, str], ...] = (
    (r"hostile|nasty|evil", "hostile"),
    (r"form|four", "form"),
    (r"several|multiple|multi|many", "several"),
    (r"list|thirty|30|cities|city", "list"),
    (r"long", "long"),
    (r"text|words|free|write", "text"),
    (r"single|choose|choice|deploy", "single"),
)
WORDS = tuple(_QUESTIONS)
_SAYS = {
    "single": "Gladly: one question with a few answers.",
    "several": "Here several answers may be right.",
    "list": "That is a long list of cities.",
    "form": "Four questions belong together here.",
    "text": "This one wants your own words.",
    "long": "These answers do not fit on a button.",
    "hostile": "This question tries to ping people and to be formatted. It should do neither.",
}
_UNANSWERED = (
    ("was cancelled", "You cancelled: fine with me."),
    ("declined to answer", "Not now, then: I do not guess."),
    ("Nobody answered", "Nobody chose anything this time."),
)
_RUNS = "deploy"
"""The tool that needs approval, if the bot offers it."""
_RUN = re.compile(r"\b(approve|approval)\b", re.IGNORECASE)
_RELEASE: Object = {"version": "1.4.2", "target": "staging"}
_MENU = (
    "- **single**: choose one of a few answers\n"
    "- **several**: tick as many as you like\n"
    "- **list**: find one of thirty\n"
    "- **form**: four questions with a review\n"
    "- **text**: answer in your own words\n"
    "- **long**: answers too long for a button\n"
    "- **hostile**: text that tries to misbehave"
)


def persona(asked: ReceivedRequest) -> Turn:
    """Return the next turn of the demo's model."""
    results = [
        block for message in asked.news for block in _objects(message["content"]) if block["type"] == "tool_result"
    ]
    text = "\n".join(texts(message) for message in asked.news)
    if results:
        return _after(asked, results, text)
    if _runs(asked) and _RUN.search(text):
        return Turn(say="I deploy nothing without your approval.", calls=(ToolCall(tool=_RUNS, input=_RELEASE),))
    topic = _topic(text)
    if topic is not None:
        return _ask(asked, topic)
    hello = "Hello! I am the demo's scripted model" if not asked.turns else "I know only a few tricks"
    approve = "\n- **approve**: let me run something, or not" if _runs(asked) else ""
    return Turn(say=f"{hello}: write one of these words, and I ask you something.\n\n{_MENU}{approve}")


def _runs(asked: ReceivedRequest) -> bool:
    return any(tool.get("name") == _RUNS for tool in asked.tools)


def _after(asked: ReceivedRequest, results: list[Object], text: str) -> Turn:
    said = " ".join(_in_words(_text(result)) for result in results)
    topic = _topic(text)
    if topic is not None:
        again = _ask(asked, topic)
        return Turn(say=f"{said} {again.say}", calls=again.calls)
    return Turn(say=f"{said}\n\nWhat next? Try {', '.join(f'**{word}**' for word in WORDS[:-1])} or **{WORDS[-1]}**.")


def _topic(text: str) -> str | None:
    for pattern, topic in _MEANS:
        if re.search(rf"\b({pattern})\b", text, re.IGNORECASE):
            return topic
    return None


def _ask(asked: ReceivedRequest, topic: str) -> Turn:
    tool = _tool(asked, topic)
    if tool is None:
        return Turn(say="I would ask you something now, but I was given no tool to ask with.")
    name = str(tool["name"])
    questions = _QUESTIONS[topic]
    most, note = _most(tool), ""
    if most is not None and any(len(question.options) > most for question in questions):
        questions = tuple(replace(question, options=question.options[:most]) for question in questions)
        note = f" (`{name}` takes {most} options at most: with `question` on offer I would show them all.)"
    if topic == "text" and not _bound(tool, "minItems") and name != "askQuestion":
        questions = tuple(replace(question, options=()) for question in questions)
    # askQuestion asks one thing at a time: a form becomes several calls in one turn.
    asks = (questions,) if name != "askQuestion" else tuple((question,) for question in questions)
    calls = tuple(ToolCall(tool=name, input=_INPUTS[name](part)) for part in asks)
    return Turn(say=_SAYS[topic] + note, calls=calls)


def _tool(asked: ReceivedRequest, topic: str) -> Object | None:
    """Return the first offered asking tool that takes enough options, or else any; None if there is none."""
    offered = {str(tool.get("name")): tool for tool in asked.tools}
    known = [offered[name] for name in ASKING_TOOLS if name in offered]
    longest = max(len(question.options) for question in _QUESTIONS[topic])
    roomy = [tool for tool in known if (_most(tool) or longest) >= longest]
    return (roomy or known or [None])[0]


def _most(tool: Mapping[str, JsonValue]) -> int | None:
    """Return the maximum number of options; None means unlimited.

    Models know that AskUserQuestion takes four, even if its schema gives no limit.
    """
    bound = _bound(tool, "maxItems")
    return 4 if bound is None and tool.get("name") == "AskUserQuestion" else bound


def _bound(tool: Mapping[str, JsonValue], key: str) -> int | None:
    """Return `minItems` or `maxItems` of `options` from anywhere in the schema, also behind a `$ref`."""

    def find(value: JsonValue) -> int | None:
        if isinstance(value, list):
            return next((found for item in value if (found := find(item)) is not None), None)
        if not isinstance(value, dict):
            return None
        options = value.get("options")
        if isinstance(options, dict) and isinstance(bound := options.get(key), int):
            return bound
        return next((found for item in value.values() if (found := find(item)) is not None), None)

    return find(tool.get("input_schema"))


def _ask_user_question(questions: tuple[_Question, ...]) -> Object:
    return {
        "questions": [
            {
                "question": question.prompt,
                "header": question.header,
                "options": [{"label": option.label, "description": option.description} for option in question.options],
                "multiSelect": question.several,
            }
            for question in questions
        ]
    }


def _question(questions: tuple[_Question, ...]) -> Object:
    return {
        "questions": [
            {
                "id": question.header.lower(),
                "label": question.header,
                "prompt": question.prompt,
                "options": [_valued(option) for option in question.options],
            }
            for question in questions
        ]
    }


def _valued(option: _Option) -> Object:
    value = re.sub(r"\W+", "_", option.label).strip("_").lower() or "option"
    described: Object = {"description": option.description} if option.description else {}
    return {"value": value, "label": option.label, **described}


def _ask_question(questions: tuple[_Question, ...]) -> Object:
    question = questions[0]
    return {"question": question.prompt, "options": [option.label for option in question.options]}


_INPUTS: dict[str, Callable[[tuple[_Question, ...]], Object]] = {
    "AskUserQuestion": _ask_user_question,
    "question": _question,
    "askQuestion": _ask_question,
}


def _in_words(result: str) -> str:
    """Put a tool result into words; repeat it unchanged if it is not understood."""
    try:
        value: JsonValue = json.loads(result)
    except ValueError:
        value = None
    if isinstance(value, dict):
        if value.get("timedOut") or value.get("cancelled"):
            return "Nobody chose anything this time." if value.get("timedOut") else "You cancelled: fine with me."
        if "answers" in value:
            parts = [
                f"for *{answer.get('id')}* {'you wrote' if answer.get('wasCustom') else 'you chose'} "
                f"**{answer.get('label')}**"
                for answer in _objects(value["answers"])
            ]
            return f"Noted: {', '.join(parts)}."
        if "answer" in value:
            verb = "You wrote" if value.get("isCustom") else "You chose"
            return f"{verb} **{value['answer']}**. Noted."
    pairs: list[tuple[str, str]] = re.findall(r'"(.*?)"="(.*?)"(?=, "|\. You can)', result, re.DOTALL)
    if pairs:
        return f"Noted: {', '.join(f'for *{question}* you said **{answer}**' for question, answer in pairs)}."
    return _unanswered(result) or f"I was told: {result}"


def _unanswered(result: str) -> str | None:
    """Return the reason for a missing answer and the person's comment; None for other results."""
    said = next((words for sign, words in _UNANSWERED if sign in result), None)
    if said is None:
        return None
    why = re.search(r'They wrote: "(.*)"', result, re.DOTALL)
    return f"{said} You wrote: *{why[1]}*" if why else said


def _text(result: Mapping[str, JsonValue]) -> str:
    content = result.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in _objects(content))


def _objects(value: JsonValue | None) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
