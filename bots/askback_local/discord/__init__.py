"""Discord on this machine: a guild, its REST API and gateway, and what people do in it."""
