"""A primary and a standby of PostgreSQL behind a proxy, and processes of askback in front of them."""
