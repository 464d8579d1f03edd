"""An MCP server whose tools ask the user of the client. Tests run it as a program."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

server = MCPServer("booking")


class Table(BaseModel):
    """The question of the server."""

    guests: int = Field(title="Guests", ge=1, le=12)
    seat: Literal["inside", "outside"] = Field(title="Where to sit")


class Nothing(BaseModel):
    """No fields: people accept or decline."""


def ask_for_table() -> Elicit[Table]:
    return Elicit("Which table?", Table)


def ask_for_consent() -> Elicit[Nothing]:
    return Elicit("Cancel the booking?", Nothing)


@server.tool()
def book(answer: Annotated[ElicitationResult[Table], Resolve(ask_for_table)]) -> str:
    """Book a table."""
    return _describe(answer)


@server.tool()
def cancel(answer: Annotated[ElicitationResult[Nothing], Resolve(ask_for_consent)]) -> str:
    """Cancel the booking."""
    return _describe(answer)


def _describe(answer: ElicitationResult[Table] | ElicitationResult[Nothing]) -> str:
    return json.dumps([answer.action, answer.data.model_dump() if answer.action == "accept" else None])


if __name__ == "__main__":
    server.run("stdio")
