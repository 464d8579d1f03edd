"""Parses tool inputs leniently, since models often deviate from the schema in ways whose meaning is clear."""

from __future__ import annotations

__all__ = [
    "TO_DESCRIPTION",
    "LenientBool",
    "LenientText",
    "NameList",
    "ToolInput",
    "add_fields",
    "add_names",
    "build_length_limits",
    "build_schema",
    "decode_json",
    "drop_blank",
    "has_field",
    "rename_aliases",
    "rename_fields",
    "to_list",
    "to_options",
    "wrap_in_object",
]  # fmt: skip

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Final, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue

from askback.internal.values import repair_surrogates
from askback.text.unseen import has_visible_text

MAX_DEPTH = 2
"""Levels of JSON inside JSON strings that are unpacked. Models nest once, seldom twice."""


class ToolInput(BaseModel):
    """The base class of the tools' inputs. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def decode_json(value: object) -> object:
    """Decode JSON that was sent as a string. Return anything else unchanged."""
    found = value
    for _ in range(MAX_DEPTH):
        if not isinstance(found, str) or found.lstrip(' \t\r\n"')[:1] not in {"[", "{"}:
            break
        try:
            found = cast("object", json.loads(found))
        except (ValueError, RecursionError):
            break
    return value if isinstance(found, str) else found


def to_list(value: object) -> object:
    """Convert a JSON string, a single entry, or nothing to a list. Drop null entries."""
    value = decode_json(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return []
    if isinstance(value, Mapping) or (isinstance(value, str) and not _is_broken_json(value)):
        return [cast("object", value)]
    if isinstance(value, list | tuple):
        return [one for one in cast("Sequence[object]", value) if one is not None]
    return value


def to_options(value: object) -> object:
    """Convert options to a list as `to_list` does. A text is an error: it may name several, such as "Yes, No"."""
    found = decode_json(value)
    if isinstance(found, str) and found.strip():
        raise ValueError('is one text: give a list with an entry for each option, such as ["Yes", "No"]')
    return to_list(found)


def rename_fields(value: object, /, *, text: str | None = None, **names: tuple[str, ...]) -> object:
    """Rename fields that models send under other names. A bare text becomes the field `text`.

    Case and separators of names do not matter. The schema's name takes precedence over every alias. A null field counts
    as missing.
    """
    found = decode_json(value)
    known = _select_known(found, names)
    # A text that is JSON, but has no known fields, is text for people.
    if text is not None and isinstance(value, str | int | float) and not known:
        return {text: value}
    return known if isinstance(found, Mapping) else found


def rename_aliases(value: object, /, **names: tuple[str, ...]) -> object:
    """Rename fields as `rename_fields` does, and keep unknown ones, so that the input's own check can reject them."""
    found = decode_json(value)
    if not isinstance(found, Mapping):
        return found
    known = _select_known(cast("object", found), names)
    taken = {_normalize_name(one) for name in known for one in (name, *names[name])}
    fields = cast("Mapping[object, object]", found).items()
    return known | {key: field for key, field in fields if _normalize_name(key) not in taken}


def wrap_in_object(value: object, name: str, *marks: str) -> object:
    """Wrap a bare list, a single entry or a bare text into an object with the field `name`.

    A single entry is recognised by one of the keys in `marks`.
    """
    value = decode_json(value)
    if isinstance(value, list | tuple) or (isinstance(value, str) and value.strip() and not _is_broken_json(value)):
        return {name: cast("object", value)}
    if not isinstance(value, Mapping):
        return value
    known = _select_known(cast("object", value), dict.fromkeys((name, *marks), ()))
    if name in known or not known:
        return known
    inside = decode_json(next(iter(known.values())))
    entries = cast("object", inside if isinstance(inside, list | Mapping) else [value])
    return {name: entries}


def _select_known(value: object, names: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    sent: dict[str, object] = {}
    for key, field in cast("Mapping[object, object]", value).items():
        if field is not None:
            sent.setdefault(_normalize_name(key), field)
    known: dict[str, object] = {}
    for name, others in names.items():
        used = next((alias for alias in map(_normalize_name, (name, *others)) if alias in sent), None)
        if used is not None:
            known[name] = sent[used]
    return known


def _normalize_name(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()) if isinstance(name, str) else ""


def _is_broken_json(text: str) -> bool:
    """Return True if the text is cut off or mistyped JSON, rather than text for people."""
    return re.match(r"""\s*(\{\s*["'}]|\[\s*["'\[{\]])""", text) is not None


def _read_text(value: object) -> object:
    if isinstance(value, str):
        return repair_surrogates(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


LenientText = Annotated[str, BeforeValidator(_read_text)]
"""A text. Accepts a number, and repairs unpaired surrogates, since the model cannot see them."""


def drop_blank(text: str | None) -> str | None:
    """Return the text; None if it is blank."""
    return text if text and has_visible_text(text) else None


def _read_names(value: object) -> object:
    """Return names, also if people were sent as objects."""
    listed = to_list(value)
    if not isinstance(listed, list | tuple):
        return listed
    named = [_read_name(one) for one in cast("Sequence[object]", listed)]
    return [one for one in named if not isinstance(one, str) or one.strip()]


def _read_name(value: object) -> object:
    return next(iter(_select_known(value, {"name": ("id", "user")}).values()), value)


NameList = Annotated[list[LenientText], BeforeValidator(_read_names)]
"""Names of people. Accepts a single text."""

TO_DESCRIPTION: Final = (
    "Optional: names of the people to ask, as they appear before their messages. Then only these people can answer, "
    "and they are notified. Leave it out if it does not matter who answers."
)
"""The description of `to` for the model."""


def add_names(value: object, understood: object) -> object:
    """Return the parsed input with the names in `to` added."""
    return add_fields(value, understood, to=())


def add_fields(value: object, understood: object, **names: tuple[str, ...]) -> object:
    """Return the parsed input with further fields added; `names` holds their aliases."""
    found = _select_known(decode_json(value), names)
    return {**cast("Mapping[str, object]", understood), **found} if isinstance(understood, Mapping) else understood


def has_field(value: object, name: str) -> bool:
    """Return True if an object, perhaps in a JSON string, has this field."""
    return bool(_select_known(decode_json(value), {name: ()}))


def _read_bool(value: object) -> object:
    if isinstance(value, str) and value.strip().lower() in {"true", "yes", "1"}:
        return True
    if value is None or (isinstance(value, str) and value.strip().lower() in {"false", "no", "0", ""}):
        return False
    return value


LenientBool = Annotated[bool, BeforeValidator(_read_bool)]


def build_length_limits(most: int, *, least: int = 0) -> dict[str, JsonValue]:
    """Return the limits of a text's length for the schema, so that the model wastes no call on a longer one.

    The form rejects a longer text, with an error that names every wrong field.
    """
    return {"maxLength": most, "minLength": least} if least else {"maxLength": most}


_NULL: Final = {"type": "null"}


@lru_cache(maxsize=64)
def _dump_schema(model: type[BaseModel]) -> str:
    return json.dumps(model.model_json_schema(by_alias=True))


def build_schema(model: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the JSON Schema of a tool's input or result, with every reference inlined.

    A field that may be left out is not also described as null: that costs the model tokens and adds nothing.
    """
    schema = cast("dict[str, JsonValue]", json.loads(_dump_schema(model)))
    definitions = cast("dict[str, JsonValue]", schema.pop("$defs", {}))
    return cast("dict[str, JsonValue]", _inline(schema, definitions))


def _inline(node: JsonValue, definitions: dict[str, JsonValue]) -> JsonValue:
    if isinstance(node, list):
        return [_inline(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        return _inline(definitions[reference.removeprefix("#/$defs/")], definitions)
    variants = node.get("anyOf")
    if isinstance(variants, list) and _NULL in variants and node.get("default", 0) is None:
        rest = {key: part for key, part in node.items() if key not in ("anyOf", "default")}
        (one, *others) = [part for part in variants if part != _NULL]
        if not others:
            # The outer description is about this field, and an inner one about its type.
            inner = cast("dict[str, JsonValue]", _inline(one, definitions))
            return inner | cast("dict[str, JsonValue]", _inline(rest, definitions))
    # Titles repeat the names of the fields; they cost the model tokens and add nothing.
    return {
        key: _inline(part, definitions) for key, part in node.items() if not (key == "title" and isinstance(part, str))
    }
