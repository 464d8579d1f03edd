"""The table of limits is enforced: a value at the limit passes, one above it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from askback.errors import OperatorError
from askback_discord import limits
from askback_discord.limits import TooBig, check_message, check_modal, count, count_characters, measure

CLOSED: Any = {"parse": []}


def message(*parts: Any, **more: Any) -> Any:
    return {"flags": limits.COMPONENTS_V2, "components": [*parts], "allowed_mentions": CLOSED, **more}


def text(length: int) -> Any:
    return {"type": 10, "content": "x" * length}


def row(*parts: Any) -> Any:
    return {"type": 1, "components": [*parts]}


def button(name: str = "a", label: str = "A", **more: Any) -> Any:
    return {"type": 2, "style": 2, "label": label, "custom_id": name, **more}


def menu(count: int = 1, label: int = 1, value: int = 1, **more: Any) -> Any:
    entries = [{"label": "x" * label, "value": f"{n:0{value}}"} for n in range(count)]
    return {"type": 3, "custom_id": "m", "options": entries, **more}


def described(length: int) -> Any:
    made = menu()
    made["options"][0]["description"] = "x" * length
    return row(made)


def picture(length: int = 10, description: int = 1, items: int = 1) -> Any:
    item = {"media": {"url": "https://".ljust(length, "x")}, "description": "x" * description}
    return {"type": 12, "items": [item] * items}


def mentions(users: int) -> Any:
    return {"parse": [], "users": [str(n) for n in range(users)]}


MESSAGES: dict[str, tuple[Callable[[int], Any], int]] = {
    "components": (lambda n: message(*[{"type": 14}] * n), limits.COMPONENTS),
    "text": (lambda n: message(text(n - 10), text(10)), limits.TEXT),
    "custom_id": (lambda n: message(row(button("a" * n))), limits.CUSTOM_ID),
    "label": (lambda n: message(row(button(label="a" * n))), limits.BUTTON_LABEL),
    "row": (lambda n: message(row(*[button(str(i)) for i in range(n)])), limits.ROW_BUTTONS),
    "options": (lambda n: message(row(menu(n))), limits.MENU_OPTIONS),
    "option": (lambda n: message(row(menu(1, n))), limits.OPTION_TEXT),
    "value": (lambda n: message(row(menu(2, 1, n))), limits.OPTION_TEXT),
    "description": (lambda n: message(described(n)), limits.OPTION_TEXT),
    "placeholder": (lambda n: message(row(menu(placeholder="x" * n))), limits.MENU_PLACEHOLDER),
    "gallery": (lambda n: message(picture(items=n)), limits.GALLERY_ITEMS),
    "picture": (lambda n: message(picture(description=n)), limits.GALLERY_DESCRIPTION),
    "address": (lambda n: message(picture(n)), limits.MEDIA_URL),
    "nonce": (lambda n: message(text(1), nonce="x" * n), limits.NONCE),
    "mentions": (lambda n: message(text(1), allowed_mentions=mentions(n)), limits.MENTIONS),
    "content": (lambda n: {"content": "x" * n, "allowed_mentions": CLOSED}, limits.CONTENT),
    "values": (lambda n: message(row(menu(3, max_values=n))), 3),
    "least": (lambda n: message(row(menu(3, max_values=2, min_values=n))), 2),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_a_message_at_the_limit_passes_and_one_above_does_not(what: str) -> None:
    make, most = MESSAGES[what]
    check_message(make(most))
    with pytest.raises(TooBig, match=f"at most {most:,} .* there are {most + 1:,}"):
        check_message(make(most + 1))


def test_bytes_are_counted_and_not_only_characters() -> None:
    check_message(message({"type": 10, "content": "漢" * 3300}))
    with pytest.raises(TooBig, match="bytes"):
        check_message(message({"type": 10, "content": "漢" * 3400}))
    assert measure([text(10)]) == 22
    assert measure([row(button())]) > 40 + 40


LONG_LABEL = {"type": 18, "label": "x" * 46, "component": {"type": 4, "custom_id": "t", "style": 2}}


def modal(*parts: Any, title: int = 1, custom_id: int = 1) -> Any:
    return {"title": "x" * title, "custom_id": "x" * custom_id, "components": [*parts]}


def field(label: int = 1, description: int = 1, **more: Any) -> Any:
    entry = {"type": 4, "custom_id": "t", "style": 2, **more}
    return {"type": 18, "label": "x" * label, "description": "x" * description, "component": entry}


MODALS: dict[str, tuple[Callable[[int], Any], int]] = {
    "title": (lambda n: modal(field(), title=n), limits.MODAL_TITLE),
    "custom_id": (lambda n: modal(field(), custom_id=n), limits.CUSTOM_ID),
    "components": (lambda n: modal(*[text(1)] * n), limits.MODAL_COMPONENTS),
    "text": (lambda n: modal(text(n)), limits.TEXT),
    "label": (lambda n: modal(field(n)), limits.LABEL),
    "description": (lambda n: modal(field(1, n)), limits.LABEL_DESCRIPTION),
    "value": (lambda n: modal(field(value="x" * n)), limits.INPUT_VALUE),
    "max_length": (lambda n: modal(field(max_length=n)), limits.INPUT_VALUE),
    "placeholder": (lambda n: modal(field(placeholder="x" * n)), limits.INPUT_PLACEHOLDER),
    "input id": (lambda n: modal(field(custom_id="x" * n)), limits.CUSTOM_ID),
}


@pytest.mark.parametrize("what", MODALS)
def test_a_modal_at_the_limit_passes_and_one_above_does_not(what: str) -> None:
    make, most = MODALS[what]
    check_modal(make(most))
    with pytest.raises(TooBig, match=f"at most {most:,} "):
        check_modal(make(most + 1))


NO_ID = {"type": 2, "style": 2, "label": "A"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (message(row(NO_ID)), "custom_id without a text"),
        (message(row(button("a"), button("a"))), "same custom_id twice"),
        ({"components": [text(1)], "allowed_mentions": CLOSED}, "type 10 in this place"),
        ({"components": [row(button(str(n))) for n in range(6)], "allowed_mentions": CLOSED}, "at most 5 rows"),
        ({"content": "x" * 2001, "allowed_mentions": CLOSED}, "at most 2,000 characters of content"),
        (message(row(menu(), button())), "at most 1 components in a row with a menu"),
        (message({"type": 10, "content": "x", "colour": 1}), "called colour"),
        (message(text(1), coment="x"), "called coment"),
    ],
)
def test_what_the_openapi_document_lets_through_is_refused(body: Any, why: str) -> None:
    with pytest.raises(TooBig, match=why):
        check_message(body)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (message(), "empty message"),
        ({"content": " ", "allowed_mentions": CLOSED}, "empty message"),
        (message(text(0)), "text display without a text"),
        (message({"type": 10, "content": " \n"}), "text display without a text"),
        (message(row()), "at least 1 buttons"),
        (message(row(menu(0))), "at least 1 options"),
        (message(row(button(label=""))), "label without a text"),
        (message(row(button(label=" "))), "label without a text"),
        (message(row(menu(2, 1, 1, options=[{"label": "a", "value": "a"}] * 2))), "same value"),
        (message(row(menu(2, options=[{"label": "a", "value": n, "default": True} for n in "ab"]))), "to begin with"),
        (message({"type": 17, "components": [{"type": 17, "components": [text(1)]}]}), "type 17"),
        (message({"type": 17, "components": [text(1)], "accent_color": 1 << 24}), "colours"),
        (message(text(1), content="x"), "content in a message of components"),
        (message(text(1), allowed_mentions={"parse": ["users"]}), "could mention"),
        (message(text(1), allowed_mentions={}), "could mention"),
        (message(text(1), allowed_mentions={"parse": [], "users": ["1", "1"]}), "same id twice"),
        ({"flags": limits.COMPONENTS_V2, "components": [text(1)]}, "could mention"),
    ],
)
def test_what_discord_refuses_is_not_sent(body: Any, why: str) -> None:
    with pytest.raises(TooBig, match=why):
        check_message(body)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (modal(), "empty modal"),
        (modal(row(button())), "type 1 in this place"),
        (modal({"type": 18, "label": "A", "component": button()}), "type 2 in this place"),
        (modal(field(colour="red")), "called colour"),
        (modal(field(), field()), "same custom_id twice"),
        ({**modal(field()), "title": ""}, "title without a text"),
    ],
)
def test_a_modal_that_discord_refuses_is_not_sent(body: Any, why: str) -> None:
    with pytest.raises(TooBig, match=why):
        check_modal(body)


def test_a_mistake_of_ours_is_one_for_the_operator() -> None:
    assert issubclass(TooBig, OperatorError)
    with pytest.raises(TooBig, match="report this as a bug"):
        check_modal(modal(LONG_LABEL))


def test_components_count_at_every_depth() -> None:
    parts = [text(5), row(button("a"), button("b")), row(menu(3))]
    assert count(parts) == 6
    assert count_characters(parts) == 5
