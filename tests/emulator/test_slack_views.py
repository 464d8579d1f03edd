"""Views that Slack refuses or accepts, and the answers to a search."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.slack.blocks import check_options, check_view
from askback_sandbox.slack.checks import SlackRefusalError
from emulator.blocks import TEXT_INPUT, container, field, mrkdwn, option, plain


def modal(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "modal", "title": plain("Title"), "blocks": list(blocks), **more}


VIEWS: dict[str, tuple[dict[str, Any], str]] = {
    "long title": (
        modal({"type": "divider"}, title=plain("x" * 25)),
        "must be less than 25 characters [json-pointer:/view/title/text]",
    ),
    "long submit": (
        modal({"type": "divider"}, submit=plain("x" * 25)),
        "must be less than 25 characters [json-pointer:/view/submit/text]",
    ),
    "no title": (
        {"type": "modal", "blocks": [{"type": "divider"}]},
        "missing required field: title [json-pointer:/view]",
    ),
    "input without submit": (
        modal(field(TEXT_INPUT)),
        "must define `submit` to use an `input` block in modals [json-pointer:/view/blocks/0/input]",
    ),
    "101 blocks": (
        modal(*[{"type": "divider"}] * 101),
        "no more than 100 items allowed [json-pointer:/view/blocks]",
    ),
    "no blocks": (modal(), "must provide at least 1 items [json-pointer:/view/blocks]"),
    "long private_metadata": (
        modal({"type": "divider"}, private_metadata="x" * 3_001),
        "must be less than 3001 characters [json-pointer:/view/private_metadata]",
    ),
    "unknown field": (
        modal({"type": "divider"}, size="large"),
        "invalid additional property: size [json-pointer:/view]",
    ),
    "container": (
        modal(container({"type": "divider"})),
        "unsupported type: container [json-pointer:/view/blocks/0/type]",
    ),
    "markdown": (
        modal({"type": "markdown", "text": "x"}),
        "unsupported type: markdown [json-pointer:/view/blocks/0/type]",
    ),
    "two in focus": (
        modal(
            field({**TEXT_INPUT, "focus_on_load": True}),
            field({**TEXT_INPUT, "focus_on_load": True}),
            submit=plain(),
        ),
        "only one element can have `focus_on_load` [json-pointer:/view/blocks]",
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_refused_with_place_and_reason(name: str) -> None:
    view, problem = VIEWS[name]
    with pytest.raises(SlackRefusalError) as caught:
        check_view(view)
    assert caught.value.code == "invalid_arguments"
    assert problem in [str(found) for found in caught.value.problems]


def test_a_view_at_its_limits_is_accepted() -> None:
    blocks = [{"type": "alert", "level": "warning", "text": plain()}, field(TEXT_INPUT)]
    blocks += [{"type": "divider"}] * 98
    view = modal(
        *blocks,
        title=plain("x" * 24),
        submit=plain("x" * 24),
        close=None,
        private_metadata="x" * 3_000,
        callback_id="x" * 255,
        notify_on_close=True,
    )
    assert len(check_view(view)["blocks"]) == 100


def test_answers_to_a_search_are_checked() -> None:
    groups = [{"label": plain(), "options": [option("1")]}, {"label": plain(), "options": [option("2")]}]
    assert check_options({"options": []}) == []
    assert [found["value"] for found in check_options({"option_groups": groups})] == ["1", "2"]
    for answer in (None, {}, {"options": [option()] * 2}, {"options": [{"text": mrkdwn(), "value": "1"}]}):
        with pytest.raises(SlackRefusalError, match="invalid_options"):
            check_options(answer)
