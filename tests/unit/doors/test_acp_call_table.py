"""The card of an ACP agent's call: nothing of the call is left out, and nothing is said twice."""

from __future__ import annotations

import json
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from askback.doors.acp_call_table import build_call_table

TEXTS = st.text("ab\n\r\u2028", max_size=12)


def diff(old: str | None, new: str, path: str = "/srv/a.toml") -> dict[str, Any]:
    return {"type": "diff", "path": path, "newText": new, **({} if old is None else {"oldText": old})}


def table(**call: Any) -> dict[str, Any]:
    return build_call_table(call, named=True)


def test_the_fields_of_the_input_are_arguments_of_their_own() -> None:
    call = {"title": "Run it", "kind": "execute", "rawInput": {"command": "ls", "cwd": "/srv"}}
    assert build_call_table(call, named=True) == {"command": "ls", "cwd": "/srv"}
    assert [*build_call_table(call, named=False)] == ["title", "command", "cwd"]


def test_a_field_of_the_input_never_takes_the_place_of_something_else() -> None:
    call = table(rawInput={"locations": "nowhere", "command": "ls"}, locations=[{"path": "/etc", "line": 3}])
    assert call == {"rawInput": {"locations": "nowhere", "command": "ls"}, "locations": "/etc:3"}
    call = table(rawInput={"diff": "nothing"}, content=[diff("a", "b")])
    assert call["rawInput"] == {"diff": "nothing"}
    call = build_call_table({"title": "x" * 99, "rawInput": {"title": "y"}}, named=False)
    assert call == {"title": "x" * 99, "rawInput": {"title": "y"}}


@given(TEXTS, TEXTS)
def test_a_diff_tells_any_two_texts_apart(old: str, new: str) -> None:
    call = table(content=[diff(old, new)])
    if old == new:
        assert call["content"][0]["newText"] == new
    else:
        shown = call["diff"]
        body = shown.split("\n")[3:]
        mark = "\\ No newline at end of file"
        for sign, text in (("-", old), ("+", new)):
            lines = [line[1:] for line in body if line[:1] in (" ", sign)]
            ends = not any(line == mark and body[n - 1][:1] in (" ", sign) for n, line in enumerate(body))
            assert "\n".join(lines) + ("\n" if lines and ends else "") == text


def test_lines_that_a_diff_leaves_out_can_be_read_because_the_agent_writes_them_too() -> None:
    old = "".join(f"line {number}\n" for number in range(40))
    call = table(content=[diff(old, old.replace("line 20", "another"))])
    assert "+another" in call["diff"]
    assert "line 2\n" not in call["diff"]
    assert call["content"][0]["newText"] == old.replace("line 20", "another")


def test_a_new_file_and_several_files_are_one_diff() -> None:
    shown = table(content=[diff(None, "a\n"), diff("b\n", "c\n", "/srv/b\n.toml")])["diff"]
    assert shown.startswith("--- /dev/null\n+++ /srv/a.toml\n@@ -0,0 +1 @@\n+a\n")
    assert r'+++ "/srv/b\n.toml"' in shown


def test_what_is_no_diff_stays_as_it_is() -> None:
    text = {"type": "content", "content": {"type": "text", "text": "hello"}}
    for content in ([text], [text, diff("a", "b")], [diff("a", "b") | {"more": 1}], [], [diff("a", "b") | {"path": 1}]):
        assert table(content=content) == {"content": content}
    places = [{"path": "/a\n/b"}]
    assert table(locations=places) == {"locations": places}


def test_a_large_change_is_not_compared() -> None:
    old, new = ("".join(f"{number % 7}{end}\n" for number in range(30_000)) for end in "ab")
    begun = time.monotonic()
    call = table(content=[diff(old, new)])
    assert time.monotonic() - begun < 1
    assert [*call] == ["content"]
    small = json.dumps(table(content=[diff(old[:2_000], new[:2_000])]))
    assert time.monotonic() - begun < 5
    assert "diff" in small
