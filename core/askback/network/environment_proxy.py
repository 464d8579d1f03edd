"""Finds the proxy through which the environment lets programs reach the internet, as curl and pip do."""

from __future__ import annotations

__all__ = ["find_proxy"]

from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from pydantic import SecretStr

from askback.errors import OperatorError
from askback.settings.address import is_address, is_loopback

VARIABLE: Final = "HTTPS_PROXY"


def find_proxy(url: str) -> SecretStr | None:
    """Return the URL of the proxy for an address: that in HTTPS_PROXY or ALL_PROXY, unless NO_PROXY names the host.

    It may have a name and a password. None for an address without TLS, since a proxy could read what the program sends
    there. Raises `OperatorError` if the variable names no proxy for HTTP.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or is_loopback(parts.hostname) or proxy_bypass(parts.netloc):
        return None
    found = getproxies_environment()
    text = found.get("https") or found.get("all")
    if text is None:
        return None
    text = text if "://" in text else f"http://{text}"
    if not is_address(text, "http", "https"):
        raise OperatorError(
            f"{VARIABLE} is not the URL of an HTTP proxy: give one such as http://proxy.example.com:3128."
        )
    return SecretStr(text)
