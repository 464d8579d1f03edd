"""A local Slack: a workspace, its Web API, its sockets and signed requests, and the acts of its people."""
