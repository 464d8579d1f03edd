"""The conversation of many tests of faults: the agent asks one or two questions before it ships."""

from __future__ import annotations

from typing import Any

from askback_sandbox.model.script import turn

from .rig import Rig, question

COLOUR, SIZE = "Which colour?", "Which size?"
ASKING, GOING_ON = "Before I ship I have to know something.", "Thank you, it is on its way now."
ONE = {COLOUR: "Green"}
TWO = {COLOUR: "Green", SIZE: "Small"}
"""The cards of one and of two questions, with the answers that Ada gives."""


def script(rig: Rig, cards: dict[str, str]) -> None:
    """Let the model ask the questions on these cards, and then continue."""
    asked = {COLOUR: question(COLOUR, "Green", "Blue"), SIZE: question(SIZE, "Small", "Large")}
    rig.model.script(turn(ASKING, *(asked[prompt] for prompt in cards)), turn(GOING_ON), name="ship")


async def answer_all(rig: Rig, cards: dict[str, str]) -> None:
    for prompt, label in cards.items():
        await rig.answer(prompt, label)


async def all_well(rig: Rig, cards: dict[str, str]) -> None:
    """Check that each question was asked and answered once, and that the agent continued."""
    await rig.ended(GOING_ON, cards=cards, texts=(ASKING,), turns=2)


def list_private_texts(rig: Rig) -> list[str]:
    """Return the texts that only Ada saw."""
    posts: Any = rig.state.posts if rig.platform == "discord" else rig.state.messages  # type: ignore[attr-defined]
    private = [post for post in posts.values() if post.ephemeral_to is not None]
    return [str(getattr(post, "content", "") or getattr(post, "text", "")) for post in private]
