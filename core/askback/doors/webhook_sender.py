"""Sends one outcome to one address, and tells if it arrived."""

from __future__ import annotations

__all__ = ["SendResult", "send"]

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import aiohttp
from yarl import URL

from askback.domain.webhook import WebhookDelivery
from askback.doors.webhook_rules import WebhookRules
from askback.doors.webhook_signature import sign
from askback.internal.clock import utc_now
from askback.network.retry_after import read_retry_after

ATTEMPT_SECONDS: Final = 10.0
"""Seconds in which the receiver must answer. It should store the outcome, answer, and work afterwards."""
OTHER_HOST: Final = frozenset({62, 64})
"""The codes of OpenSSL for a certificate that does not name the host, or its IP address."""
GONE: Final = 410
"""The status with which a receiver wants nothing more, as Standard Webhooks says."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The end of one attempt."""

    state: Literal["delivered", "gone", "failed"]
    error: str | None = None
    """The reason, without any text of the receiver, and without the address."""
    retry_after: float | None = None
    """Seconds after which the receiver wants the next attempt."""


async def send(item: WebhookDelivery, rules: WebhookRules, body: bytes, agent: str) -> SendResult:
    """Send an outcome once. Only the status of the answer counts. Neither its body nor a redirect is read."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": agent,
        **sign(item.id, int(utc_now().timestamp()), body, rules.keys),
    }
    guard = rules.build_guard(item.url)
    timeout = aiohttp.ClientTimeout(total=ATTEMPT_SECONDS)
    try:
        # A separate session, so that no connection is used again under the rules of another address.
        async with (
            aiohttp.ClientSession(
                connector=guard.open_connector(), cookie_jar=aiohttp.DummyCookieJar(), timeout=timeout, trust_env=False
            ) as session,
            session.post(URL(item.url, encoded=True), data=body, headers=headers, allow_redirects=False) as response,
        ):
            return _judge(response.status, response.headers)
    except TimeoutError:
        return SendResult("failed", f"It did not answer within {ATTEMPT_SECONDS:g} s.")
    except aiohttp.ClientConnectorCertificateError as error:
        return SendResult("failed", _describe_certificate(error.certificate_error))
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if guard.has_refused:
            return SendResult(
                "failed",
                "Its name leads to a private address. If that is right, the operator lists the network in "
                "webhook_networks.",
            )
        return SendResult("failed", f"It could not be reached ({type(error).__name__}).")


def _describe_certificate(error: Exception) -> str:
    """Return the reason why a certificate was refused, without the address."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return "Its TLS certificate is not trusted."
    if error.verify_code in OTHER_HOST:
        return "Its TLS certificate is for another host."
    return f"Its TLS certificate is not trusted ({error.verify_message})."


def _judge(status: int, headers: Mapping[str, str]) -> SendResult:
    if 200 <= status < 300:
        return SendResult("delivered")
    if status == GONE:
        return SendResult("gone", f"It answered with {GONE}: it wants nothing more.")
    if 300 <= status < 400:
        return SendResult("failed", f"It answered with {status}, and redirects are not followed.")
    return SendResult("failed", f"It answered with {status}.", read_retry_after(headers.get("Retry-After")))
