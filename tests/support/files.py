"""Small files of each kind that the model reads."""

from __future__ import annotations

__all__ = ["PDF", "ZIP", "make_png"]

import struct
import zlib

PDF = (
    b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"
    b"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] >>\nendobj\n"
    b"trailer\n<< /Root 1 0 R >>\n%%EOF\n"
)
ZIP = b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(40)


def make_png(width: int = 2, height: int = 2, comment: bytes = b"") -> bytes:
    """Return a picture in grey. A comment in it is part of the file."""
    rows = b"".join(b"\x00" + bytes(width) for _ in range(height))
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
            _chunk(b"tEXt", b"Comment\x00" + comment) if comment else b"",
            _chunk(b"IDAT", zlib.compress(rows)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
