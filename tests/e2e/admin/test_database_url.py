"""Any ASKBACK_DATABASE_URL: no command shows a part of the password, and each fault has a readable error."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.errors import OperatorError
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import build_conninfo
from support.processes import Launcher
from support.stores import server

TOKENS = {
    "SLACK_BOT_TOKEN": "xoxb-0-0-0",
    "SLACK_APP_TOKEN": "xapp-0-0-0",
    "ANTHROPIC_API_KEY": "sk-ant-0",
}
PASSWORDS = (
    "Zq7@Xw9Kv4", "@Zq7Xw9", "Zq7Xw9@", "Zq7@Xw9@Kv4", "Zq7%Xw9Kv4", "Zq7%zzXw9", "Zq7Xw9%", "Zq7%00Xw9", "%4Zq7",
    "Zq7 Xw9 Kv4", " Zq7Xw9", "Zq7/Xw9Kv4", "Zq7?Xw9Kv4", "Zq7?Xw9=Kv4", "Zq7#Xw9Kv4", "Zq7:Xw9Kv4", "Zq7[Xw9Kv4",
    "Zq7]Xw9Kv4", "Zq7@[Xw9", "Zq7@Xw9/Kv4?Jj8=Pp3", "Zq7@Xw9?Jj8=Pp3", "Zq7&Xw9=Kv4", "Zq7=Xw9", "Zq7;Xw9,Kv4",
    "Zq7\\Xw9", "Zq7'Xw9\"Kv4", "Zq7\tXw9", "Zq7\nXw9", "Zq7,Xw9@Kv4", "Zq7@Xw9:99999", "Zq7é@Xw9", "Zq7€Xw9%",
    "Zq7@Xw9,Kv4:77", "Zq7:/Xw9//Kv4", "Zq7{0}Xw9%s", "Zq7@Xw9\u2028Kv4",
)  # fmt: skip
FORMS = (
    "postgresql://ann:{}@127.0.0.1:1/askback?connect_timeout=1",
    "postgresql://127.0.0.1:1/askback?user=ann&password={}&connect_timeout=1",
    "postgresql:/ann:{}@127.0.0.1:1/askback",
    "postgresql:ann:{}@127.0.0.1:1/askback",
    "host=127.0.0.1 port=1 user=ann password={} connect_timeout=1",
)
COMMANDS = (("doctor",), ("pending",), ("run",))
WITH_ALL = 2
"""The number of passwords that are tried with every command."""


def parts(password: str) -> set[str]:
    return {password[at : at + 3] for at in range(len(password) - 2)}


def run(launcher: Launcher, folder: Path, url: str, *command: str) -> tuple[int, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ASKBACK_", "SLACK_", "DISCORD_", "ANTHROPIC_", "PG"))
    }
    environment |= {"ASKBACK_DATABASE_URL": url, "ASKBACK_LOG_LEVEL": "DEBUG", "COLUMNS": "400"}
    if command[0] == "run":
        environment |= TOKENS
    ended = launcher.run(*command, folder=folder, environment=environment)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("form", FORMS, ids=["in front of the host", "as an option", "one slash", "no slash", "words"])
def test_no_part_of_a_password_is_shown_by_any_command(launcher: Launcher, tmp_path: Path, form: str) -> None:
    for number, password in enumerate(PASSWORDS):
        # Each password with one command, and every command with the worst ones, as all read the same setting.
        for command in COMMANDS if number < WITH_ALL else COMMANDS[number % len(COMMANDS) :][:1]:
            code, said = run(launcher, tmp_path, form.format(password), *command)
            assert not [part for part in parts(password) if part in said], (password, said)
            assert "Traceback" not in said, (password, said)
            assert code != 0, (password, said)
    assert not list(tmp_path.iterdir()), "nothing was made that is called like it"


def test_the_password_as_it_has_to_be_written_is_not_shown_either(launcher: Launcher, tmp_path: Path) -> None:
    for password in PASSWORDS[::4]:
        url = f"postgresql://ann:{quote(password, safe='')}@127.0.0.1:1/askback?connect_timeout=1"
        code, said = run(launcher, tmp_path, url, "pending")
        assert code != 0
        written = parts(password) | parts(quote(password, safe=""))
        assert not [part for part in written if part in said], (password, said)
        assert "check that the server runs" in said or "ASKBACK_DATABASE_URL" in said, said


@given(password=st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=3, max_size=24))
def test_no_word_of_libpq_about_the_url_is_shown(password: str) -> None:
    marked = f"Zq7{password}Xw9"
    for form in FORMS[:2]:
        refusal: OperatorError | None = None
        told: dict[str, str] = {}
        try:
            told = build_conninfo(PostgresAddress.read(form.format(marked)))
        except OperatorError as error:
            refusal = error
        if refusal is not None:
            assert not {"Zq7", "Xw9"} & parts(str(refusal))
            assert refusal.__cause__ is None
            continue
        # If a URL is accepted, it has its intended meaning: no part of the password became the host, which is shown.
        assert told["host"] == "127.0.0.1", told
        assert told["port"] == "1"


LONG = "n" * 300
STRANGE = {
    "a long database": ("postgresql://postgres@{}/" + LONG, "database"),
    "a long file": (LONG, "ASKBACK_DATABASE_URL"),
    "a long file in a URL": ("sqlite:///" + LONG, "ASKBACK_DATABASE_URL"),
    "a file in a long folder": (LONG + "/askback.db", "ASKBACK_DATABASE_URL"),
    "a long path": ("n/" * 3000 + "askback.db", "ASKBACK_DATABASE_URL"),
    "a long user": ("postgresql://" + LONG + "@{}/askback", "user"),
    "a long host": ("postgresql://postgres@" + LONG + "/askback", "host"),
    "a host with a long part": ("postgresql://postgres@" + LONG + ".example/askback", "host"),
    "a host of dots": ("postgresql://postgres@a..b/askback", "host"),
    "a strange host": ("postgresql://postgres@a b/askback", "ASKBACK_DATABASE_URL"),
    "a port too high": ("postgresql://postgres@127.0.0.1:99999/askback", "port"),
    "a port of none": ("postgresql://postgres@127.0.0.1:0/askback", "port"),
    "a port in words": ("postgresql://postgres@127.0.0.1:fünf/askback", "ASKBACK_DATABASE_URL"),
    "a port as an option": ("postgresql://postgres@127.0.0.1/askback?port=99999", "port"),
    "an unknown option": ("postgresql://postgres@{}/askback?nosuch=1", "ASKBACK_DATABASE_URL"),
    "a wrong option": ("postgresql://postgres@{}/askback?sslmode=perhaps", "ASKBACK_DATABASE_URL"),
    "a wrong time": ("postgresql://postgres@{}/askback?connect_timeout=soon", "ASKBACK_DATABASE_URL"),
    "a wrong choice": ("postgresql://postgres@{}/askback?target_session_attrs=none", "ASKBACK_DATABASE_URL"),
    "a NUL": ("postgresql://postgres@{}/ask%00back", "ASKBACK_DATABASE_URL"),
    "half a character": ("postgresql://postgres@{}/ask%ffback", "ASKBACK_DATABASE_URL"),
    "two hosts and three ports": ("postgresql://postgres@a:1,b:2/askback?port=1,2,3", "ASKBACK_DATABASE_URL"),
    "no server in a folder": ("postgresql:///askback?host=/" + LONG, "host"),
    "a setting of no server": ("postgresql://postgres@{}/postgres?options=-c%20nosuch%3D1", "nosuch"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_cannot_be_a_database_is_a_sentence(launcher: Launcher, tmp_path: Path, what: str) -> None:
    url, said_of = STRANGE[what]
    told = psycopg.conninfo.conninfo_to_dict(server().url)
    at = f"{told.get('host', '127.0.0.1')}:{told.get('port', 5432)}"
    if at.startswith("/"):
        at = "127.0.0.1:5432"
    for command in COMMANDS:
        code, said = run(launcher, tmp_path, url.replace("{}", at), *command)
        assert code != 0, said
        assert "Traceback" not in said, said
        assert "askback crashed because of a bug" not in said, said
        assert said_of in said, said
