"""Describes the state of a vote, in words that all platforms share. No I/O.

The texts shorten labels, because the card's options show them in full.
"""

from __future__ import annotations

__all__ = [
    "CANNOT_VOTE",
    "MISSING",
    "OPEN_TO",
    "REQUESTED_BY",
    "REST",
    "VERDICT_ICONS",
    "VOTE_MARKS",
    "Verdict",
    "are_all_named",
    "are_votes_plain",
    "describe_crowd",
    "describe_named",
    "describe_progress",
    "describe_result",
    "describe_rule",
    "get_agreeing_option",
    "get_option_verdict",
    "get_verdict",
    "list_named_votes",
    "list_requesters",
]

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from askback.domain.card import LONGEST_NAMED, Card
from askback.domain.identity import Actor
from askback.domain.outcome import Vote
from askback.domain.voting import VoteCount
from askback.domain.who import OpenTo, Who
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _, ngettext

Verdict = Literal["approved", "refused", "decided"]
"""The result of a vote. "decided" means that an option won that is neither a "yes" nor a "no"."""

VERDICT_ICONS: Final[dict[Verdict, str]] = {"approved": "✅ ", "refused": "⛔ ", "decided": ""}
"""Icons in front of the result."""
VOTE_MARKS: Final[dict[Verdict, str]] = {"approved": "✓", "refused": "✗", "decided": "•"}
"""Marks in front of votes."""

REQUESTED_BY = N_("Requested by ")
"""Text in front of the requesters' names."""
CANNOT_VOTE = N_(" (cannot vote)")
"""Text after the requesters' names, while people decide."""
MISSING = N_("Not yet: ")
"""Text in front of the names of missing people and groups."""


OPEN_TO: Final[Mapping[OpenTo, str]] = {
    "participants": N_("anyone in this thread"),
    "allowed": N_("anyone here"),
}
"""Words for further people who may answer, in addition to the named ones."""
REST = N_("the rest of {group}")
"""Words for a group of which some members have voted."""
REQUESTERS = 6
"""Maximum number of requesters that the card names. It only counts the rest."""
LISTED = 10
"""Maximum number of people that one line of the card names. It counts more who have not voted, because it names all who
are asked anyway. More votes get a line each."""


def are_votes_plain(card: Card, tally: VoteCount) -> bool:
    """Return True if all votes are for the only "yes" option and have no reason, so that names alone say it all."""
    agreeing = get_agreeing_option(card)
    if agreeing is None or len(tally.votes) > LISTED:
        return False
    return all(vote.choice.index == agreeing - 1 and vote.reason is None for vote in tally.votes)


def are_all_named(card: Card, tally: VoteCount) -> bool:
    """Return True if the votes and the people who are missing name everybody who is asked."""
    if not tally.votes or card.ending is not None or card.who.anyone or card.who.open_to is not None:
        return False
    return tally.missing is None or describe_crowd(tally.missing) is None


def list_named_votes(card: Card, tally: VoteCount) -> tuple[Vote, ...]:
    """Return all votes, if the first line of the settled card says by names alone who decided; else ().

    All must be for the result. Only a single vote may have a reason, which is quoted below that line. Denials are
    listed, so that each has its option.
    """
    found = get_verdict(card, tally)
    if found is None:
        return tally.votes if are_votes_plain(card, tally) else ()
    if found == "refused":
        return ()
    if len(tally.votes) > LISTED or (len(tally.votes) > 1 and any(vote.reason is not None for vote in tally.votes)):
        return ()
    chosen = {item.number - 1 for item in card.items if item.chosen}
    return tally.votes if all(vote.choice.index in chosen for vote in tally.votes) else ()


def describe_named(card: Card, tally: VoteCount) -> str:
    """Return the text in front of the names of those who decided, such as "2 of 2: "; empty if one was enough.

    Without a decision, it is the mark of those who agreed.
    """
    if get_verdict(card, tally) is None:
        return f"{VOTE_MARKS['approved']} "
    if tally.quorum == 1:
        return ""
    return _("{count} of {needed}: ").format(count=len(tally.votes), needed=tally.quorum)


def get_agreeing_option(card: Card) -> int | None:
    """Return the number of the only "yes" option, wider ones excluded. None if there are several or none."""
    options = () if card.tally is None else _remove_covered(card.tally, card.tally.approving)
    return options[0] + 1 if len(options) == 1 else None


def describe_crowd(who: Who) -> str | None:
    """Return the number of missing people in words, if they are too many to be named."""
    count = len(who.people)
    return _("{count} people").format(count=count) if count > LISTED and not who.anyone else None


def list_requesters(tally: VoteCount) -> tuple[tuple[Actor, ...], str]:
    """Return the requesters to name, and the text after their names that counts the others."""
    shown = tally.requesters if len(tally.requesters) <= REQUESTERS else tally.requesters[: REQUESTERS - 1]
    more = len(tally.requesters) - len(shown)
    return shown, _(" and {count} more").format(count=more) if more else ""


def describe_rule(card: Card, tally: VoteCount, *, can_edit: bool = True) -> str:
    """Return the rule of the decision, such as "Needs 2 approvals. One denial stops it. “No” needs a reason.".

    `can_edit` is False if the arguments that people may change do not fit into a modal of the platform.
    """
    quorum, refusals = tally.quorum, tally.refusals
    if len(_list_positive(card, tally)) == 1:
        rule = ngettext("Needs {count} approval.", "Needs {count} approvals.", quorum).format(count=quorum)
    elif quorum == 1:
        rule = _("Needs 1 vote.")
    else:
        rule = _("Needs {count} votes for the same option.").format(count=quorum)
    sentences = [rule]
    if tally.wider and quorum > 1:
        wider = _format_labels(card, (wider for wider, _narrower in tally.wider))
        sentences.append(_("{option} applies if {count} choose it.").format(option=wider, count=quorum))
    if len(tally.refusing) == 1:
        stops = ngettext("One denial stops it.", "{count} denials stop it.", refusals)
        sentences.append(stops.format(count=refusals))
    elif tally.refusing:
        stops = ngettext("One {options} stops it.", "{count} {options} stop it.", refusals)
        sentences.append(stops.format(count=refusals, options=_format_labels(card, tally.refusing)))
    if tally.reasons and len(tally.reasons) == len(card.items):
        sentences.append(_("Every choice needs a reason."))
    elif tally.reasons:
        sentences.append(_("{options} needs a reason.").format(options=_format_labels(card, tally.reasons)))
    if tally.needs_others:
        sentences.append(_("Whoever changed the arguments cannot approve them alone."))
    if card.edit_problem is not None:
        sentences.append(card.edit_problem)
    elif not can_edit:
        sentences.append(_("Nobody can change the arguments here, because they do not fit into one window."))
    return " ".join(sentences)


def describe_progress(card: Card, tally: VoteCount) -> str | None:
    """Return the progress: "1 of 2 agree", or "1 of 2 agreed" once it has ended. None before the first vote."""
    if not tally.votes:
        return None
    others = _list_positive(card, tally)
    if len(others) == 1:
        count = tally.list_votes_for(*others)
        agree = _("{count} of {needed} agree") if card.ending is None else _("{count} of {needed} agreed")
        votes = [agree.format(count=count, needed=tally.quorum)]
    else:
        votes = [
            _format_count(tally.list_votes_for(index), tally.quorum, _format_labels(card, (index,)))
            for index in others
            if tally.list_votes_for(index)
        ]
    against = tally.list_votes_for(*tally.refusing)
    if against:
        votes.append(_format_count(against, tally.refusals, _format_labels(card, tally.refusing)))
    return ", ".join(votes)


def _format_count(count: int, needed: int, options: str) -> str:
    return _("{count} of {needed} {options}").format(count=count, needed=needed, options=options)


def get_option_verdict(tally: VoteCount, index: int) -> Verdict:
    """Return the kind of decision that choosing this option leads to."""
    return "refused" if index in tally.refusing else "approved" if index in tally.approving else "decided"


def get_verdict(card: Card, tally: VoteCount) -> Verdict | None:
    """Return the decision. None if there is none, or none yet."""
    if card.ending is None or card.ending.status != "answered":
        return None
    return next((get_option_verdict(tally, item.number - 1) for item in card.items if item.chosen), None)


def describe_result(card: Card, tally: VoteCount, *, labelled: bool = False) -> str:
    """Return the result in a few words without a full stop. `labelled` names the option also if it is the only one."""
    result = _describe_result(card, tally, labelled=labelled)
    is_revoked = card.ending is not None and card.ending.revoked is not None
    return _("{result} (revoked)").format(result=result) if is_revoked else result


def _describe_result(card: Card, tally: VoteCount, *, labelled: bool) -> str:
    found = get_verdict(card, tally)
    if found is not None:
        word = {
            "approved": _("Approved with changes") if card.changes else _("Approved"),
            "refused": _("Refused"),
            "decided": _("Decided"),
        }[found]
        chosen = tuple(item.number - 1 for item in card.items if item.chosen)
        possible = {"approved": _remove_covered(tally, tally.approving), "refused": tally.refusing, "decided": ()}[
            found
        ]
        sentence = word if possible == chosen and not labelled else f"{word}: {_format_labels(card, chosen)}"
        beyond = [wider for wider, narrower in tally.wider if narrower in chosen and tally.list_votes_for(wider)]
        if not beyond:
            return sentence
        return _("{result}, but not {options}").format(result=sentence, options=_format_labels(card, beyond))
    status = None if card.ending is None else card.ending.status
    so_far = describe_progress(card, tally)
    match status:
        case "timed_out":
            # A vote never has a default, so all that can follow is that the work stops.
            stops = card.ending is not None and card.ending.consequence is not None
            if so_far is None:
                return _("Not decided in time; the work stops") if stops else _("Not decided in time")
            words = _("Not decided in time: {votes}; the work stops") if stops else _("Not decided in time: {votes}")
            return words.format(votes=so_far)
        case "cancelled":
            return _("Withdrawn")
        case "undeliverable":
            return _("Not delivered")
        case _:
            return _("Not decided")


def _list_positive(card: Card, tally: VoteCount) -> tuple[int, ...]:
    """Return the options that are not a "no", without those whose votes count for another one of these."""
    return _remove_covered(tally, (item.number - 1 for item in card.items if item.number - 1 not in tally.refusing))


def _remove_covered(tally: VoteCount, indexes: Iterable[int]) -> tuple[int, ...]:
    wider = {index for index, _narrower in tally.wider}
    return tuple(index for index in indexes if index not in wider)


def _format_labels(card: Card, indexes: Iterable[int]) -> str:
    return _(" or ").join(quote_line(card.items[index].label, LONGEST_NAMED) for index in indexes)
