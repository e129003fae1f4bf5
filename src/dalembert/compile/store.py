"""Where compiled code is kept between processes.

The directory is `$DALEMBERT_CACHE_DIR`, else `$XDG_CACHE_HOME/dalembert`, else `~/.cache/dalembert`. The cache only
saves time: whatever goes wrong with it (no home, disk full, damaged file) is silent and leads to compiling anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

FORMAT = 1  # raise when the meaning of stored files changes
_CHECKSUM = hashlib.sha256().digest_size
_MAX_FILES = 4096  # object files are some 10 kB each


def cache_directory(part: str = "") -> Path | None:
    """Return the directory (made if missing) or its subfolder `part`; None if it cannot be written to."""
    try:
        if override := os.environ.get("DALEMBERT_CACHE_DIR"):
            base = Path(override)
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dalembert"
        directory = base / part
        directory.mkdir(parents=True, exist_ok=True)
        return directory if os.access(directory, os.W_OK | os.X_OK) else None
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None


def load(key: str, part: str = "tapes") -> bytes | None:
    """Return what was saved under `key`, or None; a damaged file counts as missing."""
    directory = cache_directory(part)
    if directory is None:
        return None
    try:
        content = (directory / f"{key}.o").read_bytes()
    except OSError:
        return None
    data = content[_CHECKSUM:]
    return data if data and hashlib.sha256(data).digest() == content[:_CHECKSUM] else None


def save(key: str, data: bytes, part: str = "tapes") -> None:
    """Keep `data` under `key`. Another process sees either nothing or the whole file."""
    directory = cache_directory(part)
    if directory is None:
        return
    _trim_once(directory)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=directory, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(temporary, directory / f"{key}.o")
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def trim(directory: Path, keep: int) -> None:
    """Remove the oldest entries of a directory beyond `keep`, so that the cache does not grow for ever."""
    with contextlib.suppress(OSError):
        entries = sorted(directory.iterdir(), key=lambda entry: entry.stat().st_mtime, reverse=True)
        for entry in entries[keep:]:
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


@functools.cache
def _trim_once(directory: Path) -> None:
    trim(directory, _MAX_FILES)
