"""Models' calls of the question tools, and people's answers to them."""

from __future__ import annotations

import json
from typing import Any, get_args

from hypothesis import strategies as st

from askback.domain.form import Form
from askback.domain.outcome import Answer, Choice, Outcome, OutcomeStatus
from askback.tools import AskQuestion, AskTool, AskUserQuestion, QuestionsTool
from support.cases import ANN, NOON

USER, MANY, ONE, ANY = AskUserQuestion(), QuestionsTool(), AskQuestion(), AskTool()

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

DEPLOY = {
    "questions": [
        {
            "id": "where",
            "question": "Where do we deploy?",
            "header": "Where",
            "options": [{"label": "Staging", "value": "stg"}, {"label": "Production", "value": "prd"}],
            "default": ["stg"],
        },
        {"id": "count", "question": "On how many machines?", "kind": "integer", "minimum": 1, "maximum": 9},
        {
            "id": "day",
            "question": "On which day?",
            "kind": "date",
            "showIf": {"question": "where", "anyOf": ["prd"]},
        },
        {
            "id": "checks",
            "question": "Which checks run before?",
            "options": [{"label": "Tests"}, {"label": "Types"}, {"label": "Lint"}],
            "multiSelect": True,
            "minChoices": 2,
            "allowCustom": False,
        },
        {"id": "note", "question": "What else is to be known?", "optional": True},
    ]
}

EXAMPLES = [(USER, AUTH), (USER, FEATURES), (MANY, DATABASES), (ONE, LANGUAGE), (ONE, PROCEED), (ONE, RATE)]
EXAMPLES += [(ANY, DEPLOY), *((tool, json.loads(tool.example)) for tool in (USER, MANY, ONE, ANY))]
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


PLAIN = {
    "questions": [{"question": "Q?", "header": "H", "multiSelect": False, "options": [{"label": "A"}, {"label": "B"}]}]
}
ENTRY = PLAIN["questions"][0]


def entry(**changes: Any) -> dict[str, Any]:
    return {"questions": [ENTRY | changes]}


SIX = {"questions": [ENTRY] * 6}


def one_line(text: str) -> bool:
    return len(text.splitlines()) == 1 and 0 < len(text) <= 200


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
