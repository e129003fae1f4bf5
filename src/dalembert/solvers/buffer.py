"""The buffer through which a kernel hands its accepted steps to the driver."""

from typing import NamedTuple

import numpy as np

from dalembert.solvers.records import indices, record, tensor, vector

#: a kernel call should not take much longer than this many steps, so that progress bars stay responsive
CAPACITY = 512
#: nor should its buffer hold much more than this many numbers
BUFFER_NUMBERS = 2_000_000


class Buffer(NamedTuple):
    """Accepted steps: their ends, sizes, and polynomials in s = (t − t_new)/h ∈ [−1, 0]."""

    t: vector
    h: vector
    coefficients: tensor  # (capacity, number of coefficients, n); every method has its own number
    used: indices


buffer_type = record(Buffer)


def new_buffer(n_coefficients: int, n: int) -> Buffer:
    """An empty buffer for n unknowns."""
    capacity = max(2, min(CAPACITY, BUFFER_NUMBERS // (n_coefficients * n)))
    coefficients = np.zeros((capacity, n_coefficients, n))
    return Buffer(np.zeros(capacity), np.zeros(capacity), coefficients, np.zeros(1, np.int64))


def collect(buffer: Buffer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Copies of what is in the buffer. It stays there until the kernel is called again."""
    used = int(buffer.used[0])
    return buffer.t[:used].copy(), buffer.h[:used].copy(), buffer.coefficients[:used].copy()
