"""The settings file is written whole or not at all, and only its user can read it."""

from __future__ import annotations

import os
import resource
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from askback.errors import OperatorError
from askback.settings.file_writer import check_target, store_secrets

FORMER = '# ours\nmodel = "m"\nlog_level = "DEBUG"  # for now\n'


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """Let a write beyond this size fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_fails_leaves_the_former_file_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "askback.toml"
    file.write_text(FORMER)
    with small_files(20), pytest.raises(OperatorError, match=r"Could not write .* File too large. It is unchanged\."):
        store_secrets(file, {"slack_bot_token": SecretStr("xoxb-1")})
    assert file.read_text() == FORMER
    assert [one.name for one in tmp_path.iterdir()] == ["askback.toml"]


@pytest.mark.parametrize("text", ["a = 1\n[table]\nx = 2\n", "a = 1", "", "# only\n", 'a = """\n[no table]\n"""\n'])
def test_a_value_is_added_above_tables_and_changes_nothing_else(tmp_path: Path, text: str) -> None:
    file = tmp_path / "askback.toml"
    file.write_text(text)
    store_secrets(file, {"slack_bot_token": SecretStr('quo"te\\')})
    assert tomllib.loads(file.read_text()) == {**tomllib.loads(text), "slack_bot_token": 'quo"te\\'}
    for line in text.splitlines():
        assert line in file.read_text()


def test_a_value_is_replaced_in_its_place_with_its_comment(tmp_path: Path) -> None:
    file = tmp_path / "askback.toml"
    file.write_text(FORMER)
    store_secrets(file, {"model": SecretStr("n"), "log_level": SecretStr("INFO")})
    assert file.read_text() == FORMER.replace('"m"', '"n"').replace('"DEBUG"', '"INFO"')


def test_the_file_keeps_its_owner_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "askback.toml"
    file.write_text(FORMER)
    file.chmod(0o666)
    if os.geteuid() == 0:
        os.chown(file, 12345, 12346)
    before = file.stat()
    store_secrets(file, {"model": SecretStr("n")})
    after = file.stat()
    assert (after.st_uid, after.st_gid, after.st_mode & 0o777) == (before.st_uid, before.st_gid, 0o600)


def test_a_file_that_is_no_toml_by_now_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "askback.toml"
    file.write_text("model =\n")
    with pytest.raises(OperatorError, match="is not valid TOML"):
        store_secrets(file, {"model": SecretStr("n")})
    assert file.read_text() == "model =\n"


@pytest.mark.parametrize(
    ("named", "says"),
    [
        (os.devnull, "There is no folder for the settings file"),
        ("link.toml", r"link\.toml is a link\. Name the file itself: --config .*/real\.toml"),
        (".", "is not a file"),
    ],
)
def test_what_cannot_be_the_file_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, says: str
) -> None:
    (tmp_path / "link.toml").symlink_to(tmp_path / "real.toml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_CONFIG", named)
    with pytest.raises(OperatorError, match=says):
        check_target()
    assert [one.name for one in tmp_path.iterdir()] == ["link.toml"]
