"""The content of a card, in reading order."""

from __future__ import annotations

__all__ = ["build_content"]

from collections.abc import Iterator

from askback.domain.arguments import Argument, Arguments
from askback.domain.ask_policy import PersonalReminder
from askback.domain.card import (
    LONGEST_TITLE,
    Card,
    Item,
    format_position,
    get_form_title,
    get_line_title,
    list_others,
)
from askback.domain.card_ending import Ending
from askback.domain.review_line import ReviewLine
from askback.domain.timeout_words import CAPTION, UNUSED_DRAFTS
from askback.domain.voting import VoteCount
from askback.translations.catalogue import _
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
    if card.ending is not None and card.is_compact:
        return [*_build_settled(card, card.ending, mentions=mentions)]
    units: list[Unit] = [[*_build_head(card)]]
    if card.prompt:
        units.append([*_build_prompt(card)])
    if card.arguments is not None:
        units += _build_arguments(card.arguments)
    if card.rule is not None:
        units.append([Part(context(card.rule), opens=True)])
    if not are_controls_enough(card):
        units += _build_items(card, images=images)
    if card.view == "question" and card.written is not None:
        units.append([*_build_captioned(_("Written answer so far:"), card.written)])
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
    if card.tally is not None and card.ending is None:
        return [*units, *votes.open_decision(card, card.tally)]
    if card.tally is not None and card.ending is not None:
        units += [_build_decision(card, card.tally, card.ending), *votes.build_votes(card.tally)]
    if card.ending is not None and are_buttons_enough(card):
        units.append([*_build_others(card)])
    return units


def _build_head(card: Card) -> Iterator[Part]:
    """The question as a heading, if it is short, above a line with its position in the form, and who is asked."""
    if card.view == "review":
        yield Part(heading(_("Review your answers")))
    elif card.heading is not None:
        yield Part(heading(fit_line(card.heading, limits.HEADER)))
    line: list[Block] = []
    if card.header is not None:
        line += [*split_runs(card.header), text("  ·  ")]
    if card.position is not None:
        line.append(text(f"{format_position(card.position)}  ·  "))
    line += [text(_("Asked: ")), *list_addressees(card.who)]
    if card.deadline is not None and card.ending is None:
        line += [text(f"  ·  {_('until ')}"), date(card.deadline)]
        if card.timeout is not None:
            line += [text(", "), *split_runs(card.timeout.words)]
    yield from paragraph(line, opens=True)


def _build_prompt(card: Card) -> Iterator[Part]:
    """The question if it is not a heading, followed by the quoted part of its details as preformatted text."""
    asked, excerpt, rest = card.parts
    if card.heading is None:
        yield from paragraph(split_runs(asked, strong=len(asked) <= MAX_BOLD), opens=True)
    if card.arguments is not None:
        return
    for run in split_runs(excerpt):
        yield Part(code([run]))
    yield from paragraph(split_runs(rest))


def _build_arguments(arguments: Arguments) -> Iterator[Unit]:
    """A row for each argument of the call, and the number of those without one."""
    for number, row in enumerate(arguments.rows):
        yield [*_build_argument(row, opens=number == 0)]
    if arguments.note is not None:
        yield [Part(section([italic(arguments.note)]))]


def _build_argument(row: Argument, *, opens: bool) -> Iterator[Part]:
    if not row.is_block:
        yield Part(section([*split_runs(row.name), text("  "), inline_code(row.value)]), opens=opens)
        return
    yield Part(section(split_runs(row.name)), opens=opens)
    yield Part(code(split_runs(row.value)))
    if row.note is not None:
        yield Part(section([italic(row.note)]))


def _build_others(card: Card) -> Iterator[Part]:
    """The options that no list shows."""
    caption, labels = list_others(card)
    if labels:
        named = (fit_line(label, limits.OPTION_TEXT) for label in labels)
        yield Part(context(f"{caption}{'  ·  '.join(named)}"), opens=True)


def _build_items(card: Card, *, images: bool) -> Iterator[Unit]:
    bare = not any(item.description or item.preview or item.image for item in card.items)
    spaced = not bare and len(card.items) <= SPACED
    for item in card.items:
        yield [*_build_item(card, item, images=images, opens=spaced or item.number == 1)]


def _build_item(card: Card, item: Item, *, images: bool, opens: bool) -> Iterator[Part]:
    line = [text(f"{item.number}  "), *split_runs(item.label, strong=True)]
    if item.chosen and (card.ending is None or card.ending.status == "answered"):
        refused = card.tally is not None and item.number - 1 in card.tally.refusing
        line.append(text("  ✗" if refused else "  ✓"))
    if item.description is not None:
        line += [text("\n"), *split_runs(item.description)]
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
    if line.missing is not None:
        yield italic(f"{'  ' if line.answer else ''}{line.missing}")


def _quote_line(line: ReviewLine, *, mentions: bool) -> Iterator[Part]:
    """The answer to one question, as quotations."""
    if line.picked:
        yield Part(quote(list_picked(line.picked, line.picks, mentions=mentions)))
    for answer in line.written:
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
    return _("“Edit your text…” opens it again.") if card.custom else _("you can no longer send it.")


def _build_decision(card: Card, tally: VoteCount, ending: Ending) -> Unit:
    """The ending of a decision of several people."""
    line = [*votes.end(card, tally)]
    # The votes below show who decided and why.
    decided = ending.status == "answered"
    if ending.by is not None and not decided:
        line += [text(_(" by ")), mention_person(ending.by)]
    made = [*paragraph([*line, text("  ·  "), date(ending.at)], opens=True)]
    if requested := votes.build_requesters(tally):
        made.append(requested)
    if not decided and ending.reason is not None and ending.reason.strip():
        made += quote_answer(ending.reason)
    return made


def _build_settled(card: Card, ending: Ending, *, mentions: bool) -> Iterator[Unit]:
    """The whole of a settled card: the answer; the question, the person and the time; the answers of a form."""
    result, answered = card.result, ending.status == "answered"
    line = [bold(ending.title)] if result is None else [text("✓ "), *split_runs(result, strong=True)]
    if ending.consequence is not None:
        line = [bold(f"{ending.title}. "), *split_runs(ending.consequence.words)]
    if card.settled_picks:
        line = [text("✓ "), *list_picked(card.settled_picks, card.picks, mentions=mentions, strong=True)]
    line += [text("\n"), *_build_facts(card, ending)]
    made = [*paragraph(line, opens=True)]
    if (answered or ending.lists_defaults) and result is None and card.prompt and card.lines:
        made += [part for label in card.lines[0].written for part in quote_answer(label)]
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


def _build_facts(card: Card, ending: Ending) -> Iterator[Block]:
    """The question as one line, who ended it, and when."""
    if card.header is not None:
        yield from split_runs(fit_line(card.header, LONGEST_TITLE))
        yield text("  ·  ")
    yield from split_runs(card.title or get_form_title(card))
    if ending.by is None:
        yield text(f"  ·  {_('Asked: ')}")
        yield from list_addressees(card.who)
    else:
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
