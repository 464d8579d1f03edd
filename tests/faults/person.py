"""The person who began a conversation, and acts in it with as many clicks as it takes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from askback.domain.card_labels import EXPANDING, NOT_NOW
from askback_sandbox.person_error import PersonError
from askback_sandbox.play.controls import NotFound

from .actors import Click, Seat
from .approving import Approvers, Panel
from .scenarios import COLOURS, Deletion, Edit, Press, Shown, Story, asks

USE, KEEP = "Use this as your answer", "Just a message"
SEEN = "the agent will see your edit"
LOOK = 0.03
PATIENT = 2.5
"""Seconds without an effect after which a person tries again."""
NOTICED = 1.0
"""Seconds for which a person waits for a sign that the bot noticed an edit."""


class Person:
    """Play one story until its end, with as many clicks as it takes."""

    def __init__(
        self,
        story: Story,
        seat: Seat,
        dice: random.Random,
        busy: Callable[[], bool],
        deaths: Callable[[], int],
        contrary: float,
        approvers: Approvers | None = None,
    ) -> None:
        """Take `busy` (True while a bot can act), `deaths` (the number of bots killed) and `contrary` (see `Order`)."""
        self.story = story
        self._approvers = approvers
        self.seat = seat
        self._dice = dice
        self._busy = busy
        self._deaths = deaths
        self._contrary = contrary
        self._colours = [*COLOURS]
        dice.shuffle(self._colours)

    async def play(self) -> None:
        story, seat = self.story, self.seat
        first = f"{story.tag} {story.kind} please"
        story.written.append(first)
        deaths = self._deaths()
        await self.until(self._busy)  # the person waits while the bot is away; it may still be killed the next moment
        message = seat.begin(first)
        story.starter = seat.id
        for other in self._others():
            other.join(seat)
        while not await self.within(lambda: story.is_heard or self.seat.shown()):
            if seat.may_be_missed and self._deaths() > deaths:
                # A message that arrived while the bot was dead is lost; this person begins another conversation.
                story.is_over = True
                return
        match story.kind:
            case "buttons":
                await self.choose("a")
            case "form":
                await self.choose("a")
                await self.choose("b")
                await self.pick("c")
                await self.submit(story.questions[-1])
            case "several":
                await self.pick("a", then="Submit")
            case "text":
                await self.write_in()
            case "mixed":
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self.choose("a"))
                    tasks.create_task(self.choose("b"))
            case "typed":
                await self.typed()
            case "message":
                await self.message()
            case "deleted":
                await self.deleted()
            case "edit":
                await self.edit(message, first)
            case "cancel":
                await self.cancel()
            case "stop":
                await self.stop()
            case "approval" | "waiting":
                assert self._approvers is not None
                await Panel(self, self._approvers, self._dice, self._busy, self._contrary).decide()
            case _:
                pass  # a tool that needs no person, and a question that no one answers
        await self.until(self.is_over)
        story.is_over = True

    # looking

    async def until(self, holds: Callable[[], object]) -> None:
        # People look at the screen now and then; its parts change in many places, without any event.
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(LOOK)

    async def within(self, holds: Callable[[], object], seconds: float = PATIENT) -> bool:
        """Wait for it, counting only the seconds in which a bot is running."""
        left = seconds
        while not holds():
            await asyncio.sleep(LOOK)
            left -= LOOK if self._busy() else 0.0
            if left <= 0:
                return False
        return True

    async def think(self) -> None:
        await asyncio.sleep(self._dice.uniform(0.0, 0.15))

    def card(self, token: str) -> Any:
        """Return the card of this question, if there is one."""
        found = [one for one in self.seat.shown() if asks(self.seat.reads(one), token)]
        return found[0] if found else None

    def with_button(self, token: str, label: str) -> Any:
        found = self.card(token)
        return found if found is not None and self.seat.has(found, label) else None

    def is_over(self) -> bool:
        return self.has_said(self.story.last)

    def has_said(self, turn: int) -> bool:
        """Return True if the whole text of that turn is visible."""
        name = f"{self.story.tag}.{turn} "
        return any(self.seat.reads(one).startswith(name) and self.seat.is_whole(one) for one in self.seat.shown())

    def shows_controls(self) -> bool:
        """Return True if the thread has anything left to click on."""
        return any(self.can_act(one) for one in self.seat.shown())

    def can_act(self, message: Any) -> bool:
        """Return True if a click on the message can change anything; buttons that only expand text may stay."""
        return any(control.label not in EXPANDING for control in self.seat.controls(message))

    def look_back(self) -> None:
        """Record the content of the thread at the end."""
        seat = self.seat
        self.story.shown = [Shown(seat.reads(one), self.can_act(one), seat.at(one)) for one in seat.shown()]
        self.story.told = [seat.reads(one) for one in seat.told() if not seat.controls(one)]
        for other in self._others():
            self.story.told_others[other.id] = [other.reads(one) for one in other.told()]
        if self._approvers is not None:
            self.story.lead = self._approvers.lead.id

    def _others(self) -> tuple[Seat, ...]:
        return () if self._approvers is None else (*self._approvers.seats, self._approvers.lead)

    # clicking

    @contextmanager
    def pressing(self, token: str, label: str, *, by: str = "", saw: str = "") -> Iterator[Press]:
        press = Press(token, label, time.time(), by=by, saw=saw)
        self.story.presses.append(press)
        try:
            yield press
        except (PersonError, NotFound):
            self.story.presses.remove(press)  # it disappeared under their finger
        else:
            press.done = time.time()

    async def click(self, token: str, label: str, act: Callable[..., Awaitable[Click]], *what: Any) -> bool:
        """Click once; return True if the click was acked."""
        with self.pressing(token, label) as press:
            press.click = await act(*what)
        return press.acked

    async def button(self, message: Any, label: str) -> Click:
        return await self.seat.press(message, self.seat.find(message, label))

    async def is_gone(self, token: str, button: str, acked: bool) -> bool:
        """Return True if the button disappeared. After an error the person retries at once, after an ack they wait."""
        if not acked:
            await self.until(self._busy)
            return self.with_button(token, button) is None
        return await self.within(lambda: self.with_button(token, button) is None)

    def is_past(self, token: str) -> bool:
        """Return True if the question cannot be answered any more: it is settled, or its card shows another one."""
        settled = self.card(token)
        if settled is not None:
            return not self.can_act(settled)
        later = [other for other in self.story.questions if other > token] if self.story.kind == "form" else []
        return any(self.card(other) is not None for other in later) or self.is_over()

    async def choose(self, letter: str) -> None:
        """Answer one question by a button; each try chooses another option, so that the counted one is visible."""
        token = self.story.tag + letter
        tries = 2 * "abc".index(letter)  # so that a click that counts for another question is noticed
        while True:
            label = self._colours[tries % len(COLOURS)]
            await self.until(lambda: self.with_button(token, self._colours[0]) is not None or self.is_past(token))
            card = self.with_button(token, label)
            if card is None:
                return
            await self.think()
            presses = [label]
            if self._dice.random() < self._contrary:
                presses.append(self._colours[(tries + 1) % len(COLOURS)])  # two at once, which contradict each other
            acked = await asyncio.gather(*(self.click(token, one, self.button, card, one) for one in presses))
            tries += len(presses)
            if await self.is_gone(token, self._colours[0], any(acked)):
                return

    async def pick(self, letter: str, then: str = "Next") -> None:
        """Tick two of several options, always the same, and continue."""
        token = self.story.tag + letter
        wanted = COLOURS[1], COLOURS[3]
        while True:
            await self.until(lambda: self.with_button(token, then) is not None or self.is_past(token))
            card = self.with_button(token, then)
            if card is None:
                return
            await self.think()
            menus = [one for one in self.seat.controls(card) if one.several]
            if not menus:
                continue
            values = [choice.value for choice in menus[0].choices if choice.label.endswith(wanted)]
            if not await self.click(f"{token}+", ", ".join(wanted), self.seat.pick, card, menus[0], values):
                continue
            # Use the card as it is now; a redrawn card has taken over the ticks.
            card = self.with_button(token, then)
            if card is None:
                continue
            acked = await self.click(token, ", ".join(wanted), self.button, card, then)
            if await self.is_gone(token, then, acked):
                return

    async def submit(self, token: str) -> None:
        """Press Submit on the review."""
        while True:
            await self.until(lambda: self.with_button(token, "Submit") is not None or self.settled_form())
            card = self.with_button(token, "Submit")
            if card is None:
                return
            await self.think()
            acked = await self.click(f"{token}!", "Submit", self.button, card, "Submit")
            if await self.is_gone(token, "Submit", acked):
                return

    def settled_form(self) -> bool:
        cards = [self.card(token) for token in self.story.questions]
        found = [card for card in cards if card is not None]
        return any(not self.can_act(card) for card in found) or self.is_over()

    async def write_in(self) -> None:
        """Answer in the text field that "Something else…" opens."""
        await self.send_in_modal("Something else…", lambda tries: f"Mauve {tries} for {self.story.tag}")

    async def cancel(self) -> None:
        """Cancel the question in the modal that "Not now…" opens."""
        await self.send_in_modal(NOT_NOW, lambda _: "", way="cancel")

    async def send_in_modal(self, button: str, build_text: Callable[[int], str], way: str | None = None) -> None:
        """Press a button that opens a modal, and send a text in it, until the button is gone from the card.

        `build_text` takes the number of earlier presses.
        """
        token = f"{self.story.tag}a"
        while True:
            await self.until(lambda: self.with_button(token, button) is not None or self.is_past(token))
            card = self.with_button(token, button)
            if card is None:
                return
            await self.think()
            async with self.seat.hands:
                self.seat.close_field()
                try:
                    control = self.seat.find(card, button)
                    await self.seat.press(card, control)
                except (PersonError, NotFound):
                    continue
                if not await self.within(partial(self.seat.has_field, control), 1.0):
                    continue
                await self.think()
                tries = len([one for one in self.story.presses if one.token == token])
                text = build_text(tries)
                acked = await self.click(token, way or text, self.seat.send_field, text, way)
            if await self.is_gone(token, button, acked):
                return

    # writing

    async def offered(self, choice: str) -> None:
        """Answer the bot's question about the purpose of a message, as long as it asks."""
        while True:
            offers = self.offers(choice)
            if not offers:
                return
            await self.think()
            label = self.story.answers[-1] if choice == USE and self.story.answers else choice
            name = f"{self.story.tag}a" if choice == USE else f"{self.story.tag}a?"
            if not await self.click(name, label, self.button, offers[-1], choice):
                await self.until(self._busy)
                continue
            await self.within(lambda: not self.offers(choice))

    async def typed(self) -> None:
        """Type the answer into the thread, and confirm that it is one."""
        token = f"{self.story.tag}a"
        await self.until(lambda: self.with_button(token, NOT_NOW) is not None or self.is_past(token))
        tries = 0
        while not self.is_past(token):
            text = f"Mauve {tries} for {self.story.tag}"
            tries += 1
            self.story.answers.append(text)
            self.seat.write(text)
            await self.within(lambda: self.is_past(token) or self.offers(USE))
            await self.offered(USE)
            await self.within(lambda: self.is_past(token))

    def all_shown(self) -> list[Any]:
        return [*self.seat.told(), *self.seat.shown()]

    async def message(self) -> None:
        """Write a message that does not answer the open question, and then answer the question."""
        token = f"{self.story.tag}a"
        await self.until(lambda: self.with_button(token, NOT_NOW) is not None or self.is_past(token))
        text = f"Hurry up with {self.story.tag}"
        self.story.written.append(text)
        self.seat.write(text)
        await self.within(lambda: self.is_past(token) or self.offers(KEEP))
        await self.offered(KEEP)
        await self.choose("a")

    async def edit(self, message: Any, first: str) -> None:
        """Edit two messages while a question is open: one that the agent has read, and one that it has not."""
        tag = self.story.tag
        token = f"{tag}a"
        await self.until(lambda: self.with_button(token, NOT_NOW) is not None or self.is_past(token))
        text, calmer = f"Hurry up with {tag}", f"Take your time with {tag}"
        self.story.written.append(text)
        another = self.seat.write(text)
        changes = [(message, first, f"{tag} edit, by Friday please", self.notices)]
        if self._dice.random() < self._contrary:
            await self.change(another, text, calmer)  # at once, even if the bot has not received it
        elif await self.within(lambda: self.is_past(token) or self.offers(KEEP)) and self.offers(KEEP):
            changes.append((another, text, calmer, lambda: self.offers(KEEP)))
        self._dice.shuffle(changes)
        if self._dice.random() < 0.5:
            await self.offered(KEEP)
        if self._dice.random() >= self._contrary:
            for change in changes:
                await self.change(*change)
            await self.offered(KEEP)
            await self.choose("a")
            return
        # The agent receives the answer at that moment, and one version of the message with it.
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.choose("a"))
            for message, before, after, _ in changes:
                tasks.create_task(self.change(message, before, after))
        await self.offered(KEEP)
        await self.until(self.is_over)
        await self.within(lambda: self.has_said(self.story.last + 1))

    async def change(self, message: Any, before: str, after: str, signs: Callable[[], list[Any]] | None = None) -> None:
        """Edit a message, and wait for a new sign that the bot noticed: a notice, or a new offer."""
        await self.think()
        await self.until(self._busy)
        known = set[float]() if signs is None else {self.seat.at(one) for one in signs()}
        edit = Edit(before, after, time.time())
        self.seat.edit(message, after)
        self.story.edits.append(edit)
        if signs is not None:
            edit.is_seen = await self.within(lambda: {self.seat.at(one) for one in signs()} - known, NOTICED)

    def notices(self) -> list[Any]:
        """Return the bot's notices about edits."""
        return [one for one in self.all_shown() if SEEN in self.seat.reads(one)]

    def offers(self, choice: str) -> list[Any]:
        return [one for one in self.all_shown() if self.seat.has(one, choice)]

    # deleting

    async def deleted(self) -> None:
        """Delete the card, sometimes with a click in flight, and answer the card that comes back."""
        token = f"{self.story.tag}a"
        await self.until(lambda: self.with_button(token, NOT_NOW) is not None or self.is_past(token))
        await self.think()
        card = self.with_button(token, NOT_NOW)
        if card is None:
            await self.choose("a")
            return
        async with asyncio.TaskGroup() as tasks:
            if self._dice.random() < self._contrary:
                label = self._colours[0]
                tasks.create_task(self.click(token, label, self.button, card, label))
                await asyncio.sleep(0)
            deletion = Deletion(token, time.time())
            self.seat.delete(card)
            self.story.deletions.append(deletion)
            waited, deaths = 0.0, self._deaths()
            while self.card(token) is None and not self.is_over():
                await asyncio.sleep(LOOK)
                waited = waited + LOOK if self._busy() and self._deaths() == deaths else 0.0
                deletion.waited, deaths = max(deletion.waited, waited), self._deaths()
            deletion.is_back = self.card(token) is not None
        await self.choose("a")

    async def stop(self) -> None:
        """Stop the agent while it asks, and make it continue."""
        token = f"{self.story.tag}a"
        await self.until(lambda: self.with_button(token, NOT_NOW) is not None or self.is_past(token))
        while not self.is_past(token):
            self.story.stops.append(time.time())
            self.seat.write("stop")
            await self.within(lambda: self.is_past(token))
        tries = 0
        while not self.is_over():
            text = f"Go on with {self.story.tag}, time {tries}"
            tries += 1
            self.story.written.append(text)
            self.seat.write(text)
            await self.within(self.is_over, 2 * PATIENT)
