"""LAPACK has one thread inside of kernels, and the user's own number outside."""

import ctypes
import threading

import numpy as np
import pytest

from dalembert.compile.kernel import kernel
from dalembert.linalg.factors import blas_threads
from dalembert.linalg.factors.blas_threads import PARALLEL_FROM, _get_threads, begin_single, end_single
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.saddle import solve_saddle

GET, SET = blas_threads.find_functions()
pytestmark = pytest.mark.skipif(not SET, reason="SciPy's LAPACK is not OpenBLAS with threads of its own")


@pytest.fixture
def threads():
    get = ctypes.CFUNCTYPE(ctypes.c_int)(GET)
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(SET)
    before = get()
    yield get, put
    put(before)


@kernel("int64(int64, int64)")
def inside(n, function):
    begin_single(n)
    number = _get_threads(function)
    end_single(n)
    return number


@kernel("int64(int64, int64, int64[::1])")
def linger(n, rounds, count):
    for _ in range(rounds):
        begin_single(n)
        end_single(n)
        count[0] += 1
    return 0


@kernel("int64(int64)")
def begin(n):
    begin_single(n)
    return 0


@kernel("int64(int64)")
def end(n):
    end_single(n)
    return 0


def test_one_inside_and_as_before_outside(threads):
    get, put = threads
    for number in (2, 1):
        put(number)
        assert inside(PARALLEL_FROM, GET) == 1
        assert get() == number


def test_small_matrices_do_not_touch_it(threads):
    get, put = threads
    put(2)
    assert inside(PARALLEL_FROM - 1, GET) == 2
    assert get() == 2


def test_first_sets_and_last_restores(threads):
    get, put = threads
    put(2)
    begin(100)
    begin(100)
    end(100)
    assert get() == 1
    end(100)
    assert get() == 2


def test_a_number_that_was_set_meanwhile_stays(threads):
    get, put = threads
    put(2)
    begin(100)
    put(3)
    end(100)
    assert get() == 3


def test_many_threads(threads):
    get, put = threads
    put(2)
    counts = [np.zeros(1, np.int64) for _ in range(4)]
    workers = [threading.Thread(target=linger, args=(100, 20000, count)) for count in counts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [int(count[0]) for count in counts] == [20000] * 4
    assert get() == 2
    assert blas_threads._table[:2].tolist() == [0, 0]


def test_forked_process_inside_of_a_call(threads):
    get, put = threads
    put(2)
    begin(100)
    blas_threads._reset()
    assert get() == 2
    assert inside(100, GET) == 1


def test_factors_do_not_depend_on_threads(threads):
    """Bits would differ between machines with one and with many processors."""
    _, put = threads
    n = 300
    rng = np.random.default_rng(3)
    M = rng.normal(size=(n, n))
    M = M @ M.T + n * np.eye(n)
    b = np.arange(1.0, n + 1.0)
    answers = []
    for number in (1, 2):
        put(number)
        answers.append(solve_saddle(Dense(), M, np.zeros((0, n)), b, [])[0])
    np.testing.assert_array_equal(*answers)
    np.testing.assert_allclose(M @ answers[0], b, rtol=1e-9)
