"""A permission request becomes a question with the agent's options, and each way in which it ends has its answer."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.outcome import Choice, Outcome
from askback.errors import CallerError
from support.optional import optional
from support.settled_asks import ADA, AT, UNANSWERED, ask_for, voted

optional("acp")

from acp.schema import PermissionOption, ToolCallUpdate  # noqa: E402

from askback.doors.acp_permissions import PermissionRequest, read_request  # noqa: E402

ONCE, ALWAYS = ("once", "Allow", "allow_once"), ("always", "Always", "allow_always")
NO, NEVER = ("no", "Reject", "reject_once"), ("never", "Never", "reject_always")


def read(*options: Any, allow_always: bool = False, **call: Any) -> PermissionRequest:
    given = call or {"title": "npm publish", "rawInput": {"cwd": "/srv"}}
    offered = [
        PermissionOption.model_validate(dict(zip(("optionId", "name", "kind"), one, strict=True))) for one in options
    ]
    update = ToolCallUpdate.model_validate({"toolCallId": "one", **given})
    return read_request(update, offered, allow_always=allow_always)


def choose(found: PermissionRequest, label: str, *, digest: str | None = None, refused: bool = False) -> Any:
    """Return the response after people chose the option with this label."""
    options = found.question.form.questions[0].options
    (choice,) = (
        Choice(index=i, value=one.value, label=one.label) for i, one in enumerate(options) if one.label == label
    )
    outcome = voted(found.question, choice).evolve(refused=refused)
    return respond(found, outcome, digest)


def respond(found: PermissionRequest, outcome: Outcome, digest: str | None = None) -> Any:
    response = found.build_response(ask_for(found.question, outcome, digest), "chat:#deploys")
    return response.model_dump(mode="json", by_alias=True, exclude_none=True)


def labels(found: PermissionRequest) -> list[str]:
    return [one.label for one in found.question.form.questions[0].options]


def test_the_card_has_the_agents_options_and_what_each_permits() -> None:
    found = read(ONCE, ALWAYS, NO, NEVER, allow_always=True)
    options = found.question.form.questions[0].options
    assert [(one.label, one.description) for one in options] == [
        ("Allow", "Permits this call only."),
        ("Always", "Permits this call, and later ones without asking again."),
        ("Reject", "Denies this call only."),
        ("Never", "Denies this call, and later ones without asking again."),
    ]
    vote = found.question.vote
    assert vote is not None
    assert (vote.approving, vote.refusing, vote.wider) == (("0", "1"), ("2", "3"), (("1", "0"),))


def test_each_choice_is_the_agents_own_option() -> None:
    found = read(ONCE, ALWAYS, NO, NEVER, allow_always=True)
    for label, option in (("Allow", "once"), ("Always", "always")):
        assert choose(found, label)["outcome"] == {"outcome": "selected", "optionId": option}
    for label, option in (("Reject", "no"), ("Never", "never")):
        assert choose(found, label, refused=True)["outcome"] == {"outcome": "selected", "optionId": option}


def test_an_option_for_later_calls_is_left_out_unless_the_operator_allows_it() -> None:
    assert labels(read(ONCE, ALWAYS, NO)) == ["Allow", "Reject"]
    with pytest.raises(CallerError, match="allow_always=True"):
        read(ALWAYS, NO)


def test_without_a_rejection_people_can_deny_and_the_request_is_cancelled() -> None:
    found = read(ONCE)
    assert labels(found) == ["Allow", "Deny"]
    assert choose(found, "Deny", refused=True)["outcome"] == {"outcome": "cancelled"}


def test_nothing_else_than_what_people_saw_is_permitted() -> None:
    found = read(ONCE, NO)
    assert choose(found, "Allow", digest="another")["outcome"] == {"outcome": "cancelled"}
    assert choose(found, "Allow", refused=True)["outcome"] == {"outcome": "cancelled"}
    digests = {
        read(*options, **call).question.digest
        for options, call in (
            ((ONCE, NO), {"title": "npm publish"}),
            ((ONCE, NO), {"title": "npm unpublish"}),
            ((ONCE, NO), {"title": "npm publish", "rawInput": {}}),
            ((ONCE, NEVER), {"title": "npm publish"}),
        )
    }
    assert len(digests) == 4


def test_each_lack_of_a_decision_is_cancelled_and_told_apart() -> None:
    found = read(ONCE, NO)
    responses = [respond(found, Outcome(status=status, at=AT, by=ADA)) for status in UNANSWERED]
    assert all(one["outcome"] == {"outcome": "cancelled"} for one in responses)
    told = [one["_meta"]["askback"] for one in responses]
    assert [one["status"] for one in told] == UNANSWERED
    assert len({one["message"] for one in told}) == len(UNANSWERED)


@pytest.mark.parametrize("title", ["a\u202eb", "x” Run y?", "line\nbreak"])
def test_a_title_cannot_pretend_to_be_askbacks_words(title: str) -> None:
    prompt = read(ONCE, NO, title=title).question.form.questions[0].prompt
    assert "\u202e" not in prompt
    first = prompt.splitlines()[0]
    assert first.startswith("Run “")
    assert first.endswith("”?")
    assert first.count("”") == 1


def test_a_call_without_anything_to_read_is_refused() -> None:
    with pytest.raises(CallerError, match="without saying what for"):
        read(ONCE, NO, kind="execute", status="pending")
