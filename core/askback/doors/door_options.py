"""The options that the doors of all agent frameworks have, and the rules that follow from them."""

from __future__ import annotations

__all__ = ["DoorOptions", "build_rules"]

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Required, TypedDict, cast, get_args

from askback.client.addressing import Names, to_tuple
from askback.client.duration_parameters import Deadline, Duration, parse_deadline, parse_durations
from askback.client.parameter_names import PYTHON
from askback.domain.ask_policy import Reasons
from askback.domain.timeout_action import TimeoutAction
from askback.doors.rules import DoorRules
from askback.errors import CallerError
from askback.settings.core import Settings


class DoorOptions(TypedDict, total=False):
    """The options of each door: where people are asked, who they are, and for how long.

    Give them by name, as in `LangGraphDoor(graph, to="slack:#agents", who="@release")`. What is left out comes from the
    settings.
    """

    to: Required[str]
    """The place, such as `slack:#agents`, `discord:Server/#agents` or `slack:@ada`."""
    who: Names
    """The people and groups who may answer questions, or `anyone`. Left out, they are the approvers.

    In a direct message, they may be left out with the approvers: then its person answers.
    """
    approvers: Names
    """The people and groups who decide about calls of tools. Left out, they are those of the settings."""
    requested_by: Names
    """The people for whom the agent works. They may not approve its calls, unless the settings let them."""
    wait: Deadline | None
    """The time that people have for a question or an approval, such as `2h`, or `forever`, or a moment.

    A moment is a `datetime` with a time zone, or a text such as `2026-12-01T17:00:00+01:00`. After it, nobody is asked.
    """
    remind: Duration | Sequence[Duration]
    """The times after which people get a reminder of an open question. Approvals have those of the settings."""
    quorum: int | None
    """The number of approvers who have to agree to a call."""
    reasons: Reasons | None
    """The decisions about a call that need a reason: `none`, `no`, `yes` or `both`."""


def build_rules(
    settings: Settings,
    on_timeout: TimeoutAction,
    *,
    to: str = "",
    who: Names = (),
    approvers: Names = (),
    requested_by: Names = (),
    wait: Deadline | None = None,
    remind: Duration | Sequence[Duration] = (),
    quorum: int | None = None,
    reasons: Reasons | None = None,
    **unknown: object,
) -> DoorRules:
    """Return the rules of a door with these options. Raises `CallerError`."""
    _check_options(unknown, to, quorum, {"on_timeout": (on_timeout, TimeoutAction), "reasons": (reasons, Reasons)})
    limit = settings.timeout if wait is None else parse_deadline("wait", wait, PYTHON)
    if on_timeout == "default" and limit is None:
        raise CallerError("on_timeout='default' needs a deadline: give `wait` a time.")
    approvals = settings.approvals
    if wait is not None:
        approvals = replace(approvals, timeout=limit)
    if quorum is not None:
        approvals = replace(approvals, quorum=quorum)
    if reasons is not None:
        approvals = replace(approvals, reasons=reasons)
    rules = DoorRules(
        places=(to,) if to else (),
        answerers=to_tuple(who),
        approvers=to_tuple(approvers),
        requesters=to_tuple(requested_by),
        wait=limit,
        remind=parse_durations("remind", remind, PYTHON),
        on_timeout=on_timeout,
        approvals=approvals,
        terms=PYTHON,
    )
    if not rules.answerers and rules.approvers:
        # A door that only approves calls needs nobody else.
        rules = replace(rules, answerers=rules.approvers)
    rules.check()
    return rules


def _check_options(
    unknown: Mapping[str, object], to: object, quorum: object, words: Mapping[str, tuple[object, object]]
) -> None:
    """Raise `CallerError` for a value that would fail only at the first question, and `TypeError` for another option.

    `words` are the options that have one of a few words, with their types. None is the default of each.
    """
    for name in unknown:
        alike = get_close_matches(name, [*DoorOptions.__annotations__, "on_timeout", "name"], n=1)
        wanted = f"Write `{alike[0]}`" if alike else "Correct its name"
        raise TypeError(f"This door has no option `{name}`. {wanted}, or leave it out.")
    if not isinstance(to, str):
        raise CallerError(f"to={to!r} is not possible: give one place, PLATFORM:#channel or PLATFORM:@person.")
    if quorum is not None and not (isinstance(quorum, int) and quorum >= 1):
        raise CallerError(f"quorum={quorum!r} is not possible: give a whole number from 1.")
    for name, (given, kind) in words.items():
        known = cast("tuple[str, ...]", get_args(kind))
        if given is not None and given not in known:
            raise CallerError(f"{name}={given!r} is not possible: use {', '.join(map(repr, known))}.")
