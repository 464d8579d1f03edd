"""Reads the limits and steps of a number from a JSON Schema, and writes them. Pure."""

from __future__ import annotations

__all__ = ["NUMBER_KEYWORDS", "UNIT", "find_multiples_problem", "read_number_rules", "write_number_rules"]

import math
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.number_limits import NumberLimits
from askback.domain.schema_choices import UnsupportedSchema, is_number
from askback.domain.text_kinds import MAX_INTEGER, TextKind
from askback.domain.text_rules import TextRules

NUMBER_KEYWORDS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}
)
_LOWER: Final = ("minimum", "exclusiveMinimum")
_UPPER: Final = ("maximum", "exclusiveMaximum")
UNIT: Final = "x-unit"
"""The keyword of a unit. JSON Schema has none, and ignores this one."""
_TYPES: Final[Mapping[str, tuple[float, float]]] = {
    **{f"int{bits}": (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) for bits in (8, 16, 32)},
    **{f"uint{bits}": (0, 2.0**bits - 1) for bits in (8, 16, 32)},
    "uint64": (0, math.inf),
    "uint": (0, math.inf),
}
"""The ranges of whole numbers in languages such as Rust, by the names that their libraries give as the format."""


def read_number_rules(kind: TextKind, schema: Mapping[str, object], unit: str | None) -> TextRules:
    """Return the rules for a number. Steps count from the smallest multiple that is allowed.

    Raises `UnsupportedSchema`, whose text continues a sentence about the property, and `InvalidValue`.
    """
    written = _modernize_limits(schema)
    least, above, most, below = (_read_limit(kind, written, key) for key in (*_LOWER, *_UPPER))
    step = schema.get("multipleOf")
    if step is not None and (not is_number(step) or cast("float", step) <= 0):
        raise UnsupportedSchema("has a `multipleOf` that is not a number above 0: correct it")
    if kind == "integer":
        named = schema.get("format")
        bottom, top = _TYPES.get(named, (None, None)) if isinstance(named, str) else (None, None)
        lowest = (least, None if above is None else math.floor(above) + 1, bottom)
        highest = (None if most is None else math.floor(most), None if below is None else math.ceil(below) - 1, top)
        least = max((one for one in lowest if one is not None), default=None)
        most = min((one for one in highest if one not in (None, math.inf)), default=None)
        above = below = None
        least = least if least is None or step is not None else math.ceil(least)
    if step is not None:
        least, above = _find_first(least, above, cast("float", step)), None
    _check_range(NumberLimits(minimum=least, maximum=most, exclusive_minimum=above, exclusive_maximum=below))
    return TextRules.parse(
        {
            "kind": kind,
            "minimum": least,
            "maximum": most,
            "exclusive_minimum": above,
            "exclusive_maximum": below,
            "step": step,
            "unit": unit,
        }
    )


def _modernize_limits(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the limits as newer schemas write them. In draft 4, `exclusiveMinimum` says if `minimum` is excluded."""
    found = {key: schema.get(key) for key in (*_LOWER, *_UPPER)}
    for limit, exclusive in zip(("minimum", "maximum"), ("exclusiveMinimum", "exclusiveMaximum"), strict=True):
        if isinstance(found[exclusive], bool):
            is_excluded = found[exclusive]
            found[exclusive] = found.pop(limit) if is_excluded else None
    return found


def _read_limit(kind: TextKind, schema: Mapping[str, object], key: str) -> float | None:
    value = schema.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or _is_infinite(value):
        raise UnsupportedSchema(f"has a `{key}` that is not a number: correct it")
    if abs(value) < (MAX_INTEGER if kind == "integer" else sys.float_info.max):
        return float(value)
    # People can write no number beyond these, so the limit of a program's own type says nothing to them.
    if (value < 0) == (key in _LOWER):
        return None
    raise UnsupportedSchema(f"permits no number that every program can read: correct its `{key}`")


def _is_infinite(value: float) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _check_range(limits: NumberLimits) -> None:
    """Raise `UnsupportedSchema` if no number is within the limits."""
    least, most = limits.lowest, limits.highest
    if least is None or most is None or least < most:
        return
    if least > most or least == limits.exclusive_minimum or most == limits.exclusive_maximum:
        raise UnsupportedSchema("permits no number at all: correct its limits")


def _find_first(least: float | None, above: float | None, step: float) -> float | None:
    """Return the smallest multiple that is allowed. None means that there is no lower limit."""
    size = _to_fraction(step)
    found: list[Fraction] = []
    if least is not None:
        found.append(math.ceil(_to_fraction(least) / size) * size)
    if above is not None:
        found.append((math.floor(_to_fraction(above) / size) + 1) * size)
    try:
        return float(max(found)) if found else None
    except OverflowError:
        raise UnsupportedSchema("permits no number that a program can read: lower `minimum`") from None


def find_multiples_problem(rules: TextRules) -> str | None:
    """Return which steps of a number a schema cannot say. None if they are all multiples, or if there are none."""
    if rules.step is None or rules.minimum is None or not _to_fraction(rules.minimum) % _to_fraction(rules.step):
        return None
    return f"steps of {rules.step:.15g} from {rules.minimum:.15g}"


def write_number_rules(rules: TextRules) -> dict[str, JsonValue]:
    """Return the keywords for a number."""
    found = {
        "minimum": rules.minimum,
        "maximum": rules.maximum,
        "exclusiveMinimum": rules.exclusive_minimum,
        "exclusiveMaximum": rules.exclusive_maximum,
        "multipleOf": rules.step,
        UNIT: rules.unit,
    }
    return {"type": rules.kind, **{key: value for key, value in found.items() if value is not None}}


def _to_fraction(number: float) -> Fraction:
    """Return a number exactly as it is written: 0.1 is a tenth."""
    return Fraction(repr(number))
