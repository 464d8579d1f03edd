"""Menus of several pages on Discord."""

from __future__ import annotations

import pytest

from askback.domain.actions import Select
from askback_discord import control_ids
from support.discord_cards import ASK, control, displays, do, elements, interview, labels, menus, options, question
from unit.discord.drawn_cards import chosen, shown, values


@pytest.mark.parametrize("several", [False, True])
def test_a_menu_of_sixty_options_has_three_pages(several: bool) -> None:
    at = interview(question(options=options(60), multi_select=several))
    everything: list[str] = []
    for page, size in enumerate([25, 25, 10]):
        made = shown(at, page)
        (menu,) = menus(made)
        everything += values(menu)
        assert len(menu["options"]) == size
        assert (control(menu).arg, menu["max_values"]) == (page, size if several else 1)
        assert labels(made)[:3] == ["◀", f"Page {page + 1} of 3", "▶"]
        before, here, after = elements(made)[1:4]
        assert here["disabled"]
        assert before.get("disabled", False) == (page == 0)
        assert after.get("disabled", False) == (page == 2)
        assert page == 0 or control(before) == control_ids.Control(kind="page", ask_id=ASK, step=0, arg=page - 1)
        assert page == 2 or control(after) == control_ids.Control(kind="page", ask_id=ASK, step=0, arg=page + 1)
        assert "Something else…" in labels(made)
    assert everything == [str(n) for n in range(60)]
    assert "(26–50 of 60)" in menus(shown(at, 1))[0]["placeholder"]


def test_the_page_with_the_first_chosen_option_is_shown() -> None:
    at = interview(question(options=options(60), multi_select=True))
    assert control(menus(shown(at))[0]).arg == 0
    at = do(at, Select(chosen=(30, 59)))
    (menu,) = menus(shown(at))
    assert (control(menu).arg, chosen(menu)) == (1, ["30"])
    assert chosen(menus(shown(at, 2))[0]) == ["59"]
    assert chosen(menus(shown(at, 0))[0]) == []


@pytest.mark.parametrize(("page", "real"), [(-3, 0), (7, 2), (999_999_999, 2)])
def test_a_page_that_is_not_there_is_the_nearest_one(page: int, real: int) -> None:
    assert control(menus(shown(interview(question(options=options(60))), page))[0]).arg == real


def test_another_page_moves_no_text_about() -> None:
    many = question(prompt="word " * 500, options=options(60, "{} label " + "漢" * 20, description="d" * 60))
    first, *others = (shown(interview(many), page) for page in range(3))
    for other in others:
        assert displays(other) == displays(first)
