"""Checks a scenario's expectations, as pure functions of one scene and the model's tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from askback_sandbox.model.call_results import DeliveredCall, Result

from .controls import Choice, same, squeezed
from .scenario import Expect, Told
from .scene import Key, Message, Place, Scene

__all__ = ["Missing", "Seen", "missing", "said"]


@dataclass(frozen=True)
class Seen:
    """One person's view of a conversation, and the player's memory of it."""

    scene: Scene
    place: Place
    person: str
    cards: tuple[Key, ...] = ()
    pressed: Key | None = None
    since: str = ""
    known_notices: frozenset[Key] = frozenset()
    heard: tuple[DeliveredCall, ...] = ()
    told: int = 0

    @property
    def notices(self) -> list[Message]:
        """The private notices that are new."""
        return [note for note in self.scene.notices(self.person) if note.key not in self.known_notices]


@dataclass(frozen=True)
class Missing:
    """An unmet expectation; `final` is True if waiting cannot help."""

    text: str
    final: bool = False


def said(seen: Seen) -> list[Message]:
    """Return the bot's messages in the conversation, oldest first, without those that only one person sees."""
    return [
        message
        for message in seen.scene.messages
        if message.bot and message.only_for is None and seen.place.holds(message)
    ]


def missing(expect: Expect, seen: Seen) -> list[Missing]:
    """Return the expectations that are not met (yet)."""
    found: list[Missing] = []
    if expect.card or expect.controls or expect.pictures or expect.without or expect.settled:
        found += _card(expect, seen)
    if expect.says is not None:
        found += _says(expect.says, seen)
    if expect.notice is not None:
        found += _texts(expect.notice, [_read(note) for note in seen.notices], "a private notice with")
    if expect.offer is not None:
        found += _offer(expect.offer, seen)
    if expect.working is not None:
        found += _working(expect.working, seen)
    if expect.dialog is not None or expect.field_error is not None:
        found += _dialog(expect, seen)
    if expect.told is not None:
        found += _told(expect.told, seen)
    return found


def _card(expect: Expect, seen: Seen) -> list[Missing]:
    card = _the_card(seen, settled=expect.settled)
    if card is None:
        return [Missing("a card: the bot has shown none")]
    text = "\n".join([_read(card), *(_read_entry(choice) for control in card.controls for choice in control.choices)])
    found = [
        Missing(f"“{wanted}” on the card, which says:\n{text}") for wanted in expect.card or () if not _in(wanted, text)
    ]
    found += [Missing(f"that “{wanted}” is not on the card") for wanted in expect.without or () if _in(wanted, text)]
    shown = card.controls
    labels = [label for control in shown for label in (control.label, *(choice.label for choice in control.choices))]
    for wanted in expect.controls or ():
        if all(same(label, wanted) is None for label in labels):
            there = ", ".join(f"“{label}”" for label in labels if label) or "no control at all"
            found.append(Missing(f"the control “{wanted}”; on the card is {there}"))
    found += [
        Missing(f"the picture {wanted} on the card; there is {', '.join(card.pictures) or 'none'}")
        for wanted in expect.pictures or ()
        if wanted not in card.pictures
    ]
    if expect.settled and card.acting:
        there = ", ".join(f"“{control.label}”" for control in card.acting)
        found.append(Missing(f"that the card is settled; it still has {there}"))
    return found


def _read_entry(choice: Choice) -> str:
    return f"{choice.label} — {choice.description}" if choice.description else choice.label


def _the_card(seen: Seen, *, settled: bool) -> Message | None:
    messages = said(seen)
    known = {message.key: message for message in messages}
    if settled and seen.pressed is not None:
        return known.get(seen.pressed)
    live = [message for message in messages if message.live]
    if live:
        return live[-1]
    return next((known[key] for key in reversed(seen.cards) if key in known), None)


def _says(wanted: Sequence[str], seen: Seen) -> list[Missing]:
    news = [_read(message) for message in said(seen) if message.at >= seen.since]
    return _texts(wanted, news, "that the bot says")


def _offer(wanted: Sequence[str], seen: Seen) -> list[Missing]:
    """Check that one private notice has all of these buttons."""
    offers = [[control.label for control in note.controls] for note in seen.notices if note.controls]
    if any(all(any(same(label, one) is not None for label in labels) for one in wanted) for labels in offers):
        return []
    listed, there = " and ".join(f"“{one}”" for one in wanted), [label for labels in offers for label in labels]
    return [Missing(f"a private offer of {listed}; there is {', '.join(f'“{one}”' for one in there) or 'none'}")]


def _working(wanted: bool, seen: Seen) -> list[Missing]:
    if any(seen.place.has(work) for work in seen.scene.works) == wanted:
        return []
    return [Missing("that the bot shows that it is at work" if wanted else "that the bot is not at work any more")]


def _texts(wanted: Sequence[str], there: Sequence[str], what: str) -> list[Missing]:
    """Check that one message contains all of the texts."""
    if any(all(_in(one, text) for one in wanted) for text in there):
        return []
    listed = " and ".join(f"“{one}”" for one in wanted)
    return [Missing(f"{what} {listed}; there is:\n" + ("\n".join(there) or "nothing"))]


def _dialog(expect: Expect, seen: Seen) -> list[Missing]:
    dialog = seen.scene.dialog(seen.person)
    if expect.dialog is False:
        return [Missing("that no dialog is open")] if dialog is not None else []
    found: list[Missing] = []
    if expect.dialog is not None:
        if dialog is None:
            return [Missing("an open dialog")]
        text = "\n".join([dialog.title, *dialog.lines])
        found += [
            Missing(f"“{wanted}” in the dialog, which says:\n{text}")
            for wanted in expect.dialog
            if not _in(wanted, text)
        ]
    if expect.field_error is not None:
        found += _field_error("" if expect.field_error is True else expect.field_error, seen)
    return found


def _field_error(wanted: str, seen: Seen) -> list[Missing]:
    """Check for an error next to the field, or in a notice that offers the field again."""
    dialog = seen.scene.dialog(seen.person)
    errors = [*dialog.errors] if dialog is not None else []
    errors += [note.text for note in seen.notices if note.retry is not None]
    if any(_in(wanted, error) for error in errors):
        return []
    if not errors and dialog is None:
        return [Missing("an open dialog with an error, or a private notice that offers it again")]
    return [Missing(f"an error “{wanted}” beside a field; there is {errors or 'none'}")]


def _told(wanted: Told, seen: Seen) -> list[Missing]:
    if len(seen.heard) <= seen.told:
        return [Missing(f"a tool call number {seen.told + 1}: the model has made {len(seen.heard)}")]
    call = seen.heard[seen.told]
    if not call.results:
        return [Missing(f"a result for {call.name} ({call.id})")]
    reason = _differs(wanted, call.results[0])
    return [Missing(f"another result for {call.name}: {reason}", final=True)] if reason else []


def _differs(wanted: Told, result: Result) -> str | None:
    """Return the difference between a result and the expected one; None if the result fits."""
    if wanted.text is not None and result.text != wanted.text:
        return f"expected\n  {wanted.text}\nbut the model was told\n  {result.text}"
    lacking = [text for text in wanted.contains if text not in result.text]
    if lacking:
        return f"{', '.join(f'“{text}”' for text in lacking)} is not in\n  {result.text}"
    if wanted.error is not None and result.error != wanted.error:
        return f"it is {'an' if result.error else 'no'} error:\n  {result.text}"
    if wanted.data is not None:
        try:
            data: JsonValue = json.loads(result.text)
        except ValueError:
            return f"it is no JSON:\n  {result.text}"
        expected, told = (_without(value, wanted.ignore) for value in (wanted.data, data))
        if expected != told:
            ignored = f" (without {', '.join(wanted.ignore)})" if wanted.ignore else ""
            return f"expected{ignored}\n  {_line(expected)}\nbut the model was told\n  {_line(told)}"
    return None


def _without(value: JsonValue, ignored: Sequence[str]) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _without(item, ignored) for key, item in value.items() if key not in ignored}
    return [_without(item, ignored) for item in value] if isinstance(value, list) else value


def _line(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _read(message: Message) -> str:
    return "\n".join(message.lines)


def _in(wanted: str, text: str) -> bool:
    return squeezed(wanted) in squeezed(text)
