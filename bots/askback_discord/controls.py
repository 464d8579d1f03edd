"""The controls of a card: buttons, menus, and the navigation of a form."""

from __future__ import annotations

__all__ = ["SEARCH", "are_buttons_enough", "are_controls_enough", "build_controls", "build_items_menu", "split_menu"]

from collections.abc import Iterable, Iterator, Sequence

from askback.domain import vote_summary
from askback.domain.card import Card, Item
from askback.domain.card_labels import ANSWER_REST, EDIT, EVERYTHING, NOT_NOW, REMIND_ME, UNDO_VOTE, WITHDRAW
from askback.domain.option_rows import OptionRow, build_rows
from askback.text.literal import count_utf16_units
from askback.translations.catalogue import N_, _
from askback.translations.sentences import group_digits
from askback_discord import control_ids, form_modal, limits
from askback_discord.components import Component, Style, button, display, menu, option, row, text_with_button
from askback_discord.escaping import bold, fit_line, plain
from askback_discord.pickers import build_picker

BUTTONS = 11
"""Maximum number of buttons for a single choice, including "Something else…". More options become a menu."""
ROWS = 7
"""Maximum number of options that have a row each. More become a menu. Each takes three of a message's components."""
ROWS_WEIGHT = 4_500
"""Bytes that the rows may take, since they count towards the message's limit."""
SHORT = 38
"""Maximum length of such a button's label, in UTF-16 units. Discord shows no more of a label."""
EDITS = 5
"""Maximum number of questions of a review that get a button each. More become a menu."""
CHOSEN = "✓ "
"""Text in front of the label of the option that is chosen so far."""
LISTED = 10
"""Up to this many options of a menu are also listed above it, so that people see them without opening it."""
SEARCH = N_("Search…")
"""Label of the button that opens the field to search the options."""
MENU_WEIGHT = 4_500
"""Bytes that the entries of a menu may take, since they count towards the message's limit."""


def split_menu(card: Card) -> int:
    """Return the number of pages of a card's menu, or 0 if it has none."""
    if card.view != "question" or not card.items or _fits_buttons(card) or _list_rows(card):
        return 0
    return -(-len(card.items) // limits.MENU_OPTIONS)


def build_controls(card: Card, page: int | None = None) -> list[Component]:
    """Return the rows of controls below the text.

    `page` is the page of a long menu; None means the page with the first chosen option.
    """
    match card.view:
        case "question":
            options = _list_rows(card)
            below = _join_rows(card, [*_build_choices(card, page, options), *_build_ways(card)])
            return [*_build_rows(card, options), *(row(parts) for parts in below if parts)]
        case "review":
            below = [*_build_navigation(card), *_build_details_button(card)]
            rows = [[*_build_edit_buttons(card)], *_split(below)]
        case "ended":
            rows = [[*_build_details_button(card)]]
    return [row(parts) for parts in rows if parts]


def _join_rows(card: Card, rows: list[list[Component]]) -> list[list[Component]]:
    """Return one row for a decision of several people, if it holds all buttons. Colours tell apart its options."""
    buttons = [part for one in rows for part in one]
    is_short = card.tally is not None and are_buttons_enough(card) and len(buttons) <= limits.ROW_BUTTONS
    return [buttons] if is_short else rows


def _build_choices(card: Card, page: int | None, rows: Iterable[OptionRow]) -> Iterator[list[Component]]:
    """The options without a row, or the picker of people or channels."""
    if card.picks is not None:
        yield [build_picker(card, card.picks, _to_control(card, card.picks))]
    pages = split_menu(card)
    if pages:
        page = _get_page(card, pages, page)
        yield [_build_menu(card, page, pages)]
        if pages > 1:
            yield [*_build_paging(card, page, pages)]
    else:
        shown = {one.item.number for one in rows}
        others = [item for item in card.items if item.number not in shown]
        yield from _split([*_build_option_buttons(card, others)])


def _build_ways(card: Card) -> Iterator[list[Component]]:
    """The buttons for a written answer, and those that lead on or out: one row if it holds them."""
    text, navigation = [*_build_text_buttons(card)], [*_build_details_button(card), *_build_navigation(card)]
    if card.position is not None:
        together = len(text) + len(navigation) <= limits.ROW_BUTTONS
        yield from _split([*text, *navigation]) if together else (text, *_split(navigation))
    else:
        submit = [*_build_submit(card)]
        yield from _split([*submit, *text, *(one for one in navigation if one not in submit)])


def _split(buttons: list[Component]) -> Iterator[list[Component]]:
    """Split buttons into rows."""
    for at in range(0, len(buttons), limits.ROW_BUTTONS):
        yield buttons[at : at + limits.ROW_BUTTONS]


def _list_rows(card: Card) -> tuple[OptionRow, ...]:
    """Return the rows of options, or () if rows do not suit them, or if they would take too much of the message."""
    rows = () if are_buttons_enough(card) else build_rows(card, ROWS)
    return rows if limits.measure([*_build_rows(card, rows)]) <= ROWS_WEIGHT else ()


def _build_rows(card: Card, rows: Iterable[OptionRow]) -> list[Component]:
    made: list[Component] = []
    for one in rows:
        part = _build_option_button(card, one.item, one.label)
        body = None if one.body is None else plain(one.body)
        if one.title is None:
            made += [row([part]), display(f"-# {body or ''}")]
        else:
            # A long label alone is the text of the row; bold, it would outweigh the question.
            words = plain(one.title) if body is None else f"{bold(one.title)}\n{body}"
            made.append(text_with_button(words, part))
    return made


def _fits_buttons(card: Card) -> bool:
    if card.several or len(card.items) + card.takes_text > BUTTONS:
        return False
    return all(count_utf16_units(fit_line(item.label, limits.BUTTON_LABEL)) <= SHORT for item in card.items)


def are_buttons_enough(card: Card) -> bool:
    """Return True if buttons show the whole of each option, so that the text need not list them."""
    if not _fits_buttons(card) or not card.is_plain_choice:
        return False
    return all(len(CHOSEN) + count_utf16_units(item.label) <= SHORT for item in card.items)


def are_controls_enough(card: Card) -> bool:
    """Return True if an open card's controls show the whole of each option, so that the text need not list them."""
    if are_buttons_enough(card) or _list_rows(card):
        return True
    # A menu of several pages shows only one of them.
    if card.tally is not None or split_menu(card) != 1 or len(card.items) <= LISTED:
        return False
    if card.is_described or not card.has_line_options:
        return False
    entries = _build_entries(card.items, marked=False)
    return [entry["label"] for entry in entries] == [item.numbered_label for item in card.items]


def _build_option_buttons(card: Card, items: Iterable[Item]) -> Iterator[Component]:
    distinct = card.has_distinct_labels
    for item in items:
        yield _build_option_button(card, item, item.label if distinct else item.numbered_label)


def _build_option_button(card: Card, item: Item, label: str) -> Component:
    recommended = next((one.number for one in card.items if one.recommended), None)
    style: Style = "primary" if item.number == recommended else "secondary"
    if card.tally is not None and item.number - 1 in card.tally.refusing:
        style = "danger"
    elif item.number == vote_summary.get_agreeing_option(card):
        style = "success"
    return button(f"{CHOSEN if item.chosen else ''}{label}", _to_control(card, "choose", item.number - 1), style)


def _get_page(card: Card, pages: int, page: int | None) -> int:
    """Return the page to show: the requested page, or the one with the first chosen option."""
    if page is None:
        first = next((item.number - 1 for item in card.items if item.chosen), 0)
        page = first // limits.MENU_OPTIONS
    return min(max(page, 0), pages - 1)


def _build_menu(card: Card, page: int, pages: int) -> Component:
    """One page of the menu with the options."""
    start = page * limits.MENU_OPTIONS
    items = card.items[start : start + limits.MENU_OPTIONS]
    what = _("Choose as many as you like…") if card.several else _("Choose an answer…")
    if pages > 1:
        what = _("{title} ({first}–{last} of {count})").format(
            title=what,
            first=group_digits(items[0].number),
            last=group_digits(items[-1].number),
            count=group_digits(len(card.items)),
        )
    # Discord sends nothing if a person chooses the option that a menu of one already shows. So mark the chosen option
    # only if the person has another way to continue.
    return build_items_menu(card, items, what, page, marked=card.several or card.can_go_on)


def build_items_menu(card: Card, items: Sequence[Item], placeholder: str, drawing: int, *, marked: bool) -> Component:
    """Return a menu of some options of the card. `drawing` tells apart the menus that were drawn in one revision."""
    control = _to_control(card, "tick" if card.several else "pick", drawing)
    return menu(control, _build_entries(items, marked=marked), placeholder, several=card.several)


def _build_entries(items: Sequence[Item], *, marked: bool) -> list[Component]:
    """Return entries with as much of each label and description as fits into the menu's bytes."""
    made: list[Component] = []
    for label, description in ((100, 100), (100, 75), (100, 50), (100, 0), (75, 0), (50, 0), (36, 0), (24, 0)):
        made = [
            option(
                fit_line(item.numbered_label, label),
                item.number - 1,
                description=fit_line(item.description, description) if item.description and description else None,
                chosen=marked and item.chosen,
            )
            for item in items
        ]
        if limits.measure(made) <= MENU_WEIGHT:
            break
    return made


def _build_paging(card: Card, page: int, pages: int) -> Iterator[Component]:
    """The buttons for the previous and the next page. At either end, the button remains but is disabled."""
    before = page - 1 if page > 0 else pages
    after = page + 1 if page < pages - 1 else pages
    yield button("◀", _to_control(card, "page", before), disabled=before == pages)
    yield button(
        _("Page {number} of {count}").format(number=page + 1, count=pages),
        _to_control(card, "page", page),
        disabled=True,
    )
    yield button("▶", _to_control(card, "page", after), disabled=after == pages)
    yield button(_(SEARCH), _to_control(card, "search"))


def _build_text_buttons(card: Card) -> Iterator[Component]:
    if card.file_rules is not None:
        yield button(card.choose_label, _to_control(card, "files"), "secondary" if card.files else "primary")
    if card.takes_text:
        yield _write_button(card)
    if card.has_text:
        yield button(_("Remove text"), _to_control(card, "erase"))


def _write_button(card: Card) -> Component:
    first = card.asks_for_text and card.written is None
    return button(card.write_label, _to_control(card, "write"), "primary" if first else "secondary")


def _build_submit(card: Card) -> Iterator[Component]:
    if card.can_submit:
        yield button(_("Submit"), _to_control(card, "submit"), "success")


def _build_navigation(card: Card) -> Iterator[Component]:
    yield from _build_submit(card)
    if card.next_missing is not None:
        yield button(_(ANSWER_REST), _to_control(card, "goto", card.next_missing), "primary")
    if card.can_go_back:
        yield button(_("Back"), _to_control(card, "back"))
    if card.can_go_on:
        goes_on = card.is_answered or card.several
        yield button(_("Next"), _to_control(card, "next"), "primary" if goes_on else "secondary")
    together = card.together if card.together is not None and form_modal.fits(card.together) else None
    if together is not None:
        yield button(together.label, _to_control(card, "form"))
    elif card.can_review:  # fields would show all answers, too
        yield button(_("Review"), _to_control(card, "review"))
    if card.edited is not None and form_modal.fits(card.edited):
        yield button(_(EDIT), _to_control(card, "edit"))
    if card.can_decline:
        yield button(_(NOT_NOW), _to_control(card, "postpone"))
    if card.can_remind:
        yield button(_(REMIND_ME), _to_control(card, "postpone"))
    if card.can_undo:
        yield button(_(UNDO_VOTE), _to_control(card, "undo"))
    if card.can_withdraw:
        yield button(_(WITHDRAW), _to_control(card, "cancel"))


def _build_details_button(card: Card) -> Iterator[Component]:
    if card.is_folded(buttons_enough=are_buttons_enough(card)):
        yield button(card.show_label, _to_control(card, "look"))
    elif card.ending is None and (card.details is not None or card.hides_text):
        yield button(_(EVERYTHING), _to_control(card, "look"))


def _build_edit_buttons(card: Card) -> Iterator[Component]:
    if len(card.lines) > EDITS:
        entries = [
            option(fit_line(_format_numbered(number, line.header), limits.OPTION_TEXT), line.index)
            for number, line in enumerate(card.lines, 1)
        ]
        yield menu(_to_control(card, "goto"), entries, _("Edit an answer…"))
        return
    for line in card.lines:
        # "Answer the rest" leads to the others.
        if line.missing is None:
            yield button(_("Edit {question}").format(question=line.header), _to_control(card, "goto", line.index))


def _format_numbered(number: int, header: str) -> str:
    return header if header == f"Q{number}" else f"{number}. {header}"


def _to_control(card: Card, kind: control_ids.Kind, arg: int | None = None) -> control_ids.Control:
    return control_ids.Control(kind=kind, ask_id=card.ask_id, step=card.step, revision=card.revision, arg=arg)
