"""What constraints do to positions and velocities in an instant: where a prescribed motion has a kink, where an event
sets velocities that constraints do not allow, where a constraint is taken up.

Velocities then change by an impulse that acts as the forces of the constraints do:

    M (v⁺ − v⁻) + Wᵀ Λ = 0,      g^I(v⁺) = 0,  h(v⁺) = 0,      W = ∂(g^I, h)/∂v.

It is the smallest change in the norm of the mass matrix, not in that of the coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import SimulationError
from dalembert.model import Model
from dalembert.model.vocabulary import equation_names
from dalembert.regularize.contradiction import ill_posed
from dalembert.regularize.judgement import NOTEWORTHY
from dalembert.regularize.newton import Matrix, decompose, nearest_solution, products
from dalembert.regularize.start_problems import start_problems

#: a residual changes if it does by more than this fraction of its terms; what is less is rounding of inputs, and what
#: they move by in the two rounding errors of time from one side of a breakpoint to the other
NOTICEABLE = 1e-12
#: of its terms, what may be left of a constraint after an impulse
UNMET = 1e-8
#: h may be nonlinear in v
ITERATIONS = 20

Vectors = Mapping[str, np.ndarray]


def across_kink(model: Model, before: float, after: float, vectors: Vectors) -> dict[str, np.ndarray]:
    """Positions and velocities right after a breakpoint, where constraints depend on inputs that have a kink there.

    `vectors` are those right before. What constraints are violated by already, to the accuracy of a method, stays.
    """
    values = _complete(model, vectors)
    problems, theta = start_problems(model), (model.theta(before), model.theta(after))
    names = [*equation_names("s", model.names("s")), *equation_names("lam", model.names("lam"))]
    if names:
        (drift, J), (now, _) = (problems.position(t, values, at) for t, at in zip((before, after), theta, strict=True))
        drift, now = drift.ravel(), now.ravel()
        z = np.concatenate([values["s"], values["p"]])
        if _noticeable(now - drift, products(J, z) + np.abs(now)).any():
            _move(model, after, values, theta[1], drift, names)
    if not model.graph.size("lam") + model.graph.size("mu"):
        return values
    # before the breakpoint at the same point: what differs is what the kink demands
    drift = problems.velocity(before, values, theta[0])[0].ravel()
    now, J = problems.velocity(after, values, theta[1])
    now = now.ravel()
    moving = J @ values["v"]
    terms = products(J, values["v"]) + np.abs(now - moving) + np.abs(drift - moving)
    if _noticeable(now - drift, terms).any():
        values["v"] = _velocities(model, after, values, theta[1], drift)
    return values


def after_impact(model: Model, t: float, vectors: Vectors) -> np.ndarray:
    """Velocities that satisfy all constraints of a model, by an impulse on the given ones."""
    values, theta = _complete(model, vectors), model.theta(t)
    if not model.graph.size("lam") + model.graph.size("mu"):
        return values["v"]
    residual, J = start_problems(model).velocity(t, values, theta)
    residual = residual.ravel()
    if not _noticeable(residual, products(J, values["v"]) + np.abs(residual - J @ values["v"])).any():
        return values["v"]
    return _velocities(model, t, values, theta, np.zeros(len(residual)))


def _complete(model: Model, vectors: Vectors) -> dict[str, np.ndarray]:
    """Copies of the vectors, with zeros for those that are not asked for: multipliers may be of other constraints."""
    values = {kind: np.zeros(model.graph.size(kind)) for kind in model.state_kinds}
    return values | {kind: vectors[kind].copy() for kind in model.settable_kinds if kind in vectors}


def _noticeable(change: np.ndarray, terms: np.ndarray) -> np.ndarray:
    return ~(np.abs(change) <= NOTICEABLE * terms)


def _move(
    model: Model,
    t: float,
    values: dict[str, np.ndarray],
    theta: np.ndarray,
    drift: np.ndarray,
    names: list[str],
) -> None:
    """Follow a small jump of prescribed positions; tables of numbers may have some. Raises if it is not small."""
    problems, n_s = start_problems(model), len(values["s"])

    def function(z: np.ndarray) -> tuple[np.ndarray, Matrix]:
        residual, J = problems.position(t, {**values, "s": z[:n_s], "p": z[n_s:]}, theta)
        return residual.ravel() - drift, J

    before = np.concatenate([values["s"], values["p"]])
    jump = np.abs(function(before)[0])
    z = nearest_solution(function, before, names, "the positions p", t)
    change = np.abs(z - before) / (1 + np.abs(before))
    if change.max(initial=0) > NOTEWORTHY:
        moved = [*model.names("s"), *model.names("p")][int(np.argmax(change))]
        raise SimulationError(
            f"{names[int(np.argmax(jump))]} jumps by {jump.max():.3g} at the breakpoint t = {t:.9g}: '{moved}' would "
            "have to jump with it, at infinite speed. Give the input a continuous course (a short ramp), or end the "
            "simulation there and start another one from the new positions."
        )
    values["s"], values["p"] = z[:n_s].copy(), z[n_s:].copy()


def _velocities(
    model: Model, t: float, values: Vectors, theta: np.ndarray, drift: np.ndarray
) -> np.ndarray:
    """v⁺ such that the residuals of the constraints on velocity level are `drift`."""
    problems, v = start_problems(model), values["v"]
    (M,) = problems.mass(t, values, theta)
    impulse = np.zeros(len(drift))
    n = len(v)
    v_new = v.copy()
    for _ in range(ITERATIONS):
        residual, W = problems.velocity(t, {**values, "v": v_new}, theta)
        wrong = residual.ravel() - drift
        balance = M @ (v_new - v) + W.T @ impulse
        step = decompose(_saddle(M, W)).solve(-np.concatenate([balance, wrong]))
        v_new, impulse = v_new + step[:n], impulse + step[n:]
        if not np.isfinite(v_new).all():
            break
        if (np.abs(step[:n]) <= 1e-14 * (np.abs(v_new) + np.abs(v_new).max(initial=0))).all():
            break
    residual, W = problems.velocity(t, {**values, "v": v_new}, theta)
    wrong = np.abs(residual.ravel() - drift)
    terms = products(W, v_new) + np.abs(residual.ravel() - W @ v_new)
    unmet = ~(wrong <= UNMET * terms)
    if unmet.any():
        names = [*equation_names("lam", model.names("lam"), "velocity"), *equation_names("mu", model.names("mu"))]
        contradiction = ill_posed(t, names, W, problems.velocity(t, values, theta)[0].ravel() - drift)
        if contradiction is not None:
            raise contradiction
        raise SimulationError(
            f"no impulse at t = {t:.9g} gives velocities that satisfy {names[int(np.argmax(unmet))]}: constraints "
            "contradict each other, or the mass matrix is singular in a direction that they leave free"
        )
    return v_new


def _saddle(M: Any, W: Any) -> Matrix:
    if isinstance(M, np.ndarray) and isinstance(W, np.ndarray):
        return np.block([[M, W.T], [W, np.zeros((len(W), len(W)))]])
    from scipy.sparse import bmat, csc_matrix

    return csc_matrix(bmat([[M, W.T], [W, None]]))
