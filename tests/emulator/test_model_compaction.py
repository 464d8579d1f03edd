"""Compaction and usage of the local Messages API, used through the real anthropic client."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from askback_sandbox.model.script import Usage, call, turn
from emulator.model_service import ASK, Service, assistant, result, text, use, user

BETA = "compact-2026-01-12"
TOOLS_TRIGGER = {"edits": [{"type": "compact_20260112", "trigger": {"type": "tool_uses", "value": 3}}]}
LARGE = "word " * 45_000  # more than 50,000 tokens, counted as four characters each


def edit(trigger: int | None = 50_000, **more: Any) -> dict[str, Any]:
    when = {} if trigger is None else {"trigger": {"type": "input_tokens", "value": trigger}}
    return {"edits": [{"type": "compact_20260112", **when, **more}]}


async def create(client: AsyncAnthropic, *messages: Any, **more: Any) -> Any:
    given: dict[str, Any] = {
        "model": "claude-opus-5",
        "max_tokens": 1000,
        "messages": list(messages),
        "tools": [ASK],
        "betas": [BETA],
        "context_management": edit(),
    }
    return await client.beta.messages.create(**{**given, **more})


async def stream(client: AsyncAnthropic, *messages: Any, **more: Any) -> Any:
    given: dict[str, Any] = {
        "model": "claude-opus-5",
        "max_tokens": 1000,
        "messages": list(messages),
        "tools": [ASK],
        "betas": [BETA],
        "context_management": edit(),
    }
    async with client.beta.messages.stream(**{**given, **more}) as events:
        return await events.get_final_message()


def said(message: Any) -> dict[str, Any]:
    """Return an answer in the form in which a client sends it back."""
    return {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]}


async def refused(call: Any) -> str:
    with pytest.raises(anthropic.BadRequestError) as caught:
        await call
    return caught.value.body["error"]["message"]


@pytest.mark.parametrize("ask", [create, stream])
async def test_a_large_conversation_is_compacted_before_the_answer(service: Service, ask: Any) -> None:
    service.model.script(turn("First."), turn("Let me ask.", call("question", questions=[])), turn("Done."))
    async with service.client() as client:
        small = await ask(client, user("hello"))
        assert [block.type for block in small.content] == ["text"]
        assert small.usage.iterations is None
        history = [user("hello"), said(small), user(LARGE)]
        message = await ask(client, *history)
        assert [block.type for block in message.content] == ["compaction", "text", "tool_use"]
        assert message.content[0].content == "In short, it began with: hello"
        assert message.stop_reason == "tool_use"
        assert message.context_management.applied_edits == []
        compaction, sampled = message.usage.iterations
        assert (compaction.type, sampled.type) == ("compaction", "message")
        assert compaction.input_tokens > 50_000 > sampled.input_tokens
        # The top-level usage never includes the compaction.
        assert message.usage.output_tokens == sampled.output_tokens
        history += [said(message), user(result(message.content[2].id))]
        last = await ask(client, *history)
    assert [block.text for block in last.content] == ["Done."]
    assert last.usage.input_tokens < 50_000


async def test_what_stands_before_a_compaction_may_be_left_out(service: Service) -> None:
    service.model.script(
        turn("One."), turn("Two.", call("question", questions=[]), compact="They said hello."), turn("Three.")
    )
    service.model.script(turn("Another story."), when="another")
    async with service.client() as client:
        one = await create(client, user("hello"))
        two = await create(client, user("hello"), said(one), user("go on"))
        assert two.content[0].content == "They said hello."
        answered = user(result(two.content[2].id), text("another question"))
        whole = await create(client, user("hello"), said(one), user("go on"), said(two), answered)
        short = await create(client, said(two), answered)
    assert [message.content[0].text for message in (whole, short)] == ["Three.", "Three."]
    assert [entry.turn for entry in service.model.log] == [0, 1, 2, 2]


async def test_a_pause_after_compaction_goes_on_from_there(service: Service) -> None:
    service.model.script(turn("One.", compact="Nothing yet."), turn("Two."))
    pausing = {"context_management": edit(pause_after_compaction=True)}
    async with service.client() as client:
        paused = await create(client, user("hello"), **pausing)
        assert ([block.type for block in paused.content], paused.stop_reason) == (["compaction"], "compaction")
        one = await create(client, user("hello"), said(paused), **pausing)
        assert (one.content[0].text, one.stop_reason) == ("One.", "end_turn")
        two = await create(client, user("hello"), said(paused), said(one), user("more"), **pausing)
    assert two.content[0].text == "Two."


async def test_a_conversation_is_compacted_only_where_the_request_asks_for_it(service: Service) -> None:
    service.model.script(turn("One.", compact="Nothing."))
    async with service.client() as client:
        for management in ({"edits": []}, edit(60_000)):
            more = {"context_management": management}
            message = await create(client, user("hello"), **more)
            kinds = [block.type for block in message.content]
            assert kinds == (["text"] if not management["edits"] else ["compaction", "text"])
        plain = await client.messages.create(model="m", max_tokens=10, messages=[user(LARGE)])
    assert [block.type for block in plain.content] == ["text"]


@pytest.mark.parametrize(
    ("management", "message"),
    [
        (edit(49_999), "context_management.edits.0.compact_20260112.trigger.value: Input should be greater than or"),
        (TOOLS_TRIGGER, "trigger.type: Input should be 'input_tokens'"),
        (edit(more=1), "context_management.edits.0.compact_20260112.more: Extra inputs are not permitted"),
        ({"edits": [{"type": "compact"}]}, "Input tag 'compact' found using 'type' does not match"),
        ({"edit": []}, "context_management.edit: Extra inputs are not permitted"),
        ([], "context_management: Input should be a valid dictionary"),
    ],
)
async def test_a_wrong_edit_is_refused(service: Service, management: Any, message: str) -> None:
    async with service.client() as client:
        assert message in await refused(create(client, user("hi"), context_management=management))


async def test_without_the_beta_there_is_no_compaction(service: Service) -> None:
    block = {"type": "compaction", "content": "Before."}
    async with service.client() as client:
        unknown = create(client, user("hi"), betas=[])
        assert await refused(unknown) == "context_management: Extra inputs are not permitted"
        other = create(client, user("hi"), betas=["context-management-2025-06-27"])
        assert "Input tag 'compact_20260112' found using 'type'" in await refused(other)
        plain = client.messages.create(
            model="m", max_tokens=10, messages=[user("hi"), assistant(block, text("x")), user("more")]
        )
        assert (await refused(plain)).startswith("messages.1.content.0: Input tag 'compaction' found")


async def test_pairs_are_judged_by_what_remains(service: Service) -> None:
    block = {"type": "compaction", "content": "Before."}
    async with service.client() as client:
        # A call without its result is dropped with everything before the compaction.
        fine = [user("hi"), assistant(use("toolu_1")), user("never mind"), assistant(block, text("Well.")), user("so?")]
        assert (await create(client, *fine)).stop_reason == "end_turn"
        # The result of a dropped call has no call to belong to.
        lost = [user("hi"), assistant(use("toolu_1"), block), user(result("toolu_1"))]
        assert "unexpected `tool_use_id` found in `tool_result` blocks: toolu_1" in await refused(create(client, *lost))
        # The remaining calls need their results as always.
        owed = [user("hi"), assistant(block, use("toolu_2")), user("hm")]
        assert "`tool_use` ids were found without `tool_result` blocks" in await refused(create(client, *owed))
        # A compaction that failed drops nothing.
        failed = [user("hi"), assistant(use("toolu_3")), user("hm"), assistant({**block, "content": None}, text("x"))]
        assert "toolu_3" in await refused(create(client, *failed, user("so?")))


async def test_a_compaction_goes_back_as_it_came(service: Service) -> None:
    service.model.script(turn("One.", compact="They said hello."), turn("Two."))
    async with service.client() as client:
        one = said(await create(client, user("hello")))
        changed = {**one["content"][0], "content": "They said goodbye."}
        wrong = [user("hello"), assistant(changed, text("One.")), user("go on")]
        assert "Invalid `encrypted_content` in `compaction` block" in await refused(create(client, *wrong))
        empty = assistant({"type": "compaction", "content": ""}, text("x"))
        assert "content must be non-empty or null" in await refused(create(client, user("hi"), empty, user("x")))
        extra = assistant({"type": "compaction", "content": "x", "text": "x"}, text("x"))
        assert "compaction.text: Extra inputs" in await refused(create(client, user("hi"), extra, user("x")))
        by_user = user({"type": "compaction", "content": "x"})
        assert "can only be in `assistant` messages" in await refused(create(client, user("hi"), by_user))
        bare = assistant({"type": "compaction", "content": None}, text("x"))
        assert 'first message must use the "user" role' in await refused(create(client, bare, user("x")))


async def test_usage_grows_with_the_request_and_a_turn_may_say_its_own(service: Service) -> None:
    service.model.script(turn("One."), turn("Two.", usage=Usage(input_tokens=9_000, cache_read_input_tokens=70)))
    async with service.client() as client:
        one = await client.messages.create(model="m", max_tokens=10, messages=[user("hi")])
        longer = await client.messages.create(model="m", max_tokens=10, messages=[user("hi" * 4_000)])
        assert longer.usage.input_tokens - one.usage.input_tokens == pytest.approx(2_000, abs=2)
        two = await client.messages.create(
            model="m", max_tokens=10, messages=[user("hi"), assistant(text("One.")), user("on")]
        )
        assert (two.usage.input_tokens, two.usage.cache_read_input_tokens) == (9_000, 70)
        assert two.usage.output_tokens > 1
        counted = await client.beta.messages.count_tokens(
            model="m",
            messages=[user(LARGE), assistant({"type": "compaction", "content": "Words."}, text("x")), user("on")],
            betas=[BETA],
            context_management=edit(),
        )
    assert counted.input_tokens < 100 < 50_000 < counted.context_management.original_input_tokens
