"""Doors for the agents of other programs: they ask people through askback, and get structured answers."""
