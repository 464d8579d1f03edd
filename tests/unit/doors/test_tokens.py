"""Tokens of an MCP server, and the operator's rules about places."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from askback.client.parameter_names import PYTHON
from askback.doors.caller_asks import CallerAsks
from askback.doors.rules import DoorRules
from askback.doors.tokens import read_tokens
from askback.errors import CallerError, OperatorError
from askback.settings.core import Settings
from askback.text.redaction import contains_known_secret

ONE, TWO = "a" * 24, "b" * 24


def test_each_token_is_a_principal() -> None:
    tokens = read_tokens(f"# agents\nfirst:{ONE}\n\nsecond: {TWO}", "FILE")
    assert [tokens.find_principal(token) for token in (ONE, TWO, "", ONE + "a", ONE[:-1], "\ud800")] == [
        "first", "second", None, None, None, None,
    ]  # fmt: skip
    assert contains_known_secret(f"curl -H {TWO}")
    assert ONE not in repr(tokens)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "FILE has no token"),
        (ONE, "Entry 1 of FILE is not NAME:TOKEN"),
        (f":{ONE}", "Entry 1 of FILE is not NAME:TOKEN"),
        (f"a:{ONE} b", "Entry 1 of FILE is not NAME:TOKEN"),
        ("a:short", "so it could be guessed. Make one with: openssl rand -hex 24"),
        (f"a:{ONE},a:{TWO}", "Entry 2 of FILE repeats a name or a token"),
        (f"a:{ONE},b:{ONE}", "Entry 2 of FILE repeats a name or a token"),
    ],
)
def test_a_wrong_token_is_named_without_being_shown(text: str, words: str) -> None:
    with pytest.raises(OperatorError) as caught:
        read_tokens(text, "FILE")
    assert words in str(caught.value)
    assert ONE not in str(caught.value)


def test_a_caller_chooses_among_the_operators_places_only() -> None:
    rules = DoorRules(places=("slack:#agents", "discord:Team/#Help"), answerers=("anyone",))
    rules.check()
    assert [rules.find_place(name) for name in (None, " ", "#agents", "slack:agents", "discord:team/#help")] == [
        *["slack:#agents"] * 4, "discord:Team/#Help",
    ]  # fmt: skip
    for strange in ("#general", "discord:#agents", "slack:C0123", "@ada"):
        with pytest.raises(CallerError, match="The operator does not let you ask in"):
            rules.find_place(strange)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (DoorRules(places=()), "Say where to ask with --to: PLATFORM:#channel"),
        (DoorRules(places=("slack:#agents",)), "Say who may answer in slack:#agents with --who: @group"),
        (DoorRules(places=(), terms=PYTHON), "Say where to ask with `to`: PLATFORM:#channel"),
        (DoorRules(places=("irc:#agents",), answerers=("anyone",)), "There is no platform 'irc'"),
    ],
)
def test_rules_without_a_place_or_people_are_refused(rules: DoorRules, words: str) -> None:
    with pytest.raises(CallerError) as caught:
        rules.check()
    assert words in str(caught.value)


@pytest.mark.parametrize(("setting", "seconds"), [(None, 5.0), (0.0, 0.0), (60.0, 60.0)])
async def test_an_agent_cannot_post_card_after_card(setting: float | None, seconds: float) -> None:
    asks = CallerAsks(Settings(question_pace=setting, database_url="x.db"), Path("x.db"), "mcp")
    assert asks._settings.limits.pause(agent=False) == timedelta(seconds=seconds)
