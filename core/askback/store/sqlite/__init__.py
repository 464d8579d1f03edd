"""The store in one SQLite file, used by a single worker process."""
