"""The store: what must outlive a restart, as rows."""
