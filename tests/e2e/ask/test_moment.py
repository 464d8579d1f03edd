"""`askback ask --wait` with a moment: the question ends then, whenever its card was posted."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from .office import Office, Process

BERLIN = {"TZ": "Europe/Berlin"}
YEAR = datetime.now(UTC).year + 1


def last_sunday(month: int) -> str:
    """Return the day on which the clocks of this machine change at night."""
    last = date(YEAR, month, 31)
    return str(last - timedelta(days=(last.weekday() + 1) % 7))


FORWARD, BACK = last_sunday(3), last_sunday(10)


async def ask_until(office: Office, moment: str, *arguments: str) -> Process:
    to = f"{office.platform}:#deploys"
    return await office.start(
        "ask", "Which version?", "--to", to, "--who", "anyone", "--wait", moment, *arguments, **BERLIN
    )


async def test_a_moment_without_a_time_zone_is_local_and_the_output_says_which_it_is(office: Office) -> None:
    asked = await ask_until(office, f"{YEAR}-07-01 17:00", "--key", "k")
    await asked.said(f"until {YEAR}-07-01 17:00 CEST.")
    await office.card("Which version?")
    await asked.kill()
    _, out = await (await office.start("pending", "--json")).ended()
    assert f'"deadline": "{YEAR}-07-01T15:00:00Z"' in out
    again = await ask_until(office, f"{YEAR}-07-01T15:00:00Z", "--key", "k")
    await again.said(f"until {YEAR}-07-01 17:00 CEST.")
    assert "has no effect" not in again.err, "it is the same moment"
    await again.kill()
    other = await ask_until(office, f"{YEAR}-07-01 15:00", "--key", "k")
    await other.said("The question keeps the --wait with which it was first asked: the new value has no effect.")


async def test_nobody_answers_until_then_and_the_same_command_still_gets_its_outcome(office: Office) -> None:
    moment = f"{datetime.now(UTC) + timedelta(seconds=6):%Y-%m-%dT%H:%M:%SZ}"
    outcome = await (await ask_until(office, moment, "--key", "k")).outcome(4)
    ended = datetime.fromisoformat(outcome["at"])
    assert timedelta() <= ended - datetime.fromisoformat(moment) < timedelta(seconds=5), "it does not count the posting"
    assert await (await ask_until(office, moment, "--key", "k")).outcome(4) == outcome
    refused = await (await ask_until(office, moment, "--key", "other")).refused()
    assert f"{datetime.now(UTC):%Y-%m-%d}" in refused
    assert "has passed, so nobody was asked: give a later moment." in refused


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("2026-01-05 09:00", "--wait 2026-01-05 09:00 CET has passed, so nobody was asked: give a later moment."),
        (
            f"{FORWARD} 02:30",
            f"because the clocks go forward then: give {FORWARD} 01:30+01:00 or {FORWARD} 03:30+02:00",
        ),
        (
            f"{BACK} 02:30",
            f"comes twice here, because the clocks go back then: give {BACK} 02:30+02:00 or {BACK} 02:30+01:00",
        ),
        (f"{YEAR}-02-30 10:00", "is no moment of the calendar: give one such as 2026-12-01 17:00"),
        ("17:00", "is not a moment: give the date and the time, such as 2026-12-01 17:00"),
        (f"{YEAR}-12-01", "is not a moment: give the date and the time, such as 2026-12-01 17:00"),
        (f"{YEAR}-12-01 17:00 CET", "is not a moment: give the date and the time, such as 2026-12-01 17:00"),
        (f"{YEAR + 10}-02-01 10:00", "is too late: give a moment within the next ten years"),
        ("soon", "is not a duration: write a number with s, m, h, d or w, such as 90s, 12h or 30d, or a moment such"),
    ],
)
async def test_a_moment_that_cannot_be_meant_is_refused_with_the_next_step(
    office: Office, given: str, words: str
) -> None:
    assert words in await (await ask_until(office, given)).refused()
    assert office.shown() == []


async def test_a_reminder_after_the_moment_is_refused(office: Office) -> None:
    moment = f"{datetime.now(UTC) + timedelta(minutes=30):%Y-%m-%dT%H:%M:%SZ}"
    refused = await (await ask_until(office, moment, "--remind", "1h")).refused()
    assert "A reminder would come after the deadline" in refused
    assert office.shown() == []
