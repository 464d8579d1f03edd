"""The rows of each table: functions with a `Connection` run inside a caller's transaction."""
