"""Slack on this machine: a workspace, its Web API, its sockets and signed requests, and what people do in it."""
