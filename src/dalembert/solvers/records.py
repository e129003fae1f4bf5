"""Records: named tuples of arrays that kernels take as arguments, and their numba types."""

from __future__ import annotations

import numba as nb

f8 = nb.float64
i8 = nb.int64
up = nb.uintp
vector = f8[::1]
matrix = f8[:, ::1]
tensor = f8[:, :, ::1]
indices = i8[::1]


def record(cls: type) -> nb.types.NamedTuple:
    """The numba type of a NamedTuple class whose annotations are numba types."""
    return nb.types.NamedTuple(list(cls.__annotations__.values()), cls)
