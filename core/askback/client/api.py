"""`askback.ask` asks people a question in one call, for scripts that run no bot."""

from __future__ import annotations

__all__ = ["ask", "ask_async"]

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import ParamSpec

from askback.client.addressing import Names, to_tuple
from askback.client.ask_and_wait import Progress, ask_people
from askback.client.duration_parameters import Deadline, Duration, parse_deadline, parse_duration, parse_durations
from askback.client.request import AskRequest
from askback.client.result import AskOutcome
from askback.domain.ask import check_key
from askback.domain.ask_policy import Reasons
from askback.domain.form import Form
from askback.domain.timeout_action import TimeoutAction
from askback.errors import CallerError, InvalidValue
from askback.translations.catalogue import Language

P = ParamSpec("P")


async def ask_async(
    question: str | None = None,
    *,
    to: str | None = None,
    form: Form | None = None,
    options: Sequence[str] = (),
    allow_custom: bool = False,
    yes: Names | None = None,
    no: Names | None = None,
    approvers: Names = (),
    quorum: int = 1,
    refusals: int = 1,
    reasons: Reasons = "none",
    requested_by: Names = (),
    own: bool = False,
    wait: Deadline | None = "2h",
    on_timeout: TimeoutAction = "report",
    default: str | None = None,
    remind: Duration | Sequence[Duration] = (),
    escalate: Mapping[Duration, Names] | None = None,
    details: str | None = None,
    language: Language | None = None,
    key: str | None = None,
    progress: Progress | None = None,
) -> AskOutcome:
    """Ask people and wait for the outcome, with a running bot on the same database or without one.

    `to` is a place such as `slack:#deploys`. `form` asks several questions, or one with more than options can say, in
    the place of a question. `wait`, `remind` and the times of `escalate` are seconds, or a text such as `2h`. `wait`
    may also be a moment: a `datetime` with a time zone, or a text such as `2026-12-01T17:00:00+01:00`. `wait=None`
    means no deadline. `on_timeout` is "report", "halt" (`AskOutcome.halted` says that the work stops) or "default"
    (`AskOutcome.fallback` has the `default`, or those of the form), for the case that nobody answers in time.
    `language` is that of the card; None means the setting. With a `key`, a restarted script finds the question that it
    asked before, and may leave the question out. Cancelling the call leaves the question open. `askback ask --help`
    explains the other parameters.

    Raises `CallerError` if the call is wrong, and `OperatorError` if settings, database or platform prevent it.
    """
    progress = progress or Progress()
    terms = progress.terms
    no_deadline = "forever" if terms.is_shell else "None for no deadline"
    if key is not None:
        check_key(key)
    if isinstance(options, str):
        raise CallerError(f"{terms.name('options')} is one text: give a list with an entry for each option.")
    request = None
    if question is not None or form is not None:
        if to is None:
            raise CallerError(
                f"Say where to ask: a platform, a colon and a place, such as PLATFORM:#deploys ({terms.name('to')})."
            )
        try:
            request = AskRequest(
                question=question or "",
                to=to,
                form=form,
                options=tuple(options),
                allow_custom=allow_custom,
                yes=None if yes is None else to_tuple(yes),
                no=None if no is None else to_tuple(no),
                approvers=to_tuple(approvers),
                quorum=quorum,
                refusals=refusals,
                reasons=reasons,
                requested_by=to_tuple(requested_by),
                own=own,
                wait=None if wait is None else parse_deadline("wait", wait, terms, no_deadline),
                on_timeout=on_timeout,
                default=default,
                remind=parse_durations("remind", remind, terms),
                escalate={
                    parse_duration("escalate", after, terms): to_tuple(names)
                    for after, names in (escalate or {}).items()
                },
                details=details,
                language=language,
                terms=terms,
            )
        except InvalidValue as error:
            problems = "; ".join(f"{terms.name(one.field)}: {one.message}" for one in error.problems)
            raise CallerError(f"{problems}.") from None
    elif key is None:
        raise CallerError(
            f"The question is missing: give one, a form ({terms.name('form')}), or the key of an earlier one "
            f"({terms.name('key')})."
        )
    return await ask_people(request, key, progress)


def _to_sync(function: Callable[P, Coroutine[object, object, AskOutcome]]) -> Callable[P, AskOutcome]:
    @wraps(function, assigned=("__module__", "__doc__"))
    def ask(*args: P.args, **kwargs: P.kwargs) -> AskOutcome:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*args, **kwargs))
        raise CallerError(
            "askback.ask would block the event loop that runs in this thread: use await askback.ask_async(…)."
        )

    return ask


ask = _to_sync(ask_async)
"""Ask and wait as `ask_async` does, outside an event loop. Raises `CallerError` inside one."""
