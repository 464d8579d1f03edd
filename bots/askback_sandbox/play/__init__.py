"""Plays scenarios through the people's routes, reads back the state, and reports the problems."""
