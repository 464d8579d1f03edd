"""Plays scenarios through the people's doors, reads back what they see, and says what was wrong."""
