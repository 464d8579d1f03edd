"""Renders the votes on a card: the rule, the votes, and the people who have not voted."""

from __future__ import annotations

__all__ = ["build_votes", "end", "list_requesters", "open_decision"]

from collections.abc import Iterable, Iterator
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
from askback_discord import form_modal
from askback_discord.card_parts import Text, Unit, mention_everybody, plain, quote_answers, strong


def open_decision(card: Card, tally: VoteCount) -> Iterator[Unit]:
    """The votes and the rule, below the options of an open card."""
    is_plain = vote_summary.are_votes_plain(card, tally)
    can_edit = card.edited is None or form_modal.fits(card.edited)
    if not is_plain:
        yield from build_votes(tally)
    line: Unit = []
    so_far = vote_summary.describe_progress(card, tally)
    if so_far is not None:  # without votes, the card's head names all who are asked
        line.append(strong(so_far, opens=True))
        if is_plain:
            line += [Text(f"  ·  {vote_summary.VOTE_MARKS['approved']} "), *_list_names(tally.votes)]
        line += _build_missing(tally, tally.missing)
    line += [
        Text("-# ", before="\n", opens=not line),
        plain(vote_summary.describe_rule(card, tally, can_edit=can_edit)),
    ]
    if tally.requesters:
        line += [Text(" "), *list_requesters(tally), Text(end_sentence(_(vote_summary.CANNOT_VOTE)))]
    yield line


def end(card: Card, tally: VoteCount, ending: Ending, named: tuple[Vote, ...]) -> Iterator[Text]:
    """The ending in a few words, with the people of the votes in `named`, or the person who withdrew it."""
    found = vote_summary.get_verdict(card, tally)
    yield Text("" if found is None else vote_summary.VERDICT_ICONS[found], opens=True)
    yield strong(vote_summary.describe_result(card, tally, labelled=bool(named) and not card.is_call))
    if ending.by is not None and found is None:
        yield from (Text(_(" by ")), *mention_everybody([ending.by]))
    if named:
        yield from (Text(f"  ·  {vote_summary.describe_named(card, tally)}"), *_list_names(named))


def build_votes(tally: VoteCount) -> Iterator[Unit]:
    """Each vote with its option and its reason."""
    for number, vote in enumerate(tally.votes):
        yield [*_build_vote(tally, vote, opens=number == 0)]


def list_requesters(tally: VoteCount) -> Iterator[Text]:
    """The requesters."""
    shown, more = vote_summary.list_requesters(tally)
    yield from (Text(_(vote_summary.REQUESTED_BY)), *mention_everybody(shown))
    if more:
        yield Text(more)


def _list_names(cast: Iterable[Vote]) -> Iterator[Text]:
    """Those who voted, on one line."""
    yield from mention_everybody([vote.by for vote in cast])


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
