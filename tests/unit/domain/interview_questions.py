"""Questions that the tests of interviews ask."""

from __future__ import annotations

from support.cases import question

COLOUR = question("colour", "Red", "Green", "Blue")
SIZE = question("size", "Small", "Large")
EXTRAS = question("extras", "Salt", "Pepper", "Garlic", multi_select=True)
NAME = question("name")
