"""The store on PostgreSQL, for several processes at once. Asks for the extra `postgres`."""
