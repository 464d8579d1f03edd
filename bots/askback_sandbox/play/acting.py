"""The acts of people in a scenario: each waits for the control that it needs and for its effect."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject

from .api_client import TooLate
from .controls import CUT, EXACT, Choice, Control, Kind, NotFound, chosen, find, ranked
from .expecting import missing
from .scenario import Edit, Expect, Give, Pick, Press, Tick, Type
from .scene import EDITING, Dialog, Key, Message, Scene
from .stage import Stage, Wrong
from .talking import noted
from .transcript import Transcript

__all__ = ["Acting"]

_MENUS: tuple[Kind, ...] = ("menu", "menu of several", "radio buttons", "overflow")
_GROUPS: tuple[Kind, ...] = ("checkboxes", "menu of several")
_GONE = ("element_not_found", "component_not_found")

Look = Callable[[Sequence[Control]], Control]


@dataclass(frozen=True)
class _Target:
    """A control on a message, as it was when a person decided to use it."""

    message: Message
    control: Control


class Acting:
    """Carries out the acts of the people in a scenario."""

    def __init__(self, stage: Stage, transcript: Transcript) -> None:
        self._stage = stage
        self._client = stage.client
        self._platform = stage.client.platform
        self._transcript = transcript
        self._filled: dict[str, list[tuple[Control, JsonValue]]] = {}
        self._submitted: dict[str, frozenset[Key]] = {}
        """The private notices from before a person submitted a dialog, until that person does something else."""
        self._ticked: set[Key] = set()
        """Cards with an option that was ticked after the last press of a button."""

    def turns_away(self, person: str) -> None:
        """Forget the person's last submit, because the person does something else now."""
        self._submitted.pop(person, None)

    async def press(self, step: Press, person: str, within: float) -> None:
        """Press a button, or pick a menu entry if the platform shows the same answers as a menu."""
        self._submitted.pop(person, None)

        def look(found: Sequence[Control]) -> Control:
            try:
                return find(found, step.press, kinds=("button",), what="button")
            except NotFound:
                for control in found:
                    single = control.kind in _MENUS and not control.several
                    best = ranked(control, step.press, "") if single else None
                    if best is not None and best[0] <= EXACT:
                        return control
                raise

        while True:
            target = await self._target(step, person, within, look)
            chosen_ones, what = None, f"presses [ {target.control.label} ]"
            if target.control.kind != "button":
                chosen_ones, what = [chosen(target.control, step.press, "").value], f"picks {step.press}"
            if await self._click(step, target, person, chosen_ones, what, within) != "moved":
                return

    async def pick(self, step: Pick | Tick, person: str, within: float) -> None:
        """Pick in the open dialog if it has such a control, or else on a card."""
        wanted, label = (step.pick, step.menu) if isinstance(step, Pick) else (step.tick, step.group)
        kinds, what = (_MENUS, "menu") if isinstance(step, Pick) else (_GROUPS, "group of checkboxes")
        verb = f"{'picks' if isinstance(step, Pick) else 'ticks'} {', '.join(wanted) or 'nothing'}"

        def look(found: Sequence[Control]) -> Control:
            try:
                return find(found, wanted[0] if wanted else "", kinds=kinds, what=what, label=label)
            except NotFound:
                if isinstance(step, Tick) or len(wanted) != 1 or label is not None:
                    raise
                return find(found, wanted[0], kinds=("button",), what="menu or button")

        if self._offered(person) is not None:
            await self._until_dialog(person, lambda dialog: dialog is not None, within)
        dialog = self._client.scene.dialog(person)
        if dialog is not None and any(control.kind in kinds for control in dialog.controls):
            control = look(dialog.controls)
            self._fill(dialog, control, [chosen(control, one, "").value for one in wanted])
            self._transcript.did(f"{self._name(person)} {verb}")
            return
        self._submitted.pop(person, None)
        while True:
            target = await self._target(step, person, within, look)
            if target.control.pages is not None and not step.late:
                await self._turn_over(step, target, person, wanted, look, verb, within)
                return
            if target.control.kind == "button":
                values, verb = None, f"presses [ {target.control.label} ]"
            else:
                values = [await self._value(target, person, one) for one in wanted]
            if await self._click(step, target, person, values, verb, within) != "moved":
                return

    async def _turn_over(
        self,
        step: Pick | Tick,
        target: _Target,
        person: str,
        wanted: Sequence[str],
        look: Look,
        verb: str,
        within: float,
    ) -> None:
        """Pick in a menu with pages.

        A single entry is searched from the first page on; several entries are picked page by page.
        """
        while _button(target, 0) is not None:
            target = await self._turned(step, target, person, 0, look, within)
        lacking = list(wanted)
        while True:
            control, text = target.control, target.message.text
            here = {one: choice for one in lacking if (choice := _on_page(control, one, text)) is not None}
            last = _button(target, 1) is None
            if last:
                here |= {one: chosen(control, one, text) for one in lacking if one not in here}
            values = [choice.value for choice in here.values()]
            if values or (control.several and any(choice.on for choice in control.choices)):
                names = f"{verb.split(' ')[0]} {', '.join(here) or 'nothing'}"
                if await self._click(step, target, person, values, names, within) == "moved":
                    target = await self._target(step, person, within, look)
                    continue
            lacking = [one for one in lacking if one not in here]
            if last or not (control.several or lacking):
                return
            target = await self._target(step, person, within, look)
            target = await self._turned(step, target, person, 1, look, within)

    async def _turned(
        self, step: Pick | Tick, target: _Target, person: str, way: Literal[0, 1], look: Look, within: float
    ) -> _Target:
        while (arrow := _button(target, way)) is not None:
            there = _Target(target.message, arrow)
            turn = Press(press=arrow.label)
            done = await self._click(turn, there, person, None, f"presses [ {arrow.label} ]", within)
            target = await self._target(step, person, within, look)
            if done != "moved":
                break
        return target

    async def type(self, step: Type, person: str, within: float) -> None:
        def fits(dialog: Dialog | None) -> bool:
            return dialog is not None and bool(dialog.fields)

        try:
            await self._until_dialog(person, fits, within)
        except TooLate as late:
            raise Wrong(f"no dialog with a field is open for {self._name(person)} ({late})") from None
        dialog = self._dialog(person)
        fields = dialog.fields
        control = fields[0] if step.field is None else find(fields, step.field, kinds=("field",), what="field")
        self._transcript.show(self._client.scene, self._stage.heard())
        self._fill(dialog, control, step.type)
        self._transcript.did(f"{self._name(person)} types {json.dumps(step.type, ensure_ascii=False)}")

    async def edit(self, step: Edit, person: str, within: float) -> None:
        """Open the arguments of a call, change some of them, and submit all."""
        self._submitted.pop(person, None)

        def look(found: Sequence[Control]) -> Control:
            button = next((one for one in found if one.kind == "button" and one.label in EDITING), None)
            if button is None:
                raise NotFound(f"there is no button “{EDITING[0]}”, so nobody can change the arguments")
            return button

        press = Press(press=EDITING[0], card=step.card)
        while True:
            target = await self._target(press, person, within, look)
            what = f"presses [ {target.control.label} ]"
            if await self._click(press, target, person, None, what, within) != "moved":
                break
        await self._client.until(lambda scene: scene.dialog(person) is not None, within)
        self._transcript.show(self._client.scene, self._stage.heard())
        dialog = self._dialog(person)
        for name, wanted in step.edit.items():
            control = _argument(dialog, name)
            text = "\n".join(wanted)
            if control.kind == "field":
                self._fill(dialog, control, text)
                self._transcript.did(f"{self._name(person)} types {json.dumps(text, ensure_ascii=False)} as {name}")
            else:
                self._fill(dialog, control, [chosen(control, one, "").value for one in wanted if one])
                self._transcript.did(f"{self._name(person)} picks {', '.join(wanted) or 'nothing'} as {name}")
        await self.submit(person, within)

    async def give(self, step: Give, person: str, within: float) -> None:
        """Choose files in the open dialog."""

        def find_field(dialog: Dialog | None) -> Control | None:
            return next((one for one in (dialog.controls if dialog else ()) if one.kind == "files"), None)

        try:
            await self._until_dialog(person, lambda dialog: find_field(dialog) is not None, within)
        except TooLate as late:
            raise Wrong(f"no dialog that takes files is open for {self._name(person)} ({late})") from None
        dialog = self._dialog(person)
        field = find_field(dialog)
        assert field is not None
        self._transcript.show(self._client.scene, self._stage.heard())
        self._fill(dialog, field, step.entries)
        names = [file if isinstance(file, str) else file.name for file in step.give]
        self._transcript.did(f"{self._name(person)} chooses {', '.join(names)}")

    async def submit(self, person: str, within: float) -> None:
        if person in self._submitted:
            with suppress(TooLate):  # reported below
                await self._until_dialog(person, lambda dialog: dialog is not None, within)
        dialog = self._dialog(person)
        before = frozenset(note.key for note in self._client.scene.notices(person))
        answer = await self._client.act(self._platform.submit(person, dialog, self._filled.get(dialog.id, ())))
        await self._done("submits", person, answer, within)
        self._submitted[person] = before
        if all(one.id != dialog.id for one in self._client.scene.dialogs):
            self._filled.pop(dialog.id, None)

    async def close(self, person: str, within: float) -> None:
        dialog, offered = self._client.scene.dialog(person), None
        if dialog is None and person in self._submitted:
            with suppress(TooLate):  # reported below
                await self._client.until(lambda scene: self._offered(person, scene) is not None, within)
            offered = self._offered(person)
        self._submitted.pop(person, None)
        if offered is not None:
            request = self._platform.dismiss(person, offered)
            if request is not None:
                await self._done("dismisses it", person, await self._client.act(request), within)
                return
        request = self._platform.close(person, self._dialog(person))
        await self._done("closes the dialog", person, await self._client.act(request), within)

    async def _until_dialog(self, person: str, fits: Callable[[Dialog | None], bool], within: float) -> None:
        """Wait for a dialog, and reopen a refused one from the private notice that offers it again."""

        def there(scene: Scene) -> bool:
            return fits(scene.dialog(person)) or self._offered(person, scene) is not None

        await self._client.until(there, within)
        offered = self._offered(person)
        if fits(self._client.scene.dialog(person)) or offered is None or offered.retry is None:
            return
        self._submitted.pop(person, None)
        self._transcript.show(self._client.scene, self._stage.heard())
        answer = await self._client.act(self._platform.click(person, offered, offered.retry, None))
        await self._done(f"presses [ {offered.retry.label} ]", person, answer, within)
        await self._client.until(lambda scene: fits(scene.dialog(person)), within)
        self._transcript.show(self._client.scene, self._stage.heard())

    def _offered(self, person: str, scene: Scene | None = None) -> Message | None:
        """Return the private notice that followed a person's submit and can open the dialog again."""
        before = self._submitted.get(person)
        if before is None:
            return None
        notices = (scene or self._client.scene).notices(person)
        return next((note for note in reversed(notices) if note.retry is not None and note.key not in before), None)

    async def _target(self, step: Press | Pick | Tick, person: str, within: float, look: Look) -> _Target:
        found: list[_Target] = []
        reasons: list[str] = []

        def there(scene: Scene) -> bool:
            self._stage.remember(scene)
            reasons.clear()
            for message in self._stage.usable(scene, person, late=step.late):
                if step.card is not None and step.card.casefold() not in "\n".join(message.lines).casefold():
                    continue
                try:
                    found.append(_Target(message, look(message.controls)))
                except NotFound as reason:
                    reasons.append(str(reason))
                else:
                    return True
            return False

        try:
            await self._client.until(there, within)
        except TooLate as late:
            raise Wrong(f"{late}: {reasons[0] if reasons else 'the bot shows no card to use'}") from None
        self._transcript.show(self._client.scene, self._stage.heard())
        return found[-1]

    async def _value(self, target: _Target, person: str, wanted: str) -> str:
        if not target.control.searched:
            return chosen(target.control, wanted, target.message.text).value
        request = self._platform.search(person, target.message, target.control, wanted)
        answer = await self._client.act(request)
        if answer.get("ok") is not True:
            raise Wrong(str(answer.get("error")))
        return chosen(self._platform.found(target.control, answer), wanted, "").value

    async def _click(
        self,
        step: Press | Pick | Tick,
        target: _Target,
        person: str,
        selected: Sequence[str] | None,
        what: str,
        within: float,
    ) -> Literal["done", "moved"]:
        message = target.message
        before, shown = self._looks(self._client.scene, message, person), self._client.scene.message(message.key)
        click = self._platform.click_late if step.late else self._platform.click
        answer = await self._client.act(click(person, message, target.control, selected))
        if answer.get("code") in _GONE and not step.late:
            # The card was redrawn between the look and the click: look again, as a person does.
            return "moved"
        await self._done(what, person, answer, within)
        if step.refused is not None:
            await self._refused(step.refused, shown, person, within)
            return "done"
        if message.only_for is None:
            self._stage.pressed = message.key
        if target.control.several:
            self._ticked.add(message.key)
            return "done"  # no effect is required until a button is pressed
        self._ticked.discard(message.key)
        try:
            await self._client.until(lambda scene: self._looks(scene, message, person) != before, within)
        except TooLate:
            raise Wrong(f"nothing came of it within {within:g} s: the card looks as before") from None
        return "done"

    async def _refused(self, wanted: str | bool, before: Message | None, person: str, within: float) -> None:
        expect = Expect(notice=() if isinstance(wanted, bool) else (wanted,))
        lacking: list[str] = []

        def told(scene: Scene) -> bool:
            lacking[:] = [one.text for one in missing(expect, self._stage.seen(scene, person))]
            return not lacking

        try:
            await self._client.until(told, within)
        except TooLate as late:
            raise Wrong(f"{late}: {'; '.join(lacking)}") from None
        after = None if before is None else self._client.scene.message(before.key)
        if before is None or after is None:
            return
        if before.key in self._ticked:  # earlier ticks may be rendered only now
            same_card = [control.label for control in before.controls] == [control.label for control in after.controls]
        else:
            same_card = before.picture == after.picture
        if not same_card:
            raise Wrong("the click should have been refused, but the card has changed")

    def _looks(self, scene: Scene, message: Message, person: str) -> str:
        """Return everything that a click can change for the person who clicked."""
        now = scene.message(message.key)
        there: list[JsonValue] = [one.key[1] for one in scene.messages if one.bot]
        dialogs = [repr(dialog) for dialog in scene.dialogs if dialog.person == person]
        return json.dumps([None if now is None else now.picture, dialogs, there])

    def _dialog(self, person: str) -> Dialog:
        dialog = self._client.scene.dialog(person)
        if dialog is None:
            raise Wrong(f"no dialog is open for {self._name(person)}")
        return dialog

    def _fill(self, dialog: Dialog, control: Control, value: str | Sequence[JsonValue]) -> None:
        given: JsonValue = value if isinstance(value, str) else [*value]
        others = [pair for pair in self._filled.get(dialog.id, []) if pair[0].handle != control.handle]
        self._filled[dialog.id] = [*others, (control, given)]

    async def _done(self, what: str, person: str, answer: JsonObject, within: float) -> None:
        await noted(self._client, self._transcript, what, person, answer, within)

    def _name(self, person: str) -> str:
        return self._client.scene.name(person)


def _argument(dialog: Dialog, name: str) -> Control:
    """Return the control of an argument. Its label begins with the argument's name.

    Raises:
        NotFound: there is none.
    """
    names = [control.label.partition(":")[0] for control in dialog.controls]
    if name not in names:
        raise NotFound(f"there is no argument “{name}”; there is: {', '.join(names)}")
    return dialog.controls[names.index(name)]


def _on_page(control: Control, wanted: str, text: str) -> Choice | None:
    """Return the wanted entry, unless another page may have a better match."""
    found = ranked(control, wanted, text)
    return found[1] if found is not None and found[0] <= (EXACT if wanted.isdigit() else CUT) else None


def _button(target: _Target, way: Literal[0, 1]) -> Control | None:
    """Return the button to the previous page (0) or to the next one (1); None if there is none."""
    return None if target.control.pages is None else target.control.pages[way]
