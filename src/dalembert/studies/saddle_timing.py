"""Kernels that factor and solve many times, so that calls from Python do not count."""

from dalembert.compile.kernel import call1, call3, kernel
from dalembert.linalg.saddle.saddle import saddle_at
from dalembert.solvers.records import i8, up, vector


@kernel(i8(up, i8))
def factor_often(address, count):
    """Factor a saddle-point record `count` times; returns the last answer."""
    la, code = saddle_at(address), 0
    for _ in range(count):
        code = call1(la.factor, la.own)
    return code


@kernel(i8(up, vector, i8))
def solve_often(address, b, count):
    """Solve with the last factors for a right-hand side of ones; b holds the solution."""
    la, code = saddle_at(address), 0
    for _ in range(count):
        for i in range(b.size):
            b[i] = 1.0
        code = call3(la.solve, la.own, b.ctypes.data, b.ctypes.data)
    return code
