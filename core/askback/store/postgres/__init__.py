"""The store on PostgreSQL, for several processes at once. Needs the extra `postgres`."""
