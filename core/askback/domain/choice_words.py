"""The sentences about what to choose: options, people or channels. Each kind has its own, for other languages."""

from __future__ import annotations

__all__ = [
    "NOT_PICKED",
    "SOMETHING_ELSE",
    "Picks",
    "describe_count",
    "describe_least",
    "describe_mention",
    "describe_number",
    "describe_text_refusal",
    "describe_too_many",
]

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from askback.translations.catalogue import N_, _, ngettext

Picks: TypeAlias = Literal["people", "channels"]
"""The kind of things that people pick from the platform's own list, instead of from options."""
SOMETHING_ELSE = N_("Something else…")
"""Label of the option or the button for an answer in a person's own words."""
NOT_PICKED: Final[Mapping[str, str]] = {
    "people": N_("That is not a person who can be chosen here. Please choose somebody else."),
    "channels": N_("That is not a channel that can be chosen here. Please choose another one."),
}
"""Text for a click that picks something else, such as a bot; by what the question asks for."""


def describe_number(picks: Picks | None, *, several: bool) -> str:
    """Return how many to choose without a rule, such as "choose an option"."""
    match picks:
        case "people":
            return _("choose people") if several else _("choose a person")
        case "channels":
            return _("choose channels") if several else _("choose a channel")
        case None:
            return _("choose any number of options") if several else _("choose an option")


def describe_least(picks: Picks | None) -> str:
    """Return "choose at least one option", or the same for people or channels."""
    match picks:
        case "people":
            return _("choose at least one person")
        case "channels":
            return _("choose at least one channel")
        case None:
            return _("choose at least one option")


def describe_count(picks: Picks | None, least: int, most: int | None) -> str:
    """Return a rule such as "choose at least 2 options"; `most` is None for any larger number."""
    if most is None:
        return _describe_at_least(picks, least)
    if least == most:
        return _describe_exactly(picks, most)
    match picks:
        case "people":
            words = _("choose {least} to {most} people")
        case "channels":
            words = _("choose {least} to {most} channels")
        case None:
            words = _("choose {least} to {most} options")
    return words.format(least=least, most=most)


def _describe_at_least(picks: Picks | None, least: int) -> str:
    match picks:
        case "people":
            words = ngettext("choose at least {count} person", "choose at least {count} people", least)
        case "channels":
            words = ngettext("choose at least {count} channel", "choose at least {count} channels", least)
        case None:
            words = ngettext("choose at least {count} option", "choose at least {count} options", least)
    return words.format(count=least)


def _describe_exactly(picks: Picks | None, number: int) -> str:
    match picks:
        case "people":
            words = ngettext("choose exactly {count} person", "choose exactly {count} people", number)
        case "channels":
            words = ngettext("choose exactly {count} channel", "choose exactly {count} channels", number)
        case None:
            words = ngettext("choose exactly {count} option", "choose exactly {count} options", number)
    return words.format(count=number)


def describe_too_many(picks: Picks | None, most: int) -> str:
    """Return the sentence for a person whose answer would hold more people or channels than one can."""
    if picks == "channels":
        words = _("One answer holds at most {count} channels. Please remove some first.")
    else:
        words = _("One answer holds at most {count} people. Please remove some first.")
    return words.format(count=most)


def describe_text_refusal(picks: Picks | None, *, several: bool) -> str:
    """Return the sentence for a person who wrote, where only a choice is an answer."""
    match picks:
        case "people" if several:
            return _("Please choose people on the card: this question takes no written answer.")
        case "people":
            return _("Please choose a person on the card: this question takes no written answer.")
        case "channels" if several:
            return _("Please choose channels on the card: this question takes no written answer.")
        case "channels":
            return _("Please choose a channel on the card: this question takes no written answer.")
        case None:
            return _("Please choose one of the options: this question takes no written answer.")


def describe_mention(picks: Picks, *, several: bool) -> str:
    """Return how to answer with a message. The sentence has a place for the question: `{question}`."""
    if picks == "people":
        if several:
            return _("To answer {question}, use its card, or write a message that only mentions the people.")
        return _("To answer {question}, use its card, or write a message that only mentions the person.")
    if several:
        return _("To answer {question}, use its card, or write a message that only mentions the channels.")
    return _("To answer {question}, use its card, or write a message that only mentions the channel.")
