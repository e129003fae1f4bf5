"""How much memory there is, so that requests beyond it are refused in words before they are tried."""

from __future__ import annotations

import functools
import os

try:
    import resource
except ImportError:  # not on every system
    resource = None


@functools.cache
def _installed() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def memory() -> float:
    """Bytes of memory that this process may use at most; infinite where the system does not tell."""
    if resource is None:
        return _installed()
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return _installed() if limit == resource.RLIM_INFINITY else min(_installed(), float(limit))


def in_words(size: float) -> str:
    """A number of bytes.

    >>> in_words(812), in_words(3.25e9), in_words(8e16)
    ('812 bytes', '3.2 GB', '80000 TB')
    """
    for unit, power in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= power:
            return f"{size / power:.1f} {unit}" if size < 1000 * power else f"{size / power:.0f} {unit}"
    return f"{size:.0f} bytes"
