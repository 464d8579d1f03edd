"""The content of a card, in reading order."""

from __future__ import annotations

__all__ = ["build_content"]

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from askback.domain import vote_summary
from askback.domain.arguments import Argument, Arguments
from askback.domain.ask_policy import PersonalReminder
from askback.domain.card import (
    Card,
    Item,
    format_position,
)
from askback.domain.card_ending import REVOKED, Ending
from askback.domain.change_line import CHANGED_BY, NOT_GIVEN, REMOVED, ChangeLine
from askback.domain.review_line import ReviewLine
from askback.domain.settled_title import LONGEST_TITLE, get_form_title, get_line_title, list_others
from askback.domain.timeout_words import CAPTION, UNUSED_DRAFTS
from askback.domain.vote_summary import OPEN_TO
from askback.domain.voting import VoteCount
from askback.text.literal import fit_line, replace_controls, to_single_line
from askback.translations.catalogue import _
from askback.translations.sentences import capitalize_first
from askback_discord import limits, votes
from askback_discord.card_parts import (
    Block,
    Part,
    Text,
    Unit,
    heading,
    mention_everybody,
    mention_picked,
    plain,
    quote_answers,
    strong,
)
from askback_discord.components import format_distance, format_time, gallery
from askback_discord.controls import are_buttons_enough, are_controls_enough

IN_LINES: Final = 10
"""Maximum number of short options that have a line each. More of them follow one another in a paragraph."""
SPACED: Final = 30
"""Maximum number of options with details that blank lines separate."""


def build_content(card: Card, *, images: bool = True) -> list[Unit]:
    """Return the complete content of a card. Without `images`, show the addresses of images as text."""
    if card.ending is not None:
        return [*_build_settled(card, card.ending)]
    units: list[Unit] = [[*_build_head(card)]]
    if card.prompt:
        units.append([*_build_prompt(card)])
    if card.arguments is not None:
        units += _build_arguments(card.arguments)
    if card.changes:
        units.append([*_build_changes(card.changes, opens=True)])
    if card.rule is not None:
        units.append([Text("-# ", before="\n"), plain(card.rule)])
    if not are_controls_enough(card):
        units += _build_items(card, images=images)
    if card.view == "question" and card.written_beginning is not None:
        units.append([Text(_("Written answer so far:"), opens=True), *quote_answers([card.written_beginning])])
    if card.view == "question" and card.note is not None:
        units.append([Text(_("Note so far:"), opens=True), *quote_answers([card.note])])
    if card.files:
        units.append([Text(_("Files so far:"), opens=True), *quote_answers(card.files)])
    if card.view == "question" and card.unsent:
        kept = _("A rejected text is kept: {advice}").format(advice=_explain_problem(card))
        units.append([Text(f"-# {kept}", opens=True)])
    if not card.prompt:
        units += [_build_review_line(line, opens=number == 0) for number, line in enumerate(card.lines)]
    if card.timeout is not None and card.timeout.defaults:
        units.append([Text(_(CAPTION), opens=True), *quote_answers(card.timeout.defaults)])
    if card.reminders:
        units.append([*_build_reminders(card.reminders)])
    if card.tally is not None:
        units += votes.open_decision(card, card.tally)
    return units


def _build_head(card: Card) -> Iterator[Text]:
    """The question as a heading, if it is short, above a small line: its position in the form, and who is asked."""
    if card.view == "review":
        yield Text(f"## {_('Review your answers')}")
    elif card.heading is not None:
        yield heading(card.heading)
    parts: list[list[Text]] = []
    if card.header is not None:
        parts.append([plain(to_single_line(card.header))])
    if card.position is not None:
        parts.append([Text(format_position(card.position))])
    if card.tally is None or not vote_summary.are_all_named(card, card.tally):
        parts.append([Text(_("Asked: ")), *_list_people(card)])
    if card.caller is not None:
        parts.append([plain(card.caller if parts else capitalize_first(card.caller))])
    if card.deadline is not None:
        words = f"{_('ends ')}{format_distance(card.deadline)}"
        until = [Text(words if parts else capitalize_first(words))]
        parts.append(until if card.timeout is None else [*until, Text(", "), plain(card.timeout.words)])
    for number, part in enumerate(parts):
        yield Text("  ·  ") if number else Text("-# ", before="\n")
        yield from part


def _list_people(card: Card) -> Iterator[Text]:
    """Mentions of those who are asked, and a text for those who are not named."""
    if card.who.anyone:
        yield Text(_("anyone here"))
        return
    yield from mention_everybody(card.who.people, card.who.groups)
    if card.who.open_to is not None:
        yield Text(f"{_(', or ') if card.who.people or card.who.groups else ''}{_(OPEN_TO[card.who.open_to])}")


def _build_prompt(card: Card) -> Iterator[Text]:
    """The question if it is not a heading, followed by the quoted part of its details as preformatted text."""
    asked, above, excerpt, below = card.parts
    if not card.asks_in_heading:
        yield strong(asked, opens=True)
    if above:
        yield replace(plain(above), before="\n", opens=card.asks_in_heading)
    if card.arguments is not None:
        return
    if excerpt:
        yield Text(replace_controls(excerpt), "code", before="\n")
    if below:
        yield replace(plain(below), before="\n")


def _build_arguments(arguments: Arguments) -> Iterator[Unit]:
    """A row for each argument of the call, and the number of those without one."""
    for number, row in enumerate(arguments.rows):
        yield [*_build_argument(row, opens=number == 0)]
    if arguments.note is not None:
        yield [Text(f"-# {arguments.note}", before="\n")]


def _build_argument(row: Argument, *, opens: bool) -> Iterator[Text]:
    yield replace(plain(row.name), before="\n", opens=opens)
    # A back-tick would end inline code.
    if row.is_block or "`" in row.value:
        yield Text(row.value, "code", before="\n")
    else:
        yield from (Text("  "), Text(row.value, "inline code"))
    if row.note is not None:
        yield Text(f"-# {row.note}", before="\n")


def _build_changes(changes: tuple[ChangeLine, ...], *, opens: bool = False) -> Iterator[Text]:
    """A line for each change of the call: what people changed, and who."""
    for number, line in enumerate(changes):
        yield Text("-# ✎ ", before="\n", opens=opens and number == 0)
        yield from (plain(line.name), Text("  "))
        yield Text(f"*{_(NOT_GIVEN)}*") if line.before is None else _build_value(line.before)
        yield Text(" → ")
        yield Text(f"*{_(REMOVED)}*") if line.after is None else _build_value(line.after)
        yield Text(f"  ·  {_(CHANGED_BY)}")
        yield from mention_everybody([line.by])


def _build_value(value: str) -> Text:
    # A back-tick would end inline code.
    return plain(value) if "`" in value else Text(value, "inline code")


def _build_others(card: Card) -> Iterator[Text]:
    """The options that no list shows."""
    caption, labels = list_others(card)
    for number, label in enumerate(labels):
        yield Text("  ·  ") if number else Text(f"-# {caption}", before="\n")
        yield plain(label)


def _build_items(card: Card, *, images: bool) -> Iterator[Unit]:
    if len(card.items) > IN_LINES and card.has_line_options and not card.is_described:
        for item in card.items:
            label = replace(plain(item.numbered_label), before="  ·  ", opens=item.number == 1)
            yield [label, *_build_mark(item)]
        return
    apart = "\n" if card.has_line_options or len(card.items) > SPACED else "\n\n"
    for item in card.items:
        yield [*_build_item(item, apart, images=images)]


def _build_mark(item: Item) -> Iterator[Text]:
    """A mark behind a chosen option."""
    if item.chosen:
        yield Text("  ✓")


def _build_item(item: Item, apart: str, *, images: bool) -> Iterator[Part]:
    yield replace(strong(item.numbered_label), before=apart, opens=item.number == 1)
    yield from _build_mark(item)
    if item.description is not None:
        between = " — " if to_single_line(item.description) == item.description else "\n"
        yield replace(plain(item.description), before=between)
    if item.preview is not None:
        yield Text(replace_controls(item.preview), "code", before="\n")
    if item.image is not None and images and len(item.image) <= limits.MEDIA_URL:
        yield Block(gallery(item.image, item.label))
    elif item.image is not None:
        yield replace(plain(item.image), before="\n")


def _build_review_line(line: ReviewLine, *, opens: bool) -> Unit:
    """One question of the review, with its answer."""
    if line.fits_line:
        return [replace(plain(line.header), before="\n", opens=opens), Text("  ·  "), *_build_shared_line(line)]
    made: Unit = [replace(plain(line.header), opens=True), replace(strong(line.prompt), before="\n")]
    missing = [] if line.missing is None else [Text(f"*{line.missing}*", before="\n")]
    return [*made, *_quote_line(line), *missing]


def _quote_line(line: ReviewLine) -> Iterator[Text]:
    """The answer to one question with its note, as quotations."""
    for number, part in enumerate(mention_picked(line.picked, line.picks)):
        yield part if number else replace(part, words=f"> {part.words}", before="\n")
    yield from quote_answers(line.quoted)


def _build_reminders(reminders: tuple[PersonalReminder, ...]) -> Iterator[Text]:
    """The people who will be reminded, with their sentences."""
    for number, reminder in enumerate(reminders):
        yield Text(f"-# {_('Reminder for ')}", before="\n", opens=number == 0)
        yield from mention_everybody([reminder.who])
        yield Text(f"  ·  {format_time(reminder.at)}")
        if reminder.reason is not None:
            yield from quote_answers([reminder.reason])


def _explain_problem(card: Card) -> str:
    return _("“Edit your text…” opens it again.") if card.takes_text else _("you can no longer send it.")


def _build_decided(card: Card, tally: VoteCount, ending: Ending) -> Iterator[Unit]:
    """The whole of a settled decision: the result and who decided; the question, the requesters and the time; why."""
    named = vote_summary.list_named_votes(card, tally)
    reasons = [vote.reason for vote in named if vote.reason is not None]
    if ending.status != "answered" and ending.reason is not None and ending.reason.strip():
        reasons.append(ending.reason)
    made: Unit = [*votes.end(card, tally, ending, named), *_build_facts(card, ending, tally)]
    for number, row in enumerate(card.settled_arguments):
        made.append(Text("  ·  ") if number else Text("-# ", before="\n"))
        made += [plain(row.name), Text("  "), Text(row.value, "inline code")]
    made += _build_changes(card.changes)
    made += quote_answers(reasons)
    if ending.revoked is not None:
        made.append(Text(f"-# {_(REVOKED)}  ·  {format_time(ending.revoked.at)}", before="\n"))
        made += quote_answers([] if ending.revoked.reason is None else [ending.revoked.reason])
    yield made
    if not named:
        yield from votes.build_votes(tally)
    if not card.is_call and not card.is_folded(buttons_enough=are_buttons_enough(card)):
        yield [*_build_others(card)]


def _build_settled(card: Card, ending: Ending) -> Iterator[Unit]:
    """The whole of a settled card: the answer; the question, the person and the time; the answers of a form."""
    if card.tally is not None:
        yield from _build_decided(card, card.tally, ending)
        return
    result, answered = card.result, ending.status == "answered"
    made: Unit = [Text(f"**{ending.title}**")] if result is None else [Text("✓ "), strong(result)]
    if card.result_note is not None:
        made += [Text("  ·  "), plain(card.result_note)]
    if ending.consequence is not None:
        made = [Text(f"**{ending.title}.** "), plain(ending.consequence.words)]
    if card.settled_picks:
        made = [Text("✓ "), *mention_picked(card.settled_picks, card.picks, strong=True)]
    made += _build_facts(card, ending)
    made += quote_answers(card.quotations)
    if ending.reason is not None and ending.reason.strip():
        made += quote_answers([ending.reason])
    yield made
    if not card.prompt:
        for number, one in enumerate(one for one in card.lines if one.answer):
            yield [*_build_answer(one, opens=number == 0)]
    if ending.has_unused_drafts:
        yield [Text(f"-# {_(UNUSED_DRAFTS)}", opens=True)]
    elif not (answered or ending.falls_back) and any(one.answer for one in card.lines):
        yield [Text(f"-# {_('These draft answers were not submitted.')}", opens=True)]
    if not card.is_folded(buttons_enough=are_buttons_enough(card)):
        yield [*_build_others(card)]


def _build_answer(line: ReviewLine, *, opens: bool) -> Iterator[Text]:
    """One question of a settled form, with its answer."""
    if line.fits_line:
        first, *others = _build_shared_line(line)
        yield from (replace(first, before="\n", opens=opens), *others)
    else:
        yield from (replace(plain(get_line_title(line)), opens=True), *_quote_line(line))


def _build_shared_line(line: ReviewLine) -> Iterator[Text]:
    """A question and its answer, or what it still needs, for one line."""
    yield from (plain(line.prompt), Text("  "), *mention_picked(line.picked, line.picks, strong=True))
    for number, answer in enumerate(line.written, len(line.picked)):
        yield replace(strong(answer), before=", " if number else "")
    if line.note is not None:
        yield from (Text("  ·  "), plain(line.note))
    if line.missing is not None:
        yield Text(f"{'  ' if line.answer else ''}*{line.missing}*")


def _build_facts(card: Card, ending: Ending, tally: VoteCount | None = None) -> Iterator[Text]:
    """The question as one line, the program that asked, who ended it or requested it, and when."""
    yield Text("-# ", before="\n")
    if card.header is not None:
        yield from (plain(fit_line(card.header, LONGEST_TITLE)), Text("  ·  "))
    yield plain(card.title or get_form_title(card))
    if card.caller is not None:
        yield from (Text("  ·  "), plain(card.caller))
    if tally is not None and tally.requesters:
        yield from (Text("  ·  "), *votes.list_requesters(tally))
    if ending.by is None:
        yield Text(f"  ·  {_('Asked: ')}")
        yield from _list_people(card)
    elif tally is None:
        yield Text(f"  ·  {_('Answered by ')}" if card.has_result else f"  · {_(' by ')}")
        yield from mention_everybody([ending.by])
    yield Text(f"  ·  {format_time(ending.at)}")
