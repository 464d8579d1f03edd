"""Name the parameters of a question as the caller writes them: options of the command, or Python parameters."""

from __future__ import annotations

__all__ = ["PYTHON", "SHELL", "Terms", "describe_problems"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from askback.errors import InvalidValue

_SINGULAR: Final = {"options": "option"}
"""Parameters with several values, for which the command's option is repeated under this singular name."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The caller's names for the parameters, for error messages."""

    is_shell: bool

    def name(self, parameter: str) -> str:
        """Return the parameter's name: `--requested-by`, or `requested_by` in backquotes."""
        if self.is_shell:
            return f"--{_SINGULAR.get(parameter, parameter).replace('_', '-')}"
        return f"`{parameter}`"

    def format_names(self, *parameters: str) -> str:
        """Return several names, separated by commas."""
        return ", ".join(map(self.name, parameters))

    def format_parameter(self, parameter: str, value: object) -> str:
        """Return the parameter with a value, as the caller writes it: `--quorum 2`, or `quorum=2`."""
        return f"{self.name(parameter)} {value}" if self.is_shell else f"{parameter}={value!r}"


SHELL: Final = Terms(is_shell=True)
PYTHON: Final = Terms(is_shell=False)


def describe_problems(error: InvalidValue, names: Mapping[str, str]) -> str:
    """Return the problems of a question, or of one of its options, as a sentence with the caller's names.

    `names` has them by the field; that of an option is `option`.
    """
    if error.what == "Option":
        # The value of an option is its label, so a problem of both is reported once.
        found = [
            f"{names['option']}{'' if one.field == 'label' else f' ({one.field})'} {one.message}"
            for one in error.problems
            if one.field != "value"
        ]
    else:
        found = [f"{names.get(one.field, one.field)} {one.message}" for one in error.problems]
    return f"{'; '.join(found)}."
