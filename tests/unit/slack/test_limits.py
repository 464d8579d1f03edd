"""The table of limits is enforced: a value at the limit passes, one above it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from askback.errors import OperatorError
from askback_slack import limits
from askback_slack.limits import TooBig, check_message, check_view, count_utf16_units, measure


def plain(length: int) -> Any:
    return {"type": "plain_text", "text": "x" * length}


def row(*elements: Any, block_id: str = "b") -> Any:
    return {"type": "actions", "block_id": block_id, "elements": list(elements)}


def button(length: int = 1, action_id: str = "a") -> Any:
    return {"type": "button", "action_id": action_id, "text": plain(length)}


def menu(kind: str, count: int, length: int = 1, value: int = 1) -> Any:
    entries = [{"text": plain(length), "value": f"{n:0{value}}"} for n in range(count)]
    return {"type": kind, "action_id": "m", "placeholder": plain(1), "options": entries}


def described(length: int) -> Any:
    made = menu("checkboxes", 1)
    return {**made, "options": [{**made["options"][0], "description": plain(length)}]}


def rich(length: int) -> Any:
    run = {"type": "text", "text": "x" * length}
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [run]}]}


MESSAGES: dict[str, tuple[Callable[[int], list[Any]], int]] = {
    "blocks": (lambda n: [{"type": "divider"}] * n, limits.MESSAGE_BLOCKS),
    "button": (lambda n: [row(button(n))], limits.BUTTON_TEXT),
    "action_id": (lambda n: [row(button(1, "a" * n))], limits.ID),
    "block_id": (lambda n: [row(button(), block_id="b" * n)], limits.ID),
    "elements": (lambda n: [row(*[button(1, str(i)) for i in range(n)])], limits.ACTIONS_ELEMENTS),
    "checkboxes": (lambda n: [row(menu("checkboxes", n))], limits.CHECKBOXES),
    "menu": (lambda n: [row(menu("static_select", n))], limits.MENU_OPTIONS),
    "option": (lambda n: [row(menu("static_select", 2, n))], limits.OPTION_TEXT),
    "description": (lambda n: [row(described(n))], limits.OPTION_TEXT),
    "value": (lambda n: [row(menu("static_select", 2, 1, n))], limits.OPTION_VALUE),
    "placeholder": (lambda n: [row({**menu("static_select", 1), "placeholder": plain(n)})], limits.PLACEHOLDER),
    "section": (lambda n: [{"type": "section", "text": plain(n)}], limits.SECTION_TEXT),
    "context": (lambda n: [{"type": "context", "elements": [plain(1)] * n}], limits.CONTEXT_ELEMENTS),
    "rich text": (lambda n: [rich(n)], limits.RICH_TEXT),
    "alt": (lambda n: [{"type": "image", "image_url": "https://a", "alt_text": "x" * n}], limits.ALT_TEXT),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_a_message_at_the_limit_passes_and_one_above_does_not(what: str) -> None:
    make, most = MESSAGES[what]
    check_message("text", make(most))
    with pytest.raises(TooBig, match=f"at most {most:,} .* there are {most + 1:,}"):
        check_message("text", make(most + 1))


def test_the_notification_text_counts_in_bytes() -> None:
    check_message("ü" * 2000, [])
    with pytest.raises(TooBig, match="bytes of notification text"):
        check_message("ü" * 2001, [])


def test_all_text_of_a_message_counts_together() -> None:
    blocks = [rich(2_480)] * 4
    assert measure(blocks) == limits.MESSAGE_WEIGHT
    check_message("text", blocks)
    with pytest.raises(TooBig, match="characters of block text"):
        check_message("text", [*blocks, rich(1)])


def test_ids_that_repeat_are_refused() -> None:
    with pytest.raises(TooBig, match="same action_id in a block twice"):
        check_message("text", [row(button(), button())])
    with pytest.raises(TooBig, match="same block_id twice"):
        check_message("text", [row(button()), row(button())])
    check_message("text", [row(button()), row(button(), block_id="c")])


@pytest.mark.parametrize("empty", [rich(0), row(button(0)), {"type": "section", "text": plain(0)}])
def test_empty_texts_are_refused(empty: Any) -> None:
    with pytest.raises(TooBig, match="empty"):
        check_message("text", [empty])


def test_a_paragraph_of_nothing_is_refused() -> None:
    with pytest.raises(TooBig, match="without elements"):
        check_message("text", [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]}])


def modal(**more: Any) -> Any:
    return {"type": "modal", "title": plain(1), "blocks": [{"type": "divider"}], **more}


def field(**more: Any) -> Any:
    element = {"type": "plain_text_input", "action_id": "t", **more.pop("element", {})}
    return {"type": "input", "block_id": "i", "label": plain(1), "element": element, **more}


VIEWS: dict[str, tuple[Callable[[int], Any], int]] = {
    "title": (lambda n: modal(title=plain(n)), limits.VIEW_TITLE),
    "submit": (lambda n: modal(submit=plain(n)), limits.VIEW_TITLE),
    "close": (lambda n: modal(close=plain(n)), limits.VIEW_TITLE),
    "private_metadata": (lambda n: modal(private_metadata="x" * n), limits.PRIVATE_METADATA),
    "callback_id": (lambda n: modal(callback_id="x" * n), limits.ID),
    "blocks": (lambda n: modal(blocks=[{"type": "divider"}] * n), limits.VIEW_BLOCKS),
    "label": (lambda n: modal(blocks=[field(label=plain(n))]), limits.INPUT_LABEL),
    "hint": (lambda n: modal(blocks=[field(hint=plain(n))]), limits.INPUT_LABEL),
    "placeholder": (lambda n: modal(blocks=[field(element={"placeholder": plain(n)})]), limits.PLACEHOLDER),
    "initial_value": (lambda n: modal(blocks=[field(element={"initial_value": "x" * n})]), limits.INPUT_TEXT),
}


@pytest.mark.parametrize("what", VIEWS)
def test_a_view_at_the_limit_passes_and_one_above_does_not(what: str) -> None:
    make, most = VIEWS[what]
    check_view(make(most))
    with pytest.raises(TooBig, match=f"at most {most:,} .* there are {most + 1:,}"):
        check_view(make(most + 1))


def test_a_refusal_is_for_the_operator() -> None:
    assert issubclass(TooBig, OperatorError)


def test_length_counts_what_slack_may_count() -> None:
    assert count_utf16_units("aü€") == 3
    assert count_utf16_units("👋") == 2
    assert count_utf16_units("\ud800") == 1
