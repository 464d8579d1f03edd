"""Durations that callers give, and the sentences about wrong ones, in the terms of each caller."""

from __future__ import annotations

import pytest

from askback.client.duration_parameters import Duration, parse_duration, parse_durations, parse_wait
from askback.client.parameter_names import PYTHON, SHELL, Terms
from askback.errors import CallerError


def test_a_wait_may_have_no_end_and_other_durations_have_one() -> None:
    for text in ("forever", " Never "):
        assert parse_wait("wait", text, SHELL) is None
        with pytest.raises(CallerError, match="is not a duration"):
            parse_duration("remind", text, SHELL)
    assert (parse_wait("wait", "1d 12h", SHELL), parse_wait("wait", 90, PYTHON)) == (129_600, 90)


def test_one_duration_or_several_are_given() -> None:
    assert parse_durations("remind", "30m", PYTHON) == parse_durations("remind", 1800, PYTHON) == (1800,)
    assert parse_durations("remind", ["1h", 7200], PYTHON) == (3600, 7200)
    assert parse_durations("remind", (), PYTHON) == ()


@pytest.mark.parametrize(
    ("terms", "given", "sentence"),
    [
        (SHELL, "soon", "--call-wait soon is not a duration: write a number with s, m, h, d or w"),
        (SHELL, "0s", "--call-wait 0s is out of range: use more than 0 seconds, at most ten years, or forever."),
        (PYTHON, "0s", "call_wait='0s' is out of range: use more than 0 seconds, at most ten years, or forever."),
        (PYTHON, float("nan"), "call_wait=nan is out of range"),
        (PYTHON, float("inf"), "call_wait=inf is out of range"),
    ],
)
def test_a_wrong_duration_is_named_as_its_caller_wrote_it(terms: Terms, given: Duration, sentence: str) -> None:
    with pytest.raises(CallerError) as caught:
        parse_wait("call_wait", given, terms)
    assert str(caught.value).startswith(sentence)


def test_a_reminder_is_not_offered_to_last_forever() -> None:
    with pytest.raises(CallerError) as caught:
        parse_duration("remind", "600w", SHELL)
    assert str(caught.value) == "--remind 600w is out of range: use more than 0 seconds, at most ten years."
