"""The content of a card, in reading order."""

from __future__ import annotations

__all__ = ["build_content"]

from collections.abc import Iterator
from itertools import groupby

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
from askback.domain.voting import VoteCount
from askback.text.literal import to_single_line
from askback.translations.catalogue import _
from askback.translations.sentences import capitalize_first
from askback_slack import limits, votes
from askback_slack.blocks import (
    Block,
    bold,
    code,
    context,
    date,
    heading,
    image,
    inline_code,
    italic,
    quote,
    section,
    split_runs,
    text,
)
from askback_slack.card_parts import Part, Unit, list_addressees, list_picked, mention_person, paragraph, quote_answer
from askback_slack.controls import are_buttons_enough, are_controls_enough
from askback_slack.escaping import fit_line

MAX_BOLD = 300
"""Maximum length of a prompt in bold, in characters."""
SPACED = 30
"""Up to this many options with details each get their own block, with space between them."""


def build_content(card: Card, *, images: bool = True, mentions: bool = True) -> list[Unit]:
    """Return the complete content of a card.

    Without `images`, show the addresses of images as text. Without `mentions`, show the people of an answer by name.
    """
    if card.ending is not None:
        return [*_build_settled(card, card.ending, mentions=mentions)]
    units: list[Unit] = [[*_build_head(card)]]
    if card.prompt:
        units.append([*_build_prompt(card)])
    if card.arguments is not None:
        units += _build_arguments(card.arguments)
    if card.changes:
        units.append([*_build_changes(card.changes)])
    if card.rule is not None:
        units.append([Part(context(card.rule), opens=True)])
    if not are_controls_enough(card):
        units += _build_items(card, images=images)
    if card.view == "question" and card.written_beginning is not None:
        units.append([*_build_captioned(_("Written answer so far:"), card.written_beginning)])
    if card.view == "question" and card.note is not None:
        units.append([*_build_captioned(_("Note so far:"), card.note)])
    if card.files:
        units.append([*_build_captioned(_("Files so far:"), *card.files)])
    if card.view == "question" and card.unsent:
        units.append(
            [Part(context(_("A rejected text is kept: {advice}").format(advice=_explain_problem(card))), opens=True)]
        )
    if not card.prompt:
        units += [
            _build_review_line(one, opens=number == 0, mentions=mentions) for number, one in enumerate(card.lines)
        ]
    if card.timeout is not None and card.timeout.defaults:
        units.append([*_build_captioned(_(CAPTION), *card.timeout.defaults)])
    if card.reminders:
        units.append([*_build_reminders(card.reminders)])
    if card.tally is not None:
        units += votes.open_decision(card, card.tally)
    return units


def _build_head(card: Card) -> Iterator[Part]:
    """The question as a heading, if it is short, above a line with its position in the form, and who is asked."""
    if card.view == "review":
        yield Part(heading(_("Review your answers")))
    elif card.heading is not None:
        yield Part(heading(fit_line(card.heading, limits.HEADER)))
    parts: list[list[Block]] = []
    if card.header is not None:
        parts.append(split_runs(card.header))
    if card.position is not None:
        parts.append([text(format_position(card.position))])
    if card.tally is None or not vote_summary.are_all_named(card, card.tally):
        parts.append([text(_("Asked: ")), *list_addressees(card.who)])
    if card.caller is not None:
        parts.append(split_runs(card.caller if parts else capitalize_first(card.caller)))
    if card.deadline is not None:
        until = [text(_("until ") if parts else capitalize_first(_("until "))), date(card.deadline)]
        parts.append(until if card.timeout is None else [*until, text(", "), *split_runs(card.timeout.words)])
    line = [block for part in parts for block in (text("  ·  "), *part)]
    yield from paragraph(line[1:], opens=True)


def _build_prompt(card: Card) -> Iterator[Part]:
    """The question if it is not a heading, followed by the quoted part of its details as preformatted text."""
    asked, above, excerpt, below = card.parts
    if not card.asks_in_heading:
        yield from paragraph(split_runs(asked, strong=len(asked) <= MAX_BOLD), opens=True)
    if above:
        yield from paragraph(split_runs(above), opens=True)
    if card.arguments is not None:
        return
    for run in split_runs(excerpt):
        yield Part(code([run]))
    yield from paragraph(split_runs(below))


def _build_arguments(arguments: Arguments) -> Iterator[Unit]:
    """A row for each argument of the call, and the number of those without one. Short rows share a paragraph."""
    opens = True
    for is_block, rows in groupby(arguments.rows, lambda row: row.is_block):
        if is_block:
            for row in rows:
                yield [*_build_block_argument(row, opens=opens)]
                opens = False
        else:
            line = [block for row in rows for block in (text("\n"), *_build_line_argument(row))]
            yield [*paragraph(line[1:], opens=opens)]
        opens = False
    if arguments.note is not None:
        yield [Part(section([italic(arguments.note)]))]


def _build_line_argument(row: Argument) -> list[Block]:
    return [*split_runs(row.name), text("  "), inline_code(row.value)]


def _build_block_argument(row: Argument, *, opens: bool) -> Iterator[Part]:
    yield Part(section(split_runs(row.name)), opens=opens)
    yield Part(code(split_runs(row.value)))
    if row.note is not None:
        yield Part(section([italic(row.note)]))


def _build_changes(changes: tuple[ChangeLine, ...]) -> Iterator[Part]:
    """The changes that people made to the call, each with its author."""
    yield from paragraph([*_build_change_runs(changes)][1:], opens=True)


def _build_change_runs(changes: tuple[ChangeLine, ...]) -> Iterator[Block]:
    """A line for each change, each after a line break."""
    for line in changes:
        yield from (text("\n"), text("✎ "), *split_runs(line.name), text("  "))
        yield italic(_(NOT_GIVEN)) if line.before is None else inline_code(line.before)
        yield text(" → ")
        yield italic(_(REMOVED)) if line.after is None else inline_code(line.after)
        yield from (text(f"  ·  {_(CHANGED_BY)}"), mention_person(line.by))


def _build_others(card: Card) -> Iterator[Part]:
    """The options that no list shows."""
    caption, labels = list_others(card)
    if labels:
        named = (fit_line(label, limits.OPTION_TEXT) for label in labels)
        yield Part(context(f"{caption}{'  ·  '.join(named)}"), opens=True)


def _build_items(card: Card, *, images: bool) -> Iterator[Unit]:
    spaced = not card.has_line_options and len(card.items) <= SPACED
    for item in card.items:
        yield [*_build_item(card, item, images=images, opens=spaced or item.number == 1)]


def _build_item(card: Card, item: Item, *, images: bool, opens: bool) -> Iterator[Part]:
    line = [text(f"{item.number}  "), *split_runs(item.label, strong=True)]
    if item.chosen:
        line.append(text("  ✓"))
    if item.description is not None:
        between = " — " if to_single_line(item.description) == item.description else "\n"
        line += [text(between), *split_runs(item.description)]
    yield from paragraph(line, opens=opens)
    if item.preview is not None:
        for run in split_runs(item.preview):
            yield Part(code([run]))
    if item.image is not None and images:
        yield Part(image(item.image, item.label), opens=True)
    elif item.image is not None:
        yield Part(section(split_runs(item.image)))


def _build_review_line(line: ReviewLine, *, opens: bool, mentions: bool) -> Unit:
    """One question of the review, with its answer."""
    if line.fits_line:
        return [
            *paragraph([*split_runs(line.header), text("  ·  "), *_build_shared_line(line, mentions=mentions)], opens)
        ]
    made = [
        *paragraph(
            [*split_runs(line.header), text("\n"), *split_runs(line.prompt, strong=len(line.prompt) <= MAX_BOLD)], True
        )
    ]
    made += _quote_line(line, mentions=mentions)
    if line.missing is not None:
        made.append(Part(section([italic(line.missing)])))
    return made


def _build_shared_line(line: ReviewLine, *, mentions: bool) -> Iterator[Block]:
    """A question and its answer, or what it still needs, for one line."""
    yield from (*split_runs(line.prompt), text("  "))
    yield from list_picked(line.picked, line.picks, mentions=mentions, strong=True)
    for number, answer in enumerate(line.written, len(line.picked)):
        if number:
            yield text(", ")
        yield from split_runs(answer, strong=True)
    if line.note is not None:
        yield from (text("  ·  "), *split_runs(line.note))
    if line.missing is not None:
        yield italic(f"{'  ' if line.answer else ''}{line.missing}")


def _quote_line(line: ReviewLine, *, mentions: bool) -> Iterator[Part]:
    """The answer to one question with its note, as quotations."""
    if line.picked:
        yield Part(quote(list_picked(line.picked, line.picks, mentions=mentions)))
    for answer in line.quoted:
        yield from quote_answer(answer)


def _build_captioned(caption: str, *quoted: str) -> Iterator[Part]:
    yield Part(section([text(caption)]), opens=True)
    for words in quoted:
        yield from quote_answer(words)


def _build_reminders(reminders: tuple[PersonalReminder, ...]) -> Iterator[Part]:
    """The people who will be reminded, with their sentences."""
    for number, reminder in enumerate(reminders):
        line = [text(_("Reminder for ")), mention_person(reminder.who), text("  ·  "), date(reminder.at)]
        yield from paragraph(line, opens=number == 0)
        if reminder.reason is not None:
            yield from quote_answer(reminder.reason)


def _explain_problem(card: Card) -> str:
    return _("“Edit your text…” opens it again.") if card.takes_text else _("you can no longer send it.")


def _build_decided(card: Card, tally: VoteCount, ending: Ending) -> Iterator[Unit]:
    """The whole of a settled decision: the result and who decided; the question, the requesters and the time; why."""
    named = vote_summary.list_named_votes(card, tally)
    line = [*votes.end(card, tally, ending, named), text("\n"), *_build_facts(card, ending, tally)]
    for number, row in enumerate(card.settled_arguments):
        line += [text("  ·  " if number else "\n"), *_build_line_argument(row)]
    line += _build_change_runs(card.changes)
    made = [*paragraph(line, opens=True)]
    for vote in named:
        made += [] if vote.reason is None else quote_answer(vote.reason)
    if ending.status != "answered" and ending.reason is not None and ending.reason.strip():
        made += quote_answer(ending.reason)
    if ending.revoked is not None:
        made += paragraph([text(_(REVOKED)), text("  ·  "), date(ending.revoked.at)], opens=True)
        made += [] if ending.revoked.reason is None else quote_answer(ending.revoked.reason)
    yield made
    if not named:
        yield from votes.build_votes(tally)
    if not card.is_call and not card.is_folded(buttons_enough=are_buttons_enough(card)):
        yield [*_build_others(card)]


def _build_settled(card: Card, ending: Ending, *, mentions: bool) -> Iterator[Unit]:
    """The whole of a settled card: the answer; the question, the person and the time; the answers of a form."""
    if card.tally is not None:
        yield from _build_decided(card, card.tally, ending)
        return
    result, answered = card.result, ending.status == "answered"
    line = [bold(ending.title)] if result is None else [text("✓ "), *split_runs(result, strong=True)]
    if card.result_note is not None:
        line += [text("  ·  "), *split_runs(card.result_note)]
    if ending.consequence is not None:
        line = [bold(f"{ending.title}. "), *split_runs(ending.consequence.words)]
    if card.settled_picks:
        line = [text("✓ "), *list_picked(card.settled_picks, card.picks, mentions=mentions, strong=True)]
    line += [text("\n"), *_build_facts(card, ending)]
    made = [*paragraph(line, opens=True)]
    made += [part for words in card.quotations for part in quote_answer(words)]
    if ending.reason is not None and ending.reason.strip():
        made += quote_answer(ending.reason)
    yield made
    if not card.prompt:
        for number, one in enumerate(one for one in card.lines if one.answer):
            yield [*_build_answer(one, opens=number == 0, mentions=mentions)]
    if ending.has_unused_drafts:
        yield [Part(context(_(UNUSED_DRAFTS)), opens=True)]
    elif not (answered or ending.falls_back) and any(one.answer for one in card.lines):
        yield [Part(context(_("These draft answers were not submitted.")), opens=True)]
    if not card.is_folded(buttons_enough=are_buttons_enough(card)):
        yield [*_build_others(card)]


def _build_facts(card: Card, ending: Ending, tally: VoteCount | None = None) -> Iterator[Block]:
    """The question as one line, the program that asked, who ended it or requested it, and when."""
    if card.header is not None:
        yield from split_runs(fit_line(card.header, LONGEST_TITLE))
        yield text("  ·  ")
    yield from split_runs(card.title or get_form_title(card))
    if card.caller is not None:
        yield from (text("  ·  "), *split_runs(card.caller))
    if tally is not None and tally.requesters:
        yield from (text("  ·  "), *votes.list_requesters(tally))
    if ending.by is None:
        yield text(f"  ·  {_('Asked: ')}")
        yield from list_addressees(card.who)
    elif tally is None:
        yield text(f"  ·  {_('Answered by ')}" if card.has_result else f"  · {_(' by ')}")
        yield mention_person(ending.by)
    yield text("  ·  ")
    yield date(ending.at)


def _build_answer(line: ReviewLine, *, opens: bool, mentions: bool) -> Iterator[Part]:
    """One question of a settled form, with its answer."""
    if line.fits_line:
        yield from paragraph([*_build_shared_line(line, mentions=mentions)], opens=opens)
        return
    yield from paragraph(split_runs(get_line_title(line)), opens=True)
    yield from _quote_line(line, mentions=mentions)
