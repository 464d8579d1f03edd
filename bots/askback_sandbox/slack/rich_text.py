"""The rules by which Slack accepts rich text: sections, lists, quotes, code, and their contents."""

from pydantic import JsonValue

from .checks import (
    Problems,
    Rule,
    anything,
    array,
    boolean,
    by_type,
    identifier,
    integer,
    one_of,
    shape,
    string,
    web_address,
)

_LONG = 100_000  # Slack names no limit for one run of text; the whole message has one
_name = string(255)

_style = shape(
    {},
    {
        "bold": boolean,
        "italic": boolean,
        "strike": boolean,
        "code": boolean,
        "underline": boolean,
        "highlight": boolean,
        "client_highlight": boolean,
        "unlink": boolean,
    },
)

_leaves: dict[str, Rule] = {
    "text": shape({"type": anything, "text": string(_LONG)}, {"style": _style}),
    "link": shape(
        {"type": anything, "url": string(3_000)}, {"text": string(_LONG), "unsafe": boolean, "style": _style}
    ),
    "user": shape({"type": anything, "user_id": _name}, {"style": _style}),
    "usergroup": shape({"type": anything, "usergroup_id": _name}, {"style": _style}),
    "team": shape({"type": anything, "team_id": _name}, {"style": _style}),
    "channel": shape({"type": anything, "channel_id": _name}, {"style": _style}),
    "emoji": shape(
        {"type": anything, "name": _name},
        {"unicode": string(255), "skin_tone": integer(1, 6), "style": _style},
    ),
    "date": shape(
        {"type": anything, "timestamp": integer(0, 10**11), "format": string(255)},
        {"url": web_address(3_000), "fallback": string(_LONG), "style": _style},
    ),
    "broadcast": shape({"type": anything, "range": one_of("here", "channel", "everyone")}, {"style": _style}),
    "color": shape({"type": anything, "value": _name}, {"style": _style}),
}

_inline = array(by_type(_leaves), least=0)
_code = array(by_type({kind: _leaves[kind] for kind in ("text", "link")}), least=0)
_border = integer(0, 1)
_section = shape({"type": anything, "elements": _inline}, {})
_rich_text_list = shape(
    {
        "type": anything,
        "style": one_of("bullet", "ordered"),
        # A list holds sections only; a nested list is a further list with a deeper indent [ref rich-text-block].
        "elements": array(by_type({"rich_text_section": _section})),
    },
    {"indent": integer(0, 8), "offset": integer(0, 10**6), "border": _border},
)
_parts: dict[str, Rule] = {
    "rich_text_section": _section,
    "rich_text_list": _rich_text_list,
    "rich_text_quote": shape({"type": anything, "elements": _inline}, {"border": _border}),
    "rich_text_preformatted": shape(
        {"type": anything, "elements": _code}, {"border": _border, "language": string(255)}
    ),
}
_block = shape({"type": anything, "elements": array(by_type(_parts))}, {"block_id": identifier})


def rich_text(value: JsonValue, pointer: str, problems: Problems) -> None:
    """A `rich_text` block."""
    _block(value, pointer, problems)
