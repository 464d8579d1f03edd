"""The mutants of a module, as cosmic-ray makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

CORE = Path(__file__).parents[2] / "core"

OPERATORS = (
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer",
    "ZeroIterationForLoop", "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_USub_UAdd",
    "ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add", "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_FloorDiv_Mul", "ReplaceBinaryOperator_Mod_Mul", "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_Lt_GtE", "ReplaceComparisonOperator_Lt_NotEq",
    "ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_LtE_Gt", "ReplaceComparisonOperator_LtE_Eq",
    "ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_Gt_LtE", "ReplaceComparisonOperator_Gt_NotEq",
    "ReplaceComparisonOperator_GtE_Gt", "ReplaceComparisonOperator_GtE_Lt", "ReplaceComparisonOperator_GtE_Eq",
    "ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is",
)  # fmt: skip
"""The operators of cosmic-ray whose mutants can run at all; `a ** b` for `a + b` would fail everywhere at once."""


@dataclass(frozen=True)
class Mutant:
    """One small change of a module."""

    module: str
    path: Path
    source: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}\n    - {self.before}\n    + {self.after}"


def mutants_of(module: str) -> list[Mutant]:
    """Return every mutant of a module, except in code that never runs (types) and in names for `import *`."""
    # `find_spec` would load the package, and a loaded module cannot be mutated.
    path = CORE.joinpath(*module.split(".")).with_suffix(".py")
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    idle, by_position = _idle(tree), _by_position(tree)
    seen: set[str] = set()
    mutants: list[Mutant] = []
    for operator in OPERATORS:
        for changed in _changes(source, operator):
            line, column = _where(source, changed)
            if changed in seen or any(first <= (line, column) < last for first, last in idle):
                continue
            seen.add(changed)
            if _by_position(_parsed(changed)) != by_position:
                continue
            before, after = source.splitlines()[line - 1].strip(), changed.splitlines()[line - 1].strip()
            mutants.append(Mutant(module, path, changed, line, before, after))
    return sorted(mutants, key=lambda mutant: mutant.line)


def _changes(source: str, operator: str) -> Iterator[str]:
    occurrence = 0
    while (changed := mutate_code(source, get_operator(f"core/{operator}")(), occurrence)) is not None:
        if changed != source:
            yield changed
        occurrence += 1


def _where(source: str, changed: str) -> tuple[int, int]:
    """Return the line, from 1, and the column of the first difference."""
    same = next((at for at, (one, other) in enumerate(zip(source, changed, strict=False)) if one != other), len(source))
    return source.count("\n", 0, same) + 1, same - (source.rfind("\n", 0, same) + 1)


def _parsed(source: str) -> ast.AST | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def _by_position(tree: ast.AST | None) -> int | None:
    """Return the number of positional-only parameters; None if the text is not a program.

    A `/` in place of the `*` of a signature changes the ways to call a function, and nothing that it does.
    """
    if tree is None:
        return None
    return sum(len(node.posonlyargs) for node in ast.walk(tree) if isinstance(node, ast.arguments))


def _idle(tree: ast.AST) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the positions of code that never runs."""
    nodes: list[ast.AST | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign():
                nodes.append(node.annotation)
            case ast.arg():
                nodes.append(node.annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                nodes.append(node.returns)
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                nodes.append(node)
            case _:
                pass
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in nodes
        if isinstance(node, ast.expr | ast.stmt)
    ]
