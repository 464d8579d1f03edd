"""Parts of a webhook that nobody sees: its signature, the addresses that are allowed, and the pauses."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import timedelta

import pytest

from askback.domain.webhook import MAX_PAUSE, WebhookDelivery, compute_pause, create_webhook_id
from askback.doors.webhook_rules import WebhookRules, read_webhook_rules
from askback.doors.webhook_signature import decode_secret, sign
from askback.errors import CallerError
from askback.text.redaction import contains_known_secret

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


def rules(*urls: str, networks: tuple[str, ...] = ()) -> WebhookRules:
    found = read_webhook_rules(urls, networks, [SECRET], "[a] in callers.toml")
    assert found is not None
    return found


def test_the_signature_is_that_of_the_standard() -> None:
    # The example of the reference implementations of Standard Webhooks.
    key = decode_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [key])
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_each_key_signs() -> None:
    other = b"k" * 24
    signatures = sign("id", 1, b"{}", [KEY, other])["webhook-signature"].split(" ")
    expected = [base64.b64encode(hmac.new(key, b"id.1.{}", hashlib.sha256).digest()).decode() for key in (KEY, other)]
    assert signatures == [f"v1,{one}" for one in expected]


@pytest.mark.parametrize("text", ["", "whsec_", SECRET[6:], "whsec_c2hvcnQ=", "whsec_" + "A" * 100, SECRET + "!"])
def test_what_is_no_secret_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ValueError, match="is not a secret of the form whsec_") as caught:
        decode_secret(text)
    assert not text or text == "whsec_" or text not in str(caught.value)


def test_a_secret_is_known_as_one_with_and_without_its_prefix() -> None:
    rules("https://ci.example.com/")
    assert contains_known_secret(f"It is {SECRET}.")
    assert contains_known_secret(f"It is {SECRET[6:]}.")
    assert SECRET[6:] not in repr(rules("https://ci.example.com/"))


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://ci.example.com/hooks/", True),
        ("https://ci.example.com/hooks/1?x=2", True),
        ("HTTPS://CI.example.com:443/hooks/1", True),
        ("https://ci.example.com/one?x=1", True),
        ("https://ci.example.com/one", False),
        ("https://ci.example.com/one?x=2", False),
        ("https://ci.example.com/one/?x=1", False),
        ("https://ci.example.com/hooks", False),
        ("https://ci.example.com/hooks/../one", False),
        ("https://ci.example.com/hooks/%2e%2E/one", False),
        ("https://ci.example.com/hooks/..%2Fone", False),
        ("https://ci.example.com/hooks/..%5Cone", False),
        ("https://ci.example.com/hooks/..;/one", False),
        ("https://ci.example.com/hooks/#part", False),
        ("http://ci.example.com/hooks/", False),
        ("https://ci.example.com:444/hooks/", False),
        ("https://ci.example.com./hooks/", False),
        ("https://a@ci.example.com/hooks/", False),
        ("https://:p@ci.example.com/hooks/", False),
        ("https://ci.example.com\\@evil.example/hooks/", False),
        ("https://ci.example.com.evil.example/hooks/", False),
        ("https://evil.example/ci.example.com/hooks/", False),
        ("https://127.0.0.1/hooks/", False),
        ("//ci.example.com/hooks/", False),
        ("file:///hooks/", False),
        ("https://[", False),
        ("https://ci.example.com/hooks/" + "x" * 2000, False),
    ],
)
def test_only_what_the_operator_lists_is_allowed(url: str, allowed: bool) -> None:
    found = rules("https://ci.example.com/hooks/", "https://ci.example.com/one?x=1")
    if allowed:
        assert found.allows(found.find_url(url))
    else:
        with pytest.raises(CallerError, match="does not allow this webhook"):
            found.find_url(url)


@pytest.mark.parametrize(
    ("host", "reached", "kept"),
    [
        ("ci.example.com", ["93.184.216.34", "2606:2800::1"], ["127.0.0.1", "10.0.0.1", "::1", "fe80::1%2"]),
        ("localhost", ["127.0.0.1", "127.0.0.9", "::1"], ["10.0.0.1", "169.254.169.254"]),
        ("127.0.0.1", ["127.0.0.1"], ["127.0.0.2", "10.0.0.1"]),
        ("[fd00::7]", ["fd00::7"], ["fd00::8", "127.0.0.1"]),
        ("10.1.2.3", ["10.1.2.3", "::ffff:10.1.2.3"], ["10.1.2.4"]),
    ],
)
def test_connections_go_to_public_addresses_and_to_those_that_the_operator_names(
    host: str, reached: list[str], kept: list[str]
) -> None:
    url = f"http://{host}/"
    guard = rules(url).build_guard(url)
    assert [one for one in (*reached, *kept) if guard.allows(one)] == reached


def test_a_name_reaches_the_private_networks_that_the_operator_names() -> None:
    url = "https://ci.internal/"
    guard = rules(url, networks=("10.1.0.0/16", "fd00::/8")).build_guard(url)
    assert guard.allows("10.1.2.3")
    assert guard.allows("::ffff:10.1.2.3")
    assert guard.allows("fd00::1")
    assert not guard.allows("10.2.0.1")


def test_pauses_double_up_to_two_hours_with_some_chance() -> None:
    assert [compute_pause(attempts, 0.5).total_seconds() for attempts in (1, 2, 3, 10)] == [5, 10, 20, 2560]
    assert compute_pause(12, 0.5) == compute_pause(99, 1.0) == MAX_PAUSE
    assert (compute_pause(1, 0.0), compute_pause(1, 1.0)) == (timedelta(seconds=3.75), timedelta(seconds=6.25))
    total = timedelta()
    for attempts in range(1, 21):
        total += compute_pause(attempts, 0.5)
    assert timedelta(hours=19) < total < timedelta(hours=24)


def test_a_log_line_names_the_receiver_without_what_may_be_secret() -> None:
    url = "https://ci.example.com:8443/hooks/a-secret?b=another"
    found = WebhookDelivery(id="msg_1", ask_id="a", caller="one", url=url, state="pending", attempts=0)
    assert found.origin == "https://ci.example.com:8443"
    assert create_webhook_id() != create_webhook_id()
