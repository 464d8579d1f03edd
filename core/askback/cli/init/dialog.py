"""The dialog of `askback init`: create the bot, read its credentials, store them, invite it, and check everything."""

from __future__ import annotations

__all__ = ["run_init"]

import asyncio
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from pydantic import SecretStr
from rich.console import Console

from askback.cli.doctor.examination import run_doctor
from askback.cli.init.credentials import CredentialReader
from askback.cli.init.terminal import confirm, is_interactive, open_page, read_line, say
from askback.errors import CallerError
from askback.observability.logs import configure_logging
from askback.ports.bot import Bot
from askback.ports.installed_bots import get_bot, list_bot_names
from askback.ports.setup_guide import SetupGuide
from askback.settings.environment import load_settings
from askback.settings.file_writer import check_target, store_secrets
from askback.settings.loader import find_file, read_file
from askback.settings.paths import FILE, find_config_folder

SECONDS = 10.0
"""Time limit for each call over the network."""
INTERRUPTED = 130


def run_init(platform: str | None, *, open_pages: bool) -> int:
    """Run the dialog, and return the exit code. Raises `AskbackError` if it cannot begin."""
    if not is_interactive():
        raise CallerError(_describe_other_way(platform))
    # Until here, Ctrl-C would end the process at once, and leave the terminal without echo.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    path = check_target()
    dialog = _Dialog(path, open_pages=open_pages)
    try:
        return dialog.run(platform)
    except (KeyboardInterrupt, EOFError):
        say()
        say(f"Stopped. {path} is complete." if dialog.has_written else "Stopped. Nothing was written.")
        return INTERRUPTED


def _describe_other_way(platform: str | None) -> str:
    """Say what to do without a terminal."""
    names = [platform] if platform is not None else list_bot_names()
    variables = [
        f"for {name}: {', '.join(one.variable for one in get_bot(name).setup.get_guide().credentials)}"
        for name in names
    ]
    return (
        "askback init asks questions, so it needs a terminal. Without one, set these variables, and then run "
        f"askback doctor: {'; '.join(variables)}."
    )


class _Dialog:
    def __init__(self, path: Path, *, open_pages: bool) -> None:
        self.has_written = False
        self._path = path
        self._open_pages = open_pages
        self._console = Console(highlight=False, markup=False, emoji=False)

    def run(self, platform: str | None) -> int:
        name = platform or self._choose_platform()
        bot = get_bot(name)
        with self._read_before_it_exists():
            settings = load_settings()
            configure_logging("ERROR", settings.log_format)
            if not self._may_write():
                return 1
            guide = bot.setup.get_guide()
            self._show_creation(guide)
            reader = CredentialReader(self._path, read_file(find_file()), self._console, SECONDS)
            reader.read_platform(bot.setup, guide)
            has_key = reader.read_model_key()
        self._store(reader.new)
        if guide.needs_invitation:
            self._invite(bot)
        return self._finish(bot, guide, has_key=has_key)

    def _choose_platform(self) -> str:
        names = list_bot_names()
        while True:
            name = read_line(f"Which platform: {' or '.join(names)}?").lower()
            if name in names:
                return name
            say(f"Type {' or '.join(names)}, or press Ctrl-C to stop.")

    @contextmanager
    def _read_before_it_exists(self) -> Generator[None]:
        """Let settings be read although the file that ASKBACK_CONFIG names does not exist yet."""
        named = os.environ.get("ASKBACK_CONFIG")
        if named and not self._path.exists():
            os.environ["ASKBACK_CONFIG"] = os.devnull
        try:
            yield
        finally:
            if named:
                os.environ["ASKBACK_CONFIG"] = named

    def _may_write(self) -> bool:
        if not self._path.exists():
            return True
        if confirm(f"{self._path} exists. Add the tokens to it, and keep everything else in it?"):
            return True
        say("Nothing was written. To write another file, run askback init --config FILE.")
        return False

    def _show_creation(self, guide: SetupGuide) -> None:
        say()
        self._show_page("Create the bot on this page:", guide.page)
        for number, step in enumerate(guide.steps, 1):
            say(f"  {number}. {step}")

    def _show_page(self, words: str, address: str) -> None:
        opened = self._open_pages and open_page(address)
        say(f"{words} (it opens in your browser)" if opened else words)
        say(address)

    def _store(self, secrets: dict[str, SecretStr]) -> None:
        say()
        if not secrets:
            say("There is nothing to write: all of this is set already.")
            return
        store_secrets(self._path, secrets)
        self.has_written = True
        say(f"Wrote {', '.join(secrets)} to {self._path}. Only you can read it.")

    def _invite(self, bot: Bot) -> None:
        invitation = asyncio.run(bot.setup.get_invitation())
        say()
        self._show_page("Add the bot to your server with this address:", invitation.address)
        if invitation.remark:
            say(invitation.remark)
        read_line("Press Enter when the bot is on the server.")

    def _finish(self, bot: Bot, guide: SetupGuide, *, has_key: bool) -> int:
        say()
        code = asyncio.run(run_doctor(bot.name, SECONDS, self._console))
        option = "" if self._is_default() else f" --config {quote(str(self._path))}"
        say()
        if not has_key:
            say("Without a key for the model, the bot does not start, but askback ask works.")
            say(guide.channel_access)
            say("To add the key later, run")
            say(f"  askback init {bot.name}{option}")
        elif code:
            say(f"Fix what is broken, and check it again: askback doctor --platform {bot.name}{option}")
        if has_key:
            say("Start the bot:")
            say(f"  askback {bot.name}{option}")
            say(guide.first_message)
        return code

    def _is_default(self) -> bool:
        folder = find_config_folder()
        return folder is not None and self._path == folder / FILE
