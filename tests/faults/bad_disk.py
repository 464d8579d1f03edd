"""A failing disk under this process's SQLite: a custom VFS around SQLite's own, made with ctypes.

It needs no compiler, no strace and no root, and it fails exactly SQLite's requests, on its own files. (SQLite's hook
for system calls, xSetSystemCall, has no fsync; a shim for LD_PRELOAD needs a compiler; faults that strace injects
depend on the right to trace.) A file that is read at each call says what the disk does:

    well     it works
    full     no file grows; existing bytes can be overwritten
    sync     flushes fail, although the data was written
    write    writes fail
    slow     each flush takes 50 ms
"""

from __future__ import annotations

import _sqlite3
import ctypes
import time
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_int, c_int64, c_void_p, cast, pointer, sizeof
from pathlib import Path
from typing import Any

SLOW_SECONDS = 0.05
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
"""Objects that SQLite holds pointers to; they must not be collected."""


def install(state: Path) -> None:
    """Put every database that this process opens from now on onto the failing disk."""
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
        said = state.read_text()
        if said == "sync":
            return IOERR_FSYNC
        if said == "slow":
            time.sleep(SLOW_SECONDS)
        return sync(file, flags)

    ours = Methods()
    ctypes.memmove(byref(ours), byref(methods), sizeof(Methods))
    hooks = WRITE(writing), SYNC(syncing)
    ours.write, ours.sync = (cast(hook, c_void_p) for hook in hooks)
    kept.extend(hooks)
    return ours
