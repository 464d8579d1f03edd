"""`askback doctor` with an unreachable model."""

from __future__ import annotations

import pytest

from askback_sandbox.slack.faults import Fault

from .conftest import IMPATIENT, Ward


async def test_a_wrong_key_of_the_model(ward: Ward) -> None:
    ward.services.model.bad_keys.add("sk-local")
    found = (await ward.examined("discord")).one()
    assert found.summary == "The model's service does not accept ANTHROPIC_API_KEY."
    assert "Set ANTHROPIC_API_KEY to a valid key from the Anthropic console" in found.cure


async def test_a_model_that_nobody_knows(ward: Ward) -> None:
    ward.set(ASKBACK_MODEL="claude-nonesuch")
    ward.services.model.unknown.add("claude-nonesuch")
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.summary) == ("broken", "The model's service does not know the model claude-nonesuch.")
    assert found.cure.startswith("Set ASKBACK_MODEL to the name of a model")


@pytest.mark.parametrize(("lifecycle", "grade"), [("deprecated", "warning"), ("retired", "broken")])
async def test_a_model_that_is_going_or_gone(ward: Ward, lifecycle: str, grade: str) -> None:
    ward.services.model.lifecycle = lifecycle
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.cure.startswith("Set ASKBACK_MODEL")) == (grade, True)


async def test_a_service_that_describes_no_models_is_no_reason_to_fail(ward: Ward) -> None:
    ward.set(ANTHROPIC_BASE_URL=f"{ward.services.url}/elsewhere")
    found = await ward.examined("discord")
    assert (found.code, found.one().grade) == (0, "warning")
    assert "ANTHROPIC_BASE_URL" in found.one().cure


async def test_nothing_can_be_reached(ward: Ward) -> None:
    nowhere = "http://127.0.0.1:9"
    ward.set(
        ANTHROPIC_BASE_URL=nowhere, ASKBACK_SLACK_API_URL=f"{nowhere}/api/", ASKBACK_DISCORD_API_URL=f"{nowhere}/v10"
    )
    found = await ward.examined()
    assert found.code == 1
    assert {one.about for one in found.bad} == {"model", "token", "bot token", "app token"}
    for one in found.bad:
        assert "Could not reach" in one.summary
        assert one.summary.endswith(" (Connection refused).")
        assert one.cure.startswith("Check the network")


async def test_a_service_that_does_not_answer_is_not_waited_for(ward: Ward) -> None:
    ward.services.workspace.faults.add(Fault(kind="delay", seconds=60, times=None))
    found = await ward.examined("slack", IMPATIENT)
    assert {one.summary for one in found.bad} >= {"Slack did not answer within 2.5 s."}
