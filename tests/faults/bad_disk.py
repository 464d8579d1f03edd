"""A disk that refuses, under the SQLite of this process: by a VFS of our own around SQLite's, made with ctypes.

That needs neither a compiler, nor strace, nor to be root, and it refuses exactly what SQLite asks for, on its own
files. (SQLite's own hook for system calls, xSetSystemCall, has no fsync; a shim for LD_PRELOAD wants a compiler; what
strace injects depends on the right to trace.) What the disk does stands in a file, which is read at each call:

    well     it works
    full     no file grows; what is there can be written over
    sync     nothing is flushed, although it was written
    write    nothing is written
"""

from __future__ import annotations

import _sqlite3
import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_int, c_int64, c_void_p, cast, pointer, sizeof
from pathlib import Path
from typing import Any

OK, FULL, IOERR_WRITE, IOERR_FSYNC = 0, 13, 10 | 3 << 8, 10 | 4 << 8

OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
SIZE = CFUNCTYPE(c_int, c_void_p, POINTER(c_int64))


class Methods(Structure):
    """sqlite3_io_methods"""

    _fields_ = [
        ("version", c_int), ("close", c_void_p), ("read", c_void_p), ("write", c_void_p), ("truncate", c_void_p),
        ("sync", c_void_p), ("size", c_void_p), ("more", c_void_p * 12),
    ]  # fmt: skip


class File(Structure):
    """sqlite3_file"""

    _fields_ = [("methods", POINTER(Methods))]


class Vfs(Structure):
    """sqlite3_vfs"""

    _fields_ = [
        ("version", c_int), ("file_size", c_int), ("longest_path", c_int), ("next", c_void_p), ("name", c_void_p),
        ("data", c_void_p), ("open", c_void_p), ("more", c_void_p * 15),
    ]  # fmt: skip


kept: list[Any] = []
"""What SQLite points at."""


def install(state: Path) -> None:
    """From now on every database that this process opens is on that disk."""
    library = ctypes.CDLL(_sqlite3.__file__)
    find, register = library.sqlite3_vfs_find, library.sqlite3_vfs_register
    find.restype, find.argtypes = c_void_p, [c_void_p]
    register.restype, register.argtypes = c_int, [c_void_p, c_int]
    original = cast(find(None), POINTER(Vfs))
    really_open = OPEN(original.contents.open)
    ours: dict[int, Any] = {}

    def opening(_: Any, name: Any, file: Any, flags: int, out: Any) -> int:
        code = really_open(cast(original, c_void_p), name, file, flags, out)
        opened = cast(file, POINTER(File)).contents
        if code == OK and opened.methods:
            address = cast(opened.methods, c_void_p).value or 0
            if address not in ours:
                ours[address] = wrapped(opened.methods.contents, state)
            opened.methods = pointer(ours[address])
        return code

    vfs = Vfs()
    ctypes.memmove(byref(vfs), original, sizeof(Vfs))
    hook, name = OPEN(opening), ctypes.create_string_buffer(b"bad-disk")
    vfs.open, vfs.next, vfs.name = cast(hook, c_void_p), None, cast(name, c_void_p)
    kept.extend([vfs, hook, name, ours])
    assert register(cast(pointer(vfs), c_void_p), 1) == OK


def wrapped(methods: Methods, state: Path) -> Methods:
    write, sync, size = WRITE(methods.write), SYNC(methods.sync), SIZE(methods.size)

    def grows(file: Any, end: int) -> bool:
        now = c_int64()
        return size(file, byref(now)) != OK or end > now.value

    def writing(file: Any, data: Any, count: int, offset: int) -> int:
        match state.read_text():
            case "full" if grows(file, offset + count):
                return FULL
            case "write":
                return IOERR_WRITE
            case _:
                return write(file, data, count, offset)

    def syncing(file: Any, flags: int) -> int:
        return IOERR_FSYNC if state.read_text() == "sync" else sync(file, flags)

    ours = Methods()
    ctypes.memmove(byref(ours), byref(methods), sizeof(Methods))
    hooks = WRITE(writing), SYNC(syncing)
    ours.write, ours.sync = (cast(hook, c_void_p) for hook in hooks)
    kept.extend(hooks)
    return ours
