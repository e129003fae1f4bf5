"""Where compiled code is kept between processes.

The directory is `$DALEMBERT_CACHE_DIR`, else `$XDG_CACHE_HOME/dalembert`, else `~/.cache/dalembert`. It has to belong
to the user and to nobody else; one that does not is left alone with a warning, and the user's own takes its place. What
can only be read is used if it can be trusted (see `trust`); what is missing there is kept in the user's own directory.

The cache only saves time: whatever else goes wrong with it (no home, disk full, damaged file) is silent and leads to
compiling anew.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dalembert.compile import trust
from dalembert.errors import CacheNotTrusted, warn_user

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 2  # raise when the meaning of stored files changes
_MAX_FILES = 4096  # object files are some 10 kB each
_UNFINISHED = "unfinished"  # folder of files that are being written
_FORGOTTEN = 86400.0  # seconds after which an unfinished file is nobody's, where there are no locks
_KEY = "key"


@dataclass(frozen=True)
class Place:
    """A directory with entries: this user's own, where new ones are kept, or one that can only be read."""

    path: Path
    writable: bool


_found: dict[tuple, tuple[tuple[Place, ...], tuple[bytes, ...]]] = {}
_writing: set[str] = set()  # unfinished files of this process
_trimmed: set[Path] = set()


def places() -> tuple[Place, ...]:
    """The directories in use, at most one of them writable; it is the last."""
    return _search()[0]


def cache_directory(part: str = "") -> Path | None:
    """Return the directory for new entries or its subfolder `part` (made if missing); None if there is none."""
    for place in places():
        if place.writable:
            with contextlib.suppress(OSError):
                return _folder(place.path, part)
    return None


def load(key: str, part: str = "tapes") -> bytes | None:
    """Return what was saved under `key`, or None; what is damaged or of somebody else counts as missing."""
    name = _name(key, part)
    found, keys = _search()
    for place in found:
        content = trust.read(place.path, name, trusted=not place.writable)
        data = None if content is None else trust.unseal(name, content, keys, trusted=not place.writable)
        if data is not None:
            return data
    return None


def save(key: str, data: bytes, part: str = "tapes") -> None:
    """Keep `data` under `key`. Another process sees either nothing or the whole file."""
    found, keys = _search()
    if not keys or not found or not found[-1].writable:
        return
    base, name = found[-1].path, _name(key, part)
    content = trust.seal(name, data, keys[0])
    for _ in range(2):  # who tidies up may take a file away that was not locked yet
        try:
            folder = _folder(base, part)
            if part == "tapes" and folder not in _trimmed:
                _trimmed.add(folder)
                trim(folder, _MAX_FILES, lambda entry: entry.suffix in (".o", ".tmp"))
            with _unfinished(base) as (temporary, file):
                file.write(content)
                file.flush()
                if fcntl is None:  # such systems do not rename what is open
                    file.close()
                os.replace(temporary, base / name)
            return
        except FileNotFoundError:
            continue
        except OSError:
            return


def _name(key: str, part: str) -> str:
    return f"{part}/{key}" if part.startswith("kernels") else f"{part}/{key}.o"


def trim(directory: Path, keep: int, ours: Callable[[Path], bool]) -> None:
    """Remove the oldest entries of a directory beyond `keep`, so that the cache does not grow for ever.

    Only those that are `ours`: somebody may have named a directory that holds other things, too.
    """
    with contextlib.suppress(OSError):
        entries = [(entry.lstat().st_mtime, entry) for entry in directory.iterdir()]
        for _, entry in sorted(entries, reverse=True)[keep:]:
            if not ours(entry):
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def is_stamp(directory: Path) -> bool:
    """Whether this is a directory of kernels by its name."""
    return re.fullmatch("[0-9a-f]{32}", directory.name) is not None


# -- places --------------------------------------------------------------------------------------------------------


def _search() -> tuple[tuple[Place, ...], tuple[bytes, ...]]:
    """The places, and the keys of the user; found once for each setting of the environment."""
    names = ("DALEMBERT_CACHE_DIR", "DALEMBERT_CACHE_KEY", "XDG_CACHE_HOME", "HOME")
    setting = (*map(os.environ.get, names), os.geteuid() if trust.POSIX else None)
    if setting not in _found:
        found = _places()
        _found[setting] = found, _keys(found)
        if found and found[-1].writable:
            _tidy(found[-1].path)
    return _found[setting]


def _own() -> Iterator[Path]:
    """Directories of this user by name: as the environment says, and as the system knows."""
    with contextlib.suppress(RuntimeError):  # no home directory
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dalembert"
    with contextlib.suppress(ImportError, KeyError, AttributeError):
        import pwd

        yield Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache" / "dalembert"


def _places() -> tuple[Place, ...]:
    wish = os.environ.get("DALEMBERT_CACHE_DIR")
    found: list[Place] = []
    complaints = []
    for candidate in ([Path(wish)] if wish else []) + list(_own()):
        own = not wish or candidate != Path(wish)
        try:
            place, complaint = _examine(Path(os.path.realpath(candidate)), own)
        except (OSError, ValueError):  # it cannot be made, or has no possible name: as good as no cache, if asked for
            if own:
                continue
            return ()
        if complaint:
            complaints.append(f"{candidate} {complaint}")
        if place is not None and place.path not in [other.path for other in found]:
            found.append(place)
            if place.writable:
                break
    if complaints:
        kept = f"{found[-1].path} is used instead" if found and found[-1].writable else "nothing is kept on disk"
        warn_user(
            f"the directory of compiled code {', and '.join(complaints)}: whoever writes there could run code here. It "
            f"is not used; {kept}. Let $DALEMBERT_CACHE_DIR name a directory that is yours alone (chown, chmod 700), "
            "or one that you cannot write to and that only root can",
            CacheNotTrusted,
        )
    return tuple(found)


def _examine(directory: Path, own: bool) -> tuple[Place | None, str | None]:
    """The place of a directory (made if missing), or None and what speaks against it.

    One that is the user's `own` by its name may be closed to others; who made any other one open may have had reasons.
    """
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError:
        if not directory.is_dir():
            raise
    if not stat.S_ISDIR(os.stat(directory).st_mode):
        raise NotADirectoryError(directory)
    if _can_write(directory):
        complaint = trust.objection(directory)
        if complaint and own:
            with contextlib.suppress(OSError):
                os.chmod(directory, 0o700)
                complaint = trust.objection(directory)
        return (None, complaint) if complaint else (Place(directory, True), None)
    complaint = trust.only_trusted(directory)
    return (None, complaint) if complaint else (Place(directory, False), None)


def _can_write(directory: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(directory, os.W_OK | os.X_OK, **({"effective_ids": True} if effective else {}))


def _keys(found: tuple[Place, ...]) -> tuple[bytes, ...]:
    """The keys by which entries are recognized; the first is for new ones."""
    if wish := os.environ.get("DALEMBERT_CACHE_KEY"):
        key = trust.read_key(Path(wish), given=True)
        if key is None:
            warn_user(
                f"DALEMBERT_CACHE_KEY={wish} is no file of 32 bytes that belongs to you or root and that nobody else "
                "can write: nothing is kept on disk. Make one with `head -c 32 /dev/urandom`, chmod 600",
                CacheNotTrusted,
            )
        return () if key is None else (key,)
    # at home if possible: where the entries are, other users of a shared disk are not far away
    homes = [Path(os.path.realpath(directory)) for directory in _own()]
    shelves = [*homes, *(place.path for place in found if place.writable)]
    keys = {directory: trust.read_key(directory / _KEY) for directory in shelves}
    for directory in shelves:
        with contextlib.suppress(OSError):
            if keys[directory] is None and _examine(directory, directory in homes)[0] is not None:
                keys[directory] = trust.make_key(directory / _KEY)
        if keys[directory] is not None:
            break
    return tuple(dict.fromkeys(key for key in keys.values() if key is not None))


# -- writing -------------------------------------------------------------------------------------------------------


def _folder(base: Path, part: str) -> Path:
    """A folder of the user's own place, made if missing; it must not lead elsewhere, and others may not write there."""
    steps = list(itertools.accumulate(filter(None, part.split("/")), os.path.join))
    for folder in (base, *(base / step for step in steps)):
        try:
            folder.mkdir(mode=0o700, parents=folder is base)
        except FileExistsError:
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode):
                raise NotADirectoryError(folder) from None
            if trust.POSIX and (complaint := trust.objection(folder)):
                if found.st_uid != os.geteuid():
                    raise PermissionError(f"{folder} {complaint}") from None
                folder.chmod(0o700)
    return folder


@contextlib.contextmanager
def _unfinished(base: Path) -> Iterator[tuple]:
    """A file to be written and moved away: its name, and the file, locked as long as somebody works on it."""
    handle, temporary = tempfile.mkstemp(dir=_folder(base, _UNFINISHED), suffix=".tmp")
    _writing.add(os.path.basename(temporary))
    try:
        with os.fdopen(handle, "wb") as file:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # no locks here: it will be found by its age
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield temporary, file
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # if it is still there
        _writing.discard(os.path.basename(temporary))


def _tidy(base: Path) -> None:
    """Remove what writers left that were killed: locks end with their owner."""
    with contextlib.suppress(OSError), os.scandir(base / _UNFINISHED) as entries:
        for entry in entries:
            if entry.name.endswith(".tmp") and entry.name not in _writing:
                with contextlib.suppress(OSError):
                    if _is_nobodys(entry):
                        os.unlink(entry.path)


def _is_nobodys(entry: os.DirEntry) -> bool:
    if fcntl is not None:
        handle = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except (BlockingIOError, PermissionError):
            return False
        except OSError:  # no locks here
            pass
        finally:
            os.close(handle)
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > _FORGOTTEN


# -- signatures ------------------------------------------------------------------------------------------------------


def sign(name: str, data: bytes) -> str | None:
    """What tells `is_signed` that this user has written the data of this name, here; None if the user has no key."""
    keys = _search()[1]
    return trust.seal(name, data, keys[0])[: -len(data) or None].hex() if keys else None


def is_signed(name: str, data: bytes, signature: str) -> bool:
    """Whether `sign` of this user gave the signature."""
    try:
        return trust.unseal(name, bytes.fromhex(signature) + data, _search()[1], trusted=False) is not None
    except ValueError:
        return False
