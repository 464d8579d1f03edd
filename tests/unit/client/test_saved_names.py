"""Names of files that people gave are saved safely: no folder, nothing hidden, nothing replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback.client.answer_contents import build_name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("Bericht für Ada (2).pdf", "Bericht für Ada (2).pdf"),
        ("../../etc/passwd", "_._etc_passwd"),
        ("..\\..\\boot.ini", "_.._boot.ini"),
        ("/etc/passwd", "_etc_passwd"),
        (".bashrc", "bashrc"),
        ("...", "file"),
        ("", "file"),
        ("a\nb\x00c.txt", "a b_c.txt"),
        ("in\u202efdp.exe", "in_u202efdp.exe"),
        ("$(rm -rf ~).txt", "_(rm -rf _).txt"),
        ("CON:stream.txt", "CON_stream.txt"),
        (f"{'a' * 300}.png", f"{'a' * 96}.png"),
    ],
)
def test_a_name_is_one_harmless_part_of_a_path(given: str, name: str) -> None:
    assert build_name(given) == name
    assert Path(name).name == name
    assert not name.startswith((".", "-"))
