"""A primary and a standby of PostgreSQL behind a proxy, and askback's processes that use them."""
