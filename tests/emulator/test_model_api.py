"""The local Messages API, used through the real anthropic client."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from askback_sandbox.model.model import Model
from askback_sandbox.model.script import Script, call, turn
from emulator.model_service import ASK, QUESTION, Service, assistant, create, result, serving, stream, text, user


@pytest.mark.parametrize("ask", [create, stream])
async def test_text_and_calls_arrive_whole(service: Service, ask: Any) -> None:
    service.model.script(turn("Let me ask. ⚡", call("question", **QUESTION), call("question", questions=[])))
    async with service.client() as client:
        message = await ask(client, user("hello"), tools=[ASK])
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert message.content[0].text == "Let me ask. ⚡"
    assert message.content[1].input == QUESTION
    assert message.content[1].id.startswith("toolu_01")
    assert message.content[1].id != message.content[2].id
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 1


async def test_the_stream_is_the_real_sequence_of_events(service: Service) -> None:
    service.model.chunk = 5
    service.model.script(turn("Hello world", call("question", questions=[])))
    body = {"model": "m", "max_tokens": 10, "stream": True, "messages": [user("hi")]}
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{service.url}/v1/messages", json=body, headers=headers) as response,
    ):
        lines = (await response.text()).split("\n")
        assert response.headers["request-id"].startswith("req_")
    assert [line.removeprefix("event: ") for line in lines if line.startswith("event")] == [
        "message_start",
        "ping",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "content_block_start",
        *["content_block_delta"] * 5,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert '"partial_json": ""' in "".join(lines)


async def test_the_history_decides_the_turn_also_after_a_restart(service: Service) -> None:
    script = Script(turns=(turn("one"), turn("two"), turn("three")))
    service.model.add(script)
    history = [user("hi"), assistant(text("one")), user("and?")]
    async with service.client() as client:
        assert (await create(client, *history)).content[0].text == "two"
        assert (await create(client, *history)).content[0].text == "two"
    async with serving(Model(script)) as second, second.client() as client:
        assert (await create(client, *history)).content[0].text == "two"


async def test_ids_are_the_same_on_every_run_and_new_on_every_answer(service: Service) -> None:
    script = Script(turns=(turn(call("question", questions=[])),))
    service.model.add(script)
    async with service.client() as client:
        first = await create(client, user("hi"), tools=[ASK])
        again = await create(client, user("hi"), tools=[ASK])
    async with serving(Model(script)) as second, second.client() as client:
        rerun = await create(client, user("hi"), tools=[ASK])
    assert first.content[0].id == rerun.content[0].id != again.content[0].id


async def test_a_word_of_the_first_message_chooses_the_script(service: Service) -> None:
    service.model.script(turn("default"))
    service.model.script(turn("about cats"), when="cats")
    service.model.script(turn("about black cats"), when="black Cats")
    async with service.client() as client:
        assert (await create(client, user("Ada: dogs"))).content[0].text == "default"
        assert (await create(client, user("Ada: <@U1> cats!"))).content[0].text == "about cats"
        assert (await create(client, user(text("my black  cats")))).content[0].text == "about black cats"


async def test_a_call_without_a_name_takes_the_tool_on_offer(service: Service) -> None:
    service.model.script(turn(call(None, questions=[])))
    async with service.client() as client:
        message = await create(client, user("hi"), tools=[ASK])
        assert message.content[0].name == "question"


async def test_count_tokens(service: Service) -> None:
    async with service.client() as client:
        counted = await client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "hi"}])
        assert counted.input_tokens > 1


async def test_scripts_and_log_over_http(service: Service) -> None:
    async with aiohttp.ClientSession() as http, service.client() as client:
        orders = {
            "reset": True,
            "scripts": [{"turns": [{"say": "hello", "calls": [{"tool": "question", "input": QUESTION}]}]}],
        }
        async with http.post(f"{service.url}/model/script", json=orders) as response:
            assert await response.json() == {"ok": True}
        asked = await create(client, user("a"), tools=[ASK])
        identifier = asked.content[1].id
        await create(client, user("a"), asked.to_param(), user(result(identifier, "X")))
        async with http.get(f"{service.url}/log/model") as response:
            log = await response.json()
        assert [entry["status"] for entry in log] == [200, 200]
        assert log[0]["answer"]["content"][1]["id"] == identifier
        assert log[1]["request"]["messages"][-1]["content"][0]["content"] == "X"
        assert log[1]["beyond"] is True
        async with http.post(f"{service.url}/model/script", json={"script": []}) as response:
            assert response.status == 400
