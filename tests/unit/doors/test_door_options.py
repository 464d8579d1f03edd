"""The doors of all agent frameworks have the same options, and refuse what is none of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypedDict

import pytest
from agents import Agent as OpenAIAgent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from pydantic_ai import Agent
from pydantic_ai.tools import DeferredToolRequests

from askback.doors.acp import AcpDoor
from askback.doors.claude_agent_sdk import ClaudeAgentDoor
from askback.doors.door_options import DoorOptions, build_rules
from askback.doors.langgraph import LangGraphDoor
from askback.doors.openai_agents import OpenAIAgentsDoor
from askback.doors.pydantic_ai import PydanticAIDoor
from askback.errors import CallerError
from askback.settings.core import Settings


class State(TypedDict):
    """The state of a graph that does nothing."""


def _save(conversation: str, saved: str) -> None:
    """Store nothing, since no door asks here."""


def _open_langgraph(**options: Any) -> LangGraphDoor:
    builder = StateGraph(State)
    builder.add_node("end", lambda state: state)
    builder.add_edge(START, "end")
    return LangGraphDoor(builder.compile(checkpointer=InMemorySaver()), **options)


def _open_pydantic_ai(**options: Any) -> PydanticAIDoor[None, str | DeferredToolRequests]:
    return PydanticAIDoor(Agent(output_type=[str, DeferredToolRequests]), save=_save, **options)


def _open_openai_agents(**options: Any) -> OpenAIAgentsDoor[Any]:
    return OpenAIAgentsDoor(OpenAIAgent(name="agent"), save=_save, **options)


DOORS: dict[str, Callable[..., object]] = {
    "LangGraph": _open_langgraph,
    "Pydantic AI": _open_pydantic_ai,
    "OpenAI Agents": _open_openai_agents,
    "ACP": AcpDoor,
    "Claude Agent SDK": ClaudeAgentDoor,
}
ALL = DoorOptions(
    to="slack:#agents",
    who=["@ada", "@grace"],
    approvers="@release",
    requested_by="@alan",
    wait="2h",
    remind=["30m", 3600.0],
    quorum=2,
    reasons="both",
)


@pytest.fixture(params=DOORS)
def open_door(request: pytest.FixtureRequest) -> Callable[..., object]:
    return DOORS[request.param]


def test_every_door_takes_every_option(open_door: Callable[..., object]) -> None:
    assert ALL.keys() == DoorOptions.__annotations__.keys()
    assert open_door(**ALL) is not None


def test_an_unknown_option_is_refused(open_door: Callable[..., object]) -> None:
    """A wrong letter in `quorum` would otherwise let one person approve."""
    with pytest.raises(TypeError, match=r"^This door has no option `quorom`\. Write `quorum`, or leave it out\.$"):
        open_door(**ALL, quorom=2)
    with pytest.raises(TypeError, match=r"^This door has no option `colour`\. Correct its name, or leave it out\.$"):
        open_door(**ALL, colour="red")


def test_a_door_without_a_place_is_refused(open_door: Callable[..., object]) -> None:
    with pytest.raises(CallerError, match="Say where to ask with `to`: PLATFORM:#channel"):
        open_door(who="@ada")


def test_a_channel_without_people_is_refused(open_door: Callable[..., object]) -> None:
    with pytest.raises(CallerError, match="Say who may answer in slack:#agents with `who`"):
        open_door(to="slack:#agents")


def test_the_protocol_of_editors_has_no_choice_at_a_timeout() -> None:
    with pytest.raises(TypeError, match="on_timeout"):
        AcpDoor(**ALL, on_timeout="halt")  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"to": ["slack:#agents"]},
            "to=['slack:#agents'] is not possible: give one place, PLATFORM:#channel or PLATFORM:@person.",
        ),
        ({"quorum": 0}, "quorum=0 is not possible: give a whole number from 1."),
        ({"quorum": "2"}, "quorum='2' is not possible: give a whole number from 1."),
        ({"reasons": "maybe"}, "reasons='maybe' is not possible: use 'none', 'no', 'yes', 'both'."),
    ],
)
def test_a_wrong_value_of_an_option_is_told_before_anybody_is_asked(
    open_door: Callable[..., object], given: dict[str, Any], words: str
) -> None:
    with pytest.raises(CallerError) as caught:
        open_door(**({"to": "slack:#agents", "who": "@ada"} | given))
    assert str(caught.value) == words


def test_an_unknown_action_at_a_timeout_is_told_before_anybody_is_asked() -> None:
    with pytest.raises(CallerError, match="on_timeout='stop' is not possible: use 'report', 'halt', 'default'"):
        build_rules(Settings(), "stop", to="slack:#agents", who="@ada")  # pyright: ignore[reportArgumentType]


def test_each_option_reaches_the_rules() -> None:
    rules = build_rules(Settings(), "halt", **ALL)
    assert rules.places == ("slack:#agents",)
    assert (rules.answerers, rules.approvers, rules.requesters) == (("@ada", "@grace"), ("@release",), ("@alan",))
    assert (rules.wait, rules.remind, rules.on_timeout) == (7200, (1800, 3600), "halt")
    assert (rules.approvals.timeout, rules.approvals.quorum, rules.approvals.reasons) == (7200, 2, "both")


def test_a_wait_can_end_at_a_moment_that_has_passed_when_a_run_is_resumed() -> None:
    moment = datetime(2026, 1, 5, 8, tzinfo=UTC)
    for wait in (moment, "2026-01-05T09:00:00+01:00"):
        rules = build_rules(Settings(), "report", to="slack:#agents", who="@ada", wait=wait)
        assert (rules.wait, rules.approvals.timeout) == (moment, moment)


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (datetime(2026, 12, 1, 17), "has no time zone: add one, as datetime.astimezone"),  # noqa: DTZ001
        ("2026-12-01 17:00", "has no offset, so it depends on the time zone: add one"),
        (datetime.max.replace(tzinfo=UTC), "is too late: give a moment within the next ten years"),
        ("soon", "or a moment such as"),
    ],
)
def test_a_moment_in_a_program_has_a_time_zone(wait: Any, words: str) -> None:
    with pytest.raises(CallerError, match=words):
        build_rules(Settings(), "report", to="slack:#agents", who="@ada", wait=wait)


def test_what_is_left_out_comes_from_the_settings() -> None:
    settings = Settings(timeout=60, approval_timeout=90, approval_reasons="no")
    rules = build_rules(settings, "report", to="slack:#agents", approvers="@release")
    assert rules.answerers == ("@release",)
    assert (rules.wait, rules.remind, rules.approvals) == (60, (), settings.approvals)
