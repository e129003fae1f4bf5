"""LAPACK inside of kernels with one thread, beside what it does with all of them.

    python benchmarks/blas_threads.py

Factors dense saddle-point systems of N unknowns in a kernel, in turns with one thread (as kernels do) and with those of
OpenBLAS (as they would), first alone and then in as many Python threads as there are processors, as a sweep does.
Prints the best wall time of a factorization in µs, and processor time for one.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time

import numpy as np

from dalembert.linalg.factors import blas_threads
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.saddle import fresh_saddle
from dalembert.linalg.saddle.solver import SaddlePattern
from dalembert.studies.saddle_timing import factor_often

SIZES = (50, 100, 150, 200, 300, 500)
ROUNDS = 7


def system(n: int):
    """A record with a full mass matrix."""
    every, none = np.indices((n, n)).reshape(2, -1), np.zeros(0, np.int64)
    memory = Dense().build(SaddlePattern(n, 0, (every[0], every[1]), (none, none)))
    memory.M[:] = (np.random.default_rng(1).normal(size=(n, n)) + n * np.eye(n)).ravel()
    return memory


def measure(records: list, count: int) -> tuple[float, float]:
    """Wall time of `count` factorizations of each record at once, and processor time, for one factorization."""
    workers = [threading.Thread(target=factor_often, args=(int(record.address), count)) for record in records]
    wall, processor = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.perf_counter() - wall) / count, (time.process_time() - processor) / count / len(records)


def main() -> None:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    get, set_ = blas_threads.find_functions()
    if not set_:
        print("SciPy's LAPACK is not OpenBLAS with threads of its own: kernels leave it as it is")
        return
    number = ctypes.CFUNCTYPE(ctypes.c_int)(get)()
    print(f"{processors} processors, OpenBLAS takes {number} threads; µs for a factorization: wall (processor)")
    print(f"{'N':>5}  {'one thread':>18}{'all threads':>20}{'wall':>9}", end="")
    print(f"    {processors} kernels at once: {'one thread':>18}{'all threads':>20}{'wall':>9}")
    for n in SIZES:
        count = max(3, int(4e7 / n**3))
        print(f"{n:5}", end="")
        for k in (1, processors):
            records = [fresh_saddle(system(n)) for _ in range(k)]
            best = np.full((2, 2), np.inf)
            for _ in range(ROUNDS):
                for way in (0, 1):
                    blas_threads._table[blas_threads._SET] = (set_, 0)[way]  # without its setter nothing is set
                    best[way] = np.minimum(best[way], measure(records, count))
            blas_threads._table[blas_threads._SET] = set_
            cells = [f"{1e6 * wall:9.0f} ({1e6 * processor:6.0f})" for wall, processor in best]
            print(f"{cells[0]:>20}{cells[1]:>20}{best[1, 0] / best[0, 0]:8.2f}×", end=" " * 20 if k == 1 else "\n")


if __name__ == "__main__":
    main()
