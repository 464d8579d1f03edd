"""Opens the sockets of a server."""

from __future__ import annotations

__all__ = ["listen"]

import asyncio
import os
import socket
from contextlib import ExitStack

from askback.errors import OperatorError
from askback.settings.address import Address


async def listen(address: Address, backlog: int | None = None) -> tuple[socket.socket, ...]:
    """Listen at every address that the host name resolves to. The caller closes the sockets.

    Raises `OperatorError` if an address cannot be used.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        with ExitStack() as stack:
            sockets: list[socket.socket] = []
            for family, *_, where in dict.fromkeys(found):
                one = socket.create_server((str(where[0]), int(where[1])), family=family, backlog=backlog)
                one.setblocking(False)
                sockets.append(stack.enter_context(one))
            stack.pop_all()
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else "no such host"
        raise OperatorError(f"Could not listen on {address} ({why}): choose another address.") from None
    return tuple(sockets)
