"""Types of the fields of records: named tuples of arrays that kernels take as arguments."""

from __future__ import annotations

import numba as nb

from dalembert.compile.kernel import record

f8 = nb.float64
i8 = nb.int64
up = nb.uintp
vector = f8[::1]
matrix = f8[:, ::1]
tensor = f8[:, :, ::1]
indices = i8[::1]

__all__ = ["f8", "i8", "indices", "matrix", "record", "tensor", "up", "vector"]
