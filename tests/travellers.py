"""What tests let other processes do with models that they send there. Processes find this module by its name."""

import numpy as np

import dalembert as da


def run(problem, method="auto", t_end=np.inf):
    """Simulate, here or elsewhere, at most until `t_end`."""
    return da.simulate(problem.model, (0, min(problem.t_end, t_end)), method=method, **problem.start())


def counting(problem, method="auto"):
    """The same, and how many tapes and kernels had to be compiled for it, and how many tapes came from the disk."""
    from numba.core import event

    from dalembert.compile import jit

    built, loaded = [], []
    build, load = jit.build, jit.load
    jit.build = lambda *args, **options: built.append(1) or build(*args, **options)
    jit.load = lambda *args: loaded.append(load(*args)) or loaded[-1]
    try:
        with event.install_recorder("numba:compile") as kernels:
            solution = run(problem, method)
    finally:
        jit.build, jit.load = build, load
    return solution, len(built), len(kernels.buffer), sum(code is not None for code in loaded)


def fail(problem):
    """Raise what a simulation raises that is given up."""
    da.simulate(problem.model, (0, problem.t_end), max_steps=3, **problem.start())
