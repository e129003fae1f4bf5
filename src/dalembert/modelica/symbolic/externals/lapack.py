"""LAPACK: on known numbers by SciPy, linear systems and Cholesky factors also on graphs.

Arguments are numbered as in LAPACK's own documentation, from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.externals.registry import Answer, Question, external
from dalembert.modelica.values import Arr

LARGEST = 12  # rows of a linear system of graphs


def routine(name: str) -> Callable[..., Any]:
    """One of LAPACK's; SciPy takes a while to load, and few models need it."""
    from scipy.linalg import lapack

    return getattr(lapack, name)


def matrix(value: Arr) -> np.ndarray:
    return np.array(value.items, float).reshape(value.shape)


def graph(value: Arr) -> ca.SX:
    rows, columns = value.shape if len(value.shape) == 2 else (value.shape[0], 1)
    return ca.reshape(ca.vertcat(*map(ca.SX, value.items)), columns, rows).T


def array(value: Any, like: Arr | None = None) -> Arr:
    """A matrix or vector as a Modelica value, with the shape of another one if wanted."""
    if isinstance(value, ca.SX):
        items = [scalars.folded(value[i, j]) for i in range(value.shape[0]) for j in range(value.shape[1])]
        shape = value.shape
    else:
        value = np.asarray(value)
        items, shape = [one.item() for one in value.ravel()], value.shape
    return Arr(shape if like is None else like.shape, items)


def known(function: Callable[[Question], Answer]) -> Callable[[Question], Answer]:
    """A function for numbers alone; parameters become their values."""

    def answer(question: Question) -> Answer:
        for i, one in enumerate(question.args):
            if one is not None and not (isinstance(one, Arr) and any(item is None for item in one.items)):
                question.args[i] = question.known(i)
        return function(question)

    answer.__doc__ = function.__doc__
    return answer


# -- linear systems --------------------------------------------------------------------------------------------------


@external("dgesv")
def solve(question: Question) -> Answer:
    """A x = b."""
    a, b = question.args[2], question.args[5]
    if not question.all_known():
        if a.shape[0] > LARGEST:
            raise ValueError(
                f"a linear system of the simulation with {a.shape[0]} rows is too large; write it as equations"
            )
        return Answer(args={2: a, 4: Arr((a.shape[0],), list(range(1, a.shape[0] + 1))),
                            5: array(ca.solve(graph(a), graph(b)), b), 7: 0})  # fmt: skip
    columns = matrix(b).reshape(a.shape[0], -1)
    lu, pivots, x, info = routine("dgesv")(matrix(a), columns)
    return Answer(args={2: array(lu), 4: array(pivots + 1), 5: array(x, b), 7: int(info)})


@external("dgetrf")
@known
def factors(question: Question) -> Answer:
    """A = P L U."""
    lu, pivots, info = routine("dgetrf")(matrix(question.args[2]))
    return Answer(args={2: array(lu), 4: array(pivots + 1), 5: int(info)})


@external("dgetrs")
@known
def solve_with_factors(question: Question) -> Answer:
    transposed = {"N": 0, "T": 1, "C": 2}[question.args[0]]
    lu, pivots, b = matrix(question.args[3]), matrix(question.args[5]).astype(int) - 1, question.args[6]
    x, info = routine("dgetrs")(lu, pivots, matrix(b).reshape(lu.shape[0], -1), trans=transposed)
    return Answer(args={6: array(x, b), 8: int(info)})


@external("dgetri")
@known
def inverse(question: Question) -> Answer:
    found, info = routine("dgetri")(matrix(question.args[1]), matrix(question.args[3]).astype(int) - 1)
    return Answer(args={1: array(found), 6: int(info)})


@external("dgtsv")
@known
def solve_tridiagonal(question: Question) -> Answer:
    lower, middle, upper, b = (matrix(one) for one in question.args[2:6])
    *_, x, info = routine("dgtsv")(lower, middle, upper, b.reshape(len(middle), -1))
    return Answer(args={2: question.args[2], 3: question.args[3], 4: question.args[4],
                        5: array(x, question.args[5]), 7: int(info)})  # fmt: skip


@external("dpotrf")
def cholesky(question: Question) -> Answer:
    """A = Uᵀ U, or L Lᵀ."""
    upper = question.args[0].upper() == "U"
    a = question.args[2]
    if not question.all_known():
        if a.shape[0] > LARGEST:
            raise ValueError(f"a matrix of the simulation with {a.shape[0]} rows is too large for Cholesky factors")
        whole = graph(a)
        side = ca.triu(whole) if upper else ca.tril(whole)
        symmetric = side + side.T - ca.diag(ca.diag(whole))
        factor = ca.densify(ca.chol(symmetric))
        return Answer(args={2: array(factor if upper else factor.T), 4: 0})
    found, info = routine("dpotrf")(matrix(a), lower=not upper, clean=0)
    return Answer(args={2: array(found), 4: int(info)})


@external("dgelsy")
@known
def least_squares(question: Question) -> Answer:
    """The smallest x with the least |A x - b|."""
    a, b = matrix(question.args[3]), question.args[5]
    right = matrix(b).reshape(b.shape[0], -1)
    x, _, rank, _ = np.linalg.lstsq(a, right[: a.shape[0]], rcond=float(question.args[8]))
    found = np.zeros_like(right)
    found[: x.shape[0]] = x
    return Answer(args={3: question.args[3], 5: array(found, b), 9: int(rank), 12: 0})


@external("dgels")
@known
def least_squares_of_full_rank(question: Question) -> Answer:
    a, b = matrix(question.args[4]), question.args[6]
    right = matrix(b).reshape(b.shape[0], -1)
    if question.args[0].upper() == "T":
        a = a.T
    x = np.linalg.lstsq(a, right[: a.shape[0]], rcond=None)[0]
    found = np.zeros_like(right)
    found[: x.shape[0]] = x
    return Answer(args={4: question.args[4], 6: array(found, b), 10: 0})


@external("dgglse")
@known
def constrained_least_squares(question: Question) -> Answer:
    """The x with the least |A x - c| and B x = d."""
    a, b, c, d = (matrix(question.args[i]) for i in (3, 5, 7, 8))
    *_, x, info = routine("dgglse")(a, b, c, d)
    return Answer(args={3: question.args[3], 5: question.args[5], 7: question.args[7], 8: question.args[8],
                        9: array(x), 12: int(info)})  # fmt: skip


# -- eigenvalues, singular values, orthogonal factors ----------------------------------------------------------------


@external("dgeev")
@known
def eigenvalues(question: Question) -> Answer:
    left, right = (question.args[i].upper() == "V" for i in (0, 1))
    real, imaginary, vl, vr, info = routine("dgeev")(matrix(question.args[3]), compute_vl=left, compute_vr=right)
    found = {3: question.args[3], 5: array(real), 6: array(imaginary), 13: int(info)}
    return Answer(args=found | ({7: array(vl)} if left else {}) | ({9: array(vr)} if right else {}))


@external("dgesvd")
@known
def singular_values(question: Question) -> Answer:
    u, s, vt, info = routine("dgesvd")(matrix(question.args[4]))
    return Answer(args={4: question.args[4], 6: array(s), 7: array(u), 9: array(vt), 13: int(info)})


@external("dgesdd")
@known
def singular_values_divided(question: Question) -> Answer:
    u, s, vt, info = routine("dgesdd")(matrix(question.args[3]))
    return Answer(args={3: question.args[3], 5: array(s), 6: array(u), 8: array(vt), 13: int(info)})


@external("dgeqrf")
@known
def orthogonal_factors(question: Question) -> Answer:
    qr, tau, _, info = routine("dgeqrf")(matrix(question.args[2]))
    return Answer(args={2: array(qr), 4: array(tau), 7: int(info)})


@external("dgeqp3")
@known
def orthogonal_factors_with_pivots(question: Question) -> Answer:
    qr, pivots, tau, _, info = routine("dgeqp3")(matrix(question.args[2]))
    return Answer(args={2: array(qr), 4: array(pivots), 5: array(tau), 8: int(info)})


@external("dorgqr")
@known
def orthogonal_matrix(question: Question) -> Answer:
    q, _, info = routine("dorgqr")(matrix(question.args[3]), matrix(question.args[5]))
    return Answer(args={3: array(q), 8: int(info)})


# -- norms -----------------------------------------------------------------------------------------------------------


@external("dlange")
@known
def norm(question: Question) -> Answer:
    kind = {"M": None, "1": 1, "O": 1, "I": np.inf, "F": "fro", "E": "fro"}[question.args[0].upper()]
    a = matrix(question.args[3])
    return Answer(float(np.abs(a).max()) if kind is None else float(np.linalg.norm(a, kind)))


@external("dgecon")
@known
def condition(question: Question) -> Answer:
    found, info = routine("dgecon")(matrix(question.args[2]), float(question.args[4]), norm=question.args[0])
    return Answer(args={5: float(found), 8: int(info)})


def inverse_of(args: list[Any]) -> list[Any] | None:
    """The inverse of a small matrix of graphs; None if it is known or too large."""
    (a,) = args
    if not _is_open(a) or a.shape[0] > LARGEST:
        return None
    return [array(ca.solve(graph(a), ca.SX.eye(a.shape[0])))]


def determinant_of(args: list[Any]) -> list[Any] | None:
    (a,) = args
    return [scalars.folded(ca.det(graph(a)))] if _is_open(a) and a.shape[0] <= LARGEST else None


def _is_open(value: Arr) -> bool:
    return any(isinstance(one, ca.SX) for one in value.items)


#: functions that are made of several of LAPACK's, which would be on numbers alone
WHOLE = {"Modelica.Math.Matrices.inv": inverse_of, "Modelica.Math.Matrices.det": determinant_of}
