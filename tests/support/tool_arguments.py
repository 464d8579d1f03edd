"""Arbitrary arguments of tool calls, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st
from pydantic import JsonValue

HOSTILE_TEXT = st.one_of(
    st.text(
        st.one_of(
            st.characters(),
            st.sampled_from(
                "\0\x1b\x7f\r\n\t<>&@*_~`#-|:\\[]{}()\"'.1 \u202e\u2066\u2069\u200b\u200d\u0301\ud800\ufe0f"
            ),
        ),
        max_size=400,
    ),
    st.sampled_from(
        ["<@U1>", "<!channel>", "@everyone", "<@&7>", "```\n@here\n```", "`", "a``b", "x\\", "true", "1e5", "{}", "\n"]
    ),
)
"""Texts with mark-up, mentions, quotation marks and characters that cannot be seen."""

ARGUMENTS: st.SearchStrategy[dict[str, JsonValue]] = st.dictionaries(
    HOSTILE_TEXT,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | HOSTILE_TEXT
        | st.text("ab \n", max_size=2_000),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE_TEXT, inner, max_size=4),
        max_leaves=10,
    ),
    min_size=1,
    max_size=6,
)
