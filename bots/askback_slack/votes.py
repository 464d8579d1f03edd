"""Renders the votes on a card: the rule, the votes, and the people who have not voted."""

from __future__ import annotations

__all__ = ["build_requesters", "build_votes", "end", "open_decision"]

from collections.abc import Iterator

from askback.domain import vote_summary
from askback.domain.card import LONGEST_NAMED, Card
from askback.domain.identity import Actor
from askback.domain.outcome import Vote
from askback.domain.voting import VoteCount
from askback.domain.who import Who
from askback.text.literal import fit_line
from askback.translations.catalogue import _
from askback.translations.sentences import end_sentence
from askback_slack.blocks import Block, bold, section, split_runs, text, usergroup
from askback_slack.card_parts import Part, Unit, list_addressees, mention_person, paragraph, quote_answer


def open_decision(card: Card, tally: VoteCount) -> Iterator[Unit]:
    """The rule and the votes, below the options of an open card."""
    line = [text(vote_summary.describe_rule(card, tally))]
    if tally.requesters:
        line += [
            text("\n"),
            *_build_requesters(tally),
            text(end_sentence(_(vote_summary.CANNOT_VOTE))),
        ]
    yield [*paragraph(line, opens=True)]
    so_far = vote_summary.describe_progress(card, tally)
    if so_far is None:
        return  # without votes, the card's head names all who are asked
    state = [bold(so_far)]
    if vote_summary.are_votes_plain(card, tally):
        state += [text("  ·  "), *_build_names(tally)]
    else:
        yield from build_votes(tally)
    if tally.missing is not None:
        state += [text(f"  ·  {_(vote_summary.MISSING)}"), *_build_missing(tally, tally.missing)]
    yield [*paragraph(state, opens=True)]


def _build_names(tally: VoteCount) -> Iterator[Block]:
    """Those who agree, on one line."""
    for number, vote in enumerate(tally.votes):
        yield text(", " if number else f"{vote_summary.VOTE_MARKS['approved']} ")
        yield mention_person(vote.by)


def build_votes(tally: VoteCount) -> Iterator[Unit]:
    """Each vote with its option and its reason, for the record."""
    for number, vote in enumerate(tally.votes):
        yield [
            *_build_vote(
                vote,
                vote_summary.VOTE_MARKS[vote_summary.get_option_verdict(tally, vote.choice.index)],
                opens=number == 0,
            )
        ]


def end(card: Card, tally: VoteCount) -> Iterator[Block]:
    """The ending in a few words."""
    found = vote_summary.get_verdict(card, tally)
    mark = "" if found is None else vote_summary.VERDICT_ICONS[found]
    yield from split_runs(f"{mark}{vote_summary.describe_result(card, tally)}", strong=True)


def build_requesters(tally: VoteCount) -> Part | None:
    """The requesters; None if the tally names none."""
    return Part(section([*_build_requesters(tally)])) if tally.requesters else None


def _build_vote(vote: Vote, mark: str, *, opens: bool) -> Iterator[Part]:
    parts = [
        text(f"{mark}  "),
        mention_person(vote.by),
        text("  "),
        *split_runs(fit_line(vote.choice.label, LONGEST_NAMED), strong=True),
    ]
    yield from paragraph(parts, opens=opens)
    if vote.reason is not None:
        yield from quote_answer(vote.reason)


def _build_missing(tally: VoteCount, who: Who) -> Iterator[Block]:
    crowd = vote_summary.describe_crowd(who)
    if who.anyone:
        yield from list_addressees(who)
        return
    people = [[mention_person(actor)] for actor in who.people] if crowd is None else [[text(crowd)]]
    groups = [_mention_group(group, begun=group in tally.begun) for group in who.groups]
    for number, some in enumerate([*people, *groups]):
        if number:
            yield text(", ")
        yield from some


def _mention_group(group: str, *, begun: bool) -> list[Block]:
    """A mention of a user group, or of its members who have not voted."""
    if not begun:
        return [usergroup(group)]
    before, _name, after = _(vote_summary.REST).partition("{group}")
    return [*map(text, filter(None, [before])), usergroup(group), *map(text, filter(None, [after]))]


def _build_requesters(tally: VoteCount) -> Iterator[Block]:
    """The requesters. Known names are shown as text, so that Slack does not notify these people."""
    shown, more = vote_summary.list_requesters(tally)
    yield text(_(vote_summary.REQUESTED_BY))
    for number, actor in enumerate(shown):
        if number:
            yield text(", ")
        yield from _build_name(actor)
    if more:
        yield text(more)


def _build_name(actor: Actor) -> list[Block]:
    return split_runs(actor.name, strong=True) if actor.name.strip() else [mention_person(actor)]
