"""Signs what a webhook sends, as Standard Webhooks 1.0 says: HMAC-SHA256 over the id, the time and the body. Pure."""

from __future__ import annotations

__all__ = ["decode_secret", "sign"]

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

PREFIX: Final = "whsec_"
FEWEST_BYTES, MOST_BYTES = 24, 64


def decode_secret(text: str) -> bytes:
    """Return the key in a secret of the form `whsec_…`. Raises `ValueError`, which does not show it."""
    problem = f"is not a secret of the form {PREFIX} and {FEWEST_BYTES} to {MOST_BYTES} bytes in Base64"
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(problem) from None
    if not text.startswith(PREFIX) or not FEWEST_BYTES <= len(key) <= MOST_BYTES:
        raise ValueError(problem)
    return key


def sign(message_id: str, seconds: int, body: bytes, keys: Iterable[bytes]) -> dict[str, str]:
    """Return the headers for a body that is sent at a time in Unix seconds, with a signature by each of the keys."""
    signed = f"{message_id}.{seconds}.".encode() + body
    signatures = (hmac.digest(key, signed, hashlib.sha256) for key in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(one).decode()}" for one in signatures),
    }
