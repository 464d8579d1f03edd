"""Keep calls to addresses that a stranger may influence away from private networks.

The check is made for the very address that a connection is opened to, after its name was resolved. So a name that
resolves to another address a moment later gains nothing (DNS rebinding).
"""

from __future__ import annotations

__all__ = ["AddressGuard", "Network", "is_public"]

import ipaddress
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

import aiohttp

Network: TypeAlias = IPv4Network | IPv6Network

_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""Addresses in whose last bits a translator (NAT64) finds the one of IPv4."""
_LOCAL: Final = (IPv6Network("64:ff9b:1::/48"), IPv6Network("fec0::/10"))
"""Private networks that Python's `is_global` takes for public ones."""


class ForbiddenAddress(OSError):
    """Raised instead of opening a connection to an address that is not allowed."""


class AddressGuard:
    """Allows connections to public addresses, and to these networks."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        self._networks = tuple(networks)
        self.has_refused = False
        """True once a connection was refused."""

    def open_connector(self) -> aiohttp.TCPConnector:
        """Return a connector for one session of aiohttp, which closes it. It keeps no connection for a later call."""
        return aiohttp.TCPConnector(force_close=True, use_dns_cache=False, socket_factory=self._open_socket)

    def allows(self, host: str) -> bool:
        """Return True if a connection to this address may be opened."""
        address = ipaddress.ip_address(host)
        plain = _get_embedded(address) or address
        return is_public(plain) or any(plain in network for network in self._networks)

    def _open_socket(self, address: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
        family, kind, protocol, _, (host, *_) = address
        if not self.allows(str(host)):
            self.has_refused = True
            raise ForbiddenAddress("this address is private")
        return socket.socket(family, kind, protocol)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return True if everybody on the internet reaches the same machine at this address."""
    embedded = _get_embedded(address)
    if embedded is not None:
        return is_public(embedded)
    if isinstance(address, IPv6Address) and any(address in network for network in _LOCAL):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _get_embedded(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """Return the address of IPv4 to which packets for an address of IPv6 are sent in the end, if there is one."""
    if isinstance(address, IPv4Address):
        return None
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
