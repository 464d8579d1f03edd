"""The controls of a card: buttons, menus, checkboxes, and the navigation of a form."""

from __future__ import annotations

__all__ = ["are_buttons_enough", "are_controls_enough", "build_controls", "list_suggestions"]

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from askback.domain import vote_summary
from askback.domain.card import Card, Item
from askback.domain.card_labels import ANSWER_REST, EDIT, EVERYTHING, NOT_NOW, REMIND_ME, UNDO_VOTE, WITHDRAW
from askback.domain.option_rows import OptionRow, build_rows
from askback.domain.option_search import find_items
from askback.translations.catalogue import _
from askback.translations.sentences import group_digits
from askback_slack import control_ids, form_modal, limits
from askback_slack.blocks import Block, actions, button, context, option, plain, text_with_button
from askback_slack.escaping import fit_line, to_literal
from askback_slack.pickers import build_picker

BUTTONS = 11
"""Maximum number of buttons for a single choice, including "Something else…". More options become a menu."""
ROWS = 10
"""Maximum number of options that have a row each. More become a menu."""
SHORT = 40
"""Maximum length of such a button's label, in UTF-16 units."""
TOGETHER = 5
"""Maximum number of buttons of a decision that share one row."""
CHOSEN = "✓ "
"""Text in front of the label of the option that is chosen so far."""
LISTED = 10
"""Up to this many options of a menu are also listed above it, so that people see them without opening it."""
MENU_TEXT = 3_000
"""Characters that the texts of one menu share, since they count towards the message's limit."""


def build_controls(card: Card) -> list[Block]:
    """Return the rows of controls below the text."""
    match card.view:
        case "question":
            rows = _join_rows(card, [*_build_choices(card), *_build_ways(card)])
        case "review":
            rows = [[*_build_edit_buttons(card)], [*_build_navigation(card)]]
        case "ended":
            rows = [[*_build_details_button(card)]]
    made: list[Block] = []
    for number, row in enumerate((row for row in rows if row), 1):
        block_id = control_ids.build_block_id(card.ask_id, card.revision, number)
        if isinstance(row, dict):
            made.append({**row, "block_id": block_id})
        else:
            made.append(actions(block_id, row))
    return made


def _join_rows(card: Card, rows: list[Block | list[Block]]) -> list[Block | list[Block]]:
    """Return one row for a decision of several people, if it has few buttons. Colours tell apart its options."""
    buttons = [part for row in rows if isinstance(row, list) for part in row]
    is_short = card.tally is not None and are_buttons_enough(card) and len(buttons) <= TOGETHER
    return [buttons] if is_short else rows


def list_suggestions(card: Card, query: str) -> list[Block]:
    """Return the options of a searchable menu that match the query by number, label or description."""
    found = find_items(card.items, query)
    return [_build_entry(item, limits.OPTION_TEXT) for item in found[: limits.MENU_OPTIONS]]


def _build_choices(card: Card) -> Iterator[Block | list[Block]]:
    """The options, or the picker of people or channels."""
    if card.picks is not None:
        yield build_picker(card, card.picks, control_ids.to_action_id(_to_control(card, card.picks)))
    if not card.items:
        return
    if card.several:
        yield _build_multi_select(card)
    elif are_buttons_enough(card):
        yield [*_build_option_buttons(card, card.items)]
    elif rows := build_rows(card, ROWS):
        for row in rows:
            yield from _build_row(card, row)
        shown = {row.item.number for row in rows}
        others = [item for item in card.items if item.number not in shown]
        yield [*_build_option_buttons(card, others)]
    elif _fits_buttons(card):
        yield [*_build_option_buttons(card, card.items)]
    else:
        yield [_build_menu(card)]


def _build_ways(card: Card) -> Iterator[list[Block]]:
    """The buttons for a written answer, and those that lead on or out. _("Submit") is first, unless it ends a form."""
    text, navigation = [*_build_text_buttons(card)], [*_build_navigation(card)]
    submit = [] if card.position is not None else [*_build_submit(card)]
    yield [*submit, *text, *(one for one in navigation if one not in submit)]


def _fits_buttons(card: Card) -> bool:
    if len(card.items) + card.takes_text > BUTTONS:
        return False
    return all(limits.count_utf16_units(fit_line(item.label, limits.OPTION_TEXT)) <= SHORT for item in card.items)


def are_buttons_enough(card: Card) -> bool:
    """Return True if buttons show the whole of each option, so that the text need not list them."""
    return _fits_buttons(card) and card.is_plain_choice


def are_controls_enough(card: Card) -> bool:
    """Return True if an open card's controls show the whole of each option, so that the text need not list them."""
    if are_buttons_enough(card):
        return True
    if card.view != "question" or card.tally is not None:
        return False
    if build_rows(card, ROWS):
        return True
    # A menu has no descriptions. One that searches does not show more than a part of the chosen options.
    if not _are_boxes(card) and (
        len(card.items) <= LISTED or card.is_described or (card.several and len(card.items) > limits.MENU_OPTIONS)
    ):
        return False
    return card.has_line_options and all(_fits_entry(card, item) for item in card.items)


def _are_boxes(card: Card) -> bool:
    return card.several and len(card.items) <= limits.CHECKBOXES


def _fits_entry(card: Card, item: Item) -> bool:
    """Return True if an entry of the menu shows the whole of the option."""
    searched = len(card.items) > limits.MENU_OPTIONS
    width = limits.OPTION_TEXT if searched else _get_label_limit(len(card.items))
    label, description = item.numbered_label, item.description or ""
    return fit_line(label, width) == label and fit_line(description, limits.OPTION_TEXT) == description


def _build_option_buttons(card: Card, items: Iterable[Item]) -> Iterator[Block]:
    distinct = card.has_distinct_labels
    for item in items:
        yield _build_option_button(card, item, item.label if distinct else item.numbered_label)


def _build_row(card: Card, row: OptionRow) -> Iterator[Block | list[Block]]:
    made = _build_option_button(card, row.item, row.label)
    if row.title is None:
        yield [made]
        yield context(to_literal(row.body or ""))
    else:
        made["accessibility_label"] = fit_line(f"{row.label}: {row.item.label}", limits.BUTTON_TEXT)
        yield text_with_button(to_literal("\n".join(filter(None, (row.title, row.body)))), made)


def _build_option_button(card: Card, item: Item, label: str) -> Block:
    recommended = next((one.number for one in card.items if one.recommended), None)
    agreeing = vote_summary.get_agreeing_option(card)
    refuses = card.tally is not None and item.number - 1 in card.tally.refusing
    control = _to_control(card, "choose", item.number - 1)
    return button(
        f"{CHOSEN if item.chosen else ''}{label}",
        control,
        primary=item.number == (agreeing or recommended),
        danger=refuses,
    )


def _build_menu(card: Card) -> Block:
    """A menu for a single choice among many options, or among options with long labels."""
    action_id = control_ids.to_action_id(_to_control(card, "pick"))
    chosen = [item for item in card.items if item.chosen]
    if len(card.items) > limits.MENU_OPTIONS:
        made: Block = {"type": "external_select", "action_id": action_id, "min_query_length": 0}
        made["placeholder"] = plain(_("Search {count} answers…").format(count=group_digits(len(card.items))))
        width = limits.OPTION_TEXT
    else:
        width = _get_label_limit(len(card.items))
        made = {"type": "static_select", "action_id": action_id, "placeholder": plain(_("Choose an answer…"))}
        made["options"] = [_build_entry(item, width) for item in card.items]
    return {**made, "initial_option": _build_entry(chosen[0], width)} if chosen else made


def _build_multi_select(card: Card) -> Block:
    """Checkboxes for up to ten options, then a menu. If a menu cannot hold them all, it searches."""
    width = _get_label_limit(len(card.items))
    # If the boxes can show everything, they have the descriptions, and no text above repeats them.
    described = _are_boxes(card) and are_controls_enough(card)
    chosen_items = [item for item in card.items if item.chosen]
    options: list[JsonValue] = [_build_entry(item, width, described) for item in card.items[: limits.MENU_OPTIONS]]
    chosen: list[JsonValue] = [_build_entry(item, width, described) for item in chosen_items[: limits.MENU_OPTIONS]]
    made: Block = {"action_id": control_ids.to_action_id(_to_control(card, "tick"))}
    if chosen:
        made["initial_options"] = chosen
    if _are_boxes(card):
        return {"type": "actions", "elements": [{"type": "checkboxes", **made, "options": options}]}
    if len(card.items) <= limits.MENU_OPTIONS:
        made |= {"type": "multi_static_select", "options": options, "placeholder": plain(_("Choose answers…"))}
    else:
        search = plain(_("Search {count} answers…").format(count=group_digits(len(card.items))))
        made |= {"type": "multi_external_select", "min_query_length": 0, "placeholder": search}
    return {"type": "section", "text": plain(_get_placeholder(card)), "accessory": made}


def _get_placeholder(card: Card) -> str:
    chosen = sum(item.chosen for item in card.items)
    if chosen <= limits.MENU_OPTIONS:
        return _("Choose as many as you like:")
    return _("Choose as many as you like ({count} chosen; the menu shows the first {most}):").format(
        count=group_digits(chosen), most=limits.MENU_OPTIONS
    )


def _get_label_limit(options: int) -> int:
    """Return the maximum length of a menu entry. The more options, the shorter."""
    return max(24, min(limits.OPTION_TEXT, MENU_TEXT // min(options, limits.MENU_OPTIONS)))


def _build_entry(item: Item, width: int, described: bool = False) -> Block:
    description = item.description or None
    return option(fit_line(item.numbered_label, width), item.number - 1, description if described else None)


def _build_text_buttons(card: Card) -> Iterator[Block]:
    if card.file_rules is not None:
        yield button(card.choose_label, _to_control(card, "files"), primary=not card.files)
    if card.takes_text:
        yield _write_button(card)
    if card.has_text:
        yield button(_("Remove text"), _to_control(card, "erase"))


def _write_button(card: Card) -> Block:
    return button(card.write_label, _to_control(card, "write"), primary=card.asks_for_text and card.written is None)


def _build_submit(card: Card) -> Iterator[Block]:
    if card.can_submit:
        yield button(_("Submit"), _to_control(card, "submit"), primary=True)


def _build_navigation(card: Card) -> Iterator[Block]:
    yield from _build_submit(card)
    if card.next_missing is not None:
        yield button(_(ANSWER_REST), _to_control(card, "goto", card.next_missing), primary=True)
    if card.can_go_back:
        yield button(_("Back"), _to_control(card, "back"))
    if card.can_go_on:
        yield button(_("Next"), _to_control(card, "next"), primary=card.is_answered or card.several)
    together = card.together if card.together is not None and form_modal.fits(card.together) else None
    if together is not None:
        yield button(together.label, _to_control(card, "form"))
    elif card.can_review:  # fields would show all answers, too
        yield button(_("Review"), _to_control(card, "review"))
    yield from _build_details_button(card)
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


def _build_details_button(card: Card) -> Iterator[Block]:
    if card.is_folded(buttons_enough=are_buttons_enough(card)):
        yield button(card.show_label, _to_control(card, "look"))
    elif card.ending is None and (card.details is not None or card.hides_text):
        yield button(_(EVERYTHING), _to_control(card, "look"))


def _build_edit_buttons(card: Card) -> Iterator[Block]:
    for line in card.lines:
        # "Answer the rest" leads to the others.
        if line.missing is None:
            yield button(_("Edit {question}").format(question=line.header), _to_control(card, "goto", line.index))


def _to_control(card: Card, kind: control_ids.Kind, arg: int | None = None) -> control_ids.Control:
    return control_ids.Control(kind=kind, ask_id=card.ask_id, step=card.step, arg=arg)
