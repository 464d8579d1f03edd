"""Print the findings for people, to a terminal with or without colours, or to a file."""

from __future__ import annotations

__all__ = ["Section", "exit_code", "print_finding", "report"]

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from askback.ports.findings import Finding
from askback.text.terminal import to_terminal_text

COLOURS = {"good": "green", "warning": "yellow", "broken": "bold red"}
MARGIN = 11
WIDEST = 100


@dataclass(frozen=True, slots=True)
class Section:
    """The findings about one part."""

    title: str
    findings: Sequence[Finding]


def report(sections: Sequence[Section], console: Console) -> None:
    """Print the findings and a summary."""
    for section in sections:
        console.print(Text(section.title, "bold"))
        for finding in section.findings:
            print_finding(finding, console)
        console.print()
    grades = [finding.grade for section in sections for finding in section.findings]
    broken, warnings = grades.count("broken"), grades.count("warning")
    if broken:
        warned = _format_count(warnings, "warning", "warnings", n=True)
        also = f", and there {_format_count(warnings, 'is', 'are')} {warned}"
        verb = "is" if broken == 1 else "are"
        verdict = f"{_format_count(broken, 'thing', 'things', n=True)} {verb} broken{also if warnings else ''}."
    elif warnings:
        verdict = f"It works, with {_format_count(warnings, 'warning', 'warnings', n=True)}."
    else:
        verdict = "Everything works."
    console.print(Text(verdict, COLOURS["broken" if broken else "warning" if warnings else "good"]))


def exit_code(sections: Sequence[Section]) -> int:
    """Return 1 if anything is broken, else 0."""
    return int(any(finding.grade == "broken" for section in sections for finding in section.findings))


def _format_count(number: int, one: str, many: str, *, n: bool = False) -> str:
    word = one if number == 1 else many
    return f"{number} {word}" if n else word


def print_finding(finding: Finding, console: Console) -> None:
    """Print one finding: its grade, its summary, and the next step."""
    width = max(min(console.width, WIDEST) - MARGIN, 20)
    grade = Text(f"  {finding.grade:<9}", COLOURS[finding.grade])
    text = Text(f"{finding.about}: {to_terminal_text(finding.summary)}")
    for line in text.wrap(console, width):
        console.print(Text.assemble(grade, line), no_wrap=True, overflow="ignore", crop=False)
        grade = Text(" " * MARGIN)
    if finding.cure:
        indent = "→ "
        for line in Text(to_terminal_text(finding.cure)).wrap(console, width - len(indent)):
            console.print(Text(" " * MARGIN + indent) + line, no_wrap=True, overflow="ignore", crop=False)
            indent = "  "
