"""Whom the cache on disk is believed: keys, owners, and the seal on every entry.

What the cache holds is unpickled and executed, so nothing may be taken from it that somebody else wrote, or that was
damaged since. Every entry carries a *seal*: a digest of its name and content, and an HMAC of the digest with a secret
key of the user. An entry is taken if the digest is right and

- the HMAC was made with one of the user's keys, or
- the place can only be read, and nobody but root and this user can ever have written there (`only_trusted`): a filled
  cache that an administrator provides, or one on a disk that is mounted read-only.

The name belongs to what is sealed, so that entries cannot be exchanged. Content is read once, checked in memory and
used from there: what happens to the file later does not matter.

A key is a file of 32 random bytes that only its owner can read. It stays out of directories that several users share.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

_MAGIC = b"dalembert 2\n"
_SIZE = hashlib.sha256().digest_size
_DATA = len(_MAGIC) + 2 * _SIZE  # where the data begin
_KEY_SIZE = 32
_LARGEST = 1 << 30  # bytes of an entry

#: only here do owners and modes of files say who can write them
POSIX = hasattr(os, "geteuid")
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# links are not followed, and a pipe in the place of a file must not keep us waiting
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def seal(name: str, data: bytes, key: bytes) -> bytes:
    """The content of the entry of this name."""
    digest = _digest(name, data)
    return _MAGIC + hmac.digest(key, digest, "sha256") + digest + data


def unseal(name: str, content: bytes, keys: Sequence[bytes], trusted: bool) -> bytes | None:
    """The data of an entry; None if it is damaged, or neither sealed with one of the keys nor from a trusted place.

    Examples
    --------
    >>> entry = seal("a", b"data", b"secret")
    >>> unseal("a", entry, [b"other", b"secret"], trusted=False)
    b'data'
    >>> unseal("b", entry, [b"secret"], trusted=False), unseal("a", entry[:-1] + b"e", [b"secret"], trusted=False)
    (None, None)
    >>> unseal("a", entry, [b"other"], trusted=False), unseal("a", entry, [], trusted=True)
    (None, b'data')
    """
    if len(content) < _DATA or not content.startswith(_MAGIC):
        return None
    data = content[_DATA:]
    digest = _digest(name, data)
    if not hmac.compare_digest(digest, content[_DATA - _SIZE : _DATA]):
        return None
    given = content[len(_MAGIC) : _DATA - _SIZE]
    known = trusted or any(hmac.compare_digest(given, hmac.digest(key, digest, "sha256")) for key in keys)
    return data if known else None


def _digest(name: str, data: bytes) -> bytes:
    digest = hashlib.sha256(_MAGIC + name.encode() + b"\0")
    digest.update(data)
    return digest.digest()


# -- owners --------------------------------------------------------------------------------------------------------


def objection(directory: Path) -> str | None:
    """Why a directory that can be written to is not this user's alone; None if it is."""
    if not POSIX:
        return None
    found = os.stat(directory)
    if found.st_uid != os.geteuid():
        return f"belongs to {_user(found.st_uid)}, not to {_user(os.geteuid())} who runs this"
    if found.st_mode & _OTHERS:
        return f"can be written by other users (mode {stat.S_IMODE(found.st_mode):o})"
    return None


def only_trusted(directory: str | Path) -> str | None:
    """Why somebody besides root and this user can have written in a directory; None if nobody can.

    Who can write in a directory above could put another in its place, unless its sticky bit prevents that.
    """
    if not POSIX:
        return "has an owner who is not known on this system"
    directory = Path(directory)
    for place in (directory, *directory.parents):
        found = os.lstat(place)
        which = "" if place == directory else f"lies in {place}, which "
        if found.st_uid not in (0, os.geteuid()):
            return f"{which}belongs to {_user(found.st_uid)}"
        if found.st_mode & _OTHERS and not (place != directory and found.st_mode & stat.S_ISVTX):
            return f"{which}can be written by other users (mode {stat.S_IMODE(found.st_mode):o})"
    return None


@functools.cache
def _trusted_inside(directory: str) -> bool:
    """Whether a folder within a trusted place is one, too."""
    found = os.lstat(directory)
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (0, os.geteuid()) and not found.st_mode & _OTHERS


def read(base: Path, name: str, trusted: bool) -> bytes | None:
    """The bytes of a plain file, None if there is none, or if it is in a trusted place and somebody else's."""
    try:
        handle = os.open(base / name, _READ)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return None
        if trusted:
            folders = [str(folder) for folder in list((base / name).parents)[: name.count("/")]]
            if found.st_uid not in (0, os.geteuid()) or found.st_mode & _OTHERS:
                return None
            if not all(_trusted_inside(folder) for folder in folders):
                return None
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def _user(uid: int) -> str:
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        return f"user '{pwd.getpwuid(uid).pw_name}'"
    return f"user {uid}"


# -- keys ----------------------------------------------------------------------------------------------------------


def read_key(path: Path, given: bool = False) -> bytes | None:
    """The key in a file; None if there is none, or others can write it or, unless the user has `given` it, read it."""
    try:
        handle = os.open(path, _READ)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        owners = (0, os.geteuid()) if POSIX and given else (os.geteuid(),) if POSIX else (found.st_uid,)
        forbidden = (_OTHERS if given else 0o077) if POSIX else 0
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in owners or found.st_mode & forbidden:
            return None
        key = os.read(handle, _KEY_SIZE + 1)
        return key if len(key) == _KEY_SIZE else None
    except OSError:
        return None
    finally:
        os.close(handle)


def make_key(path: Path) -> bytes | None:
    """A new key in the place of one that is missing or cannot be used. Of several processes, one succeeds."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_KEY_SIZE))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)  # unlike a renaming, it fails if another process was first
        except OSError:
            if read_key(path) is None:
                os.replace(temporary, path)
    except OSError:
        return None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    return read_key(path)
