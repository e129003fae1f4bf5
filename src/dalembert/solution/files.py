"""Files as a whole: replaced in one go or not at all, read only if they are plain files.

Writing goes to a temporary file in the same folder, which takes the place of the old one when everything is on the
disk. Its writer holds a lock on it; one without a lock belongs to a process that was killed, and the next save of the
same file removes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.errors import FileError, FileMissing, OptionError
from dalembert.solution.memory import in_words, memory

try:
    import fcntl
except ImportError:  # not on every system; where it is missing, files that are open cannot be removed
    fcntl = None

#: bytes handed to the system at once
CHUNK = 1 << 22
#: longer names are replaced by a hash in names of temporary files, which need room for more
LONG_NAME = 180

#: that are followed
MOST_LINKS = 40

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
#: what to do, by the system's reason
REMEDIES = {
    errno.ENOSPC: "make room there, or save elsewhere",
    errno.EDQUOT: "make room there, or save elsewhere",
    errno.EFBIG: "save elsewhere, or raise the limit of the file size",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EACCES: "choose a folder in which you may write",
    errno.EROFS: "choose a folder in which you may write",
}


def as_path(path: Any, name: str = "path") -> Path:
    """A path from an argument, which must be a text or a path that a file system can have."""
    try:
        text = os.fsdecode(os.fspath(path))
    except TypeError:
        raise OptionError(f"{name} must be a path (text or pathlib.Path), not {type(path).__name__}") from None
    try:
        os.fsencode(text)
    except UnicodeError:
        raise OptionError(f"{name}={text!r} has characters that no file name can have") from None
    if "\0" in text:
        raise OptionError(f"{name}={text!r} has a NUL character, which no file name can have")
    if not text:
        raise OptionError(f"{name} is empty: give the name of a file, e.g. 'run.h5'")
    return Path(text)


def reason(error: OSError) -> str:
    """In words, with a remedy where there is one."""
    why = error.strerror or str(error) or type(error).__name__
    remedy = REMEDIES.get(error.errno)
    return f"{why}; {remedy}" if remedy else why


# -- writing -----------------------------------------------------------------------------------------------------------


def destination(path: Path) -> Path:
    """The plain file that saving to `path` creates or replaces, at the end of all links; FileError if it cannot."""

    def refuse(why: str, number: int | None = None) -> FileError:
        return FileError(f"cannot save to '{path}': {why}", path, number)

    try:
        there = os.stat(path)
    except FileNotFoundError:
        there = None
    except OSError as error:
        raise refuse(reason(error), error.errno) from error
    try:
        target = Path(os.path.realpath(path))
    except FileNotFoundError:  # of the current folder
        raise refuse("the current folder does not exist any more; give the whole path", errno.ENOENT) from None
    if _leads_through_system(path):
        raise refuse("it is a name that the system gives to a part of itself; give the name of a file", errno.EINVAL)
    if there is not None:
        if stat.S_ISDIR(there.st_mode):
            raise refuse("it is a folder; give the name of a file, e.g. 'run.h5'", errno.EISDIR)
        if not stat.S_ISREG(there.st_mode):
            kind = KINDS.get(stat.S_IFMT(there.st_mode), "something else")
            raise refuse(f"it is {kind}, and only plain files are replaced; give the name of a file", errno.EINVAL)
        if not os.access(target, os.W_OK):
            raise refuse("that file is write-protected; choose another name, or allow writing", errno.EACCES)
    folder = target.parent
    if not os.path.isdir(folder):
        raise refuse(f"the folder '{folder}' does not exist; create it first", errno.ENOENT)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise refuse(f"in the folder '{folder}' nothing can be created; choose another one", errno.EACCES)
    return target


def _leads_through_system(path: Path) -> bool:
    """Whether a link leads through /proc, as /dev/stdout does: what it stands for is open, and must not be replaced."""
    link = os.fspath(path)
    for _ in range(MOST_LINKS):
        above = os.path.dirname(link)
        if f"{os.path.realpath(above)}/".startswith("/proc/"):
            return True
        if not os.path.islink(link):
            return False
        link = os.path.join(above, os.readlink(link))
    return False


def replace(path: Path, write: Callable[[int], None]) -> None:
    """Let `write` fill a new file, by its descriptor, and put that in the place of `path`, or leave all as it was."""
    target = destination(path)
    descriptor, temporary = -1, None
    try:
        _remove_leftovers(target)
        before = os.stat(target) if target.exists() else None
        descriptor, temporary = _temporary(target, 0o666 if before is None else 0o600)
        write(descriptor)
        if before is not None:
            _take_over(descriptor, before)
        os.fsync(descriptor)
        if fcntl is None:  # such systems do not rename what is open
            descriptor = os.close(descriptor) or -1
        os.replace(temporary, target)
        temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        kept = "; the file that was there is kept" if os.path.exists(target) else ""
        raise FileError(f"cannot save to '{path}': {reason(error)}{kept}", path, error.errno) from error
    finally:
        if descriptor >= 0:
            os.close(descriptor)
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def try_out(path: Path) -> Path:
    """`destination`, and an attempt to create a file beside it: permissions do not tell everything."""
    target = destination(path)
    try:
        descriptor, temporary = _temporary(target, 0o600)
        os.close(descriptor)
        os.unlink(temporary)
    except OSError as error:
        raise FileError(f"cannot save to '{path}': {reason(error)}", path, error.errno) from error
    return target


def write_all(descriptor: int, data: Any, seen: Callable[[memoryview], object]) -> None:
    """Write bytes, however many the system takes at once; `seen` is told them, too."""
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view[:CHUNK])
        seen(view[:written])
        view = view[written:]


def _stem(target: Path) -> str:
    name = os.fsencode(target.name)
    return target.name if len(name) <= LONG_NAME else hashlib.sha256(name).hexdigest()


def _temporary(target: Path, mode: int) -> tuple[int, Path]:
    """A new file beside the target, locked."""
    while True:
        path = target.with_name(f".{_stem(target)}.{uuid.uuid4().hex}.tmp")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        if fcntl is None:
            return descriptor, path
        with contextlib.suppress(OSError):  # file systems without locks: leftovers stay there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # another process may have taken it for a leftover before it was locked
        if os.fstat(descriptor).st_nlink:
            return descriptor, path
        os.close(descriptor)


def _remove_leftovers(target: Path) -> None:
    """Temporary files of the same target whose writers are no more."""
    ours = re.compile(re.escape(f".{_stem(target)}.") + r"[0-9a-f]{32}\.tmp")
    with os.scandir(target.parent) as entries:
        found = [entry.path for entry in entries if ours.fullmatch(entry.name)]
    for path in found:
        with contextlib.suppress(OSError):
            if fcntl is None:
                os.unlink(path)
                continue
            descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(descriptor)


def _take_over(descriptor: int, before: os.stat_result) -> None:
    """Owner and permissions of the file that is replaced, as far as the system lets us."""
    if not hasattr(os, "fchown"):
        return
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _sync_folder(folder: Path) -> None:
    """Let the new name outlive a power failure, where folders can be synchronized."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- reading -----------------------------------------------------------------------------------------------------------


def read(path: Path) -> bytearray:
    """All bytes of a plain file."""

    def refuse(why: str, number: int | None = None) -> FileError:
        return FileError(f"cannot read '{path}': {why}", path, number)

    try:
        # a pipe that nobody writes to must not stop us
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise FileMissing(f"there is no file '{path}'", path, errno.ENOENT) from None
    except OSError as error:
        if os.path.isdir(path):
            raise refuse("it is a folder; give the name of a file", errno.EISDIR) from None
        raise refuse(reason(error), error.errno) from error
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise refuse("it is a folder; give the name of a file", errno.EISDIR)
        if not stat.S_ISREG(about.st_mode):
            raise refuse(f"it is {KINDS.get(stat.S_IFMT(about.st_mode), 'something else')}, not a file", errno.EINVAL)
        too_large = f"its {in_words(about.st_size)} do not fit into the memory"
        if about.st_size > memory():
            raise refuse(too_large, errno.ENOMEM)
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            data = bytearray(about.st_size)
            length = 0
            with memoryview(data) as view:
                while length < len(data) and (count := file.readinto(view[length : length + CHUNK])):
                    length += count
        del data[length:]
        return data
    except MemoryError:
        raise refuse(too_large, errno.ENOMEM) from None
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise refuse(reason(error), error.errno) from error
    finally:
        os.close(descriptor)
