"""Settings files as operators write them, and the sentence about a wrong one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.settings.core import Settings
from askback.settings.loader import TomlSettings, load


def write(folder: Path, text: str, name: str = "askback.toml") -> Path:
    """Write a settings file into the working directory, and put its name into the environment."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    os.environ["ASKBACK_CONFIG"] = name
    return path


def problem(kind: type[TomlSettings] = Settings) -> str:
    with pytest.raises(OperatorError) as caught:
        load(kind)
    return str(caught.value)
