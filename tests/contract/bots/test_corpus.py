"""Calls that models really send: shown completely, accepted, and answered by clicks."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askback_sandbox.model.request import ReceivedRequest
from askback_sandbox.model.script import Turn, call, turn

from .driver import ADA, Card, Desk, PlatformTests, Talk, Told, told, until

CORPUS = Path(__file__).parents[4] / "shared/corpus/askuserquestion.jsonl"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of real inputs is not on this machine")

COMMAND = Path(sys.executable).with_name("askback")
AT_ONCE = 6


def inputs() -> list[Any]:
    return [json.loads(line)["input"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def previews(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], tuple[int, list[Any]]]:
    return {}


def preview(
    known: dict[tuple[str, bool], tuple[int, list[Any]]], platform: str, *, all_steps: bool = False
) -> tuple[int, list[Any]]:
    """Run the real command over the whole corpus; return its exit code and its lines."""
    if (platform, all_steps) not in known:
        lines = "".join(json.dumps(data, ensure_ascii=False) + "\n" for data in inputs())
        command = [str(COMMAND), "preview", "--platform", platform, *(["--all-steps"] if all_steps else [])]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", timeout=60)
        assert done.stderr == ""
        known[platform, all_steps] = done.returncode, [json.loads(line) for line in done.stdout.splitlines()]
    return known[platform, all_steps]


def plain(text: str) -> str:
    """Return the text without differences in white space, as lines are laid out differently."""
    return " ".join(text.split())


def texts(question: dict[str, Any]) -> Iterator[str]:
    yield question["question"]
    for option in question["options"]:
        yield re.sub(r"\s*\((?:recommended)\)\s*$", "", option["label"], flags=re.IGNORECASE)
        yield option.get("description") or ""
        yield from (option.get("preview") or "").splitlines()


@pytest.mark.parametrize("all_steps", [False, True])
def test_preview_shows_every_input_whole_and_acceptable(
    previews: Any, platform: str, tests_of: PlatformTests, all_steps: bool
) -> None:
    code, lines = preview(previews, platform, all_steps=all_steps)
    assert code == 1, "one input is refused"
    data = inputs()
    assert len(lines) == len(data) == 93
    (refused,) = (line for line in lines if isinstance(line, dict))
    assert "6 questions" in refused["error"]
    for given, messages in zip(data, lines, strict=True):
        if messages is refused:
            assert len(given["questions"]) == 6
            continue
        tests_of.accepted(messages)
        shown = plain(tests_of.readable(messages))
        for question in given["questions"] if all_steps else given["questions"][:1]:
            for text in texts(question):
                assert plain(text) in shown, (text, shown)


def cases() -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield a conversation for each input. Each position among the options is chosen in turn."""
    for number, data in enumerate(inputs()):
        if len(data["questions"]) <= 4:
            yield f"case{number:03}", data, number % max(len(question["options"]) for question in data["questions"])


@pytest.mark.timeout(300)
async def test_the_model_gets_the_exact_label_of_the_option_that_somebody_clicked(desk: Desk, previews: Any) -> None:
    _, lines = await asyncio.to_thread(preview, previews, desk.platform)
    by_name = {name: (data, nth) for name, data, nth in cases()}

    def model(asked: ReceivedRequest) -> Turn:
        found = re.search(r"case\d{3}", asked.first_text)
        assert found is not None
        if asked.turns:
            return turn("Thank you for that.")
        return turn(call("AskUserQuestion", **by_name[found[0]][0]))

    desk.model.persona = model
    desk.model.chunk = 4_000
    free = asyncio.Semaphore(AT_ONCE)
    chosen: list[tuple[str, str]] = []

    async def one(name: str, data: dict[str, Any], nth: int) -> None:
        async with free:
            talk = await desk.mention(ADA, name)
            first = await newest(desk, talk, None)
            assert json.dumps(desk.posted(first)) == json.dumps(lines[int(name[4:])]), name
            chosen.extend((name, label) for label in await answer(desk, first, data, nth))

    async with asyncio.TaskGroup() as tasks:
        for name, (data, nth) in by_name.items():
            tasks.create_task(one(name, data, nth))
    await until(
        lambda: sum(len(exchanges) > 1 for exchanges in requests(desk).values()) == len(by_name), "all are told"
    )
    heard = requests(desk)
    for name, label in chosen:
        assert len(heard[name]) == 2, "one turn to ask, one with the answer"
        assert f'="{label}"' in heard[name][1].result, (name, label, heard[name][1].result)
    assert len(chosen) == sum(
        nth < len(question["options"]) for _, data, nth in cases() for question in data["questions"]
    )


def requests(desk: Desk) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {}
    for request in told(desk, "case"):
        found.setdefault(request.all_texts[0].removeprefix("ada: "), []).append(request)
    return found


async def newest(desk: Desk, talk: Talk, before: Card | None) -> Card:
    """Return the live card once it differs from `before`."""

    def changed() -> Card | None:
        live = [one for one in desk.cards(talk) if one.controls]
        return live[0] if live and live[0] != before else None

    return await until(changed, "the card moves on", within=60, every=0.05)


async def answer(desk: Desk, shown: Card, data: dict[str, Any], nth: int) -> list[str]:
    """Choose the nth option of each question that has one; return the labels that were not chosen before."""
    labels: list[str] = []
    single = len(data["questions"]) == 1
    for question in data["questions"]:
        options = [option["label"] for option in question["options"]]
        index = min(nth, len(options) - 1)
        if nth < len(options):
            labels.append(options[index])
        entry = [control for control in shown.controls if control.kind != "button"]
        if entry:
            await desk.pick(ADA, shown, entry[0].choices[index].label)
        else:
            wanted = next(label for label in shown.buttons if same(label, options[index], index + 1))
            await desk.press(ADA, shown, wanted)
        if question.get("multiSelect"):
            ticked = await newest(desk, shown.talk, shown)
            await desk.press(ADA, ticked, "Submit" if single else "Next")
            shown = ticked
        if not single:
            shown = await newest(desk, shown.talk, shown)
    if not single:
        await desk.press(ADA, shown, "Submit")
    return labels


def same(shown: str, label: str, number: int) -> bool:
    """Return True if a button is that of the option: the label itself, or its number where a row has the label."""
    return shown in (" ".join(label.split()), f"Choose {number}")
