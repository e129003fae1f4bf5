"""A process that looks as if it ran on Windows: ``python -c "import foreign; ..."``, with `tests` on the path.

Modules and functions that only POSIX systems have are gone, as far as Python itself works without; locks on files are
those of Windows, which lock bytes. What cannot be pretended: paths, encodings of the console, that open files can be
neither removed nor renamed, and other machine code.
"""

from __future__ import annotations

import multiprocessing.connection
import multiprocessing.synchronize  # noqa: F401
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import uuid
import warnings

import casadi
import h5py
import matplotlib.pyplot
import numba
import numpy
import rich.progress
import scipy.linalg
import typer

#: what others do on POSIX systems is their affair: they are imported as it were there
_OTHERS = (
    multiprocessing, shutil, subprocess, tempfile, uuid, casadi, h5py, matplotlib, numba, numpy, rich, scipy, typer,
)  # fmt: skip

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix_ipc", "crypt", "spwd")
FUNCTIONS = (
    "fork", "forkpty", "geteuid", "getuid", "getgid", "getegid", "register_at_fork", "sched_getaffinity", "fchown",
    "chown", "fchmod", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "sysconf", "killpg", "setsid", "mkfifo",
    "uname", "getloadavg", "statvfs", "pread", "pwrite", "RTLD_NOW", "RTLD_GLOBAL",
)  # fmt: skip


class Missing:
    """Lets imports of these modules fail."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def _windows_locks() -> types.ModuleType:
    import fcntl

    def locking(descriptor: int, mode: int, length: int) -> None:
        assert mode == module.LK_NBLCK
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, 0, os.SEEK_CUR)

    module = types.ModuleType("msvcrt")
    module.LK_NBLCK, module.locking = 2, locking
    return module


def become_foreign() -> None:
    sys.modules["msvcrt"] = _windows_locks()
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Missing())
    for name in FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)
    warnings.filterwarnings("error", category=EncodingWarning, module=r"dalembert\.")
    for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM", "SIGCHLD"):
        delattr(signal, name)


become_foreign()
