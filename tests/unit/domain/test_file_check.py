"""Files: their kind is what their content is, and a file of another kind than it says is refused with a reason."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.attached_file import AttachedFile, FileProblem
from askback.domain.file_check import check_claims, check_content, get_read_limit
from askback.domain.file_kinds import (
    ALL_LIMITS,
    MAX_FILES,
    MAX_MESSAGE_BYTES,
    MEDIA_TYPES,
    FileKind,
    claim_kind,
    count_pages,
    detect_kind,
    estimate_tokens,
    format_size,
    get_limit,
    read_pixels,
)
from askback.domain.file_problems import describe_unread, explain_to_model
from support.files import PDF, ZIP, make_png

GIF = b"GIF89a" + struct.pack("<HH", 3, 5) + bytes(20)
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(9) + b"\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 5, 3) + bytes(12)
)
WEBP = {
    "lossy": b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 3, 5),
    "lossless": b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f" + struct.pack("<I", 2 | 4 << 14),
    "extended": b"RIFF\x00\x00\x00\x00WEBPVP8X\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x04\x00\x00",
}
PICTURES: dict[FileKind, bytes] = {"png": make_png(3, 5), "gif": GIF, "jpeg": JPEG, "webp": WEBP["lossy"]}
GOOD: dict[FileKind, bytes] = {**PICTURES, "pdf": PDF, "text": b"words\n"}


def attached(name: str = "file", media_type: str | None = None, size: int | None = None) -> AttachedFile:
    return AttachedFile(name=name, id="F1", media_type=media_type, size=size)


def code(found: FileKind | FileProblem) -> str:
    return found.code if isinstance(found, FileProblem) else found


@pytest.mark.parametrize("kind", GOOD)
def test_each_kind_is_recognized_and_accepted_under_its_own_media_type_and_without_one(kind: FileKind) -> None:
    assert detect_kind(GOOD[kind]) == kind
    for media_type in (MEDIA_TYPES[kind], f"{MEDIA_TYPES[kind].upper()}; charset=utf-8", None, ""):
        assert check_content(attached("file", media_type), GOOD[kind]) == kind


@pytest.mark.parametrize("claim", GOOD)
@pytest.mark.parametrize("kind", [*GOOD, "zip"])
def test_a_file_of_another_kind_than_it_says_is_refused(claim: FileKind, kind: str) -> None:
    if claim == kind:
        return
    content = ZIP if kind == "zip" else next(content for name, content in GOOD.items() if name == kind)
    found = check_content(attached("file", MEDIA_TYPES[claim]), content)
    assert isinstance(found, FileProblem)
    assert found.code in ({"not_text", "mismatch"} if claim == "text" else {"mismatch"})


@pytest.mark.parametrize(("name", "content"), [("a.png", ZIP), ("a.PDF", b"words"), ("a.jpg", GIF)])
def test_a_name_is_a_claim_if_the_platform_makes_none(name: str, content: bytes) -> None:
    assert code(check_content(attached(name, "application/octet-stream"), content)) == "mismatch"
    assert code(check_content(attached("noname"), ZIP)) == "unsupported"


@pytest.mark.parametrize(
    "media_type",
    ["video/mp4", "audio/mpeg", "application/zip", "image/heic", "image/tiff", "application/vnd.ms-excel", "font/woff"],
)
def test_what_the_model_cannot_read_is_not_even_fetched(media_type: str) -> None:
    assert check_claims([attached("a", media_type)]) == (FileProblem(code="unsupported"),)


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.json", "application/json"),
        ("a.csv", "text/csv"),
        ("a.svg", "image/svg+xml"),
        ("a.ts", "video/mp2t"),
        ("a.yaml", "application/yaml"),
        ("a.html", "text/html"),
        ("Makefile", None),
    ],
)
def test_source_code_and_data_are_text(name: str, media_type: str | None) -> None:
    assert claim_kind(name, media_type) in {"text", None}
    assert check_content(attached(name, media_type), "größe = 3\n".encode()) == "text"


@given(st.binary(max_size=300), st.sampled_from([None, *MEDIA_TYPES.values(), "application/octet-stream"]))
def test_any_content_is_accepted_as_what_it_is_or_refused(content: bytes, media_type: str | None) -> None:
    found = check_content(attached("file", media_type), content)
    if isinstance(found, FileProblem):
        assert explain_to_model(found)
        return
    assert media_type in {None, "application/octet-stream", MEDIA_TYPES[found]}
    if found == "text":
        assert "\x00" not in content.decode()
    else:
        assert detect_kind(content) == found


@given(st.text(min_size=1).filter(lambda text: text.strip() and "\x00" not in text))
def test_any_text_in_utf_8_is_text(text: str) -> None:
    content = text.encode("utf-8", "replace")
    if detect_kind(content) in {"text", None}:
        assert check_content(attached("a.txt", "text/plain"), content) == "text"


@given(st.sampled_from(list(GOOD)), st.data())
def test_no_beginning_of_a_file_makes_the_check_fail(kind: FileKind, data: st.DataObject) -> None:
    whole = {**GOOD, "webp": data.draw(st.sampled_from(list(WEBP.values())))}[kind]
    content = whole[: data.draw(st.integers(0, len(whole)))]
    found = check_content(attached("file", MEDIA_TYPES[kind]), content)
    assert found == kind or isinstance(found, FileProblem)


@pytest.mark.parametrize("content", [*PICTURES.values(), *WEBP.values()])
def test_width_and_height_are_read(content: bytes) -> None:
    kind = detect_kind(content)
    assert kind is not None
    assert read_pixels(kind, content) == (3, 5)


def test_a_picture_that_is_too_wide_or_has_no_size_is_refused() -> None:
    assert code(check_content(attached(), make_png(8_001, 1))) == "too_wide"
    assert code(check_content(attached(), make_png(1, 8_000))) == "png"
    assert code(check_content(attached(), b"\xff\xd8\xff\xe0")) == "broken"


def test_the_limit_of_a_picture_leaves_room_for_base64() -> None:
    assert get_limit("png") * 4 // 3 == 5 * 2**20


@pytest.mark.parametrize("kind", GOOD)
def test_a_content_over_the_limit_of_its_kind_is_refused(kind: FileKind) -> None:
    filler = b"a" if kind == "text" else b"\x20"
    content = GOOD[kind] + filler * (get_limit(kind) - len(GOOD[kind]))
    assert check_content(attached(), content) == kind
    assert code(check_content(attached(), content + filler)) == "too_large"
    assert check_claims([attached("f", MEDIA_TYPES[kind], get_limit(kind) + 1)])[0] == FileProblem(
        code="too_large", detail=format_size(get_limit(kind))
    )


def test_no_more_is_read_than_the_largest_file_that_its_claim_allows() -> None:
    assert get_read_limit(attached("a.txt", "text/plain")) == get_limit("text")
    assert get_read_limit(attached("a")) == ALL_LIMITS


def test_a_message_has_a_limit_of_files_and_of_bytes_together() -> None:
    many = [attached(f"{number}.txt", "text/plain", 1) for number in range(MAX_FILES + 2)]
    assert [problem and problem.code for problem in check_claims(many)] == [None] * MAX_FILES + ["too_many"] * 2
    large = [attached(f"{number}.pdf", "application/pdf", get_limit("pdf")) for number in range(2)]
    small = attached("a.txt", "text/plain", 1)
    assert [problem and problem.code for problem in check_claims([*large, small])] == [None, "too_large", None]
    assert 2 * get_limit("pdf") > MAX_MESSAGE_BYTES


def test_a_file_without_a_content_is_no_file_to_read() -> None:
    assert check_claims([AttachedFile(name="a shared message")])[0] == FileProblem(code="unsupported")


def test_a_row_of_an_earlier_release_has_a_name_instead_of_a_file() -> None:
    loaded = AttachedFile.model_validate("plan.pdf")
    assert (loaded.name, loaded.has_content) == ("plan.pdf", False)


def test_pages_of_a_pdf_are_counted_or_estimated() -> None:
    assert count_pages(PDF) == 1
    assert count_pages(b"%PDF-1.7" + bytes(50_000)) == 3
    assert code(check_content(attached(), PDF + b"<< /Type /Page >>" * 100)) == "too_large"


def test_tokens_are_estimated_on_the_high_side() -> None:
    assert estimate_tokens("png", PICTURES["png"]) == 4_800
    assert estimate_tokens("pdf", PDF) == 4_500
    assert estimate_tokens("text", b"a" * 1_000) == 500


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 kB"), (9, "1 kB"), (200_000, "200 kB"), (3_932_160, "3.9 MB"), (16_000_000, "16 MB")]
)
def test_sizes_are_told_in_short(size: int, text: str) -> None:
    assert format_size(size) == text


def test_a_reason_of_the_platform_is_text_and_no_pattern() -> None:
    told = describe_unread("{names}", FileProblem(code="forbidden", detail="{0} {reason}"))
    assert told == "I cannot read {names}. Access was refused: {0} {reason}"


def test_the_png_of_these_tests_is_a_real_one() -> None:
    """Its checksums are right, so that a service can read it."""
    png = make_png()
    (length,) = struct.unpack(">I", png[8:12])
    assert struct.unpack(">I", png[16 + length : 20 + length]) == (zlib.crc32(png[12 : 16 + length]),)
