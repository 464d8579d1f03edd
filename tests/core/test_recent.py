"""A process's bounded memory of recent items."""

from __future__ import annotations

from askback.internal.bounded_cache import Recent


def test_the_oldest_is_forgotten_once_there_are_too_many():
    recent = Recent[str, int](2)
    recent["a"], recent["b"], recent["c"] = 1, 2, 3
    assert dict(recent) == {"b": 2, "c": 3}
    assert "a" not in recent


def test_what_is_put_in_again_is_the_newest():
    recent = Recent[str, int](2)
    recent["a"], recent["b"] = 1, 2
    recent["a"] = 10
    recent["c"] = 3
    assert [*recent.items()] == [("a", 10), ("c", 3)]


def test_looking_makes_nothing_newer():
    recent = Recent[str, int](2)
    recent["a"], recent["b"] = 1, 2
    assert recent["a"] == recent.get("a") == 1
    recent["c"] = 3
    assert "a" not in recent


def test_what_is_taken_out_leaves_its_room():
    recent = Recent[str, int](2)
    recent["a"], recent["b"] = 1, 2
    assert recent.pop("b") == 2
    recent["c"] = 3
    assert [*recent] == ["a", "c"]
    assert len(recent) == 2


def test_nothing_may_be_a_value():
    recent = Recent[str, None](1)
    recent["a"] = None
    assert "a" in recent
