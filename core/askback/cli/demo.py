"""Run `askback demo`: the real bots and the real agent against services on this machine."""

from __future__ import annotations

__all__ = ["run_demo"]

import asyncio
import errno
import os
import tempfile
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from rich.console import Console

from askback.domain.open_ask_limits import Limits
from askback.errors import OperatorError
from askback.internal.extras import format_install
from askback.observability.logs import configure_logging
from askback.ports.bot import Bot
from askback.ports.installed_bots import load_bots
from askback.runtime.app import open_host
from askback.settings.core import Settings
from askback.settings.environment import check_environment
from askback.settings.loader import load
from askback.tools import TOOLS

PORT = 8800
DEPLOY = "askback.cli.demo_tools:deploy"
EDITABLE_DEPLOY = "askback.cli.demo_editable_tools:deploy"
ASKING = "AskUserQuestion,question"
"""The question tools of the scripted model: one that models know from training, and one that accepts long lists."""


FindCalls: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, str | None]]]


class Services(Protocol):
    """The services that the package behind the entry point `askback.sandbox` provides."""

    @property
    def url(self) -> str: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    def describe_run(self, environment: Mapping[str, str], model: str | None = None) -> None:
        """Tell the page the variables for a program that asks next to the demo, and the real model, if one answers."""
        ...

    def find_calls_with(self, find_calls: FindCalls) -> AbstractContextManager[None]:
        """Let the page find the model's call for a card, to show the result that the model got, until the block ends.

        `find_calls` takes names of messages, and returns those that are ids of asks, each with the id of the model's
        call that asked, or None if a program asked.
        """
        ...

    def trouble(self, scenario: Path) -> str | None:
        """Return the reasons why a scenario file cannot be played, one a line; None if it can be played."""
        ...

    def platforms(self, scenario: Path | None) -> Collection[str]:
        """Return the bots that a scenario needs. None means the built-in scenario."""
        ...

    def tools(self, scenario: Path | None) -> Collection[str]:
        """Return the names of the tools that the scenario's model calls."""
        ...

    def approvals(self, scenario: Path | None) -> Mapping[str, str]:
        """Return the settings that say who approves tool calls."""
        ...

    def lets_edit(self, scenario: Path | None) -> bool:
        """Return True if approvers may change the arguments of calls."""
        ...

    async def play(self, scenario: Path | None, out: Callable[[str], None], platforms: Collection[str]) -> list[str]:
        """Play the scenario on those of these platforms that it needs. Return the problems found."""
        ...


class SandboxFactory(Protocol):
    def __call__(self, *, port: int) -> AbstractAsyncContextManager[Services]: ...


async def run_demo(
    file: Path | None,
    *,
    play: bool,
    port: int | None,
    database: Path | None,
    scripted: bool,
    platform: str | None = None,
) -> int:
    """Run the demo until a signal ends it, or play a scenario on one platform or on all. Return the exit code."""
    check_environment()
    console = Console(highlight=False)
    # A scenario contains the model's answers, so only the scripted model can play it.
    real_model = bool(os.environ.get("ANTHROPIC_API_KEY")) and not (scripted or play)
    with tempfile.TemporaryDirectory(prefix="askback-demo-", ignore_cleanup_errors=True) as folder:
        async with AsyncExitStack() as stack:
            services = await _start_services(stack, port if port is not None else 0 if play else PORT)
            trouble = None if file is None else services.trouble(file)
            if trouble is not None:
                raise OperatorError(trouble)
            kept = {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"} if real_model else set[str]()
            os.environ.update({name: value for name, value in services.environment.items() if name not in kept})
            # Ignore the settings file of a bot on this machine, unless it is named.
            os.environ.setdefault("ASKBACK_CONFIG", os.devnull)
            os.environ["ASKBACK_DATABASE_URL"] = str(database or Path(folder) / "demo.db")
            chosen = load_bots()
            if play:
                chosen = _select_bots(services, file, platform)
                deploy = EDITABLE_DEPLOY if services.lets_edit(file) else DEPLOY
                known = {**{name: name for name in TOOLS}, "deploy": deploy}
                if named := [known[name] for name in services.tools(file) if name in known]:
                    os.environ["ASKBACK_TOOLS"] = ",".join(named)
                os.environ.update(services.approvals(file))
            elif not real_model:
                os.environ.setdefault("ASKBACK_TOOLS", f"{ASKING},{DEPLOY}")
            settings = load(Settings)
            shown = {"ASKBACK_DATABASE_URL": os.environ["ASKBACK_DATABASE_URL"]}
            services.describe_run(shown, settings.model if real_model else None)
            level = "WARNING" if settings.log_level == "INFO" else settings.log_level
            configure_logging(level, settings.log_format)
            # A scenario answers faster than people do, so the pause between questions would only slow it down.
            limits = Limits(seconds_between_asks=0) if play else None
            host = await stack.enter_async_context(open_host(list(chosen.values()), settings, limits=limits))
            stack.enter_context(services.find_calls_with(host.store.list_askers))
            if play:
                return await _play(services, file, chosen, console)
            names = [name.title() for name in chosen]
            _print_welcome(console, services.url, names, settings.model if real_model else None)
            await asyncio.Event().wait()
    return 0


def _select_bots(services: Services, file: Path | None, platform: str | None) -> dict[str, Bot]:
    """Return the bots for a scenario. Raises `OperatorError` if there is none."""
    wanted = [name for name in services.platforms(file) if platform in (None, name)]
    if not wanted:
        raise OperatorError(f"This scenario is not for {platform}: leave out --platform, or change it.")
    installed = load_bots()
    found = {name: installed[name] for name in wanted if name in installed}
    if not found or (platform is not None and platform not in found):
        lacking = [name for name in wanted if name not in found]
        raise OperatorError(f"The scenario needs more packages. {format_install(*lacking)}")
    return found


async def _start_services(stack: AsyncExitStack, port: int) -> Services:
    for entry in entry_points(group="askback.sandbox"):
        local = cast("SandboxFactory", entry.load())(port=port)
        try:
            return await stack.enter_async_context(local)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OperatorError(
                    f"Port {port} is in use: stop the program that listens there, or choose another port with --port."
                ) from None
            raise OperatorError(
                f"Could not listen on port {port} ({os.strerror(error.errno or 0)}): choose another with --port."
            ) from None
    raise OperatorError("The demo's services (askback_sandbox) are not installed. Reinstall askback.")


def _print_welcome(console: Console, url: str, platforms: Sequence[str], model: str | None) -> None:
    console.print()
    console.print(f"  A small {' and '.join(platforms)} on this machine: [bold link={url}]{url}[/]")
    if model is None:
        console.print("  The model is scripted. Set ANTHROPIC_API_KEY to use the real one.")
    else:
        console.print(f"  The model is {model}, called with your ANTHROPIC_API_KEY.")
    console.print("  Open the page, and choose a question there. Or write: [bold]@askback hello[/]")
    console.print("  Press Ctrl-C to stop.")
    console.print()


async def _play(services: Services, file: Path | None, platforms: Collection[str], console: Console) -> int:
    def print_line(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    problems = await services.play(file, print_line, platforms)
    if not problems:
        print_line("")
        print_line("All results are as expected.")
        return 0
    print_line("")
    print_line(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}:")
    for problem in problems:
        print_line(f"  ✗ {problem}")
    return 1
