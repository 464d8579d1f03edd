"""Typical cards: their pictures, and the words, controls and height of each (`python -m tests.cards FOLDER`)."""
