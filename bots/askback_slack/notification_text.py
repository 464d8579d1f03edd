"""Builds the notification text: the question in words, for phones, screen readers and search."""

from __future__ import annotations

__all__ = ["format_continuation", "summarize"]

from collections.abc import Callable, Iterable, Iterator

from askback.domain import vote_summary
from askback.domain.card import LONGEST_NAMED, Card, Item, format_position
from askback.domain.card_ending import Ending
from askback.domain.choice_words import describe_number
from askback.domain.file_field import describe_file_rules
from askback.domain.outcome import Vote
from askback.domain.review_line import NOTE, ReviewLine
from askback.domain.voting import VoteCount
from askback.text.literal import fit_line
from askback.translations.catalogue import N_, _, ngettext
from askback.translations.sentences import capitalize_first, end_sentence, group_digits
from askback_slack import limits
from askback_slack.escaping import escape, to_literal

ROOM = limits.MESSAGE_TEXT_BYTES - 100
"""Bytes for the summary. The rest is kept for the sentence that says what was left out."""

GOES_ON = N_("{text}… (continues on the card)")
VOTES = 1_500
"""Maximum bytes of the votes with their reasons."""


def summarize(card: Card) -> str:
    """Return the question, its options and its state.

    Leave out entries that do not fit as a whole, and say how many.
    """
    title = "" if card.form_title is None else f"{to_literal(card.form_title)}\n"
    head = escape(f"{title}{_format_head(card)}")
    entries = (
        [*map(_format_item, card.items)]
        if card.items
        else []
        if card.prompt
        else [*map(_format_review_line, card.lines)]
    )
    state = escape(_format_state(card))
    return _fit_entries(
        head, [escape(entry) for entry in entries], state, _count_options if card.items else _count_questions
    )


def format_continuation(texts: list[str]) -> str:
    """Return the notification text of a message that continues another one."""
    return _fit_entries(_("(continued)"), [escape(entry) for entry in texts], "", _count_parts)


def _fit_entries(head: str, entries: list[str], state: str, count_left: Callable[[int], str]) -> str:
    room = ROOM - len(state.encode())
    if len(head.encode()) > room:
        head = _(GOES_ON).format(text=_cut_words(head, room))
    room -= len(head.encode())
    lines = [head]
    for number, entry in enumerate(entries):
        room -= len(entry.encode()) + 1
        if room < 0:
            lines.append(count_left(len(entries) - number))
            break
        lines.append(entry)
    return "\n".join([*lines, *([state] if state else [])])


def _count_options(left: int) -> str:
    return ngettext("({count} more option on the card)", "({count} more options on the card)", left).format(count=left)


def _count_questions(left: int) -> str:
    more = ngettext("({count} more question on the card)", "({count} more questions on the card)", left)
    return more.format(count=group_digits(left))


def _count_parts(left: int) -> str:
    return ngettext("({count} more part on the card)", "({count} more parts on the card)", left).format(count=left)


def _format_head(card: Card) -> str:
    if not card.prompt:
        return _("Review your answers:") if card.view == "review" else _("Questions:")
    position = None if card.position is None else format_position(card.position)
    if card.header is None:
        return f"{'' if position is None else f'{position}: '}{to_literal(card.description)}"
    return f"{to_literal(card.header)}{'' if position is None else f' ({position})'}: {to_literal(card.description)}"


def _format_item(item: Item) -> str:
    line = f"{item.number}. {to_literal(item.label)}"
    return line if item.description is None else f"{line} — {to_literal(item.description)}"


def _format_review_line(line: ReviewLine) -> str:
    return f"{to_literal(line.prompt)} — {_format_answer(line) or _('not answered')}"


def _format_answer(line: ReviewLine) -> str:
    return ", ".join(map(to_literal, line.answer)) + "".join(f"  ·  {to_literal(note)}" for note in line.quoted_note)


def _format_state(card: Card) -> str:
    state = _format_progress_or_end(card)
    if card.timeout is None:
        return state
    return f"{state}\n{_shorten(to_literal(card.timeout.sentence))}"


def _format_progress_or_end(card: Card) -> str:
    if card.tally is not None:
        return "\n".join(_format_decision(card, card.tally))
    if card.ending is not None:
        return _format_ending(card)
    if card.view == "review":
        return (
            _("Submit, or edit an answer.") if card.next_missing is None else _("Answer the rest, or edit an answer.")
        )
    return "\n".join(_shorten(part) for part in _format_progress(card))


def _format_progress(card: Card) -> Iterator[str]:
    chosen = [item for item in card.items if item.chosen]
    if chosen:
        yield _("Chosen so far: {numbers}").format(numbers=", ".join(str(item.number) for item in chosen))
    if card.written is not None:
        yield _("Written so far: {text}").format(text=to_literal(card.written))
    if card.note is not None:
        yield _(NOTE).format(note=to_literal(card.note))
    if card.picked:
        yield _("Chosen so far: {numbers}").format(numbers=", ".join(to_literal(one.label) for one in card.picked))
    if card.files:
        yield _("Chosen so far: {numbers}").format(numbers=", ".join(map(to_literal, card.files)))
    if card.file_rules is not None:
        yield describe_file_rules(card.file_rules)
    elif card.picks is not None:
        how = capitalize_first(card.count_rule or describe_number(card.picks, several=card.several))
        yield _("{how}, or write something else.").format(how=how) if card.custom else end_sentence(how)
    elif not card.items:
        yield _("Write an answer.")
    else:
        how = capitalize_first(card.count_rule or describe_number(None, several=card.several))
        yield _("{how}, or write something else.").format(how=how) if card.custom else end_sentence(how)


def _format_decision(card: Card, tally: VoteCount) -> Iterator[str]:
    """The rule or the decision, and the votes."""
    ending = card.ending
    if ending is None:
        yield vote_summary.describe_rule(card, tally)
        yield from _list_fitting_votes(map(_format_vote, tally.votes))
        so_far = vote_summary.describe_progress(card, tally)
        if so_far is not None:
            yield end_sentence(so_far)
        return
    yield end_sentence(vote_summary.describe_result(card, tally))
    if ending.status != "answered" and ending.reason and ending.reason.strip():
        yield _shorten(to_literal(ending.reason))
    if ending.revoked is not None and ending.revoked.reason is not None:
        yield _shorten(to_literal(ending.revoked.reason))
    yield from _list_fitting_votes(map(_format_vote, tally.votes))


def _format_vote(vote: Vote) -> str:
    text = f"{to_literal(vote.by.name or vote.by.id)}: {fit_line(vote.choice.label, LONGEST_NAMED)}"
    return text if vote.reason is None else f"{text} — {_shorten(to_literal(vote.reason))}"


def _list_fitting_votes(votes: Iterable[str]) -> Iterator[str]:
    """Yield the votes that fit, then the number of those left out."""
    room = VOTES
    lines = list(votes)
    for number, line in enumerate(lines):
        room -= len(escape(line).encode()) + 1
        if room < 0:
            left = len(lines) - number
            yield ngettext("({count} more vote on the card)", "({count} more votes on the card)", left).format(
                count=left
            )
            return
        yield line


def _format_ending(card: Card) -> str:
    ending = card.ending
    assert ending is not None
    match ending.status:
        case "answered":
            answer = _format_answer(card.lines[0]) if card.prompt and card.lines else ""
            return _("Answered: {answer}").format(answer=_shorten(answer)) if answer else _("Answered.")
        case "cancelled":
            words = _("Cancelled without an answer.")
        case "declined":
            words = end_sentence(ending.title)
        case "timed_out":
            words = _format_timeout(card, ending)
        case "undeliverable":
            words = _("This could not be delivered.")
    return words if not ending.reason else f"{words} {_shorten(to_literal(ending.reason))}"


def _format_timeout(card: Card, ending: Ending) -> str:
    words = end_sentence(ending.title)
    if ending.consequence is None:
        return words
    labels = [", ".join(map(to_literal, line.answer)) for line in card.lines] if ending.lists_defaults else []
    return " ".join((words, ending.consequence.words, *([_shorten("; ".join(labels))] if labels else [])))


def _shorten(words: str) -> str:
    """Return the words, or their beginning with a note that they continue on the card."""
    short = _cut_words(words, 600)
    return words if short == words else _(GOES_ON).format(text=short)


def _cut_words(words: str, most: int) -> str:
    """Return as many whole words as fit into `most` bytes."""
    data = words.encode()
    if len(data) <= most:
        return words
    cut = data[:most].decode(errors="ignore")
    cut = cut[: cut.rfind(" ", len(cut) // 2) + 1] or cut
    at = cut.rfind("&", len(cut) - 5)
    return cut[:at] if at >= 0 and ";" not in cut[at:] else cut
