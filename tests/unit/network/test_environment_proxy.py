"""The proxy of the environment: only for addresses with TLS, and not for hosts that NO_PROXY names."""

from __future__ import annotations

import pytest

from askback.errors import OperatorError
from askback.network.environment_proxy import find_proxy

SERVER = "https://ask.example.com"
VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


def put(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name.lower(), raising=False)
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "proxy:3128", "HTTPS_PROXY": "http://other:3128"}, "http://proxy:3128"),
        ({"ALL_PROXY": "https://proxy"}, "https://proxy"),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "ask.example.com"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".example.com"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "other.example.com"}, "http://proxy:3128"),
    ],
)
def test_the_variables_mean_what_they_mean_to_other_programs(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], url: str | None
) -> None:
    put(monkeypatch, given)
    found = find_proxy(SERVER)
    assert (None if found is None else found.url.get_secret_value()) == url


@pytest.mark.parametrize("server", ["http://ask.example.com", "https://127.0.0.1:8000", "https://localhost"])
def test_no_proxy_reads_what_has_no_tls_or_stays_on_this_machine(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    put(monkeypatch, {"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "http://proxy:3128"})
    assert find_proxy(server) is None


def test_the_name_and_the_password_of_a_proxy_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, {"HTTPS_PROXY": "http://ada:secret@proxy:3128"})
    found = find_proxy(SERVER)
    assert found is not None
    assert found.url.get_secret_value() == "http://ada:secret@proxy:3128"
    assert "secret" not in repr(found)


@pytest.mark.parametrize("given", ["socks5://ada:secret@proxy:1080", "http://", "http://proxy:0", "http://[::1"])
def test_what_is_no_http_proxy_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    put(monkeypatch, {"HTTPS_PROXY": given})
    with pytest.raises(OperatorError, match="HTTPS_PROXY is not the URL of an HTTP proxy: give one such as") as caught:
        find_proxy(SERVER)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"HTTPS_PROXY": "ftp://proxy", "ALL_PROXY": "http://proxy:3128"},
        {"https_proxy": "ftp://proxy", "HTTPS_PROXY": "http://proxy:3128"},
        {"https_proxy": "ftp://proxy", "HTTPS_PROXY": "ftp://proxy"},
        {"ALL_PROXY": "ftp://proxy"},
        {"all_proxy": "ftp://proxy", "HTTPS_PROXY": ""},
    ],
    ids=lambda given: next(iter(given)),
)
def test_an_error_names_the_variable_that_was_read(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    put(monkeypatch, given)
    with pytest.raises(OperatorError, match=f"^{next(iter(given))} is not the URL of an HTTP proxy"):
        find_proxy(SERVER)
