"""Small rules that together check blocks and views; every problem has Slack's wording and a location."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_text

from . import limits


@dataclass(frozen=True)
class Problem:
    """A problem that Slack would refuse, and its location."""

    message: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.message} [json-pointer:{self.pointer}]"


@dataclass
class Problems:
    """All problems found, because Slack reports them together."""

    found: list[Problem] = field(default_factory=list[Problem])

    def add(self, message: str, pointer: str) -> None:
        """Add a problem."""
        self.found.append(Problem(message, pointer))


Rule = Callable[[JsonValue, str, Problems], None]


class SlackRefusalError(Exception):
    """A refusal by Slack: an error code and, for blocks and views, the problems with their locations."""

    def __init__(self, code: str, problems: list[Problem] | None = None, **more: str) -> None:
        """Keep the code; `more` holds further fields of the answer."""
        super().__init__(code)
        self.code = code
        self.problems = problems or []
        self._more = more

    def answer(self) -> JsonObject:
        """Return the body that Slack would send."""
        body: JsonObject = {"ok": False, "error": self.code, **self._more}
        if self.problems:
            body["errors"] = [str(problem) for problem in self.problems]
            body["response_metadata"] = {"messages": [f"[ERROR] {problem}" for problem in self.problems]}
        return body


def string(most: int, least: int = 1) -> Rule:
    """A string of `least` to `most` characters."""

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        if not isinstance(value, str):
            problems.add("must be a valid string", pointer)
        elif len(value) > most:
            problems.add(f"must be less than {most + 1} characters", pointer)
        elif len(value) < least:
            problems.add(f"must be more than {least - 1} characters", pointer)

    return rule


def boolean(value: JsonValue, pointer: str, problems: Problems) -> None:
    """True or false."""
    if not isinstance(value, bool):
        problems.add("must be a valid boolean", pointer)


def integer(least: int, most: int) -> Rule:
    """A whole number between two bounds."""

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            problems.add("must be a valid integer", pointer)
        elif value < least:
            problems.add(f"must be greater than {least - 1}", pointer)
        elif value > most:
            problems.add(f"must be less than {most + 1}", pointer)

    return rule


def one_of(*values: str) -> Rule:
    """One of the given strings."""

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        if value not in values:
            problems.add(f"must be one of: {', '.join(values)}", pointer)

    return rule


def web_address(most: int) -> Rule:
    """An http(s) address."""
    check = string(most)

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        check(value, pointer, problems)
        if isinstance(value, str) and value and not value.startswith(("http://", "https://")):
            problems.add("must be a valid url", pointer)

    return rule


def array(item: Rule, *, most: int | None = None, least: int = 1) -> Rule:
    """A list of `least` to `most` items."""

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        if not isinstance(value, list):
            problems.add("must be a valid array", pointer)
            return
        if most is not None and len(value) > most:
            problems.add(f"no more than {most} items allowed", pointer)
        if len(value) < least:
            problems.add(f"must provide at least {least} items", pointer)
        for index, entry in enumerate(value):
            item(entry, f"{pointer}/{index}", problems)

    return rule


def shape(required: Mapping[str, Rule], optional: Mapping[str, Rule]) -> Rule:
    """An object with these fields and no others."""

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        if not isinstance(value, dict):
            problems.add("must be a valid object", pointer)
            return
        for name in required:
            if name not in value:
                problems.add(f"missing required field: {name}", pointer)
        for name, entry in value.items():
            check = required.get(name) or optional.get(name)
            if check is None:
                problems.add(f"invalid additional property: {name}", pointer)
            else:
                check(entry, f"{pointer}/{name}", problems)

    return rule


def by_type(rules: Mapping[str, Rule]) -> Rule:
    """An object whose `type` selects its rule."""

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        if not isinstance(value, dict):
            problems.add("must be a valid object", pointer)
            return
        if "type" not in value:
            problems.add("missing required field: type", pointer)
            return
        kind = as_text(value["type"])
        check = rules.get(kind)
        if check is None:
            problems.add(f"unsupported type: {kind}", f"{pointer}/type")
        else:
            check(value, pointer, problems)

    return rule


def both(first: Rule, second: Rule) -> Rule:
    """Two rules, one after the other."""

    def rule(value: JsonValue, pointer: str, problems: Problems) -> None:
        first(value, pointer, problems)
        second(value, pointer, problems)

    return rule


def anything(value: JsonValue, pointer: str, problems: Problems) -> None:
    """Accept any value, for fields on which nothing here depends."""


identifier = string(limits.ID_LENGTH)


def plain_text(most: int, least: int = 1) -> Rule:
    """A `plain_text` object."""
    return by_type({"plain_text": shape({"type": anything, "text": string(most, least)}, {"emoji": boolean})})


def any_text(most: int, least: int = 1) -> Rule:
    """A `plain_text` or `mrkdwn` object."""
    return by_type(
        {
            "plain_text": shape({"type": anything, "text": string(most, least)}, {"emoji": boolean}),
            "mrkdwn": shape({"type": anything, "text": string(most, least)}, {"verbatim": boolean}),
        }
    )
