"""Reads a typed message as an option of a question, as "not now", or as nothing certain. Pure.

People type what they see: a label, the number in front of it, or both. A text that fits several options is not an
answer; the bot asks its author. Nor is a text that asks, such as "Production?", unless a label has that mark itself. A
question that asks for people or channels is answered by a message that only mentions them. One that asks for files is
answered by a message of files without words.
"""

from __future__ import annotations

__all__ = [
    "LONGEST",
    "TypedReplies",
    "is_long_answer",
    "is_option_label",
    "parse_answer",
    "parse_files",
    "parse_long_answer",
    "parse_noted_choice",
    "parse_written_answer",
]

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from askback.domain.actions import AttachFiles, Choose, Decline, Next, Operation, Pick, Select, Submit, SubmitText
from askback.domain.apply_action import REASON_RULES
from askback.domain.file_kinds import MAX_FILES
from askback.domain.form import Option
from askback.domain.form_limits import FIELD_ANSWER
from askback.domain.incoming_message import NO_TEXT, IncomingMessage, Mentions
from askback.domain.interview import Interview
from askback.domain.text_kinds import is_checked
from askback.domain.text_rules import NOTE_RULES
from askback.text.unseen import normalize_look, strip_text

TypedReplies: TypeAlias = Literal["answer", "offer", "off"]
"""The handling of a message to an open question. `answer` takes any text as the answer, `offer` asks the author if it
is unclear, and `off` always keeps it a message."""

LONGEST: Final = 20_000
"""Longest message to examine, in characters. The labels of many options together are shorter."""

_RECOMMENDED: Final = re.compile(r"\(\s*recommended\s*\)")
_QUOTES: Final = "\"'`´“”„‟«»‘’‚‛‹›「」『』"
_TRAILING: Final = ".,;:!…。、·"
_ASKING: Final = "?؟"
"""Question marks after a label. Unlike other marks, they change what a typed text means."""
_GREEK_QUESTION_MARK: Final = "\u037e"
"""Normalization turns it into a semicolon, which would be a mark without a meaning."""
_KEYCAP: Final = "\u20e3"
_WORD: Final = re.compile(r"\w+")
_NUMBERS: Final = re.compile("[0-9]+")
_NUMBER: Final = re.compile(r"(?:(?:option|answer|choice|number|no\.?|nr\.?)\s*)?#?\s*\(?([0-9]{1,4})\s*[.):]?")
_NUMBERED: Final = re.compile(r"#?\(?([0-9]{1,4})\s*[.):\s–—-]\s*(.+)", re.DOTALL)
_DIGITS: Final = re.compile(r"[0-9]{1,4}(?:\s+[0-9]{1,4})+")
_PARTINGS: Final = (
    re.compile(r"[;\n]"),
    re.compile(r"[,;\n]"),
    re.compile(r"[,;\n&+]|\sand\s|(?<=[,;])\s*and\s"),
)
"""Separators between several answers, the surest first. A label may hold a comma or an "and"."""
_BEFORE_NOTE: Final = re.compile(r"[,;:\n]|\s[–—-]\s|[–—]")
"""Separators between an option and a note to it."""
_NOT_NOW: Final = re.compile(
    r"\s*not\s+now(?:\s*[:,;–—-]\s*(?P<why>.+)|\s+(?P<because>because\b.+))", re.IGNORECASE | re.DOTALL
)


def parse_answer(interview: Interview, text: str, mentions: Mentions | None = None) -> tuple[Operation, ...]:
    """Return the operations by which a text answers the question on the card; empty if that is unclear.

    `mentions` are those of a message that says nothing else.
    """
    if len(text) > LONGEST or interview.phase == "closed":
        return ()
    if interview.phase == "reviewing":
        return (Submit(),) if _strip_extras(text) == "submit" else _parse_postponement(text, later=True)
    question = interview.question
    is_list = question.takes_several and "," in text
    is_valid = is_checked(question.rules.kind) and question.rules.find_problem(text) is None
    if question.allow_custom and is_valid and not is_list:
        # A date or an address of mail is hardly anything else. A number is not the position of an option here.
        return parse_written_answer(interview, text)
    if mentions is not None and mentions.picks == question.picks:
        return _build_pick(interview, mentions)
    if question.options:
        names = _LabelIndex.from_options(question.options)
        chosen = names.find_all(text) if question.multi_select else names.find(text)
        if chosen:
            return _build_choice(interview, chosen)
    # If the question asks for a text, "later" may be the answer, but "not now" hardly is.
    return _parse_postponement(text, later=not question.asks_for_text)


def parse_written_answer(interview: Interview, text: str) -> tuple[Operation, ...]:
    """Return the operations that give the text as a written answer, even if the card offers options."""
    return (SubmitText(text=text), *_build_confirmation(interview)) if interview.phase == "asking" else ()


def parse_noted_choice(interview: Interview, text: str) -> tuple[Operation, ...]:
    """Return the operation that chooses an option with a note, such as "Production, but after six".

    The text begins with the whole label or the number of one option, and its rest names no other. It is empty if that
    is unclear, or if the question takes no notes. Only the author knows if it is meant so, so ask them.
    """
    question = interview.question
    if interview.phase != "asking" or not question.allow_note or len(text) > LONGEST:
        return ()
    names = _LabelIndex.from_options(question.options)
    found: dict[int, str] = {}
    for parting in _BEFORE_NOTE.finditer(text):
        named, rest = names.find(text[: parting.start()]), strip_text(text[parting.end() :])
        if named and rest:
            found[named[0]] = rest
    if len(found) != 1:
        return ()
    ((index, note),) = found.items()
    others = (label for other, label in enumerate(names.labels) if other != index)
    words = f" {' '.join(_WORD.findall(_fold(note)))} "
    if NOTE_RULES.find_problem(note) is not None or any(f" {' '.join(_WORD.findall(one))} " in words for one in others):
        return ()
    return (Choose(index=index, note=note),)


def is_long_answer(interview: Interview, text: str) -> bool:
    """Return True if a message is longer than a text field, and the question asks for such an answer."""
    if interview.phase != "asking" or not interview.question.allow_custom:
        return False
    return min(len(text.strip()), interview.question.rules.longest) > FIELD_ANSWER


def parse_long_answer(interview: Interview, text: str) -> tuple[Operation, ...]:
    """Return the operations that give a message as the written answer, if a text field cannot hold it and it is valid.

    A person has no other way to send it.
    """
    if not is_long_answer(interview, text) or interview.question.rules.find_problem(text) is not None:
        return ()
    return parse_written_answer(interview, text)


def parse_files(interview: Interview, incoming: IncomingMessage) -> tuple[Operation, ...]:
    """Return the operation by which the files of a message answer the question on the card.

    Empty if the message says more than that, or if the question asks for no files.
    """
    is_asked = interview.phase == "asking" and interview.question.files is not None
    if not is_asked or incoming.text.strip() not in {"", NO_TEXT} or not incoming.files:
        return ()
    if not all(file.has_content for file in incoming.files) or len(incoming.files) > MAX_FILES:
        return ()
    return (AttachFiles(files=incoming.files, message=incoming.ref),)


def is_option_label(interview: Interview, text: str) -> bool:
    """Return True if the text is the label of an option on the card, as a person would type it."""
    if interview.phase != "asking" or len(text) > LONGEST:
        return False
    return any(_strip_extras(text) in _list_names(option.label) for option in interview.question.options)


def _build_choice(interview: Interview, chosen: tuple[int, ...]) -> tuple[Operation, ...]:
    if not interview.question.multi_select:
        return (Choose(index=chosen[0]),)
    return (Select(chosen=chosen), *_build_confirmation(interview))


def _build_pick(interview: Interview, mentions: Mentions) -> tuple[Operation, ...]:
    if len(mentions.picked) > 1 and not interview.question.multi_select:
        return ()
    return (Pick(picked=mentions.picked), *_build_confirmation(interview))


def _build_confirmation(interview: Interview) -> tuple[Operation, ...]:
    """Return the operation that confirms a multi-select answer; empty if the answer needs no confirmation."""
    if not interview.question.takes_several:
        return ()
    return (Submit(),) if interview.form.is_single else (Next(),)


def _parse_postponement(text: str, *, later: bool) -> tuple[Operation, ...]:
    plain = _strip_extras(text)
    if plain == "not now":
        return (Decline(),)
    if later and plain == "later":
        return (Decline(reason=text.strip()),)
    match = _NOT_NOW.fullmatch(text)
    reason = "" if match is None else strip_text(match["why"] or match["because"])
    return (Decline(reason=reason),) if 0 < len(reason) <= REASON_RULES.max_length else ()


@dataclass(frozen=True, slots=True)
class _LabelIndex:
    """Indexes of a question's options by the names that people may type."""

    letters: Mapping[str, tuple[int, ...]]
    """Labels exactly as the card shows them."""
    labels: tuple[str, ...]
    by_label: Mapping[str, tuple[int, ...]]
    by_value: Mapping[str, tuple[int, ...]]
    numbers: Mapping[str, tuple[int, ...]]
    """Numbers that labels contain."""
    counts: bool
    """True if a number can mean an option's position. False if a label is a number itself."""

    @classmethod
    def from_options(cls, options: Sequence[Option]) -> _LabelIndex:
        labels = tuple(_strip_extras(option.label) for option in options)
        return cls(
            letters=_index_names([[option.label.strip()] for option in options]),
            labels=labels,
            by_label=_index_names([_list_names(option.label) for option in options]),
            by_value=_index_names([_list_names(option.value) for option in options]),
            numbers=_index_names(
                [[str(int(one)) for one in _NUMBERS.findall(label) if len(one) < 5] for label in labels]
            ),
            counts=not any(_NUMBER.fullmatch(label) for label in labels),
        )

    def find_all(self, text: str) -> tuple[int, ...]:
        """Return the options that a text names, if every part of it names one."""
        whole = self.find(text)
        if whole:
            return whole
        folded = _fold(text)
        listed = [pattern.split(folded) for pattern in _PARTINGS]
        if _DIGITS.fullmatch(folded):
            listed.append(folded.split())
        for parts in listed:
            named = [self.find(part) for part in parts if part.strip()]
            if len(named) > 1 and all(named):
                return tuple(sorted({index for found in named for index in found}))
        return ()

    def find(self, text: str) -> tuple[int, ...]:
        """Return the option that a text names. Try what people see first: the label, then the number before it."""
        folded, plain = _fold(text), _strip_extras(text)
        number = _NUMBER.fullmatch(_strip_quotes(folded))
        found = self.letters.get(text.strip()) or self.by_label.get(plain) or self._parse_numbered_label(folded)
        if found is None and number is not None:
            # A bare number never means a value: people do not see values, and these often count from 0.
            found = self._find_by_number(int(number[1]))
        elif found is None:
            found = self.by_value.get(plain)
        return found if found is not None and len(found) == 1 else ()

    def _find_by_number(self, number: int) -> tuple[int, ...]:
        if not self.counts or not 1 <= number <= len(self.labels):
            return ()
        # "5" is unclear if option 5 is "8 replicas" and another label is "5 replicas".
        elsewhere = any(index != number - 1 for index in self.numbers.get(str(number), ()))
        return () if elsewhere else (number - 1,)

    def _parse_numbered_label(self, folded: str) -> tuple[int, ...] | None:
        """Return the option that is typed as the card shows it, with number and label: "2. Production". None if the
        text has another form."""
        match = _NUMBERED.fullmatch(folded)
        if match is None:
            return None
        index = int(match[1]) - 1
        return (index,) if index in self.by_label.get(_strip_extras(match[2]), ()) else None


def _index_names(names: Sequence[Sequence[str]]) -> Mapping[str, tuple[int, ...]]:
    """Return the indexes of the options that have each name."""
    found: dict[str, list[int]] = {}
    for index, own in enumerate(names):
        for name in dict.fromkeys(own):
            found.setdefault(name, []).append(index)
    return {name: tuple(indexes) for name, indexes in found.items()}


def _list_names(label: str) -> list[str]:
    """Return what people may type for a label: all of it, or all but the question mark at its end."""
    whole = _strip_extras(label)
    return [whole, *filter(None, [_strip_quotes(whole, _TRAILING + _ASKING)])]


def _strip_extras(text: str) -> str:
    """Strip parts of a label that people omit or add when they type it. If nothing would be left, keep everything."""
    folded = _fold(text)
    bare = _strip_quotes(" ".join(_RECOMMENDED.sub(" ", folded).split()))
    return bare or folded


def _strip_quotes(text: str, marks: str = _TRAILING) -> str:
    before = ""
    while text != before:
        before = text
        text = text.rstrip(marks).strip()
        if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
            text = text[1:-1].strip()
    return text


def _fold(text: str) -> str:
    """Normalize a text: fold case, replace variants such as full-width letters, and drop invisible characters."""
    plain = normalize_look(text.replace(_GREEK_QUESTION_MARK, "?"))
    return plain.replace(_KEYCAP, "").casefold().strip()
