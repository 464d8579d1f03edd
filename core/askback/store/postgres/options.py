"""Check the connection options that libpq itself rejects only on connecting, with errors that look like the
server's."""

from __future__ import annotations

__all__ = ["check_options"]

from collections.abc import Mapping

from askback.errors import OperatorError

_CHOICES = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "gssencmode": ("disable", "prefer", "require"),
    "channel_binding": ("disable", "prefer", "require"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
    "load_balance_hosts": ("disable", "random"),
}
_NUMBERS = (
    "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
)  # fmt: skip
HIGHEST_PORT = 65_535
LONGEST_LABEL, LONGEST_HOST, LONGEST_FOLDER = 63, 253, 90
"""Maximum length of a part of a host name and of a host name, in characters, and of a socket directory, in bytes."""


def check_options(given: Mapping[str, str]) -> None:
    """Raise `OperatorError` for the first option that would fail with every server.

    The error never contains a password.
    """
    for name, choices in _CHOICES.items():
        if name in given and given[name] not in choices:
            raise _build_error(f"{name} must be one of {', '.join(choices)}")
    for name in _NUMBERS:
        if name in given and not _is_number(given[name]):
            raise _build_error(f"{name} must be a whole number")
    hosts = (given.get("hostaddr") or given.get("host") or "").split(",")
    ports = given.get("port", "").split(",")
    for port in ports:
        if port and not (_is_number(port) and 1 <= int(port) <= HIGHEST_PORT):
            raise _build_error(f"a port must be a number from 1 to {HIGHEST_PORT}")
    if len(ports) > 1 and len(ports) != len(hosts):
        raise _build_error("give one port for all hosts, or one for each")
    for host in hosts:
        if host.startswith(("/", "@")):
            if len(host.encode()) > LONGEST_FOLDER:
                raise _build_error(f"a host that is a socket directory must have at most {LONGEST_FOLDER} bytes")
        elif host and not _is_host(host):
            raise _build_error("a host must be the name or the address of a machine")


def _build_error(rule: str) -> OperatorError:
    return OperatorError(f"ASKBACK_DATABASE_URL is invalid: {rule}. Correct it.")


def _is_number(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()


def _is_host(host: str) -> bool:
    try:
        name = host.rstrip(".").encode("idna").decode()
    except UnicodeError:
        return False
    return len(name) <= LONGEST_HOST and all(0 < len(label) <= LONGEST_LABEL for label in name.split("."))
