"""Bodies with the sizes of points, planar and spatial bodies: code with unrolled loops, compiled when it is needed."""

from __future__ import annotations

import functools

import numba as nb

from dalembert.compile.kernel import address_of, kernel
from dalembert.compile.memory import vec
from dalembert.linalg.bodies import (
    DEFINITE,
    backward_definite,
    block_length,
    eliminate_definite,
    forward_definite,
)

i8, u8 = nb.int64, nb.uint64

#: (n, m, f): velocities, constraints, velocities of the father
SIZES = {(2, 1, 2), (3, 1, 3), (3, 2, 3), (6, 3, 6), (6, 5, 6)}


@functools.cache
def fixed(n: int, m: int, f: int) -> tuple[int, int, int, tuple]:
    """Addresses of three kernels, which take addresses of numbers; and what has to stay alive."""
    length, square, both = block_length(DEFINITE, n, m, f), f * f, n + m

    @kernel(i8(u8, u8))
    def eliminate(own, up):
        return eliminate_definite(vec(own, length), vec(up, square), n, m, f)

    @kernel(i8(u8, u8, u8))
    def forward(own, x, above):
        forward_definite(vec(own, length), vec(x, both), vec(above, f), n, m, f)
        return 0

    @kernel(i8(u8, u8, u8))
    def backward(own, x, above):
        backward_definite(vec(own, length), vec(x, both), vec(above, f), n, m, f)
        return 0

    return address_of(eliminate), address_of(forward), address_of(backward), (eliminate, forward, backward)
