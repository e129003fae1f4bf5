"""Locks on open files: one process has a file, others see that, and the lock ends with its owner, however that ends."""

from __future__ import annotations

import os

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:  # everywhere else
    msvcrt = None

#: where Windows locks one byte, which others can neither read nor write: behind the data, and within 32 bits
FAR = (1 << 31) - 2

#: whether there are locks at all
AVAILABLE = fcntl is not None or msvcrt is not None


def try_lock(descriptor: int, *, inherited: bool = False) -> bool:
    """Lock a file that is open for writing; False if somebody else has it. OSError where the file system has no locks.

    An `inherited` lock belongs to the open file: processes that are forked have it, too, and a second opening of the
    file, in the same process even, does not. Any other belongs to the process. Windows knows the former only, and no
    forks.
    """
    try:
        if fcntl is not None:
            lock = fcntl.flock if inherited else fcntl.lockf
            lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            before = os.lseek(descriptor, 0, os.SEEK_CUR)
            os.lseek(descriptor, FAR, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, before, os.SEEK_SET)
    except (BlockingIOError, PermissionError):
        return False
    return True
