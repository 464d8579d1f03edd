"""Sessions of a Claude agent, in the process of the tests or in one that is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from askback_sandbox.model.script import call, turn
from e2e.ask.office import Office, Process
from support.claude_code import find_claude
from support.optional import optional

from .claude_agents import DEPLOY, door, list_claudes, listen, options

sdk = optional("claude_agent_sdk")

from askback.doors.claude_agent_sdk import ClaudeAgentDoor  # noqa: E402

TESTS = Path(__file__).parents[2]
PROGRAM = """
import asyncio, sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from askback.doors.hand_over import HandOvers
from askback.store.queries import hand_overs
from e2e.doors.claude_agents import door, listen, options

hand_overs.CLAIM_SECONDS = 1.0

async def never(*_):
    await asyncio.Event().wait()

{before}

async def main():
    given = options(Path("."), {url!r}, dies={dies!r})
    async with door("{platform}:#deploys") as one:
        print({act})

asyncio.run(main())
"""
RUN = 'await listen(one.run("Deploy!", given))'
LIST = "await one.list_answered()"
APPROVED = ["deployed to eu", "done"]
EU, US = call(DEPLOY, where="eu"), call(DEPLOY, where="us")


def ask(question: str, *labels: str, several: bool = False) -> dict[str, Any]:
    offered = [{"label": label, "description": f"{label} it is"} for label in labels]
    return {"question": question, "header": question[:12], "multiSelect": several, "options": offered}


COLOUR = call("AskUserQuestion", questions=[ask("Which colour?", "Blue", "Red")])


def plan(office: Office, *turns: Any) -> None:
    """Let the model make calls, and say that it is done."""
    find_claude()
    made = [
        turn("Let me see.", *one) if isinstance(one, tuple) else turn(f"Step {n}.", one) for n, one in enumerate(turns)
    ]
    office.services.model.script(*made, turn("done"), when="Deploy!")


def given(office: Office, **more: Any) -> Any:
    return options(office.folder, office.services.url, **more)


def opened(office: Office, **more: Any) -> Any:
    return door(f"{office.platform}:#deploys", **more)


def live(office: Office, one: ClaudeAgentDoor, **more: Any) -> asyncio.Task[list[str]]:
    """Run the agent with nothing but the callback."""
    found = given(office, can_use_tool=one.can_use_tool, settings=None, **more)
    return asyncio.create_task(listen(sdk.query(prompt="Deploy!", options=found)))


def run(office: Office, one: ClaudeAgentDoor, **more: Any) -> asyncio.Task[list[str]]:
    return asyncio.create_task(listen(one.run("Deploy!", given(office, **more))))


def resume(office: Office, one: ClaudeAgentDoor, session: str, **more: Any) -> asyncio.Task[list[str]]:
    again = more.pop("again", False)
    return asyncio.create_task(listen(one.resume(session, given(office, **more), again=again)))


async def program(office: Office, act: str, *, dies: str = "", before: str = "pass") -> Process:
    """Start a process that runs or resumes the agent."""
    file = office.folder / f"program-{len(office._processes)}.py"
    text = PROGRAM.format(
        tests=str(TESTS), platform=office.platform, url=office.services.url, act=act, dies=dies, before=before
    )
    file.write_text(text, encoding="utf-8")
    return await office.start(program=file, ASKBACK_QUESTION_PACE="0s")


async def stop(running: asyncio.Task[Any]) -> None:
    running.cancel()
    await asyncio.wait([running])


def list_transcripts(office: Office) -> list[Path]:
    return list((office.folder / "claude" / "projects").glob("*/*.jsonl"))


async def defer(here: Office, one: ClaudeAgentDoor, words: str = "where  eu", **more: Any) -> str:
    """Run the agent until people are asked, and lose the process; return the session."""
    running = run(here, one, **more)
    await here.card(words)
    await here.until(lambda: not list_claudes())
    await stop(running)
    (session,) = await one.list_waiting()
    return session
