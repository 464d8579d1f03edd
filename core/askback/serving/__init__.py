"""A process that serves: its parts, its health, its end, and how several of them share the work."""
