"""Read the credentials of a bot and the key for the model, and check each at once."""

from __future__ import annotations

__all__ = ["CredentialReader"]

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console

from askback.cli.doctor.report import print_finding
from askback.cli.init.terminal import confirm, read_secret, say
from askback.errors import OperatorError
from askback.internal.extras import import_extra
from askback.ports.bot import BotSetup
from askback.ports.findings import Finding, report_error
from askback.ports.setup_guide import Credential, SetupGuide
from askback.settings.core import Settings
from askback.settings.credentials import build_credential, examine_form
from askback.settings.loader import load

MODEL_KEY = build_credential(Settings, "anthropic_api_key", "API key for the model")

Check = Callable[[SecretStr], Awaitable[Sequence[Finding]]]


class CredentialReader:
    """The credentials that are known so far, and those of them that the settings file lacks."""

    def __init__(self, path: Path, in_file: Mapping[str, object], console: Console, seconds: float) -> None:
        self.new: dict[str, SecretStr] = {}
        """The values to write, by their keys in the settings file."""
        self._path = path
        self._in_file = in_file
        self._console = console
        self._seconds = seconds

    def read_platform(self, setup: BotSetup, guide: SetupGuide) -> None:
        """Read what the platform's bot needs, until the platform accepts it. Raises `OperatorError`."""
        known: dict[str, SecretStr] = {}

        for credential in guide.credentials:

            def check(value: SecretStr, key: str = credential.key) -> Awaitable[Sequence[Finding]]:
                return setup.examine_credential(key, {**known, key: value}, self._seconds)

            value = self._find_known(credential, check) or self._read(credential, check)
            known[credential.key] = value

    def read_model_key(self) -> bool:
        """Read the key for the model, unless somebody leaves it out. Return True if there is one.

        Raises `OperatorError`.
        """
        if self._find_known(MODEL_KEY, self._examine_model_key) is not None:
            return True
        self._introduce(MODEL_KEY)
        say("The bot needs it, and askback ask does not. To leave it out, press Enter.")
        while given := read_secret(MODEL_KEY.title):
            if self._accepts(MODEL_KEY, SecretStr(given), self._examine_model_key):
                return True
            say("Paste it again, or press Enter to leave it out.")
        return False

    def _find_known(self, credential: Credential, check: Check) -> SecretStr | None:
        """Return the value that is set already, if it works and is to stay.

        Raises `OperatorError` if a variable has a wrong value, which would take precedence over any in the file.
        """
        if variable := os.environ.get(credential.variable):
            say()
            say(f"{credential.variable} is set in the environment, and takes precedence over the settings file.")
            if self._is_good(SecretStr(variable), check):
                return SecretStr(variable)
            raise OperatorError(f"Correct or unset {credential.variable}, and run askback init again.")
        stored = self._in_file.get(credential.key)
        if not isinstance(stored, str) or not stored:
            return None
        say()
        if confirm(f"{self._path} already has {credential.key}. Replace it?"):
            return None
        return SecretStr(stored) if self._is_good(SecretStr(stored), check) else None

    def _introduce(self, credential: Credential) -> None:
        say()
        say(credential.source)

    def _read(self, credential: Credential, check: Check) -> SecretStr:
        self._introduce(credential)
        last: SecretStr | None = None
        while True:
            given = read_secret(credential.title)
            value = SecretStr(given) if given else last
            if value is None:
                say("Paste it here, and press Enter. To stop, press Ctrl-C.")
            elif self._accepts(credential, value, check):
                return value
            else:
                last = value
                say("Paste it again. To check the same one again, only press Enter. To stop, press Ctrl-C.")

    def _accepts(self, credential: Credential, value: SecretStr, check: Check) -> bool:
        if not self._is_good(value, check):
            return False
        self.new[credential.key] = value
        return True

    def _is_good(self, value: SecretStr, check: Check) -> bool:
        """Check a value, and show the findings. Return False if anything is broken."""
        text = value.get_secret_value()
        if not (text.isascii() and text.isprintable()):
            say("This has characters that no token has.")
            return False

        async def examine() -> Sequence[Finding]:
            return await check(value)

        try:
            found = asyncio.run(examine())
        except OperatorError as error:
            found = report_error("settings", error, "Fix the setting there.")
        for finding in found:
            print_finding(finding, self._console)
        return all(finding.grade != "broken" for finding in found)

    async def _examine_model_key(self, value: SecretStr) -> Sequence[Finding]:
        malformed = examine_form(Settings, "anthropic_api_key", value)
        if malformed is not None:
            return [malformed]
        with import_extra("agent", "The agent"):
            from askback.cli.doctor.model import examine_model
        found = await examine_model(load(Settings, anthropic_api_key=value.get_secret_value()), self._seconds)
        # The network and the name of the model say nothing against the key, so it is not asked for again.
        return [
            finding.evolve(grade="warning") if finding.grade == "broken" and finding.about != "key" else finding
            for finding in found
        ]
