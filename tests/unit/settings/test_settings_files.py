"""The settings file: where it is looked for, what its paths mean, and the errors for a wrong one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.settings.core import Settings
from askback.settings.loader import load
from askback.settings.working_directory import (
    check_database,
    check_file,
    describe_unread_database,
    describe_unread_file,
)
from askback_slack.settings import SlackSettings
from unit.settings.settings_files import problem, write

pytestmark = pytest.mark.usefixtures("empty")


def test_the_file_sets_the_same_and_belongs_to_all_parts(empty: Path) -> None:
    write(
        empty,
        """
        anthropic_api_key = "sk-ant-2"
        model = "claude-haiku-4-5"
        tools = ["question", "askQuestion"]
        timeout = 60
        system_prompt = '''
        Be kind.'''
        slack_bot_token = "xoxb-1"
        slack_app_token = "xapp-1"
        slack_api_url = "https://slack-gov.com/api"
        """,
    )
    settings, slack = load(Settings), load(SlackSettings)
    assert (settings.model_key, settings.model, settings.timeout) == ("sk-ant-2", "claude-haiku-4-5", 60.0)
    assert settings.tools == ("question", "askQuestion")
    assert settings.system_prompt.strip() == "Be kind."
    assert (slack.bot_token.get_secret_value(), slack.app_token.get_secret_value()) == ("xoxb-1", "xapp-1")
    assert slack.api_url == "https://slack-gov.com/api/"


def test_an_empty_list_in_the_file_is_refused_and_an_empty_variable_leaves_the_files_list(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(empty, "approvers = []")
    assert problem().startswith(
        "approvers in askback.toml names nobody: fill it in, or leave it out. Give a list of ids"
    )
    write(empty, 'approvers = ["slack:U0LOCALBEN"]')
    monkeypatch.setenv("ASKBACK_APPROVERS", "")
    assert load(Settings).approvers == ("slack:U0LOCALBEN",)


def test_own_tools_are_named_by_import_path_and_looked_for_beside_the_file(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty / "team").mkdir()
    write(empty / "team", 'tools = ["question", "ours.tools:deploy", "ours:box.open"]\ntool_timeout = 5', "team.toml")
    monkeypatch.setenv("ASKBACK_CONFIG", "team/team.toml")
    settings = load(Settings)
    assert settings.tools == ("question", "ours.tools:deploy", "ours:box.open")
    assert (settings.tool_timeout, settings.tool_result_limit) == (5.0, 100_000)
    assert settings.folder == Path("team")


def test_askback_config_names_another_file(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(empty, 'model = "not this"')
    monkeypatch.setenv("ASKBACK_CONFIG", str(write(empty, 'model = "this"', "team.toml")))
    assert load(Settings).model == "this"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('timeout = "soon"', "timeout in askback.toml is not a duration: "),
        ("timeout = true", "timeout in askback.toml is not a number."),
        ("model = 5", "model in askback.toml must be a string."),
        ('model = ""', "model in askback.toml is empty."),
        ("tools = 5", "tools in askback.toml is neither a text nor a list."),
        ("tools = [5]", "tools in askback.toml names 5, but"),
        ("anthropic_api_key = 5", "anthropic_api_key in askback.toml must be a string."),
        ('modle = "m"', "askback.toml sets `modle`, which is not a setting. Did you mean `model`?"),
        ("[model]\nname = 1", "model in askback.toml must be a string."),
        ("zzz = 1", "askback.toml sets `zzz`, which is not a setting. The settings are: anthropic_api_key, model,"),
        ("model = claude", "askback.toml is not valid TOML: Invalid value (at line 1, column 9). Correct it there."),
        ('model = "\udcff"', "askback.toml is not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_sentence_that_names_it(empty: Path, text: str, words: str) -> None:
    write(empty, "").write_bytes(text.encode("utf-8", "surrogateescape"))
    told = problem()
    assert told.startswith(words)
    assert "\n" not in told


def test_a_file_that_cannot_be_read_is_one_sentence(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_CONFIG", str(empty / "none.toml"))
    assert problem() == f"The settings file {empty / 'none.toml'} does not exist. Correct --config or ASKBACK_CONFIG."
    monkeypatch.setenv("ASKBACK_CONFIG", str(empty))
    assert (
        problem() == f"Could not read the settings file {empty}: Is a directory. Correct its path or its permissions."
    )


def test_a_file_in_the_working_directory_is_read_only_where_it_is_named(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty / "askback.toml").write_text('model = "planted"\ntools = ["evil:x"]\n')
    assert load(Settings).model == "claude-sonnet-5-5"
    assert load(Settings).folder is None
    said = describe_unread_file("askback slack") or ""
    assert "askback.toml in this folder is not read" in said
    assert "askback slack --config askback.toml" in said
    monkeypatch.setenv("ASKBACK_CONFIG", "askback.toml")
    assert (load(Settings).model, describe_unread_file("askback slack")) == ("planted", None)


def test_the_file_in_the_users_configuration_folder_is_read(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(empty / "config"))
    (empty / "config" / "askback").mkdir(parents=True)
    file = write(empty / "config" / "askback", 'model = "mine"\ndatabase_url = "team.db"\n')
    monkeypatch.setenv("ASKBACK_CONFIG", "")
    settings = load(Settings)
    assert (settings.model, settings.folder) == ("mine", file.parent)
    assert settings.database_url == str(file.parent / "team.db"), "a working directory has no say in where it lies"
    (empty / "askback.toml").write_text('model = "planted"\n')
    assert "is not read" in (describe_unread_file() or "")
    check_file()  # these people have already moved theirs


@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"])
def test_a_relative_home_is_no_way_back_to_the_working_directory(
    empty: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv(variable, ".")
    for folder in (empty / ".config" / "askback", empty / "askback"):
        folder.mkdir(parents=True)
        write(folder, 'model = "planted"\n')
    monkeypatch.setenv("ASKBACK_CONFIG", "")
    settings = load(Settings)
    assert settings.model == "claude-sonnet-5-5"
    assert not Path(settings.database_url).is_relative_to(empty)
    assert Path(settings.database_url).is_absolute()


def test_where_there_is_no_home_the_database_has_to_be_named(empty: Path) -> None:
    """Simulate a container whose user has only a numeric id."""
    program = (
        "import pwd\n"
        "def nobody(_): raise KeyError\n"
        "pwd.getpwuid = nobody\n"
        "from askback.settings.core import Settings\n"
        "from askback.settings.loader import load\n"
        "load(Settings)\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOME", "XDG_"))}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=empty, env=kept, capture_output=True, text=True, check=False)
    assert "Cannot place the database, because this user has no home directory. Set ASKBACK_DATABASE_URL" in done.stderr
    kept["ASKBACK_DATABASE_URL"] = "team.db"
    subprocess.run(command, cwd=empty, env=kept, check=True)


def test_a_database_of_an_earlier_release_is_told_with_both_ways_to_go_on(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(empty / "state dir"))
    assert describe_unread_database(load(Settings)) is None
    (empty / "askback.db").write_bytes(b"SQLite format 3")
    said = describe_unread_database(load(Settings)) or ""
    with pytest.raises(OperatorError, match="is not used"):
        check_database(load(Settings))
    command = said.partition("no process uses it: ")[2]
    subprocess.run(["sh", "-euc", command], check=True)
    assert (empty / "state dir" / "askback" / "askback.db").read_bytes() == b"SQLite format 3"
    check_database(load(Settings))
    (empty / "askback.db").write_bytes(b"another one")
    assert "mv" not in (describe_unread_database(load(Settings)) or ""), "it would replace the one that is used"
    monkeypatch.setenv("ASKBACK_DATABASE_URL", "askback.db")
    check_database(load(Settings))
