"""A local Discord: a guild, its REST API and gateway, and the acts of its people."""
