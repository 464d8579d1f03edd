"""Finds the proxy through which the environment lets programs reach the internet, as curl and pip do."""

from __future__ import annotations

__all__ = ["EnvironmentProxy", "find_proxy"]

import os
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from pydantic import SecretStr

from askback.errors import OperatorError
from askback.settings.address import is_address, is_loopback


@dataclass(frozen=True, slots=True)
class EnvironmentProxy:
    """The proxy that a variable of the environment names."""

    variable: str
    """The variable, as it is written in the environment: such as `HTTPS_PROXY` or `all_proxy`."""
    url: SecretStr
    """The URL of the proxy. It may have a name and a password."""


def find_proxy(url: str) -> EnvironmentProxy | None:
    """Return the proxy for an address: that in HTTPS_PROXY or ALL_PROXY, unless NO_PROXY names the host.

    None for an address without TLS, since a proxy could read what the program sends
    there. Raises `OperatorError` if the variable names no proxy for HTTP.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or is_loopback(parts.hostname) or proxy_bypass(parts.netloc):
        return None
    found = getproxies_environment()
    kind = "https" if found.get("https") else "all"
    given = found.get(kind)
    if given is None:
        return None
    variable = _find_variable(f"{kind}_proxy", given)
    text = given if "://" in given else f"http://{given}"
    if not is_address(text, "http", "https"):
        raise OperatorError(
            f"{variable} is not the URL of an HTTP proxy: give one such as http://proxy.example.com:3128, or name the "
            "host in NO_PROXY."
        )
    return EnvironmentProxy(variable, SecretStr(text))


def _find_variable(name: str, value: str) -> str:
    """Return the variable of this name that has the value. Any case counts, and lower case comes first."""
    written = [one for one, found in os.environ.items() if one.lower() == name and found == value]
    return max(written, key=str.islower)
