"""The base of every frozen value that crosses a boundary."""

from __future__ import annotations

__all__ = ["PersonText", "Value", "whole"]

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from askback.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    _Meta = type(BaseModel)
else:

    class _Meta(type(BaseModel)):
        """Raises our own error where a caller builds a value.

        A metaclass, because only the outermost call passes through it: nested values are built by
        pydantic itself, so that one error collects what is wrong at every depth.
        """

        def __call__(cls, *args: object, **kwargs: object) -> object:
            try:
                return super().__call__(*args, **kwargs)
            except ValidationError as error:
                raise InvalidValue.of(cls.__name__, error) from None


if TYPE_CHECKING:

    class _Base(BaseModel):
        pass
else:

    class _Base(BaseModel, metaclass=_Meta):
        pass


def whole(text: str) -> str:
    """The text with half characters joined to their other half, or else replaced by U+FFFD.

    Programs that cut UTF-16 in the middle of an emoji send such halves; no database and no JSON takes them.
    """
    if _is_whole(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mended(value: object) -> object:
    return whole(value) if isinstance(value, str) else value


LONGEST = 1 << 31
"""Characters of a text: more than any has."""

PersonText = Annotated[str, BeforeValidator(_mended)]
"""A text that a person wrote: half characters in it are mended, since refusing them would lose the rest."""


class Value(_Base):
    """A frozen value. One that is wrong cannot be built: `InvalidValue` names every wrong field."""

    # pydantic reads a text, and so refuses half a character, only where it has to measure it.
    model_config = ConfigDict(frozen=True, extra="forbid", str_max_length=LONGEST)

    @classmethod
    def parse(cls, data: Mapping[str, object]) -> Self:
        """Build from plain data, as it comes from JSON. Raises `InvalidValue`."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InvalidValue.of(cls.__name__, error) from None

    def evolve(self, **changes: Any) -> Self:
        """The same value with some fields changed, checked anew."""
        return type(self)(**{**self.__dict__, **changes})
