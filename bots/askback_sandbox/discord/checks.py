"""Small rules that together check bodies; every fault has Discord's wording and a path."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from .refusals import Found, Path

Rule = Callable[[JsonValue, Path, Found], None]


def string(most: int, least: int = 0) -> Rule:
    """A string of `least` to `most` characters."""

    def rule(value: JsonValue, path: Path, found: Found) -> None:
        if not isinstance(value, str):
            found.add(path, "STRING_TYPE_CONVERT", "Could not interpret as string.")
        elif len(value) > most or len(value) < least:
            if least:
                found.add(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")
            else:
                found.add(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")

    return rule


def boolean(value: JsonValue, path: Path, found: Found) -> None:
    """True or false."""
    if not isinstance(value, bool):
        found.add(path, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")


def integer(least: int = -(2**63), most: int = 2**63 - 1) -> Rule:
    """A whole number between two bounds."""

    def rule(value: JsonValue, path: Path, found: Found) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            found.add(path, "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')
        elif value < least:
            found.add(path, "NUMBER_TYPE_MIN", f"int value should be greater than or equal to {least}.")
        elif value > most:
            found.add(path, "NUMBER_TYPE_MAX", f"int value should be less than or equal to {most}.")

    return rule


def one_of(*values: str | int) -> Rule:
    """One of the given values."""

    def rule(value: JsonValue, path: Path, found: Found) -> None:
        if isinstance(value, bool) or value not in values:
            choices = ", ".join(str(choice) for choice in values)
            found.add(path, "BASE_TYPE_CHOICES", f"Value must be one of {{{choices}}}.")

    return rule


def snowflake(value: JsonValue, path: Path, found: Found) -> None:
    """An id: digits, as a string or a number."""
    digits = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) < 21):
        found.add(path, "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')


def array(item: Rule, *, most: int, least: int = 0) -> Rule:
    """A list of `least` to `most` items."""

    def rule(value: JsonValue, path: Path, found: Found) -> None:
        if not isinstance(value, list):
            found.add(path, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType.")
            return
        if len(value) > most or len(value) < least:
            if least:
                found.add(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")
            else:
                found.add(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
        for index, entry in enumerate(value):
            item(entry, (*path, index), found)

    return rule


def shape(required: Mapping[str, Rule], optional: Mapping[str, Rule]) -> Rule:
    """An object with these fields and no others. Optional fields may be null.

    Discord itself ignores unknown fields. They are refused here, because they are mistakes of the sender.
    """

    def rule(value: JsonValue, path: Path, found: Found) -> None:
        if not isinstance(value, dict):
            found.add(path, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
            return
        for name in required:
            if value.get(name) is None:
                found.add((*path, name), "BASE_TYPE_REQUIRED", "This field is required")
        for name, entry in value.items():
            check = required.get(name) or optional.get(name)
            if check is None:
                found.add((*path, name), "UNKNOWN_PROPERTY", f"There is no field {name!r} here")
            elif entry is not None:
                check(entry, (*path, name), found)

    return rule


def by_type(rules: Mapping[int, Rule]) -> Rule:
    """An object whose `type` selects its rule."""

    def rule(value: JsonValue, path: Path, found: Found) -> None:
        if not isinstance(value, dict):
            found.add(path, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
            return
        kind = value.get("type")
        check = rules.get(kind) if isinstance(kind, int) and not isinstance(kind, bool) else None
        if check is None:
            choices = ", ".join(str(int(number)) for number in rules) + ("," if len(rules) == 1 else "")
            found.add(path, "UNION_TYPE_CHOICES", f'Value of field "type" must be one of ({choices}).')
        else:
            check(value, path, found)

    return rule


def every(*rules: Rule) -> Rule:
    """Several rules, one after the other."""

    def rule(value: JsonValue, path: Path, found: Found) -> None:
        for check in rules:
            check(value, path, found)

    return rule


def anything(value: JsonValue, path: Path, found: Found) -> None:
    """Accept any value, for fields on which nothing here depends."""
