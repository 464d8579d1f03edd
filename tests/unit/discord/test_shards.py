"""The shards that a process listens to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback_discord.shards import Shard


@given(guild=st.integers(min_value=0, max_value=2**64 - 1), count=st.integers(min_value=1, max_value=64))
def test_every_server_is_heard_by_exactly_one(guild: int, count: int) -> None:
    assert sum(Shard(number, count).contains(str(guild)) for number in range(count)) == 1


def test_direct_messages_come_to_the_first() -> None:
    assert [Shard(number, 3).contains(None) for number in range(3)] == [True, False, False]


def test_a_process_alone_hears_everything() -> None:
    assert Shard().contains(None)
    assert Shard().contains("1100000000000000001")


@pytest.mark.parametrize("text", ["0/1", "1/2", " 7/16 "])
def test_what_is_written_is_read(text: str) -> None:
    assert str(Shard.read(text)) == text.strip()


@pytest.mark.parametrize("text", ["", "x", "1", "2/2", "0/0", "-1/2", "1/2/3", "٠/٢", "0/2\n1/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a shard"):
        Shard.read(text)
