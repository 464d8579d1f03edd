"""The store in one SQLite file, on which one process works."""
