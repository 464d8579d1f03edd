"""Strategies for JSON Schemas that are forms, and for answers to their questions."""

from __future__ import annotations

import string
from typing import Any

import jsonschema_rs
from hypothesis import strategies as st

from askback.domain.form import Question
from askback.domain.outcome import Answer, Choice, Outcome
from askback.internal.clock import utc_now
from askback.text.unseen import has_visible_text

NOW = utc_now()
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=12).filter(
    has_visible_text
)
LINES = st.text(string.ascii_letters + "°€%²", min_size=1, max_size=12)
"""Texts that are one readable line, as titles and units have to be."""
NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6, allow_nan=False)
FORMATS = {
    "email": ["ada@example.com", "a.b+c@x-1.example.org", "ada@@example.com", "ada", "a@b..c"],
    "uri": ["https://example.com", "https://example.com:8080/a%20b?x=1#y", "mailto:ada@example.com", "/a", "x y"],
    "date": ["2026-11-24", "2024-02-29", "2026-02-30", "24.11.2026", "2026-1-1"],
    "date-time": ["2026-11-24T16:30:00Z", "2026-11-24T16:30:00.25+01:00", "2026-11-24", "2026-11-24T25:00:00Z"],
}
PATTERNS = ["^[a-z ]+$", r"\d", "^(?!a)", "[^x]$"]
LOWER, UPPER = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")


def titled(values: list[Any], titles: list[str]) -> list[dict[str, Any]]:
    return [{"const": value, "title": title} for value, title in zip(values, titles, strict=True)]


@st.composite
def choices(draw: st.DrawFn, alternatives: str) -> tuple[dict[str, Any], list[Any]]:
    values = draw(
        st.lists(WORDS, min_size=1, max_size=5, unique=True)
        | st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True)
    )
    kind = "string" if isinstance(values[0], str) else "integer"
    if draw(st.booleans()):
        return {"type": kind, "enum": values}, values
    titles = draw(st.lists(WORDS, min_size=len(values), max_size=len(values)))
    return {"type": kind, alternatives: titled(values, titles)}, values


@st.composite
def lists(draw: st.DrawFn) -> dict[str, Any]:
    """Return the schema of a list that people write, one item per line."""
    items: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"type": "string"},
                {"type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z ]+$"},
                {"type": "string", "format": "email"},
                {"type": "integer", "minimum": -20},
                {"type": "number", "exclusiveMaximum": 99.5, "x-unit": "px"},
            ]
        )
    )
    found: dict[str, Any] = {"type": "array", "items": items}
    least = draw(st.integers(0, 3))
    if least:
        found["minItems"] = least
    if draw(st.booleans()):
        found["maxItems"] = draw(st.integers(max(least, 1), 5))
    if draw(st.booleans()):
        found["uniqueItems"] = True
    return found


@st.composite
def properties(draw: st.DrawFn, required: bool) -> dict[str, Any]:
    notes: dict[str, Any] = {}
    if draw(st.booleans()):
        notes["title"] = draw(WORDS)
    if draw(st.booleans()):
        notes["description"] = draw(WORDS)
    kind = draw(st.sampled_from(["text", "format", "integer", "number", "boolean", "one", "several", "list"]))
    match kind:
        case "text":
            least, most = sorted((draw(st.integers(1, 12)), draw(st.integers(1, 12))))
            found: dict[str, Any] = {"type": "string", "minLength": least, "maxLength": most}
            if draw(st.booleans()):
                found["pattern"] = draw(st.sampled_from(PATTERNS))
        case "format":
            found = {"type": "string", "format": draw(st.sampled_from(sorted(FORMATS)))}
        case "integer" | "number":
            low, high = sorted((draw(st.integers(-100, 100)), draw(st.integers(-100, 100))))
            found = {"type": kind, draw(st.sampled_from(LOWER)): low, draw(st.sampled_from(UPPER)): high + 7}
            if draw(st.booleans()):
                found["multipleOf"] = draw(st.sampled_from([1, 3, 0.5, 2.5]))
            if draw(st.booleans()):
                found["x-unit"] = draw(LINES)
        case "boolean":
            found = {"type": "boolean"}
        case "one":
            found, values = draw(choices("oneOf"))
            if draw(st.booleans()):
                found["default"] = draw(st.sampled_from(values))
        case "list":
            found = draw(lists())
            if draw(st.booleans()) and found.get("minItems", 0) == 0:
                found["default"] = []
        case _:
            items, values = draw(choices("anyOf"))
            least = draw(st.integers(0, len(values) if required else 1))
            found = {"type": "array", "items": items, "minItems": least, "uniqueItems": True}
            if draw(st.booleans()):
                found["maxItems"] = draw(st.integers(max(least, 1), len(values) + 1))
    if required and found.get("minItems", 0) <= 1 and draw(st.booleans()):
        found = {"anyOf": [found, {"type": "null"}]} | {key: found.pop(key) for key in ("default",) if key in found}
    return notes | found


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    headed = {"title": draw(LINES)} if draw(st.booleans()) else {}
    required = [name for name in names if draw(st.booleans())]
    found = {name: draw(properties(name in required)) for name in names}
    return {"type": "object", **headed, "properties": found, "required": required}


def texts_for(question: Question) -> st.SearchStrategy[str]:
    """Return texts of which some are answers."""
    rules = question.rules
    if rules.lines is not None:
        items = texts_for(question.evolve(rules=rules.evolve(lines=None)))
        return st.lists(items | st.sampled_from(["", " ", "7", "-1.5", "a b"]), max_size=6).map("\n".join)
    kind = question.rules.kind
    if kind in ("integer", "number"):
        return NUMBERS.map(str) | st.text(string.digits + "+-.eE", max_size=8)
    return st.sampled_from(FORMATS[kind]) if kind in FORMATS else st.text(max_size=14)


@st.composite
def answers(draw: st.DrawFn, question: Question) -> Answer | None:
    """Return an answer that the card would accept. None if none of the first texts is one."""
    if question.allow_custom and draw(st.booleans()):
        text = draw(texts_for(question)).strip()
        return None if question.rules.find_problem(text) else Answer(question_id=question.id, text=text)
    if not question.options:
        return None
    indexes = st.integers(0, len(question.options) - 1)
    chosen = draw(st.lists(indexes, min_size=1, unique=True) if question.multi_select else st.tuples(indexes))
    if question.find_count_problem(len(chosen)):
        return None
    made = [Choice(index=i, value=question.options[i].value, label=question.options[i].label) for i in sorted(chosen)]
    return Answer(question_id=question.id, choices=tuple(made))


def answered(*given: Answer) -> Outcome:
    return Outcome(status="answered", at=NOW, answers=given)


def validator(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema, validate_formats=True)
