"""The operator's rules for the webhooks of one caller: which addresses it may name, and the secret that signs.

A caller chooses among the addresses that the operator lists. So it can neither make the server call anything else, nor
learn what answers in the operator's network.
"""

from __future__ import annotations

__all__ = ["WebhookRules", "read_webhook_rules"]

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from yarl import URL

from askback.domain.webhook import LONGEST_URL
from askback.doors.webhook_signature import decode_secret
from askback.errors import CallerError, OperatorError
from askback.network.address_guard import AddressGuard, Network
from askback.text.redaction import register_secrets

SCHEMES: Final = frozenset({"http", "https"})
LOOPBACK: Final = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


@dataclass(frozen=True, slots=True, repr=False)
class WebhookRules:
    """The rules of one caller."""

    urls: tuple[URL, ...]
    """The addresses that are allowed. One whose path ends with a slash allows all below it, too."""
    networks: tuple[Network, ...]
    """The private networks in which a host of these addresses may be."""
    keys: tuple[bytes, ...]
    """The keys that sign, the newest first."""

    def find_url(self, text: str) -> str:
        """Return an address that a caller names, in the form in which it is called. Raises `CallerError`."""
        url = _parse(text)
        if url is None or len(str(url)) > LONGEST_URL or not self._allows(url):
            raise CallerError(
                "The operator does not allow this webhook: name one that is in `webhooks` of your token, or leave it "
                "out and wait for the outcome."
            )
        return str(url)

    def allows(self, text: str) -> bool:
        """Return True if an address is allowed now."""
        url = _parse(text)
        return url is not None and self._allows(url)

    def build_guard(self, text: str) -> AddressGuard:
        """Return the guard for connections to an address, which allows private ones only if the operator named them."""
        host = URL(text).host or ""
        if host == "localhost":
            return AddressGuard((*self.networks, *LOOPBACK))
        try:
            return AddressGuard((*self.networks, ipaddress.ip_network(host)))
        except ValueError:
            return AddressGuard(self.networks)

    def _allows(self, url: URL) -> bool:
        return any(_is_same(url, listed) or _is_below(url, listed) for listed in self.urls)


def read_webhook_rules(
    urls: Sequence[str], networks: Sequence[str], secrets: Sequence[str], where: str
) -> WebhookRules | None:
    """Return the rules of one table of callers; None if it lists no address.

    No log shows the secrets from now on. Raises `OperatorError`, which shows none. `where` names the table and its
    file.
    """
    register_secrets(*secrets, *(secret.removeprefix("whsec_") for secret in secrets))
    if not urls:
        if secrets or networks:
            raise OperatorError(f"{where} has settings of webhooks, and no address: list some in `webhooks`.")
        return None
    if not secrets:
        raise OperatorError(
            f"{where} lists webhooks, and has no secret that signs: set webhook_secret to whsec_ and the output of "
            "openssl rand -base64 32"
        )
    try:
        keys = tuple(map(decode_secret, secrets))
    except ValueError as error:
        raise OperatorError(f"webhook_secret of {where} {error}. Make one with: openssl rand -base64 32") from None
    return WebhookRules(
        tuple(_read_url(url, where) for url in urls), tuple(_read_network(one, where) for one in networks), keys
    )


def _read_url(text: str, where: str) -> URL:
    url = _parse(text)
    if url is None:
        raise OperatorError(
            f"webhooks of {where} has an address that is not a URL of http or https without a user and a fragment. "
            "Name each address in full, or a folder with / at its end, for all addresses below it."
        )
    return url


def _read_network(text: str, where: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise OperatorError(
            f"webhook_networks of {where} has {text[:60]!r}, which is not a network: write one such as 10.1.0.0/16."
        ) from None


def _parse(text: str) -> URL | None:
    """Return an address in its canonical form; None if it cannot be a webhook."""
    try:
        url = URL(text)
        is_possible = url.scheme in SCHEMES and bool(url.raw_host) and url.port != 0 and url.raw_user is None
    except ValueError:
        return None
    return url if is_possible and url.raw_password is None and not url.raw_fragment else None


def _get_server(url: URL) -> tuple[str, str | None, int | None]:
    return url.scheme, url.raw_host, url.port


def _is_same(url: URL, listed: URL) -> bool:
    one, other = ((_get_server(url), url.raw_path, url.raw_query_string) for url in (url, listed))
    return one == other


def _is_below(url: URL, listed: URL) -> bool:
    path = url.raw_path
    # A server behind a proxy may decode these, and then leave the folder.
    if ".." in path or "%2f" in path.lower() or "%5c" in path.lower():
        return False
    is_folder = listed.raw_path.endswith("/")
    return is_folder and _get_server(url) == _get_server(listed) and path.startswith(listed.raw_path)
