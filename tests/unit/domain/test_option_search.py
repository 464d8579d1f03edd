"""The search in the options of a question."""

from __future__ import annotations

import pytest

from askback.domain.form import Option
from askback.domain.option_search import find_items
from support.cases import Story, question

CITIES = ("New York", "York", "Newcastle", "Oslo")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("york", ["New York", "York"]),
        ("new york", ["New York"]),
        ("york new", ["New York"]),
        ("4", ["Oslo"]),
        ("4.", ["Oslo"]),
        ("2 york", ["York"]),
        ("", [*CITIES]),
        ("fjord", ["Oslo"]),
        ("paris", []),
    ],
)
def test_each_word_is_found_in_the_label_the_description_or_as_the_number(query: str, found: list[str]) -> None:
    asked = question("city").evolve(
        options=tuple(
            Option(value=city, label=city, description="On a fjord." if city == "Oslo" else None) for city in CITIES
        )
    )
    assert [item.label for item in find_items(Story(asked).card.items, query)] == found


def test_the_exact_number_is_first_and_those_that_begin_with_it_follow() -> None:
    card = Story(question("n", *(f"Item {chr(97 + number)}" for number in range(25)))).card
    assert [item.number for item in find_items(card.items, "2")] == [2, 20, 21, 22, 23, 24, 25]
