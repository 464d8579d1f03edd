"""Renders the votes on a card: the rule, the votes, and the people who have not voted."""

from __future__ import annotations

__all__ = ["build_votes", "end", "list_requesters", "open_decision"]

from collections.abc import Iterable, Iterator

from askback.domain import vote_summary
from askback.domain.card import LONGEST_NAMED, Card
from askback.domain.card_ending import Ending
from askback.domain.identity import Actor
from askback.domain.outcome import Vote
from askback.domain.voting import VoteCount
from askback.domain.who import Who
from askback.text.literal import fit_line
from askback.translations.catalogue import _
from askback.translations.sentences import end_sentence
from askback_slack import form_modal
from askback_slack.blocks import Block, bold, split_runs, text, usergroup
from askback_slack.card_parts import Part, Unit, list_addressees, mention_person, paragraph, quote_answer


def open_decision(card: Card, tally: VoteCount) -> Iterator[Unit]:
    """The votes and the rule, below the options of an open card."""
    is_plain = vote_summary.are_votes_plain(card, tally)
    can_edit = card.edited is None or form_modal.fits(card.edited)
    if not is_plain:
        yield from build_votes(tally)
    line: list[Block] = []
    so_far = vote_summary.describe_progress(card, tally)
    if so_far is not None:  # without votes, the card's head names all who are asked
        line.append(bold(so_far))
        if is_plain:
            line += [text(f"  ·  {vote_summary.VOTE_MARKS['approved']} "), *_list_names(tally.votes)]
        if tally.missing is not None:
            line += [text(f"  ·  {_(vote_summary.MISSING)}"), *_build_missing(tally, tally.missing)]
        line.append(text("\n"))
    line.append(text(vote_summary.describe_rule(card, tally, can_edit=can_edit)))
    if tally.requesters:
        line += [text(" "), *list_requesters(tally), text(end_sentence(_(vote_summary.CANNOT_VOTE)))]
    yield [*paragraph(line, opens=True)]


def _list_names(cast: Iterable[Vote]) -> Iterator[Block]:
    """Those who voted, on one line."""
    for number, vote in enumerate(cast):
        if number:
            yield text(", ")
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


def end(card: Card, tally: VoteCount, ending: Ending, named: tuple[Vote, ...]) -> Iterator[Block]:
    """The ending in a few words, with the people of the votes in `named`, or the person who withdrew it."""
    found = vote_summary.get_verdict(card, tally)
    mark = "" if found is None else vote_summary.VERDICT_ICONS[found]
    yield from split_runs(
        f"{mark}{vote_summary.describe_result(card, tally, labelled=bool(named) and not card.is_call)}", strong=True
    )
    if ending.by is not None and found is None:
        yield from (text(_(" by ")), mention_person(ending.by))
    if named:
        lead = vote_summary.describe_named(card, tally)
        yield from (text(f"  ·  {lead}"), *_list_names(named))


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


def list_requesters(tally: VoteCount) -> Iterator[Block]:
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
