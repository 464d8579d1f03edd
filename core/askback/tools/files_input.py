"""The files that a question of the tool `ask` asks for."""

from __future__ import annotations

__all__ = ["FilesInput", "OptionalFiles"]

from typing import Annotated, TypeAlias, cast

from pydantic import BeforeValidator, Field, model_validator

from askback.domain.file_kinds import MAX_FILES
from askback.domain.file_rules import AcceptedKind
from askback.tools.lenient_parser import ToolInput, rename_fields, to_list

_WORDS = {"picture": "pictures", "image": "pictures", "images": "pictures", "texts": "text"}


def _read_kinds(value: object) -> object:
    """Return the kinds that a model means, such as pictures for images."""
    listed = to_list(value)
    if not isinstance(listed, list):
        return listed
    words = [one.strip().lower() if isinstance(one, str) else one for one in cast("list[object]", listed)]
    return [_WORDS.get(word, word) if isinstance(word, str) else word for word in words]


def _read_files(value: object) -> object:
    """Return the fields that a model means. It may write only the kinds, or only that it wants files."""
    match value:
        case False | None:
            return None
        case True:
            return {}
        case str() | list():
            return {"kinds": cast("object", value)}
        case _:
            return value


class FilesInput(ToolInput):
    kinds: Annotated[list[AcceptedKind], BeforeValidator(_read_kinds)] = Field(
        default_factory=list[AcceptedKind], description="The kinds that people may give. Default: all three."
    )
    least: int = Field(default=1, alias="min", ge=1, le=MAX_FILES, description="The smallest number of files.")
    most: int | None = Field(default=None, alias="max", ge=1, le=MAX_FILES, description="The largest. Default: min.")

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(value, kinds=("kind", "types", "accept"), min=("least",), max=("most", "count"))

    def build_rules(self) -> dict[str, object]:
        """Return the fields of the rules of a form."""
        fields: dict[str, object] = {"kinds": self.kinds or None, "min": self.least, "max": self.most}
        return {name: value for name, value in fields.items() if value is not None}


OptionalFiles: TypeAlias = Annotated[FilesInput | None, BeforeValidator(_read_files)]
