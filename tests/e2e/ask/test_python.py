"""The promises of `askback ask` for the Python functions `ask` and `ask_async`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import askback
from askback.client.request import AskRequest
from askback.domain.form import Option

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


async def test_asking_needs_no_library_of_the_agent(office: Office) -> None:
    program = office.folder / "pipeline.py"
    program.write_text("import sys\nsys.modules['anthropic'] = None\n" + SCRIPT.format(platform=office.platform))
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
    with pytest.raises(askback.CallerError, match="needs options to choose from"):
        await askback.ask_async("Deploy?", to="slack:#deploys", quorum=2, approvers="@ada")
    with pytest.raises(askback.CallerError, match="`options` is one text: give a list"):
        await askback.ask_async("Deploy?", to="slack:#deploys", options="Yes, No", approvers="@ada")
    for more, words in (
        ({"quorum": 0}, "`quorum`: should be at least 1."),
        (
            {"options": ["Yes", "x" * 2001]},
            "An option has 2,001 characters: shorten the label that people read to 2,000.",
        ),
        ({"details": "x" * 1_000_001}, "`details` has 1,000,001 characters: shorten the details to 1,000,000."),
    ):
        with pytest.raises(askback.CallerError) as caught:
            await askback.ask_async("Deploy?", to="slack:#deploys", approvers="@ada", **more)
        assert str(caught.value) == words
    for name, more in (("`refusals`", {"refusals": 2}), ("reasons='no'", {"reasons": "no"})):
        with pytest.raises(askback.CallerError, match=f"{name} needs an option that is a “no”, and there is none"):
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
        (("Ja", "Nein"), None, ("Ja",)),
        (("Sí", "No"), None, ("Sí",)),
        (("Oui !", "Non !"), None, ("Oui !",)),
        (("はい", "いいえ", "保留"), None, ("はい",)),
        (("同意", "不同意", "稍后"), None, ("同意",)),
        (("Go", "No-Go"), None, ("Go",)),
        (("Yes – deploy", "No, hold", "Later"), None, ("Yes – deploy",)),
        (("✅ Yes", "❌ No"), None, ("✅ Yes",)),
        (("D’accord", "Plus tard", "Refuser"), None, ("D’accord",)),
        (("Deploy", "Cancel"), None, ("Deploy",)),
        (("Freigabe", "Abbrechen"), None, ("Freigabe",)),
        (("デプロイ", "キャンセル"), None, ("デプロイ",)),
        (("Cancel", "Stop"), None, ()),
        *(
            (("No", other), None, ())
            for other in (
                "Not yet",
                "Later",
                "Wait 1h",
                "Hold",
                "None of these",
                "Don’t deploy",
                "Noch nicht",
                "Más tarde",
                "Plus tard",
                "後で",
                "稍后",
                "No deployment",
            )
        ),
    ],
)
def test_a_yes_is_what_is_called_so_or_alone_beside_a_no_or_named(
    options: tuple[str, ...], yes: tuple[str, ...] | None, approving: tuple[str, ...]
) -> None:
    rules = AskRequest(question="?", to="slack:#deploys", options=options, yes=yes).build_approval()
    assert rules is not None
    assert rules.approving == approving
    assert not set(approving) & set(rules.refusing)
    offered = tuple(Option(value=label, label=label) for label in options)
    assert tuple(one.label for one in offered if rules.is_approving(one, offered)) == approving, "on the card, too"


@pytest.mark.parametrize(
    ("options", "more", "words"),
    [
        (("Yes", "No"), {"yes": ("No",), "no": ("No",)}, "No cannot be both"),
        (("Yes", "No"), {"yes": ("Maybe",)}, "yes='Maybe': there is no such option. The options are Yes, No."),
        ((), {"yes": ("Yes",)}, "`yes` needs options to choose from: add them with `options`."),
    ],
)
async def test_what_contradicts_itself_about_a_yes_is_not_asked(
    options: tuple[str, ...], more: dict[str, tuple[str, ...]], words: str
) -> None:
    with pytest.raises(askback.CallerError) as caught:
        await askback.ask_async("Deploy?", to="slack:#deploys", options=options, approvers="@ada", **more)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("a\nb", "contains a line break or another unprintable character"),
        ("\x1b[31m", "contains a line break or another unprintable character"),
        ("a\0b", "contains a line break or another unprintable character"),
        ("\udcff", "contains a line break or another unprintable character"),
        ("k" * 501, "has 501 characters"),
    ],
)
async def test_by_a_key_that_is_none_nothing_is_asked(key: str, words: str) -> None:
    """An unset variable gives an empty key; with a generated key each run would ask again."""
    with pytest.raises(askback.CallerError, match=f"^The key {words}"):
        await askback.ask_async("Deploy?", to="slack:#deploys", approvers="@ada", key=key)
    with pytest.raises(askback.CallerError, match=f"^The key {words}"):
        await askback.ask_async(key=key)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"question": " "}, "The question is empty: write the question to ask."),
        ({"question": " \u200b "}, "The question is empty: write the question to ask."),
        ({"options": ["Yes", ""]}, "An option is empty: write its text, or leave it out."),
        ({"options": ["Yes", "\u3164"]}, "An option is empty: write its text, or leave it out."),
        ({"options": ["Yes", "No", "Yes"]}, "The option Yes is given more than once: every option must be different."),
        (
            {"options": ["Yes", "Y\u200bes"]},
            "The options “Yes” and “Y\\u200bes” look alike: change one of them, so that people see the difference.",
        ),
        ({"to": " "}, "`to` is empty: say where to ask."),
        ({"to": "slack: "}, "to='slack: ' has no place: use slack:#channel or slack:@person."),
        (
            {"wait": 0},
            (
                "wait=0 is out of range: use more than 0 seconds, at most ten years, or None for no deadline, or a "
                "moment such as 2026-12-01 17:00."
            ),
        ),
        ({"remind": "600w"}, "remind='600w' is out of range: use more than 0 seconds, at most ten years."),
        ({"remind": ["1h", "600w"]}, "remind='600w' is out of range: use more than 0 seconds, at most ten years."),
    ],
)
async def test_what_is_empty_or_out_of_reach_is_told_in_the_words_of_the_call(
    more: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASKBACK_DATABASE_URL", str(tmp_path / "askback.db"))
    with pytest.raises(askback.CallerError) as caught:
        await askback.ask_async(**{"question": "Deploy?", "to": "slack:#deploys", "approvers": "@ada", **more})
    assert str(caught.value) == words
    assert not (tmp_path / "askback.db").exists()


def test_of_options_that_differ_in_case_the_one_that_is_named_so_is_meant() -> None:
    rules = AskRequest(question="?", to="slack:#deploys", options=("A", "a"), yes=("A",), no=("a",)).build_approval()
    assert rules is not None
    assert (rules.approving, rules.refusing) == (("A",), ("a",))
