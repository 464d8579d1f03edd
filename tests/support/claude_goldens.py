"""The sentences with which Claude Code tells its model the answers to `AskUserQuestion`, recorded from a real run.

`python -m support.claude_goldens` records them again, with the installed version of Claude Code.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from askback_sandbox.json_values import as_object
from askback_sandbox.model.call_results import list_calls
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.claude_code import build_claude_environment, find_claude

FILE: Final = Path(__file__).with_name("claude_goldens.json")
TOOL: Final = "AskUserQuestion"
CHOICES: Final = ("Staging", "Production, EU", 'The "old" one')

Given = dict[str, Any]


def build_question(text: str, *labels: str, several: bool = False, preview: str | None = None) -> Given:
    """Return a question with these options, of which the first has the preview."""
    options: list[Given] = [{"label": label, "description": f"About {label}"} for label in labels]
    if preview is not None:
        options[0]["preview"] = preview
    return {"question": text, "header": text[:12], "options": options, "multiSelect": several}


WHERE: Final = build_question("Where?", *CHOICES)
WHICH: Final = build_question("Which?", *CHOICES, several=True)
SHAPE: Final = build_question("Which shape?", "Round", "Square", preview="( )\n( )")


@dataclass(frozen=True)
class Case:
    """A call, and what the person's side adds to its input."""

    questions: tuple[Given, ...]
    added: Given = field(default_factory=dict[str, Any])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    denial: str | None = None


def _answers(**more: Any) -> Given:
    return {"answers": {"Where?": "Staging"}} | more


def _leave(how: str) -> Given:
    return {"answers": {}, "annotations": {"Where?": {"unanswered": how}}}


EXTENDED: Final = {"CLAUDE_CODE_QUESTION_EXTENDED": "1"}
CASES: Final[dict[str, Case]] = {
    "one label": Case((WHERE,), _answers()),
    "labels of two questions": Case((WHERE, WHICH), {"answers": {"Where?": "Production, EU", "Which?": "Staging"}}),
    "one label of several": Case((WHICH,), {"answers": {"Which?": "Production, EU"}}),
    "several labels": Case((WHICH,), {"answers": {"Which?": 'Staging, "Production, EU", "The \\"old\\" one"'}}),
    "a list of labels": Case((WHICH,), {"answers": {"Which?": ["Staging", "Production, EU"]}}),
    "a written answer": Case((WHERE,), {"answers": {"Where?": "On my machine"}}),
    "labels and a written answer": Case((WHICH,), {"answers": {"Which?": "Staging, Mine"}}),
    "a note": Case((WHERE,), _answers(annotations={"Where?": {"notes": "but after six"}})),
    "a note without an answer": Case((WHERE,), {"answers": {}, "annotations": {"Where?": {"notes": "after six"}}}),
    "a preview": Case(
        (SHAPE,), {"answers": {"Which shape?": "Round"}, "annotations": {"Which shape?": {"preview": "( )\n( )"}}}
    ),
    "a preview and a note": Case(
        (SHAPE,),
        {
            "answers": {"Which shape?": "Round"},
            "annotations": {"Which shape?": {"preview": "( )\n( )", "notes": "but smaller"}},
        },
    ),
    "a response": Case((WHERE, WHICH), {"answers": {}, "response": "What does it cost?"}),
    "a response beside an answer": Case((WHERE, WHICH), _answers(response="What does it cost?")),
    "no answer": Case((WHERE,), {"answers": {}}),
    "an answer to another question": Case((WHERE,), {"answers": {"Where then?": "Staging"}}),
    "one of two questions": Case((WHERE, WHICH), _answers(annotations={"Which?": {"unanswered": "skipped"}})),
    "skipped": Case((WHERE,), {"answers": {}, "annotations": {"Where?": {"unanswered": "skipped"}}}),
    "replied in the chat": Case(
        (WHERE,), {"answers": {}, "annotations": {"Where?": {"unanswered": "replied_in_chat"}}}
    ),
    "dismissed": Case((WHERE,), {"answers": {}, "annotations": {"Where?": {"unanswered": "dismissed"}}}),
    "more questions wanted": Case((WHERE,), {"answers": {}, "followUp": True}),
    "more questions wanted, and a response": Case(
        (WHERE,), {"answers": {}, "followUp": True, "response": "What does it cost?"}
    ),
    "more questions wanted after an answer": Case((WHERE, WHICH), _answers(followUp=True)),
    "more questions wanted, extended": Case((WHERE,), {"answers": {}, "followUp": True}, EXTENDED),
    "an answer of 40,000 characters": Case((WHERE,), {"answers": {"Where?": "x" * 40_000}}),
    "a note of 9,000 characters": Case((WHERE,), _answers(annotations={"Where?": {"notes": "x" * 9_000}})),
    "denied": Case((WHERE,), denial="Nobody answered in time."),
    "equal questions": Case((WHERE, WHERE)),
    "equal labels": Case((build_question("Where?", "Here", "Here"),)),
    "one option": Case((build_question("Where?", "Here"),)),
    "no options": Case((build_question("Where?"),)),
    "five options": Case((build_question("Where?", *"abcde"),)),
    "five questions": Case(tuple(build_question(f"{number}?", "a", "b") for number in range(5))),
    "a blank label": Case((build_question("Where?", " ", "b"),), _answers()),
    "a text question, extended": Case(
        ({"question": "Name?", "header": "Name", "kind": "text", "placeholder": "Ada"},),
        {"answers": {"Name?": "Zoë"}},
        EXTENDED,
    ),
    "a number question, extended": Case(
        ({"question": "How many?", "header": "Count", "kind": "number", "min": 1, "max": 9},),
        {"answers": {"How many?": "4"}},
        EXTENDED,
    ),
}


async def record(names: Mapping[str, Case] = CASES) -> dict[str, Any]:
    """Return the result that the model reads in each case, and the version of Claude Code."""
    results: dict[str, str] = {}
    for environment in ({}, EXTENDED):
        cases = {name: case for name, case in names.items() if case.environment == environment}
        if cases:
            results |= await _run(cases, environment)
    version = (await _read_version()).split()[0]
    return {"version": version, "results": {name: results[name] for name in names}}


async def _run(cases: Mapping[str, Case], environment: Mapping[str, str]) -> dict[str, str]:
    """Run one session in which the model makes the call of each case, one after the other."""
    import claude_agent_sdk as sdk

    left = iter([case for case in cases.values() if case.added or case.denial])

    async def answer(_: str, given: Given, context: Any) -> Any:
        del context
        case = next(left)
        assert [one["question"] for one in given["questions"]] == [one["question"] for one in case.questions]
        if case.denial is not None:
            return sdk.PermissionResultDeny(message=case.denial)
        return sdk.PermissionResultAllow(updated_input=given | case.added)

    async def prompt() -> AsyncGenerator[Given]:
        yield {"type": "user", "message": {"role": "user", "content": "Ask me."}}

    with tempfile.TemporaryDirectory() as folder:
        async with Services(port=0) as services:
            turns = [turn(call(TOOL, questions=list(case.questions))) for case in cases.values()]
            services.model.script(*turns, turn("Done."), when="Ask me.")
            options = sdk.ClaudeAgentOptions(
                cli_path=find_claude(),
                cwd=folder,
                env=build_claude_environment(services.url, Path(folder) / "config") | dict(environment),
                setting_sources=[],
                can_use_tool=answer,
            )
            async for _ in sdk.query(prompt=prompt(), options=options):
                pass
            calls = list_calls([as_object(exchange.json()) for exchange in services.model.log])
    assert len(calls) == len(cases)
    return {name: _shorten(made.results[0].text) for name, made in zip(cases, calls, strict=True)}


async def _read_version() -> str:
    process = await asyncio.create_subprocess_exec(str(find_claude()), "--version", stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0].decode()


def _shorten(text: str) -> str:
    """Return a result with long repetitions of a character as their number."""
    return re.sub(r"(.)\1{99,}", lambda found: f"({len(found[0])} x {found[1]})", text)


if __name__ == "__main__":
    FILE.write_text(json.dumps(asyncio.run(record()), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
