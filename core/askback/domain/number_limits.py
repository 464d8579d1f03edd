"""The limits of a number that people write, in sentences for them. Pure."""

from __future__ import annotations

__all__ = ["NumberLimits"]

from fractions import Fraction
from typing import Final

from askback.internal.values import Value
from askback.translations.catalogue import _

HUGE: Final = 2.0**31 - 1
"""Limits from here on are those of a program's own type. People read of them only if their number is beyond one."""


class NumberLimits(Value):
    """The numbers that can be answers. None means no such limit."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    """The number must be greater than this."""
    exclusive_maximum: float | None = None
    """The number must be less than this."""
    step: float | None = None
    """The distance between two answers, counted from `minimum`, or from 0."""

    @property
    def has_range(self) -> bool:
        """True if people are told of a lower or an upper end."""
        return _hide_huge(self.lowest) is not None or _hide_huge(self.highest) is not None

    def describe_range(self, *, whole: bool) -> str | None:
        """Return the range in a sentence for the field; None if there is none to tell. `whole` means no fractions."""
        least, most = _hide_huge(self.lowest), _hide_huge(self.highest)
        excluded = [one for one in (least, most) if one is not None and one in self._exclusive]
        if least is None and most is None:
            return None
        if least is not None and most is not None:
            if excluded:
                without = ", ".join(f"{one:.15g}" for one in excluded)
                sentence = _("A number from {least:.15g} to {most:.15g}, without {excluded}.")
                return sentence.format(least=least, most=most, excluded=without)
            between = _(
                "A whole number from {least:.15g} to {most:.15g}."
                if whole
                else "A number from {least:.15g} to {most:.15g}."
            )
            return between.format(least=least, most=most)
        if least is not None:
            if excluded:
                return _("A number greater than {least:.15g}.").format(least=least)
            at_least = _("A whole number of at least {least:.15g}." if whole else "A number of at least {least:.15g}.")
            return at_least.format(least=least)
        if excluded:
            return _("A number less than {most:.15g}.").format(most=most)
        at_most = _("A whole number of at most {most:.15g}." if whole else "A number of at most {most:.15g}.")
        return at_most.format(most=most)

    def describe_step(self) -> str | None:
        """Return which numbers within the range are answers, in a sentence for the field. None means all of them."""
        if self.step is None:
            return None
        if not self.minimum:
            return _("In steps of {step:.15g}.").format(step=self.step)
        return _("In steps of {step:.15g}, beginning with {least:.15g}.").format(step=self.step, least=self.minimum)

    def find_problem(self, value: float, exact: Fraction) -> str | None:
        """Return the reason why a number is no answer, in words for the person; `exact` is the number as written."""
        if self.minimum is not None and value < self.minimum:
            return _("Please write a number of at least {least:.15g}.").format(least=self.minimum)
        if self.maximum is not None and value > self.maximum:
            return _("Please write a number of at most {most:.15g}.").format(most=self.maximum)
        if self.exclusive_minimum is not None and value <= self.exclusive_minimum:
            return _("Please write a number greater than {least:.15g}.").format(least=self.exclusive_minimum)
        if self.exclusive_maximum is not None and value >= self.exclusive_maximum:
            return _("Please write a number less than {most:.15g}.").format(most=self.exclusive_maximum)
        if self.step is not None and (exact - Fraction(repr(self.minimum or 0))) % Fraction(repr(self.step)):
            return _("This number is between two steps. {steps}").format(steps=self.describe_step())
        return None

    @property
    def lowest(self) -> float | None:
        """The lower end of the range, which may be excluded itself."""
        return max((one for one in (self.minimum, self.exclusive_minimum) if one is not None), default=None)

    @property
    def highest(self) -> float | None:
        """The upper end of the range, which may be excluded itself."""
        return min((one for one in (self.maximum, self.exclusive_maximum) if one is not None), default=None)

    @property
    def _exclusive(self) -> tuple[float | None, float | None]:
        return self.exclusive_minimum, self.exclusive_maximum


def _hide_huge(limit: float | None) -> float | None:
    return None if limit is None or abs(limit) >= HUGE else limit
