"""The installed bots, and the errors for one that is missing or broken."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.ports.installed_bots import NotInstalled, get_bot, list_entries, load_bots, load_configured_bots


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install another bot, `board`, whose extra requires `boardlib`, and whose module does not exist yet."""
    info = tmp_path / "askback_board-1.0.dist-info"
    info.mkdir()
    requires = "Requires-Dist: boardlib>=1; extra == 'board'\nRequires-Dist: other; extra == 'all'\n"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: askback-board\nVersion: 1.0\n{requires}")
    (info / "entry_points.txt").write_text("[askback.bots]\nboard = board_of_a_test:bot\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in os.environ if name.startswith(("SLACK_", "DISCORD_", "ASKBACK_"))]:
        monkeypatch.delenv(name)
    list_entries.cache_clear()
    yield tmp_path
    list_entries.cache_clear()


def add_library(folder: Path) -> None:
    info = folder / "boardlib-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: boardlib\nVersion: 1.0\n")
    (folder / "boardlib.py").touch()


def test_a_bot_without_its_extra_is_left_out_and_told(installed: Path, caplog: pytest.LogCaptureFixture) -> None:
    (installed / "board_of_a_test.py").write_text("import boardlib\n")
    assert set(load_bots()) == {"slack", "discord"}
    said = "The bot for board needs boardlib: install it with pip install 'askback-board[board]'."
    with pytest.raises(NotInstalled) as caught:
        get_bot("board")
    assert str(caught.value) == said
    with caplog.at_level(logging.WARNING), pytest.raises(OperatorError, match="No platform has a token"):
        load_configured_bots()
    assert said in caplog.text


@pytest.mark.parametrize("line", ["import bordlib", "from boardlib import no_such_name"])
def test_a_bot_that_is_broken_is_not_left_out_silently(installed: Path, line: str) -> None:
    add_library(installed)
    (installed / "board_of_a_test.py").write_text(f"{line}\n")
    for look in (load_bots, lambda: get_bot("board")):
        with pytest.raises(OperatorError, match=r"Could not import the bot for board \(.*Error: .*") as caught:
            look()
        assert not isinstance(caught.value, NotInstalled)
