"""`--env-file` and ASKBACK_ENV_FILE: a file is read only if it is named, and taken literally."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.settings.env_file import VARIABLE, describe_unread_env_file, load_env_file
from askback.settings.environment import load_settings

TEXT = """\
# Ours
export ASKBACK_MODEL="from the file"
ASKBACK_LOG_LEVEL='DEBUG'   # for now
ASKBACK_SYSTEM_PROMPT=Be ${HOME} kind

"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("MODEL", "LOG_LEVEL", "SYSTEM_PROMPT", "ENV_FILE", "MODLE"):
        monkeypatch.setenv(f"ASKBACK_{name}", "")  # so that it is restored after the test
        del os.environ[f"ASKBACK_{name}"]
    monkeypatch.setenv("ASKBACK_CONFIG", os.devnull)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str | bytes) -> None:
    (folder / ".env").write_bytes(text.encode() if isinstance(text, str) else text)


def test_a_file_that_nobody_named_is_not_read(folder: Path) -> None:
    write(folder, TEXT)
    assert load_settings().log_level == "INFO"


def test_a_named_file_sets_what_is_not_set_and_is_taken_literally(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, TEXT)
    monkeypatch.setenv(VARIABLE, ".env")
    monkeypatch.setenv("ASKBACK_MODEL", "from the environment")
    settings = load_settings()
    assert (settings.model, settings.log_level) == ("from the environment", "DEBUG")
    assert settings.system_prompt == "Be ${HOME} kind"


def test_a_misspelt_name_in_the_file_is_refused_like_any_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "ASKBACK_MODLE=x\n")
    monkeypatch.setenv(VARIABLE, ".env")
    with pytest.raises(OperatorError, match=r"ASKBACK_MODLE is set, but .* Did you mean ASKBACK_MODEL\?"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A=1\nno name here = 3\n", "Line 2 of .env is not NAME=value: correct it."),
        ("A=1\n\nALONE\n", "Line 3 of .env is not NAME=value: correct it."),
        ('"quoted=1\n', "Line 1 of .env is not NAME=value: correct it."),
        ("A='\0'\n", "Line 1 of .env is not NAME=value: correct it."),
        (b"\xff\xfe", ".env is not UTF-8 text: correct it."),
        ("A" * 1_000_001, ".env is too large for variables: 1,000,000 bytes are allowed. Name another file."),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused_whole_and_without_its_text(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes, says: str
) -> None:
    write(folder, text)
    monkeypatch.setenv(VARIABLE, ".env")
    monkeypatch.delenv("A", raising=False)
    with pytest.raises(OperatorError) as raised:
        load_env_file()
    assert str(raised.value) == says
    assert "A" not in os.environ


def test_a_named_file_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "none.env")
    with pytest.raises(OperatorError, match=r"Could not read none\.env .*Correct --env-file or ASKBACK_ENV_FILE"):
        load_env_file()


def test_an_unread_file_is_pointed_out_unless_one_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_unread_env_file("run") is None
    write(folder, b"\xff")  # nothing of it is read
    assert str(describe_unread_env_file("run")).endswith("name it: askback --env-file .env run")
    monkeypatch.setenv(VARIABLE, "another")
    assert describe_unread_env_file("run") is None
