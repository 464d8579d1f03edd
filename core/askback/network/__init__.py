"""Connections: an HTTP server, its limits, and probes that notice a connection that is gone."""
