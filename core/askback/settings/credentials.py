"""Secrets of a part of the settings, for the guide that asks for them one at a time."""

from __future__ import annotations

__all__ = ["build_credential", "examine_form"]

from pydantic import SecretStr

from askback.ports.findings import Finding, report_broken
from askback.ports.setup_guide import Credential
from askback.settings.loader import TomlSettings, describe_value, get_environment_variable, get_file_key


def build_credential(kind: type[TomlSettings], name: str, title: str) -> Credential:
    """Return the credential for a field of the settings."""
    field = kind.model_fields[name]
    return Credential(
        key=get_file_key(kind, name, field),
        variable=get_environment_variable(kind, name, field),
        title=title,
        source=field.description or "",
    )


def examine_form(kind: type[TomlSettings], name: str, value: SecretStr) -> Finding | None:
    """Check one value as the settings would, without the others. None means that it is well-formed.

    The finding never contains the value.
    """
    problem = describe_value(kind, name, value.get_secret_value())
    if problem is None:
        return None
    field = kind.model_fields[name]
    variable = get_environment_variable(kind, name, field)
    return report_broken("form", f"{variable} {problem}.", field.description or f"Correct {variable}.")
