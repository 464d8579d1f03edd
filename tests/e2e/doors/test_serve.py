"""`askback serve`: programs that speak HTTP ask people, and get their answers."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from e2e.ask.office import Office

from .http_caller import FIRST, QUESTION, SECOND, HttpCaller, caller, serve, write_callers

FILES = 280
"""Files that a server with few connections may open. A quarter of them may be connections."""
BEYOND = 10
"""Requests for which it has no connection."""
JSON_TYPE = {"Content-Type": "application/json"}


async def test_the_program_learns_what_was_answered_by_whom_where_and_when(stored_office: Office) -> None:
    office = stored_office
    async with caller(office) as one:
        asking = asyncio.create_task(one.ask(wait=60))
        await office.click("ada", "Yes")
        answer = await asking
        assert (answer["status"], answer["answer"], answer["approved"]) == ("answered", "Yes", True)
        assert answer["by"] in answer["message"]
        assert answer["by_id"] in answer["message"]
        assert "deploys" in answer["where"]
        assert await office.settled("Deploy 1.4.2?", "Yes")
        assert await one.get(answer["id"]) == answer


async def test_a_refusal_and_the_lack_of_an_answer_are_different_results(office: Office) -> None:
    file = write_callers(office, second='wait = "1s"')
    async with caller(office, file=file) as one:
        asking = asyncio.create_task(one.ask(wait=60))
        await office.click("ada", "No")
        answer = await asking
        assert (answer["status"], answer["answer"], answer["approved"]) == ("refused", "No", False)
        _, answer = await one.request("POST", "/v1/asks?wait=60", json=QUESTION, token=SECOND)
        assert answer["status"] == "timed_out"
        assert "answer" not in answer


async def test_several_people_decide_if_the_program_wishes_it(office: Office) -> None:
    async with caller(office) as one:
        asking = asyncio.create_task(
            one.ask(wait=60, question="Deploy 1.4.2?", options=["Ship", "Hold"], no=["Hold"], quorum=2)
        )
        await office.click("ada", "Ship")
        await office.click("ben", "Ship")
        answer = await asking
    assert (answer["answer"], answer["approved"]) == ("Ship", True)
    assert [vote["choice"] for vote in answer["votes"]] == ["Ship", "Ship"]


async def test_a_question_outlives_its_request_and_can_be_listed_and_withdrawn(office: Office) -> None:
    async with caller(office) as one:
        first = await one.ask()
        assert first["status"] == "open"
        assert (await one.ask())["id"] == first["id"]
        status, listed = await one.request("GET", "/v1/asks")
        assert (status, [entry["id"] for entry in listed["asks"]]) == (200, [first["id"]])
        await office.click("ada", "Yes")
        assert (await one.get(first["id"], wait=60))["answer"] == "Yes"
        second = await one.ask(key="attempt 2")
        assert second["id"] != first["id"]
        _, ended = await one.request("POST", f"/v1/asks/{second['id']}/cancel", json={"reason": "It is done."})
        assert ended["status"] == "cancelled"
        assert "It is done." in ended["message"]
        assert (await one.request("GET", "/v1/asks"))[1] == {"asks": []}


async def test_a_key_finds_the_same_question_even_after_its_outcome(office: Office) -> None:
    async with caller(office) as one:
        asking = asyncio.create_task(one.ask(wait=60, key="deploy-1.4.2"))
        await office.click("ada", "Yes")
        answer = await asking
        assert await one.ask(key="deploy-1.4.2") == answer
        assert len(office.shown()) == 1


async def test_an_event_tells_the_outcome(office: Office) -> None:
    async with caller(office) as one:
        asked = await one.ask()
        async with one.open("GET", f"/v1/asks/{asked['id']}/events") as response:
            assert response.headers["Content-Type"] == "text/event-stream"
            assert await response.content.readline() == b"event: open\n"
            await office.click("ada", "Yes")
            text = (await response.text()).split("\n\n")
        event, data = text[-2].split("\n")
        assert event == "event: settled"
        assert json.loads(data.removeprefix("data: "))["answer"] == "Yes"


async def test_a_killed_server_asks_once_and_gives_the_answer(stored_office: Office) -> None:
    office = stored_office
    process, address = await serve(office)
    async with aiohttp.ClientSession() as session:
        asked = await HttpCaller(session, address).ask()
        await office.card()
        await process.kill()
        _, address = await serve(office)
        again = HttpCaller(session, address)
        await office.click("ada", "Yes")
        answer = await again.get(asked["id"], wait=60)
        assert (answer["answer"], answer["where"]) == ("Yes", "#deploys")
        assert len(office.shown()) == 1


async def test_a_form_comes_back_as_values_and_questions_as_answers(office: Office) -> None:
    schema = {"type": "object", "properties": {"go": {"type": "boolean", "title": "Deploy 1.4.2?"}}, "required": ["go"]}
    questions = [
        {
            "id": "go",
            "prompt": "Deploy 1.4.2?",
            "options": [{"value": "1", "label": "Yes"}, {"value": "2", "label": "No"}],
        }
    ]
    async with caller(office) as one:
        for body, name, value in (({"form": schema}, "values", True), ({"questions": questions}, "answers", "1")):
            given = {"question": "About the release", **body} if "form" in body else body
            asking = asyncio.create_task(one.ask(wait=60, **given))
            await office.click("ada", "Yes")
            answer = await asking
            assert answer[name] == {"go": value}
            await office.settled("Deploy 1.4.2?")


async def test_without_a_valid_token_nothing_is_done_and_nothing_is_told(office: Office) -> None:
    async with caller(office) as one:
        paths = ("/v1/asks", "/v1/asks/x", "/v1/nothing", "/v1/hooks/claude-code")
        for headers in ({"Authorization": FIRST}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {FIRST}x"}):
            details = {
                await one.problem(401, method, path, headers=headers, json=QUESTION)
                for path in paths
                for method in ("GET", "POST", "DELETE")
            }
            assert details == {"Send a valid token: Authorization: Bearer TOKEN."}
        mine = await one.ask()
        unknown = await one.problem(404, "GET", "/v1/asks/unknown", token=SECOND)
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
            assert await one.problem(404, method, f"/v1/asks/{mine['id']}{path}", token=SECOND) == unknown
        assert (await one.request("GET", "/v1/asks", token=SECOND))[1] == {"asks": []}
        assert (await one.get(mine["id"]))["status"] == "open"


async def test_a_token_can_be_revoked_while_somebody_waits(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()
        waiting = asyncio.create_task(one.request("GET", f"/v1/asks/{asked['id']}?wait=300"))
        file.write_text(file.read_text().replace(FIRST, "another-token-of-the-first"))
        await process.said("Read 2 callers again")
        assert (await waiting)[0] == 401
        await one.problem(401, "GET", "/v1/asks")
        # The token is new, and the caller is the same.
        assert (await one.request("GET", f"/v1/asks/{asked['id']}", token="another-token-of-the-first"))[0] == 200
        file.write_text("[broken")
        await process.said("All requests are rejected until this is solved")
        await one.problem(503, "GET", "/v1/asks", token=SECOND)
        write_callers(office)
        await process.said("Read 2 callers again", times=2)
        assert (await one.get(asked["id"]))["status"] == "open"
    assert FIRST not in process.err


async def test_a_stream_ends_with_an_error_when_its_token_is_revoked(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()
        async with one.open("GET", f"/v1/asks/{asked['id']}/events") as response:
            assert await response.content.readline() == b"event: open\n"
            file.write_text(file.read_text().replace(FIRST, "another-token-of-the-first"))
            await process.said("Read 2 callers again")
            assert (await response.text()).endswith("event: error\ndata: {}\n\n")
        one.token = "another-token-of-the-first"
        assert (await one.get(asked["id"]))["status"] == "open"
    await office.card()


async def test_a_withdrawal_in_the_moment_of_the_answer_leaves_one_outcome(stored_office: Office) -> None:
    office = stored_office
    async with caller(office) as one:
        for number in range(4):
            question: dict[str, Any] = {"question": f"Deploy {number}?", "options": ["Yes", "No"]}
            waiting = asyncio.create_task(one.ask(60, **question))
            card = await office.card(f"Deploy {number}?")
            _, listed = await one.request("GET", "/v1/asks")
            path = f"/v1/asks/{listed['asks'][0]['id']}"
            cancelling = asyncio.create_task(one.request("POST", f"{path}/cancel"))
            # The answer comes a little later each time.
            await asyncio.sleep(number * 0.005)
            await office.press("ada", card, "Yes")
            status, withdrawn = await cancelling
            assert status == 200
            assert await waiting == withdrawn == await one.get(listed["asks"][0]["id"])
            assert (withdrawn["status"], withdrawn.get("answer")) in (("answered", "Yes"), ("cancelled", None))
            words = "Yes" if withdrawn["status"] == "answered" else "withdrew"
            assert words in await office.settled(f"Deploy {number}?")


async def test_a_caller_beyond_its_pace_is_told_when_to_come_back(office: Office) -> None:
    async with caller(office) as one:
        many = [one.open("GET", "/v1/asks/none") for _ in range(300)]

        async def send(request: Any) -> tuple[int, str | None]:
            async with request as response:
                return response.status, response.headers.get("Retry-After")

        answers = await asyncio.gather(*map(send, many))
        assert {*answers} == {(404, None), (429, "1")}
        assert (await one.request("GET", "/v1/asks", token=SECOND))[0] == 200


async def test_a_token_allows_only_its_scopes_and_places(office: Office) -> None:
    file = write_callers(office, first='scopes = ["ask"]', second="scopes = []")
    async with caller(office, file=file) as one:
        asked = await one.ask()
        assert "'cancel'" in await one.problem(403, "POST", f"/v1/asks/{asked['id']}/cancel")
        assert "'permit'" in await one.problem(403, "POST", "/v1/hooks/claude-code", json={})
        assert "'ask'" in await one.problem(403, "POST", "/v1/asks", json=QUESTION, token=SECOND)
        elsewhere = await one.problem(422, "POST", "/v1/asks", json=QUESTION | {"place": "#general"})
        assert "The operator does not let you ask in" in elsewhere
        await office.card()
    assert len(office.shown()) == 1


async def test_a_scope_can_be_taken_away_while_the_server_runs(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()
        write_callers(office, first="scopes = []")
        await process.said("Read 2 callers again")
        assert "'ask'" in await one.problem(403, "POST", "/v1/asks", json=QUESTION)
        assert "'cancel'" in await one.problem(403, "POST", f"/v1/asks/{asked['id']}/cancel")
        assert (await one.get(asked["id"]))["status"] == "open"


async def test_rules_that_change_apply_to_the_next_question(office: Office) -> None:
    file = write_callers(office)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        await one.ask()
        write_callers(office, first='wait = "1s"')
        await process.said("Read 2 callers again")
        assert (await one.ask(wait=60, question="Deploy 1.4.3?"))["status"] == "timed_out"


async def test_a_wrong_request_is_refused_with_the_next_step(office: Office) -> None:
    async with caller(office) as one:
        for status, words, path, more in (
            (400, "not JSON", "/v1/asks", {"data": b"{", "headers": JSON_TYPE}),
            *(
                (400, "nested too deeply", "/v1/asks", {"data": b"[" * n + b"]" * n, "headers": JSON_TYPE})
                for n in (600, 90_000)
            ),
            (415, "Content-Type", "/v1/asks", {"data": b"{}"}),
            (422, "question", "/v1/asks", {"json": {}}),
            (422, "who", "/v1/asks", {"json": QUESTION | {"who": "anyone"}}),
            (422, "no such option", "/v1/asks", {"json": QUESTION | {"yes": ["Maybe"]}}),
            (422, "need `options`", "/v1/asks", {"json": {"question": "Why?", "quorum": 2}}),
            (422, "cannot be asked", "/v1/asks", {"json": {"questions": []}}),
            (422, "from 0 to 300", "/v1/asks?wait=nan", {"json": QUESTION}),
            (422, "from 0 to 300", "/v1/asks?wait=301", {"json": QUESTION}),
            (422, "Idempotency-Key", "/v1/asks", {"json": QUESTION, "headers": {"Idempotency-Key": "x" * 256}}),
            (404, "GET /openapi.json", "/v1/nothing", {"json": QUESTION}),
        ):
            assert words in await one.problem(status, "POST", path, **more)
        assert "methods" in await one.problem(405, "DELETE", "/v1/asks")
        large = io.BytesIO(json.dumps(QUESTION | {"details": "x" * 2_000_000}).encode())
        assert "a megabyte" in await one.problem(413, "POST", "/v1/asks", data=large, headers=JSON_TYPE)
    assert office.shown() == []


async def test_what_a_program_writes_is_literal_and_a_secret_is_refused(office: Office) -> None:
    secret = next(value for name, value in office.environment().items() if name.endswith("TOKEN"))
    async with caller(office) as one:
        await one.ask(question="Deploy 1.4.2? <!channel> @everyone *bold*", options=["Yes", "No"])
        card = await office.card()
        assert "*bold*" in office.reads(card)
        assert "contains a secret" in await one.problem(422, "POST", "/v1/asks", json={"question": f"Is it {secret}?"})


async def test_hooks_of_claude_code_let_people_approve_calls_and_answer_questions(office: Office) -> None:
    call = {"command": "rm -r build"}
    options = [{"label": "Blue", "description": "As the sky."}, {"label": "Red", "description": "As a rose."}]
    questions = {
        "questions": [{"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}]
    }
    office.settings = {"ASKBACK_APPROVAL_REASONS": "none"}
    file = write_callers(office, first='scopes = ["permit"]\napprovers = "@ada"')

    def hook(event: str, tool: str, given: dict[str, Any]) -> asyncio.Task[tuple[int, Any]]:
        body = {"hook_event_name": event, "tool_name": tool, "tool_input": given, "session_id": "s", "cwd": "/"}
        return asyncio.create_task(one.request("POST", "/v1/hooks/claude-code", json=body))

    async with caller(office, file=file) as one:
        asking = hook("PermissionRequest", "Bash", call)
        card = await office.card("Run Bash?")
        await office.press("ben", card, "Approve")
        assert not asking.done()
        await office.click("ada", "Approve", "Run Bash?")
        decision = {"behavior": "allow", "updatedInput": call}
        assert await asking == (
            200,
            {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}},
        )
        asking = hook("PreToolUse", "AskUserQuestion", questions)
        await office.click("ben", "Blue", "Which colour?")
        _, answer = await asking
        assert answer["hookSpecificOutput"]["permissionDecision"] == "allow"
        assert answer["hookSpecificOutput"]["updatedInput"]["answers"] == {"Which colour?": "Blue"}
        asking = hook("PreToolUse", "Bash", {"command": "reboot"})
        await office.click("ada", "Deny", "reboot")
        _, answer = await asking
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert "denied" in answer["hookSpecificOutput"]["permissionDecisionReason"].casefold()


async def test_hooks_let_approvers_change_the_arguments_where_the_operator_allows_it(office: Office) -> None:
    file = write_callers(office, first='scopes = ["permit"]\napprovers = "anyone"\nedit = "Bash"')
    body = {
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -r build"},
        "session_id": "s",
    }
    async with caller(office, file=file) as one:
        asking = asyncio.create_task(one.request("POST", "/v1/hooks/claude-code", json=body))
        await office.change("ben", {"command": "rm -r build/cache"}, "Run Bash?")
        await office.click("ada", "Approve", "rm -r build/cache")
        decision = {"behavior": "allow", "updatedInput": {"command": "rm -r build/cache"}}
        assert await asking == (
            200,
            {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}},
        )


async def test_an_elicitation_that_nobody_answers_is_cancelled_and_an_address_is_not_asked_about(
    office: Office,
) -> None:
    body: dict[str, Any] = {
        "hook_event_name": "Elicitation", "session_id": "s", "mcp_server_name": "booking", "message": "Which table?",
        "mode": "form", "requested_schema": {"type": "object", "properties": {"guests": {"type": "integer"}}},
    }  # fmt: skip
    async with caller(office, file=write_callers(office, first='scopes = ["permit"]\nwait = "1s"')) as one:
        answer = await one.request("POST", "/v1/hooks/claude-code", json=body)
        assert answer == (200, {"hookSpecificOutput": {"hookEventName": "Elicitation", "action": "cancel"}})
        address = body | {"mode": "url", "url": "https://example.com", "requested_schema": None}
        problem = await one.problem(422, "POST", "/v1/hooks/claude-code", json=address)
        assert "open it in Claude Code" in problem
        without = await one.problem(403, "POST", "/v1/hooks/claude-code", json=body, token=SECOND)
        assert "'permit'" in without
    assert len(office.shown()) <= 1


async def test_a_program_that_gives_up_settles_nothing_and_is_not_waited_for(office: Office) -> None:
    async with caller(office) as one:
        asking = asyncio.create_task(one.ask(wait=300))
        await office.card()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        asking = asyncio.create_task(one.ask(wait=60))
        await office.click("ada", "Yes")
        assert (await asking)["answer"] == "Yes"
    assert len(office.shown()) == 1


async def test_a_server_that_is_told_to_end_ends_at_once_and_leaves_questions_open(office: Office) -> None:
    process, address = await serve(office)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        asked = await one.ask()
        waiting = asyncio.create_task(one.problem(503, "GET", f"/v1/asks/{asked['id']}?wait=300"))
        await office.card()
        process.signal(signal.SIGTERM)
        assert (await process.ended())[0] == 0
        assert "the question stays open" in await waiting
        assert "Traceback" not in process.err
        _, address = await serve(office)
        assert (await HttpCaller(session, address).get(asked["id"]))["status"] == "open"


async def test_a_server_without_proper_callers_does_not_start(office: Office) -> None:
    said = await (await office.start("serve")).refused(2)
    assert "--callers FILE" in said
    file = office.folder / "callers.toml"
    said = await (await office.start("serve", "--callers", str(file))).refused(2)
    assert "No such file" in said
    for text, words in (
        ("", "names no caller"),
        ("[a]\ntoken = 'short'\nto = '#x'", "so it could be guessed"),
        ("[a]\nto = '#x'", "either token or token_sha256"),
        (f"[a]\ntoken = '{FIRST}'\nto = '{office.platform}:#deploys'", "Say who may answer"),
    ):
        file.write_text(text)
        said = await (await office.start("serve", "--callers", str(file), "--http", "0")).refused(2)
        assert words in said
        assert FIRST not in said
    write_callers(office).chmod(0o644)
    process, _ = await serve(office, file=file)
    assert "Other users of this machine can read the tokens" in process.err


async def test_what_is_not_http_does_not_fill_the_log(office: Office) -> None:
    process, address = await serve(office)
    port = int(address.rpartition(":")[2])
    for _ in range(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /\x00 HTTP/9.9\r\n\x01: y\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.0 400")
        writer.close()
    await process.said("Rejected a request that is not valid HTTP.")
    assert process.err.count("not valid HTTP") == 1
    assert "Traceback" not in process.err


async def test_requests_by_the_document_get_the_answers_that_it_describes(office: Office) -> None:
    """schemathesis sends hundreds of valid and invalid requests, and compares each answer with the document."""
    command = Path(sys.executable).with_name("schemathesis")
    if not command.exists():
        pytest.skip("schemathesis is not installed")
    process, address = await serve(office)
    async with aiohttp.ClientSession() as session:
        _, document = await HttpCaller(session, address).request("GET", "/openapi.json")
    for operation in (document["paths"]["/v1/asks"]["post"], document["paths"]["/v1/asks/{id}"]["get"]):
        operation["parameters"] = [one for one in operation["parameters"] if one["name"] != "wait"]  # nobody answers
    file = office.folder / "openapi.json"
    file.write_text(json.dumps(document))
    # A valid question may break a rule that no schema expresses, such as two equal options. A stream does not end.
    running = await asyncio.create_subprocess_exec(
        command, "run", str(file), "--url", address, "-H", f"Authorization: Bearer {FIRST}",
        "--exclude-path", "/v1/asks/{id}/events", "--exclude-checks", "positive_data_acceptance",
        "--phases", "coverage,fuzzing", "--max-examples", "10", "--seed", "1", "--generation-deterministic",
        "--rate-limit", "50/s", "--no-color",
        cwd=office.folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await running.communicate()
    assert running.returncode == 0, out.decode()
    assert "Traceback" not in process.err


async def test_the_document_describes_every_path(office: Office) -> None:
    async with caller(office) as one:
        status, document = await one.request("GET", "/openapi.json", token="none")
        assert (status, document["openapi"]) == (200, "3.1.0")
        assert (await one.request("GET", "/healthz", token="none"))[0] == 200
        for path, operations in document["paths"].items():
            for method in operations:
                status, _ = await one.request(method, path.replace("{id}", "x"), json={"reason": ""})
                assert status in (200, 403, 404, 422), path


async def test_beyond_its_connections_a_server_tells_programs_to_come_again(office: Office) -> None:
    async with caller(office, files=FILES) as one:
        asked = await one.ask()

        async def poll() -> tuple[int, str | None, Any]:
            async with one.open("GET", f"/v1/asks/{asked['id']}?wait=60") as response:
                return response.status, response.headers.get("Retry-After"), await response.json()

        polls = [asyncio.create_task(poll()) for _ in range(FILES // 4 + BEYOND)]
        await office.until(lambda: len([task for task in polls if task.done()]) == BEYOND)
        await office.click("ada", "Yes")
        answers = await asyncio.gather(*polls)
    refused = [answer for answer in answers if answer[0] != 200]
    assert {(status, pause, problem["status"]) for status, pause, problem in refused} == {(503, "5", 503)}
    assert len(refused) == BEYOND
    assert {answer["answer"] for status, _, answer in answers if status == 200} == {"Yes"}


async def test_a_program_chooses_what_a_timeout_does(office: Office) -> None:
    where = {
        "id": "where",
        "prompt": "Where?",
        "options": [{"value": "stg", "label": "Staging"}, {"value": "prd", "label": "Production"}],
        "default": ["stg"],
    }
    schema = {"type": "object", "properties": {"count": {"type": "integer", "default": 3}}, "required": ["count"]}
    async with caller(office) as one:
        answer = await one.ask(wait=60, questions=[where], timeout=1, on_timeout="default")
        assert (answer["status"], answer["fallback"], "answers" in answer) == ("timed_out", {"where": "stg"}, False)
        assert "The default applies, as the card announced" in answer["message"]
        answer = await one.ask(wait=60, question="How many?", form=schema, timeout=1, on_timeout="default")
        assert (answer["status"], answer["fallback"], "values" in answer) == ("timed_out", {"count": 3}, False)
        answer = await one.ask(wait=60, timeout=1, on_timeout="halt", **QUESTION)
        assert (answer["status"], answer["halted"], answer["approved"]) == ("timed_out", True, False)
        assert "Stop here" in answer["message"]
        places: dict[str, Any] = {"question": "Where?", "options": ["Staging", "Production"], "default": "Staging"}
        answer = await one.ask(wait=60, timeout=1, on_timeout="default", **places)
        assert (answer["status"], answer["fallback"], "answer" in answer) == ("timed_out", {"answer": "Staging"}, False)
        asked = {**QUESTION, "timeout": 1, "on_timeout": "default", "default": "Yes"}
        assert "silence is not consent" in await one.problem(422, "POST", "/v1/asks", json=asked)
        _, document = await one.request("GET", "/openapi.json")
        body = document["components"]["schemas"]["AskBody"]["properties"]["on_timeout"]
        assert body["enum"] == ["report", "halt", "default"]
        assert {"fallback", "halted"} <= {*document["components"]["schemas"]["AskResult"]["properties"]}
