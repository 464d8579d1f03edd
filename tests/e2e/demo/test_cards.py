"""The cards of all stories on both platforms, as a browser shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.optional import optional

optional("acp")


@pytest.mark.parametrize("platform", ["slack", "discord"])
def test_a_settled_card_is_smaller_and_offers_at_most_to_show_the_question(platform: str, tmp_path: Path) -> None:
    from cards.pictures import STORIES, measure  # it imports acp

    measured = measure([platform], tmp_path)[platform]
    assert [name for name, *_ in measured] == [story.name for story in STORIES]
    for name, opened, settled in measured:
        assert settled.controls <= 1, name
        if name not in ("a form", "a form with a pattern"):  # before their ends, they show one question of several
            assert settled.height < opened.height, name
    # Light and dark, wide and narrow, before and after the end.
    assert len([*tmp_path.iterdir()]) == len(STORIES) * 2 * 4
