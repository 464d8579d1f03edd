"""The file of the callers of `askback serve`, and the limits of each caller."""

from __future__ import annotations

import hashlib
import math

import pytest

from askback.agent.approvals import ApprovalRules
from askback.doors import caller_limits
from askback.doors.caller_limits import CallerLimits, StorageLimits, TooManyRequests
from askback.doors.callers import Callers, read_callers
from askback.errors import OperatorError
from askback.text.redaction import contains_known_secret

TOKEN, OTHER = "a" * 24, "b" * 24
PLACE = 'to = "slack:#deploys"\nwho = "@release"\n'


def read(text: str) -> Callers:
    return read_callers(text, "callers.toml", ApprovalRules())


def test_each_token_leads_to_the_rules_of_its_caller() -> None:
    callers = read(
        f'[a]\ntoken = "{TOKEN}"\n{PLACE}wait = "8h"\nremind = ["1h", 7200]\n'
        f'[b]\ntoken_sha256 = "{hashlib.sha256(OTHER.encode()).hexdigest()}"\nto = ["slack:@ada", "discord:#x"]\n'
        'who = ["@ada"]\nscopes = ["permit"]\napprovers = "@leads"\nrequested_by = "@ben"\nwait = "forever"\n'
    )
    one, two = callers.find(TOKEN), callers.find(OTHER)
    assert one is not None
    assert two is not None
    assert (one.name, one.rules.places, one.rules.answerers) == ("a", ("slack:#deploys",), ("@release",))
    assert (one.rules.wait, one.rules.remind, one.scopes) == (28_800, (3600, 7200), {"ask", "cancel"})
    assert (two.name, two.rules.places, two.scopes) == ("b", ("slack:@ada", "discord:#x"), {"permit"})
    assert (two.rules.wait, two.rules.approvers, two.rules.requesters) == (None, ("@leads",), ("@ben",))
    assert callers.find(TOKEN + "x") is callers.find("") is None
    assert contains_known_secret(f"The token is {TOKEN}.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no caller"),
        ("[a", "is not TOML"),
        ("a = 1", "[a] in callers.toml is wrong"),
        (f'["a b"]\ntoken = "{TOKEN}"\n{PLACE}', "is not a name"),
        (f"[a]\n{PLACE}", "needs either token or token_sha256"),
        (f'[a]\ntoken = "{TOKEN}"\ntoken_sha256 = "{"0" * 64}"\n{PLACE}', "needs either token or token_sha256"),
        (f'[a]\ntoken_sha256 = "{TOKEN}"\n{PLACE}', "token_sha256"),
        (f'[a]\ntoken = "{TOKEN[:19]}"\n{PLACE}', "could be guessed"),
        (f'[a]\ntoken = "{TOKEN} {TOKEN}"\n{PLACE}', "no request can carry"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}[b]\ntoken = "{TOKEN}"\n{PLACE}', "the token of another caller"),
        (f'[a]\ntoken = "{TOKEN}"\nto = "slack:#deploys"\n', "with `who`: @group, @person, or anyone"),
        (f'[a]\ntoken = "{TOKEN}"\nto = "nowhere:#deploys"\nwho = "@release"\n', "There is no platform 'nowhere'"),
        (f'[a]\ntoken = "{TOKEN}"\nto = []\n', "to is too short"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}wait = "soon"\n', "wait is not a duration"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}wait = -1\n', "wait"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}wait = nan\n', "wait"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}scopes = ["all"]\n', "Scopes are ask, cancel, permit."),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}language = "Klingon"\n', "language"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}escalate = "@leads"\n', "escalate"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}escalate = {{"-1" = "@leads"}}\n', "escalate"),
        (f'[a]\ntoken = "{TOKEN}"\n{PLACE}admin = true\n', "admin is an unknown field (the fields are token, "),
        (
            f'[a]\ntoken = "{TOKEN}"\n{PLACE}aprovers = "@leads"\n',
            "aprovers is an unknown field (did you mean approvers?)",
        ),
    ],
)
def test_a_wrong_file_is_refused_without_its_tokens(text: str, words: str) -> None:
    with pytest.raises(OperatorError) as caught:
        read(text)
    assert words in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_caller_may_wish_for_less_time_than_the_operator_allows_and_not_for_more() -> None:
    (caller,) = read(f'[a]\ntoken = "{TOKEN}"\n{PLACE}wait = "2h"\nremind = ["1h"]\n').by_name.values()
    assert caller.rules.limit_wait(None) == caller.rules.limit_wait(7200) == caller.rules.limit_wait(math.inf)
    shorter = caller.rules.limit_wait(60)
    assert (shorter.wait, shorter.remind) == (60, ())
    (unlimited,) = read(f'[a]\ntoken = "{TOKEN}"\n{PLACE}').by_name.values()
    assert unlimited.rules.limit_wait(60).wait == 60


def test_a_caller_beyond_its_limits_is_refused_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_limits, "MAX_RUNNING", 2)
    monkeypatch.setattr(caller_limits, "MAX_A_SECOND", 5)
    monkeypatch.setattr(caller_limits.time, "monotonic", lambda: 1000.0)
    limits = CallerLimits()
    with limits.count("a"), limits.count("a"):
        with pytest.raises(TooManyRequests) as caught, limits.count("a"):
            pass
        assert caught.value.seconds == 5
        with limits.count("b"):
            pass
    for _ in range(2):
        with limits.count("a"):
            pass
    with pytest.raises(TooManyRequests) as caught, limits.count("a"):
        pass
    assert caught.value.seconds == 1
    monkeypatch.setattr(caller_limits.time, "monotonic", lambda: 1001.0)
    with limits.count("a"):
        pass


def test_a_caller_may_store_again_what_it_stored_spread_over_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(caller_limits.time, "monotonic", lambda: clock[0])
    limits = StorageLimits(86_400)

    def store(caller: str, size: int) -> int | None:
        """Return None if the bytes may be stored, or the seconds until they may be."""
        try:
            with limits.count(caller, size):
                return None
        except TooManyRequests as error:
            return error.seconds

    assert store("a", 86_000) is None
    assert store("a", 500) == 100
    assert (store("a", 400), store("b", 86_400)) == (None, None)
    clock[0] += 99.5
    assert store("a", 100) == 1
    clock[0] += 0.5
    assert store("a", 100) is None
    # What is larger than all of it may be stored after a day, and is made up for later.
    clock[0] += 86_399
    assert store("a", 100_000) == 1
    clock[0] += 1
    assert store("a", 100_000) is None
    assert store("a", 1) == 100_000 - 86_400 + 1
    clock[0] += 10 * 86_400
    assert (store("a", 86_400), store("a", 1)) == (None, 1)


def test_what_was_not_stored_does_not_count() -> None:
    limits = StorageLimits(1000)
    for _ in range(10):
        with pytest.raises(OperatorError), limits.count("a", 1000):
            raise OperatorError("The database is away.")
    with limits.count("a", 1000):
        pass
    with pytest.raises(TooManyRequests), limits.count("a", 100):
        pass
