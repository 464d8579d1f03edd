"""The doors that are killed, the windows of the kills, and the places."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from faults.databases import STORES

from .callers import CALLERS, EQUAL_CALLS
from .frameworks import FRAMEWORKS
from .record import Order
from .windows import ALONE, OF_EQUAL_CALLS, OF_FRAMEWORKS, OF_SERVERS

PLATFORMS = ("slack", "discord")
DOORS = (*FRAMEWORKS, *CALLERS)


def list_windows(door: str) -> Mapping[str, str]:
    """Return the windows of a door, with their descriptions."""
    if door in FRAMEWORKS:
        return OF_FRAMEWORKS
    return OF_EQUAL_CALLS if door == EQUAL_CALLS else OF_SERVERS


def list_cells(doors: Iterable[str]) -> list[tuple[str, str]]:
    """Return each window of each of these doors."""
    return [(door, window) for door in doors for window in list_windows(door)]


def deal(
    kills: int,
    dice: random.Random,
    *,
    doors: Sequence[str] = DOORS,
    platforms: Sequence[str] = PLATFORMS,
    stores: Sequence[str] = STORES,
    size: int,
) -> list[Order]:
    """Return rounds with this many stories in all, spread evenly over the windows, the platforms and the stores."""
    stories: list[tuple[str, str]] = []
    while len(stories) < kills:
        pile = list_cells(doors)
        dice.shuffle(pile)
        stories += pile
    places = [(platform, store, bot) for platform in platforms for store in stores for bot in (True, False)]
    dealt: dict[tuple[str, str, bool], list[tuple[str, str]]] = {place: [] for place in places}
    for number, story in enumerate(stories[:kills]):
        platform, store, bot = places[number % len(places)]
        # Only without a bot does a server commit the answer itself.
        is_alone = story[1] in ALONE and story[0] in CALLERS
        dealt[platform, store, bot and not is_alone].append(story)
    orders = [
        Order(platform, store, dice.randrange(10**6), tuple(found[at : at + size]), bot)
        for (platform, store, bot), found in dealt.items()
        for at in range(0, len(found), size)
    ]
    dice.shuffle(orders)
    return orders
