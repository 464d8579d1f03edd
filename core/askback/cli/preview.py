"""Run `askback preview`: print the messages that a bot would post, without posting them."""

from __future__ import annotations

__all__ = ["format_preview"]

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TextIO, cast

from pydantic import JsonValue

from askback.domain.actions import Action, Next
from askback.domain.apply_action import apply_action
from askback.domain.ask_policy import Policy
from askback.domain.card import build_card
from askback.domain.identity import Actor
from askback.domain.interview import Interview, start_interview
from askback.domain.who import Who
from askback.errors import ModelError
from askback.ports.bot import Bot
from askback.ports.installed_bots import get_bot
from askback.text.terminal import to_json_line
from askback.tools import get_tool

ASK_ID = "preview-preview-previe"
"""Replaces the random id of a real ask, and has the same length."""


def format_preview(text: str, platform: str, tool_name: str, *, all_steps: bool, out: TextIO) -> int:
    """Write one line for each input. Return the exit code."""
    bot, tool = get_bot(platform), get_tool(tool_name)
    code = 0
    for data in _parse_inputs(text):
        line: JsonValue
        try:
            if isinstance(data, _NoJson):
                raise ModelError(data.reason)
            interview = start_interview(tool.parse(data))
            line = [message for one in _iter_steps(interview, all_steps) for message in _render_messages(bot, one)]
        except ModelError as error:
            line = {"error": str(error)}
            code = 1
        out.write(to_json_line(line) + "\n")
    out.flush()
    return code


class _NoJson:
    def __init__(self, reason: str) -> None:
        self.reason = reason


def _parse_inputs(text: str) -> Iterator[object]:
    """Yield one JSON document, or one for each line."""
    try:
        whole = cast("object", json.loads(text))
    except (ValueError, RecursionError):
        pass
    else:
        yield whole
        return
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        yield _NoJson("The input is empty: give one JSON document, or one per line.")
    elif _is_begun(lines[0]):
        yield _parse_json(text)
    else:
        yield from map(_parse_json, lines)


def _parse_json(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        return _NoJson(f"The input is not valid JSON: {error}")


def _is_begun(line: str) -> bool:
    """Return True if a line is the beginning of a longer document."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return error.pos >= len(line.rstrip())
    except RecursionError:
        return True
    return False


def _render_messages(bot: Bot, interview: Interview) -> list[JsonValue]:
    who = Who(people=(Actor(platform=bot.name, id="U0PREVIEW", name="you"),), open_to="participants")
    policy = Policy(who=who)
    return list(bot.setup.preview(build_card(ASK_ID, interview, policy)))


def _iter_steps(interview: Interview, all_steps: bool) -> Iterator[Interview]:
    yield interview
    if not all_steps or interview.form.is_single:
        return
    nobody = Actor(platform="preview", id="preview")
    while interview.phase == "asking":
        interview = apply_action(
            interview,
            Action(ask_id=ASK_ID, actor=nobody, at=datetime.now(UTC), step=interview.step, operation=Next()),
        )
        yield interview
