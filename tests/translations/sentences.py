"""Finds the sentences of askback in its sources, wrapped for translation or not."""

from __future__ import annotations

__all__ = ["ROOT", "Wrapped", "find_unwrapped", "find_wrapped", "list_sources"]

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRAPPERS = ("_", "N_", "ngettext")
"""The functions of `askback.translations.catalogue` that take a sentence."""
SOURCES = ("core/askback", "bots/askback_slack", "bots/askback_discord")


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A sentence, or two if it has a plural."""

    module: str
    line: int
    ids: tuple[str, ...]


def list_sources() -> tuple[str, ...]:
    """Return the modules of askback and of its bots, as paths from the root."""
    found = (path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in found))


def find_wrapped(module: str, source: str | None = None) -> Iterator[Wrapped]:
    """Yield the sentences of a module that are wrapped for translation."""
    for node in ast.walk(_parse(module, source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in WRAPPERS:
            continue
        given = node.args[: 2 if node.func.id == "ngettext" else 1]
        choices = [[*_iter_choices(one)] for one in given]
        assert not any(isinstance(one, ast.JoinedStr) for one in given), f"{module}:{node.lineno} wraps an f-string"
        if len(choices) == 2:
            yield Wrapped(module, node.lineno, (choices[0][0], choices[1][0]))
        else:
            for text in choices[0]:
                yield Wrapped(module, node.lineno, (text,))


def _iter_choices(node: ast.expr) -> Iterator[str]:
    """Yield the literals that an argument may be; none if it is a variable."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _iter_choices(node.body)
        yield from _iter_choices(node.orelse)


# What is only for operators, callers, models and logs.
_FOR_OTHERS = frozenset(
    {"CallerError", "DeliveryError", "HistoryError", "InvalidValue", "MessageNotFound", "MembersUnknown", "ModelError",
     "OperatorError", "RetryableError", "StoreError", "ValueError", "TypeError", "RuntimeError", "Field",
     "compile", "getLogger", "cast", "create_task", "TypeAdapter"}
)  # fmt: skip
_TIME_FORMAT = re.compile("%[A-Za-z]")
_SHOWING = frozenset({"button", "plain", "heading", "context", "bold", "italic", "display", "strong"})
"""Functions of the bots whose first argument is shown to people."""
_SHOWN_FIELDS = frozenset({"label", "title", "placeholder", "description"})
"""Fields of a window or a control that people read."""
_LOGGERS = frozenset({"log", "logger", "logging"})


def find_unwrapped(module: str, source: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield each literal that people may read and that is not wrapped, with its line.

    It has a space and a letter, or is a label of one word.

    Docstrings, log lines, annotations and errors for operators, callers and models are left out.
    """
    tree = _parse(module, source)
    known: set[ast.AST] = set()
    labels: set[ast.AST] = set()
    for node in ast.walk(tree):
        labels.update(_iter_labels(node))
        for part in _iter_others(node):
            known.update(ast.walk(part))
    for node in ast.walk(tree):
        if node in known:
            continue
        if isinstance(node, ast.JoinedStr):
            # Only its own words: the expressions between braces are examined separately.
            own = [one for one in node.values if isinstance(one, ast.Constant)]
            known.update(own)
            words = "".join(str(one.value) for one in own)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value
        else:
            continue
        if node in labels or (" " in words.strip() and any(map(str.isalpha, _TIME_FORMAT.sub("", words)))):
            yield getattr(node, "lineno", 0), words


def _iter_labels(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the words that a label or a title consists of, which may be a single one."""
    given: list[ast.expr] = []
    if isinstance(node, ast.Call) and _get_name(node.func) in _SHOWING:
        given = node.args[:1]
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        given = [value for key, value in pairs if isinstance(key, ast.Constant) and key.value in _SHOWN_FIELDS]
    for one in given:
        choices = (one.body, one.orelse) if isinstance(one, ast.IfExp) else (one,)
        yield from (
            part
            for part in choices
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value[:1].isalpha()
        )


def _iter_others(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node whose texts people do not read in a chat, or that are wrapped."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
        yield node.value
    elif isinstance(node, ast.Call):
        name = _get_name(node.func)
        owner = (
            node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
        )
        if name in WRAPPERS or name in _FOR_OTHERS or owner in _LOGGERS:
            yield node
    elif isinstance(node, ast.Assert | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef | ast.arg):
        for part in (getattr(node, "msg", None), getattr(node, "annotation", None), getattr(node, "returns", None)):
            if part is not None:
                yield part


def _get_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _parse(module: str, source: str | None) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8") if source is None else source)
