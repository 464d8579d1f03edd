"""The same in Python."""

from __future__ import annotations

import asyncio

import pytest

import askback
from askback.asking.request import AskRequest

from .office import Office

SCRIPT = """
import askback
outcome = askback.ask(
    "Deploy 1.4.2?", to="{platform}:#deploys", options=["Yes", "No"], approvers=["@release"], wait="2h"
)
print(outcome.status, outcome.answer, outcome.approved)
"""


async def test_three_lines_ask_and_have_the_answer(office: Office) -> None:
    program = office.folder / "pipeline.py"
    program.write_text(SCRIPT.format(platform=office.platform))
    process = await office.start(program=program)
    await office.click("ada", "Yes")
    assert await process.ended() == (0, "answered Yes True\n")


async def test_in_a_running_loop_the_other_form_is_named() -> None:
    with pytest.raises(askback.CallerError, match=r"await askback\.ask_async\(…\)"):
        askback.ask("Deploy 1.4.2?", to="slack:#deploys")


async def test_a_wrong_call_is_told_before_anything_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACK_BOT_TOKEN", raising=False)
    with pytest.raises(askback.CallerError, match="Say where to ask"):
        await askback.ask_async("Deploy 1.4.2?")
    with pytest.raises(askback.CallerError, match="is for a choice"):
        await askback.ask_async("Deploy?", to="slack:#deploys", quorum=2, approvers="@ada")
    for name, more in (("--refusals", {"refusals": 2}), ("--reason no", {"reasons": "no"})):
        with pytest.raises(askback.CallerError, match=f"{name} is for options that are a “no”, and there is none"):
            await askback.ask_async("Tea?", to="slack:#deploys", options=["Tea", "Rum"], approvers="@ada", **more)
    assert asyncio.get_running_loop().is_running()


@pytest.mark.parametrize(
    ("options", "yes", "approving"),
    [
        (("Yes", "No", "Later"), None, ("Yes",)),
        (("Deploy", "No"), None, ("Deploy",)),
        (("OK!",), None, ("OK!",)),
        (("Staging", "Production"), None, ()),
        (("Deploy", "Later", "No"), None, ()),
        (("Staging", "Production", "No"), ("staging", "Production"), ("Staging", "Production")),
        (("Abort", "Continue"), ("Abort",), ("Abort",)),
    ],
)
def test_a_yes_is_what_is_called_so_or_alone_beside_a_no_or_named(
    options: tuple[str, ...], yes: tuple[str, ...] | None, approving: tuple[str, ...]
) -> None:
    rules = AskRequest(question="?", to="slack:#deploys", options=options, yes=yes).approval()
    assert rules is not None
    assert rules.approving == approving
    assert not set(approving) & set(rules.refusing)


@pytest.mark.parametrize(
    ("options", "more", "words"),
    [
        (("Yes", "No"), {"yes": ("No",), "no": ("No",)}, "No cannot be both"),
        (("Yes", "No"), {"yes": ("Maybe",)}, "--yes Maybe: there is no such option. Name one of Yes, No."),
        ((), {"yes": ("Yes",)}, "--yes is for a choice"),
    ],
)
async def test_what_contradicts_itself_about_a_yes_is_not_asked(
    options: tuple[str, ...], more: dict[str, tuple[str, ...]], words: str
) -> None:
    with pytest.raises(askback.CallerError) as caught:
        await askback.ask_async("Deploy?", to="slack:#deploys", options=options, approvers="@ada", **more)
    assert words in str(caught.value)
