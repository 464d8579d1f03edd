"""The base class of all frozen values that cross a boundary."""

from __future__ import annotations

__all__ = ["FROM_STORE", "PersonText", "Value", "find_repeats", "is_from_store", "repair_surrogates"]

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo

from askback.errors import InvalidValue

if TYPE_CHECKING:
    _Meta = type(BaseModel)
else:

    class _Meta(type(BaseModel)):
        """Raise `InvalidValue` if a caller builds an invalid value.

        This is a metaclass, because only the outermost call passes through it. Pydantic builds nested values without
        it, so one error collects the problems at every depth.
        """

        def __call__(cls, /, **fields: object) -> object:
            # This is what `BaseModel.__init__` does. To call it takes as long as to validate a small value.
            try:
                return cls.__pydantic_validator__.validate_python(fields, self_instance=cls.__new__(cls))
            except ValidationError as error:
                raise InvalidValue.from_validation_error(cls.__name__, error) from None


if TYPE_CHECKING:

    class _Base(BaseModel):
        pass
else:

    class _Base(BaseModel, metaclass=_Meta):
        pass


def repair_surrogates(text: str) -> str:
    """Return the text with surrogate halves joined to pairs; replace a single half by U+FFFD.

    Programs that cut UTF-16 in the middle of an emoji send such halves. No database and no JSON accepts them.
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


def _repair(value: object) -> object:
    return repair_surrogates(value) if isinstance(value, str) else value


LONGEST = 1 << 31
"""Maximum number of characters of any text. No real text has that many."""

PersonText = Annotated[str, BeforeValidator(_repair)]
"""A text that a person wrote. Surrogate halves in it are repaired, because rejecting them would lose the rest."""


class Value(_Base):
    """A frozen value. An invalid one cannot be built: `InvalidValue` names every invalid field."""

    # Pydantic decodes a text, and so rejects surrogate halves, only if it has to measure the length.
    model_config = ConfigDict(frozen=True, extra="forbid", str_max_length=LONGEST)

    @classmethod
    def parse(cls, data: Mapping[str, object]) -> Self:
        """Build the value from plain data, such as parsed JSON. Raises `InvalidValue`."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InvalidValue.from_validation_error(cls.__name__, error) from None

    def evolve(self, **changes: Any) -> Self:
        """Return the same value with some fields changed, validated again. Raises `InvalidValue`."""
        return type(self)(**{**self.__dict__, **changes})


FROM_STORE: Final[Mapping[str, bool]] = MappingProxyType({"from_store": True})
"""The context in which stored values are read. A rule that a release adds does not apply to what people already see."""


def is_from_store(info: ValidationInfo) -> bool:
    """Return True if a value is read from the store, and so was valid when it was written."""
    return info.context == FROM_STORE


def find_repeats(what: str, ids: Sequence[str]) -> str | None:
    """Return a sentence that names the ids that occur more than once; None if each is different."""
    if len(ids) == len(set(ids)):
        return None
    repeated = [one for one, times in Counter(ids).items() if times > 1]
    return f"{what} {', '.join(map(repr, repeated))} is used more than once: each must be different"
