"""A secret is always redacted, in any context, and other text stays unchanged."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import askback_discord.settings
import askback_slack.settings
from askback.text.redaction import REDACTED_TEXT, redact

assert askback_discord.settings, "it knows Discord's shapes"
assert askback_slack.settings, "it knows Slack's shapes"


@pytest.fixture(autouse=True, scope="module")
def nothing_known():
    """Forget known secrets of other tests in this process: one such as `xoxb-1` may be the prefix of a token here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("askback.text.redaction._known", frozenset[str]())
        patch.setattr("askback.text.redaction._any_known", None)
        yield


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
HEX = "0123456789abcdef"


def random(alphabet: str, least: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most or least)


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    made = [st.just(part) if isinstance(part, str) else part for part in parts]
    return st.tuples(*made).map("".join)


ALNUM = LETTERS + DIGITS
URLSAFE = f"{ALNUM}-_"
BASE64 = f"{ALNUM}+/"
WORDS = st.lists(random(ALNUM, 3, 12), min_size=1, max_size=4).map(" ".join)

# Each entry generates the secret alone, in each form; the shown text must not contain it.
TOKENS: dict[str, st.SearchStrategy[str]] = {
    "GitHub": joined(st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]), random(ALNUM, 36)),
    "GitHub, fine-grained": joined("github_pat_", random(ALNUM, 22), "_", random(ALNUM, 59)),
    "GitLab": joined(st.sampled_from(["glpat-", "gldt-", "glrt-", "glcbt-"]), random(URLSAFE, 20, 30)),
    "AWS key": joined(st.sampled_from(["AKIA", "ASIA"]), random("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    "Anthropic": joined("sk-ant-api03-", random(URLSAFE, 80, 95)),
    "OpenAI": joined("sk-proj-", random(URLSAFE, 40, 90)),
    "Stripe": joined(st.sampled_from(["sk_live_", "rk_live_", "sk_test_"]), random(ALNUM, 24, 90)),
    "npm": joined("npm_", random(ALNUM, 36)),
    "PyPI": joined("pypi-AgEIcHlwaS5vcmc", random(URLSAFE, 60, 160)),
    "Hugging Face": joined("hf_", random(LETTERS, 34)),
    "Google": joined("AIza", random(URLSAFE, 35)),
    "Google OAuth": joined("ya29.", random(URLSAFE, 40, 120)),
    "Vault": joined("hvs.", random(URLSAFE, 24, 90)),
    "SendGrid": joined("SG.", random(URLSAFE, 22), ".", random(URLSAFE, 43)),
    "JWT": joined("eyJ", random(URLSAFE, 20, 60), ".eyJ", random(URLSAFE, 20, 90), ".", random(URLSAFE, 43)),
    "Slack bot": joined("xoxb-", random(DIGITS, 12), "-", random(DIGITS, 13), "-", random(ALNUM, 24)),
    "Slack app": joined("xapp-1-A", random(ALNUM, 10), "-", random(DIGITS, 13), "-", random(HEX, 64)),
    "Slack refresh": joined("xoxe-1-", random(ALNUM, 100, 140)),
    "Slack signature": joined("v0=", random(HEX, 64)),
    "Discord bot": joined(random(ALNUM, 24, 26), ".", random(URLSAFE, 6), ".", random(URLSAFE, 38)),
}
SECRETS = st.one_of(*TOKENS.values())

NAMES = st.sampled_from(
    ["password", "PASSWORD", "DB_PASSWORD", "token", "api_key", "apiKey", "client_secret", "aws_secret_access_key",
     "SLACK_SIGNING_SECRET", "private_key", "X-Slack-Signature", "X-Signature-Ed25519", "AccountKey", "passphrase"]
)  # fmt: skip
IN_QUOTES = st.text(f"{ALNUM} !#$%&*+,-./:;<=>?@[]^_{{}}|~", min_size=8, max_size=40).filter(str.strip)


def quoted(name: str, value: str) -> dict[str, str]:
    """Return a value with spaces under its name, in the formats that programs write."""
    return {
        "json": json.dumps({name: value}),
        "json in json": json.dumps({"payload": json.dumps({name: value, "text": "hello"})}),
        "json in json in json": json.dumps([json.dumps([json.dumps({name: value})])]),
        "python": repr({name: value}),
        "headers": repr([(name.encode(), value.encode())]),
        "shell": f'{name}="{value}"',
        "toml": f"{name} = '{value}'",
        "yaml": f'{name}: "{value}"',
    }


AROUND = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
EDGES = st.sampled_from([" ", "\n", '"', "'", "(", ", ", "=", ": ", "\\n", "/", "\t"])


@given(before=AROUND, edge=EDGES, secret=SECRETS, after=AROUND)
@example(before="", edge=" ", secret="ghp_" + "a" * 36, after="")
def test_a_token_never_survives(before: str, edge: str, secret: str, after: str) -> None:
    # The text after the secret does not begin like a part of a token.
    shown = redact(f"{before}{edge}{secret} {after}")
    assert secret not in shown
    longest = max(re.split(r"[-_.=]", secret), key=len)
    assert longest in before + after or longest not in shown
    assert REDACTED_TEXT in shown


@pytest.mark.parametrize("name", TOKENS)
def test_each_kind_of_token_is_hidden(name: str) -> None:
    @given(secret=TOKENS[name])
    def check(secret: str) -> None:
        assert redact(f"It said {secret}, and ended.") == f"It said {REDACTED_TEXT}, and ended."
        assert secret not in redact(json.dumps({"said": f"x {secret}"}))

    check()


@given(before=AROUND, name=NAMES, value=IN_QUOTES, after=AROUND)
def test_a_value_in_quotes_is_hidden_whole(before: str, name: str, value: str, after: str) -> None:
    for form, text in quoted(name, value).items():
        shown = redact(f"{before} {text}\n{after}")
        if value in before or value in after:
            continue
        assert value not in shown, form
        if len(value.split()) > 1 and len(value.split()[-1]) > 7:
            assert value.split()[-1] not in redact(text), form


@pytest.mark.parametrize(
    "value", ['quo"ted se cret', "quo'ted se cret", "back\\slash se cret", 'a\\"b se cret', "ä b se cret"]
)
@pytest.mark.parametrize("form", ["json", "json in json", "json in json in json", "python", "headers"])
def test_what_is_escaped_in_a_value_ends_it_not(value: str, form: str) -> None:
    shown = redact(quoted("password", value)[form])
    assert "se cret" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Basic dXNlcjpz3cr3t",
        "authorization: Basic czNjcjN0OnM=",
        "'Authorization': 'Basic s3cr3t'",
        "Authorization: Bearer s3cr3t+s3cr3t/x==",
        'Authorization: Digest username="ada", response="s3cr3t"',
        "Proxy-Authorization: Basic s3cr3t",
        "Cookie: d=s3cr3t; b=s3cr3t",
        "Set-Cookie: session=s3cr3t; HttpOnly",
        "X-Slack-Signature: v0=s3cr3t5e6f",
        "X-Api-Key: s3cr3t77",
        "password: s3cr3t77",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/s3cr3tbPxRfi",
        "AWS_SECRET_ACCESS_KEY=s3cr3t/with/slashes",
        "AccountName=ada;AccountKey=s3cr3t==;EndpointSuffix=x",
        "https://ada.blob.example/x?sv=2024&sig=s3cr3t%3D&se=1",
        "postgresql://ada:s3cr3t@db.example/askback",
        "postgresql://ada:s3/cr3t@s3cr3t@db.example/askback",
        "postgres://ada:pa ss@x".replace("pa ss", "s3cr3t%20word"),
        "host=db user=ada password='s3cr3t word' dbname=x",
        "redis://:s3cr3t@cache:6379/0",
        "https://s3cr3ts3cr3ts3cr3ts3cr3t@github.com/ada/x.git",
        "https://hooks.slack.com/services/T00000000/B00000000/s3cr3tABCDEFGHIJKLMNOPQ",
        "https://discord.com/api/webhooks/123456789012345678/s3cr3tABCDEFGHIJKLMNOPQ",
        "DB_PASS=s3cr3t",
        "MYSQL_PWD=s3cr3t",
        "PGPASSWORD=s3cr3t",
        "pwd=s3cr3t",
        "pass=s3cr3t",
        'DB_PASS: "s3cr3t word"',
        '{"db_pass": "s3cr3t word", "pwd": "s3cr3t"}',
        '{"client_secret": "s3cr3t"}',
        "mysqldump --password s3cr3t ada",
        "deploy --token s3cr3t",
        "deploy --api-key 's3cr3t word'",
        'deploy --client-secret="s3cr3t word"',
        "curl -u ada:s3cr3t https://example.org",
        "curl --user 'ada:s3cr3t' https://example.org",
        "session eyJhbGci.eyJzdWIi.s3cr3t",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIs3cr3t\ns3cr3t==\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bs3cr3t\\n-----END OPENSSH PRIVATE KEY-----\\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\ns3cr3t\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        "-----BEGIN PRIVATE KEY-----\nMIIs3cr3t and no end s3cr3t",
        '{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIs3cr3t\\n-----END PRIVATE KEY-----\\n"}',
    ],
)  # fmt: skip
def test_no_part_of_it_is_shown(text: str) -> None:
    shown = redact(f"It sent {text}")
    assert "s3cr3t" not in shown
    assert "czNjcjN0" not in shown
    assert "dXNlcjpz" not in shown
    assert REDACTED_TEXT in shown


@pytest.mark.parametrize(
    "text",
    [
        "password: hunterhunter",
        "DB_PASSWORD: hunterhunter",
        "DB_PASS: hunterhunter\nDB_USER: ada",
        "> x-api-key: hunterhunter\r\n> accept: */*",
        "curl -H 'X-Api-Key: hunterhunter' https://example.org",
        "PGPASSWORD=hunterhunter",
        "MYSQL_PWD=hunterhunter",
        "--password hunterhunter",
        "--token hunterhunter",
        "Set-Cookie: hunterhunter",
        "Cookie: session=hunterhunter",
        '{"client_secret": "hunterhunter"}',
    ],
)  # fmt: skip
def test_a_secret_of_letters_alone_is_hidden_where_it_is_clearly_one(text: str) -> None:
    shown = redact(text)
    assert shown == text.replace("session=hunterhunter", REDACTED_TEXT).replace("hunterhunter", REDACTED_TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "the password is on the desk", "password: on the desk", "password: required", "The password: required.",
        "token budget", "a budget of tokens: 12", "token: expired", "Slack refused the token: token_revoked",
        "--token is missing", "Give --password, or --token.", "use --token TOKEN", "--password-file names a file",
        "--max-tokens 8192", "x-api-key is missing", "api key: see the wiki", "cookies: chocolate", "pass=3 fail=2",
        "pass: 3, fail: 2", "passed=12", "compass=north-north-west", "bypass=everything", "PWD=/home/ada/askback",
        "OLDPWD=/home/ada", "docker run --user 1000:1000 askback", "a ticket: later", "DB_PASSWORD: ${DB_PASSWORD}",
        "private_key: /etc/ssl/private/ada.key", "Is it a secret: nevertheless?", "-u takes a name",
        "pass the token on: everybody waits", "secret: yes", "ask for the password: Ada knows it",
    ],
)  # fmt: skip
def test_sentences_about_secrets_stay(text: str) -> None:
    assert redact(text) == text
    assert redact(f"It said: {text}\n{text}") == f"It said: {text}\n{text}"


def test_a_longer_token_that_begins_or_ends_with_a_known_secret_is_hidden_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = re.compile("ghp_aaaaaaaaaaaaaaaaaaaaa|tail77")
    monkeypatch.setattr("askback.text.redaction._any_known", known)
    assert redact(f"It said ghp_{'a' * 36}, and ended.") == f"It said {REDACTED_TEXT}, and ended."
    assert redact("password='a word tail77' host=db") == f"password='{REDACTED_TEXT}' host=db"
    assert redact("tail77tail77 and tail77") == f"{REDACTED_TEXT} and {REDACTED_TEXT}"


def test_what_follows_a_key_is_shown_again() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIs3cr3t\n-----END PRIVATE KEY-----"
    assert redact(f"{key}\nand {key} after") == f"{REDACTED_TEXT}\nand {REDACTED_TEXT} after"
    assert redact('{"token": "a b c", "text": "hello"}') == '{"token": "[hidden]", "text": "hello"}'
    assert redact("password='a b' host=db") == "password='[hidden]' host=db"
    certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
    assert redact(certificate) == certificate


WORD = random(LETTERS, 1, 14)
ORDINARY = st.one_of(
    WORD,
    random(DIGITS, 1, 20),
    random(HEX, 40),
    random(HEX, 7),
    random(HEX, 64),
    st.uuids().map(str),
    joined(random(DIGITS, 10), ".", random(DIGITS, 6)),
    joined(st.sampled_from("CUTSBA"), random("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 10)),
    joined(WORD, "=", random(ALNUM, 22)).filter(lambda text: "sig=" not in text.lower()),
    joined("ask:", random(ALNUM, 22)),
    joined("/home/", WORD, "/", WORD, ".py"),
    joined("http://127.0.0.1:", random("123456789", 4), "/", WORD),
    st.datetimes().map(str),
    st.sampled_from(
        ["input_tokens=12", "max_tokens: 8192", "The token is no good.", "Basic information", "tokens, 200",
         "Authorization: closed by default", "no password: ask ada", "SLACK_BOT_TOKEN (xoxb-…)", "risk-averse",
         "https://discord.com/channels/123456789012345678/234567890123456789", "deploy@example.org",
         "http://localhost:8800/@ada", "a bot takes part", "git@github.com:ada/x.git", "scope connections:write",
         "sha256:" + "0a" * 32, "-----BEGIN PUBLIC KEY-----"]
    ),
)  # fmt: skip


@given(st.lists(ORDINARY, min_size=1, max_size=12).map(" ".join))
def test_ordinary_text_ids_and_hashes_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "part",
    ["ghp_", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----", "password='", 'token="\\', "secret_", "cookie: ",
     "authorization: basic ", "sig=", "token : ", "a://b:@", "a://" + "b" * 300, "SG.", "eyJaaaaaaaaa.", "password: a",
     '\\\\\\\\"', 'token\\\\\\\\"', "signature-", "--a-", "--token-", "--password ", "-u a:", "_pass = ", "pwd=",
     "x-api-key: ", "password:    ", "password: " + "a" * 250, "eyJaaaa.eyJ", "a_a", " "],
)  # fmt: skip
def test_a_hostile_text_takes_time_in_proportion(part: str) -> None:
    assert grows_in_proportion((part * 50_000)[:50_000])


def test_a_long_line_of_a_log_takes_time_in_proportion() -> None:
    assert grows_in_proportion(
        "A question was answered.  action=ask_settled password: a token=b --token c ms=12 " * 3_000
    )


def grows_in_proportion(line: str) -> bool:
    """Return True if the whole line takes at most five times as long as a tenth of it takes ten times."""
    tenth = line[: len(line) // 10]
    began = time.process_time()
    for _ in range(10):
        redact(tenth)
    middle = time.process_time()
    redact(line)
    # The clock of the processor ticks in steps, and its square would take ten times as long.
    return time.process_time() - middle < 5 * (middle - began) + 0.05


def test_a_line_of_a_log_takes_well_below_a_millisecond() -> None:
    line = "A question was answered.  action=ask_settled ask_id=Xq0aBc1dEf2gHi3jKl4mNo status=answered ms=12 " * 2
    began = time.process_time()
    for _ in range(1000):
        redact(line)
    assert time.process_time() - began < 0.5


def test_a_random_part_of_an_address_is_hidden_even_if_it_has_no_digit() -> None:
    shown = redact("POST https://example.org/answers/1234567890/DhmFtkhNMmZfwtPBYpPPhbxf, body: {}")
    assert shown == f"POST https://example.org/answers/1234567890/{REDACTED_TEXT}, body: {{}}"
    documentation = "https://docs.slack.dev/authentication/verifying-requests-from-slack"
    assert redact(documentation) == documentation
