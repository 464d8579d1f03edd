"""`askback serve`: forms come back as values that their JSON Schema accepts."""

from __future__ import annotations

import asyncio

from e2e.ask.office import Office

from .http_caller import caller


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


async def test_a_small_schema_that_would_grow_without_end_is_refused_and_the_server_goes_on(office: Office) -> None:
    defs = {f"x{i}": {"anyOf": [{"$ref": f"#/$defs/x{i + 1}"}] * 60} for i in range(5)} | {"x5": {"type": "string"}}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/x0"}}, "$defs": defs}
    async with caller(office) as one:
        asked = {"question": "About the release", "form": schema}
        assert "more than 10,000 values" in await one.problem(422, "POST", "/v1/asks", json=asked)
        place = {"enum": ["Staging", "Production"], "title": "Place", "type": "string"}
        optional = {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None}
        schema = {"type": "object", "properties": {"where": optional}, "$defs": {"Place": place}}
        asking = asyncio.create_task(one.ask(wait=60, question="Deploy 1.4.2?", form=schema))
        await office.click("ada", "Production")
        assert (await asking)["values"] == {"where": "Production"}


async def test_a_schema_of_another_language_keeps_its_rules_and_its_null(office: Office) -> None:
    """Libraries of TypeScript and Rust publish such schemas, and OpenAI's strict mode requires each property."""
    tag = {"type": "string", "pattern": r"^v\d+\.\d+$", "description": "Which tag?"}
    places = {"type": ["string", "null"], "enum": ["eu", "us", None], "description": "Where?"}
    schema = {"type": "object", "properties": {"tag": tag, "where": places}, "required": ["tag", "where"]}
    async with caller(office) as one:
        asking = asyncio.create_task(one.ask(wait=60, question="About the release", form=schema))
        await office.click("ada", "Write an answer…", "Which tag?")
        await office.until(lambda: office.has_field("ada"))
        label = "Which tag?" if office.platform == "slack" else "Your answer"
        assert await office.send_fields("ada", {label: "1.4"}), "it does not match the pattern"
        await office.fill("ada", "Write an answer…", "v1.4", "Which tag?")
        await office.click("ada", "(no answer)", "Where?")
        await office.click("ada", "Submit", "v1.4")
        assert (await asking)["values"] == {"tag": "v1.4", "where": None}
        await office.settled("v1.4")


async def test_a_schema_with_impossible_values_is_refused_with_a_sentence(office: Office) -> None:
    """Python can neither compare these numbers with a fraction nor look up a list among the permitted values."""
    huge = 10**400
    async with caller(office) as one:
        for given, words in (
            ({"type": "integer", "minimum": huge}, "permits no number that every program can read"),
            ({"type": "number", "maximum": -huge}, "permits no number that every program can read"),
            ({"type": "integer", "enum": [huge]}, "which is not a whole number"),
            ({"enum": ["a"], "default": ["a"]}, "a default that is none of its values"),
            ({"type": "boolean", "default": {}}, "a default that is none of its values"),
            ({"enum": [None], "type": ["string", "null"]}, "permits “None”, which is not a text"),
        ):
            schema = {"type": "object", "properties": {"a": given}}
            assert words in await one.problem(422, "POST", "/v1/asks", json={"question": "How many?", "form": schema})
    assert office.shown() == []


async def test_alternatives_of_other_languages_are_options(office: Office) -> None:
    """zod refers to a property that has the same type; schemars lists variants with a text apart from the others."""
    level = {"anyOf": [{"const": "low"}, {"const": "high"}, {"type": "null"}], "description": "Level?"}
    mode = {"oneOf": [{"enum": ["fast", "slow"]}, {"const": "auto", "description": "As fast as safe"}]}
    properties = {"first": level, "mode": {"$ref": "#/$defs/Mode"}, "last": {"$ref": "#/properties/first"}}
    schema = {"type": "object", "properties": properties, "required": [*properties], "$defs": {"Mode": mode}}
    async with caller(office) as one:
        asking = asyncio.create_task(one.ask(wait=60, question="About the release", form=schema))
        await office.click("ada", "high", "Level?")
        await office.click("ada", "auto", "mode")
        await office.click("ada", "(no answer)", "last")
        await office.click("ada", "Submit", "auto")
        assert (await asking)["values"] == {"first": "high", "mode": "auto", "last": None}
        await office.settled("auto")


async def test_people_write_a_list_with_one_item_per_line(office: Office) -> None:
    ports = {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "Which ports?"}
    labels = {"type": "array", "items": {"type": "string"}, "description": "Which labels?", "default": ["a", "b"]}
    schema = {
        "type": "object",
        "properties": {"ports": {**ports, "minItems": 1}, "labels": labels},
        "required": ["ports"],
    }
    async with caller(office) as one:
        asking = asyncio.create_task(one.ask(wait=60, question="About the release", form=schema))
        await office.click("ada", "Write an answer…", "Which ports?")
        await office.until(lambda: office.has_field("ada"))
        label = "Which ports?" if office.platform == "slack" else "Your answer"
        assert await office.send_fields("ada", {label: "80\n\n0"}), "the third line is no port"
        await office.fill("ada", "Write an answer…", "80\n443\n", "Which ports?")
        await office.click("ada", "Next", "Which labels?")
        await office.click("ada", "Submit", "443")
        assert (await asking)["values"] == {"ports": [80, 443], "labels": ["a", "b"]}
        await office.settled("443")
