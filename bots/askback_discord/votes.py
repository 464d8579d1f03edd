"""Renders the votes on a card: the rule, the votes, and the people who have not voted."""

from __future__ import annotations

__all__ = ["build_decision"]

from collections.abc import Iterator
from dataclasses import replace

from askback.domain import vote_summary
from askback.domain.card import LONGEST_NAMED, Card
from askback.domain.card_ending import Ending
from askback.domain.outcome import Vote
from askback.domain.voting import VoteCount
from askback.domain.who import Who
from askback.text.literal import fit_line
from askback.translations.catalogue import _
from askback.translations.sentences import end_sentence
from askback_discord.card_parts import Text, Unit, mention_everybody, plain, quote_answers, strong
from askback_discord.components import format_time


def build_decision(card: Card, tally: VoteCount) -> Iterator[Unit]:
    """The text below the options: the rule or the ending, the votes, and who is missing."""
    head = _build_missing_votes(card, tally) if card.ending is None else _build_decision(card, tally, card.ending)
    yield [*head, *_build_requesters(tally, over=card.ending is not None)]
    so_far = vote_summary.describe_progress(card, tally)
    if so_far is None:
        return  # without votes, the card's head names all who are asked
    # Only an open card has buttons that name the option. A settled one is the record of each vote.
    if card.ending is None and vote_summary.are_votes_plain(card, tally):
        names = [Text("  ·  "), *_build_names(tally)]
        yield [strong(so_far, opens=True), *names, *_build_missing(tally, tally.missing)]
        return
    for number, vote in enumerate(tally.votes):
        yield [*_build_vote(tally, vote, opens=number == 0)]
    if card.ending is None:
        yield [strong(so_far, opens=True), *_build_missing(tally, tally.missing)]


def _build_missing_votes(card: Card, tally: VoteCount) -> Iterator[Text]:
    yield Text("-# ", opens=True)
    yield plain(vote_summary.describe_rule(card, tally))


def _build_decision(card: Card, tally: VoteCount, ending: Ending) -> Iterator[Text]:
    found = vote_summary.get_verdict(card, tally)
    mark = "" if found is None else vote_summary.VERDICT_ICONS[found]
    if mark:
        yield Text(mark, opens=True)
    yield strong(vote_summary.describe_result(card, tally), opens=not mark)
    if ending.by is not None and ending.status != "answered":
        yield Text(_(" by "))
        yield from mention_everybody([ending.by])
    yield Text(f"  ·  {format_time(ending.at, 'f')}")
    if ending.status != "answered" and ending.reason is not None and ending.reason.strip():
        yield from quote_answers([ending.reason])


def _build_requesters(tally: VoteCount, *, over: bool) -> Iterator[Text]:
    """The requesters, if they may not decide."""
    if tally.requesters:
        yield Text(f"-# {_(vote_summary.REQUESTED_BY)}", before="\n")
        shown, more = vote_summary.list_requesters(tally)
        yield from mention_everybody(shown)
        if more:
            yield Text(more)
        if not over:
            yield Text(end_sentence(_(vote_summary.CANNOT_VOTE)))


def _build_names(tally: VoteCount) -> Iterator[Text]:
    """Those who agree, on one line."""
    yield Text(f"{vote_summary.VOTE_MARKS['approved']} ")
    yield from mention_everybody([vote.by for vote in tally.votes])


def _build_vote(tally: VoteCount, vote: Vote, *, opens: bool) -> Iterator[Text]:
    yield Text(
        f"{vote_summary.VOTE_MARKS[vote_summary.get_option_verdict(tally, vote.choice.index)]}  ",
        before="\n",
        opens=opens,
    )
    yield from mention_everybody([vote.by])
    yield Text("  ")
    yield strong(fit_line(vote.choice.label, LONGEST_NAMED))
    if vote.reason is not None:
        yield from quote_answers([vote.reason])


def _build_missing(tally: VoteCount, who: Who | None) -> Iterator[Text]:
    if who is None:
        return
    yield Text(f"  ·  {_(vote_summary.MISSING)}")
    crowd = vote_summary.describe_crowd(who)
    if who.anyone:
        yield Text(_("anyone here"))
        return
    people = mention_everybody(who.people) if crowd is None else [Text(crowd)]
    groups = [_mention_group(group, begun=group in tally.begun) for group in who.groups]
    for number, some in enumerate([*([one] for one in people), *groups]):
        yield replace(some[0], before=", " if number else "")
        yield from some[1:]


def _mention_group(group: str, *, begun: bool) -> list[Text]:
    """A mention of a role, or of its members who have not voted."""
    mention = [*mention_everybody(groups=[group])]
    if not begun:
        return mention
    before, _name, after = _(vote_summary.REST).partition("{group}")
    return [*map(Text, filter(None, [before])), *mention, *map(Text, filter(None, [after]))]
