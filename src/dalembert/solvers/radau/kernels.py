"""A linear algebra of the Radau family as kernels, for the stage solver to call by address."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

import numba as nb

from dalembert.compile.kernel import address_of, kernel
from dalembert.compile.memory import mat, member, vec
from dalembert.solvers.radau.state import state_at

i8, u8, f8 = nb.int64, nb.uint64, nb.float64


def compile_for(algebra: str) -> None:
    """Compile the kernels of the module of this name."""
    _kernels(importlib.import_module(algebra))


@functools.cache
def addresses(algebra: ModuleType) -> dict[str, int]:
    """Of the kernels that `radau.core` asks for, by name, made of the functions of the module; 0 for one it lacks."""
    return {"settle": 0, **{name: address_of(compiled) for name, compiled in _kernels(algebra).items()}}


@functools.cache
def _kernels(algebra: ModuleType) -> dict[str, Any]:
    at = member(algebra.ALGEBRA)
    decompose, prepare, correct = algebra.decompose, algebra.prepare, algebra.correct
    solve_stages, solve_real = algebra.solve_stages, algebra.solve_real

    def named(signature: Any, name: str) -> Any:
        return kernel(signature, name=f"{algebra.__name__}.{name}")

    @named(i8(u8, u8), "decompose")
    def decompose_kernel(la, state):
        return 1 if decompose(at(la), state_at(state)) else 0

    @named(i8(u8, f8, f8, f8), "prepare")
    def prepare_kernel(la, gamma, alpha, beta):
        return 1 if prepare(at(la), gamma, alpha, beta) else 0

    @named(i8(u8, u8, u8), "solve_stages")
    def solve_stages_kernel(la, R, D):
        own = at(la)
        solve_stages(own, mat(R, own.n_rows, 3), mat(D, own.n, 3))
        return 0

    @named(i8(u8, u8, u8), "solve_real")
    def solve_real_kernel(la, R, out):
        own = at(la)
        solve_real(own, vec(R, own.n_rows), vec(out, own.n))
        return 0

    @named(i8(u8, u8, u8), "correct")
    def correct_kernel(la, F, out):
        own = at(la)
        return 1 if correct(own, vec(F, own.n_rows), vec(out, own.n)) else 0

    kernels = dict(
        decompose=decompose_kernel, prepare=prepare_kernel, solve_stages=solve_stages_kernel,
        solve_real=solve_real_kernel, correct=correct_kernel,
    )  # fmt: skip
    if not hasattr(algebra, "settle"):
        return kernels
    settle = algebra.settle

    @named(i8(u8, u8, u8), "settle")
    def settle_kernel(la, F, x):
        own = at(la)
        return settle(own, vec(F, own.n_rows), vec(x, own.n))

    return {**kernels, "settle": settle_kernel}
