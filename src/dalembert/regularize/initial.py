"""Consistent initial values: positions, velocities, and everything that follows from them.

Three problems in a row, each small: positions and contact points from (c, g) = 0, velocities from (g^I, h) = 0, then
accelerations, auxiliary variables and multipliers from the equations of motion together with (d, g^II, h^I) = 0.
Corrections are the smallest ones (minimum norm), so redundant constraints do no harm here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from dalembert.errors import (
    DalembertError,
    InconsistentInitialValues,
    InitialValuesCorrected,
    ModelError,
    OptionError,
    warn_user,
)
from dalembert.model import KINDS, EquationsOfMotion, Model, QuasiLinearDAE
from dalembert.model.evaluate import PointFunction
from dalembert.model.kinematics import jacobian
from dalembert.model.namespace import explain_unknown
from dalembert.regularize.hidden import hidden_constraints
from dalembert.regularize.system import System

MODES = ("correct", "check", "trust")
ITERATIONS = 40
#: a relative change of a given start value beyond this is worth a warning
NOTEWORTHY = 1e-3


@dataclass(frozen=True)
class InitialValues:
    """Consistent values at `t`: attributes p, v, r, w, s, lam, mu and a (or x, x_dot); `correction` is the largest relative change."""

    t: float
    values: dict[str, np.ndarray]
    correction: float
    unique: bool = True

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None


def consistent_initial_values(
    model: Model, t0: float = 0.0, *, mode: str = "correct", rtol: float = 1e-6, atol: float = 1e-8, **given: Any
) -> InitialValues:
    """Complete, and if need be correct, start values.

    Parameters
    ----------
    model : EquationsOfMotion or QuasiLinearDAE
    t0 : float
    mode : {"correct", "check", "trust"}
        Correct positions and velocities to satisfy all constraints; or raise if they do not to within the tolerances;
        or take them as they are (multipliers and auxiliary variables that are not given are computed all the same).
    p0, v0, r0, w0, s0, lam0, mu0, x0 : array or mapping of names to values
        What is not given starts from zero.

    Examples
    --------
    >>> import dalembert as da
    >>> model = da.problems.pendulum(g=9.81).model
    >>> start = da.consistent_initial_values(model, p0=[0.6, -0.8], v0=[0.4, 0.3])
    >>> start.lam                                    # m (v² − g y) / (2 L²)
    array([4.049])
    """
    if mode not in MODES:
        raise OptionError(f"initial_values must be one of {', '.join(MODES)}, not {mode!r}")
    start, known = _given_values(model, given)
    if not np.isfinite(t0):
        raise ModelError(f"the start time is {t0}")
    theta = model.theta(float(t0))
    if isinstance(model, QuasiLinearDAE):
        return _quasi_linear(model, float(t0), theta, start["x"], mode, rtol, atol)
    return _equations_of_motion(model, float(t0), theta, start, known, mode, rtol, atol)


def _given_values(model: Model, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], set[str]]:
    """Arrays for every vector of the model from p0=, v0=, …; every fault is named."""
    kinds = KINDS if isinstance(model, EquationsOfMotion) else ("x",)
    allowed = [f"{kind}0" for kind in kinds]
    faults: list[str] = []
    for key in given:
        if key not in allowed:
            faults.append(explain_unknown(key, allowed))
    values: dict[str, np.ndarray] = {}
    known: set[str] = set()
    for kind in kinds:
        names = model.names(kind)
        value = given.get(f"{kind}0")
        values[kind] = np.zeros(len(names))
        if value is None:
            if kind in ("p", "x"):
                faults.append(f"{kind}0= is missing: start values for {', '.join(names)}")
            continue
        known.add(kind)
        if isinstance(value, Mapping):
            for name, number in value.items():
                if name not in names:
                    faults.append(f"{kind}0: {explain_unknown(name, names)}")
                    continue
                values[kind][names.index(name)] = _number(f"{kind}0['{name}']", number, faults)
            continue
        try:
            array = np.array(value, dtype=float).ravel()
        except (TypeError, ValueError):
            faults.append(f"{kind}0 = {value!r} is not an array of numbers")
            continue
        if array.size != len(names):
            faults.append(
                f"{kind}0 has {array.size} values; the model has {len(names)}"
                + (f": {', '.join(names)}" if names else "")
            )
            continue
        for name, number in zip(names, array, strict=True):
            if not np.isfinite(number):
                faults.append(f"{kind}0: the start value of '{name}' is {number}")
        values[kind] = array
    if faults:
        raise ModelError(f"start values of model '{model.name}'", faults)
    return values, known


def _number(what: str, value: Any, faults: list[str]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        faults.append(f"{what} = {value!r} is not a number")
        return 0.0
    if not np.isfinite(number):
        faults.append(f"{what} is {number}")
    return number


# -- equations of motion -------------------------------------------------------------------------------------------


def _problems(model: EquationsOfMotion) -> dict[str, PointFunction]:
    """The three problems as functions of a point: residual and Jacobian."""
    with model.lock:
        if "initial" not in model.cache:
            graph = model.graph
            hidden = hidden_constraints(model)
            symbol = graph.symbol
            n = {kind: graph.size(kind) for kind in KINDS}
            roles = [role for role, k in (("contact_points", "s"), ("holonomic", "lam")) if n[k]]
            position = ca.vertcat(hidden.c, hidden.g)
            by_s = ca.vertcat(*(jacobian(graph, role, "s") for role in roles)) if roles else ca.SX(0, n["s"])
            by_p = ca.vertcat(*(jacobian(graph, role, "p") for role in roles)) if roles else ca.SX(0, n["p"])
            force_by, auxiliary_by = (
                {k: jacobian(graph, role, k) if role in graph.functions else ca.SX(0, n[k]) for k in ("w", "lam", "mu")}
                for role in ("force", "auxiliary")
            )
            M = graph.value("mass")
            d = graph.value("auxiliary") if n["w"] else ca.SX(0, 1)
            motion = graph.value("force") - hidden.constraint_force - ca.mtimes(M, graph.a)
            below = ca.vertcat(ca.SX(n["w"], n["v"]), hidden.GZ, hidden.HZ)
            right = ca.vertcat(
                ca.horzcat(force_by["w"], force_by["lam"] - hidden.GZ.T, force_by["mu"] - hidden.HZ.T),
                ca.horzcat(auxiliary_by["w"], auxiliary_by["lam"], auxiliary_by["mu"]),
                ca.SX(n["lam"] + n["mu"], n["w"] + n["lam"] + n["mu"]),
            )
            # the derived g^II and h^I are linear in a; a user's own form would need its own derivatives here
            graph_level = ca.vertcat(hidden.g_II, hidden.h_I)
            if "acceleration_constraints" in graph.functions:
                from dalembert.regularize.hidden import _derive

                derived = _derive(model)
                graph_level = ca.vertcat(derived.g_II, derived.h_I)
            dynamics = graph.value("dynamics") if n["r"] else ca.SX(0, 1)
            model.cache["initial"] = {
                "position": PointFunction(model, [position, ca.horzcat(by_s, by_p)]),
                "velocity": PointFunction(model, [ca.vertcat(hidden.g_I, hidden.h), ca.vertcat(hidden.GZ, hidden.HZ)]),
                "acceleration": PointFunction(
                    model, [ca.vertcat(motion, d, graph_level), ca.horzcat(ca.vertcat(-M, below), right)]
                ),
                "rates": PointFunction(model, [hidden.p_dot, dynamics]),
                "sizes": symbol["v"].numel(),
            }
        return model.cache["initial"]


def _equations_of_motion(
    model: EquationsOfMotion,
    t: float,
    theta: np.ndarray,
    start: dict,
    known: set[str],
    mode: str,
    rtol: float,
    atol: float,
) -> InitialValues:
    graph = model.graph
    problems = _problems(model)
    values = {kind: start[kind].copy() for kind in KINDS}
    correction = 0.0
    weights = {kind: atol + rtol * np.abs(start[kind]) for kind in ("p", "v")}
    n_s = graph.size("s")
    names = {
        "position": (
            *(f"contact-point equation of '{n}'" for n in model.names("s")),
            *(f"holonomic constraint '{n}'" for n in model.names("lam")),
        ),
        "velocity": (
            *(f"holonomic constraint '{n}' on velocity level" for n in model.names("lam")),
            *(f"nonholonomic constraint '{n}'" for n in model.names("mu")),
        ),
    }
    if n_s:  # contact points first: they follow from the positions

        def contact(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values["s"] = z
            residual, J = problems["position"](t, values, theta)
            return residual.ravel()[:n_s], J[:n_s, :n_s]

        if not ("s" in known and mode == "trust"):
            values["s"] = _newton(contact, values["s"], names["position"][:n_s], "the contact points s", t)

    if mode != "trust":
        if names["position"]:

            def position(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                values["s"], values["p"] = z[:n_s], z[n_s:]
                residual, J = problems["position"](t, values, theta)
                return residual.ravel(), J

            z = _newton(position, np.concatenate([values["s"], values["p"]]), names["position"], "the positions p", t)
            values["s"], values["p"] = z[:n_s].copy(), z[n_s:].copy()
            correction = max(
                correction,
                _judge(
                    model,
                    "p",
                    start["p"],
                    values["p"],
                    weights["p"],
                    mode,
                    "position",
                    problems,
                    t,
                    theta,
                    start,
                    names,
                ),
            )
        if names["velocity"]:

            def velocity(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                values["v"] = v
                residual, J = problems["velocity"](t, values, theta)
                return residual.ravel(), J

            values["v"] = _newton(velocity, values["v"], names["velocity"], "the velocities v", t).copy()
            correction = max(
                correction,
                _judge(
                    model,
                    "v",
                    start["v"],
                    values["v"],
                    weights["v"],
                    mode,
                    "velocity",
                    problems,
                    t,
                    theta,
                    {**start, "p": values["p"], "s": values["s"]},
                    names,
                ),
            )

    unique = _accelerations(model, problems["acceleration"], t, theta, values, known, mode)
    p_dot, r_dot = (rate.ravel() for rate in problems["rates"](t, values, theta))
    values.update(p_dot=p_dot, r_dot=r_dot)
    return InitialValues(t, values, correction, unique)


def _judge(model, kind, before, after, weight, mode, level, problems, t, theta, start, names) -> float:
    """Size of a correction relative to the values; raises in mode "check", warns if it is large."""
    change = np.abs(after - before)
    if change.size == 0:
        return 0.0
    relative = change / (1 + np.abs(before))
    worst = int(np.argmax(change / weight))
    if mode == "check" and change[worst] > weight[worst]:
        residual = problems[level](t, start, theta)[0].ravel()
        guilty = int(np.argmax(np.abs(residual)))
        raise InconsistentInitialValues(
            f"the start values violate {names[level][guilty]} at t = {t:.9g}: its residual is {residual[guilty]:.3e}, and "
            f"'{model.names(kind)[worst]}' would have to change by {change[worst]:.3e}. Correct them, or let "
            'initial_values="correct" do it.'
        )
    if mode == "correct" and relative.max() > NOTEWORTHY:
        moved = int(np.argmax(relative))
        warn_user(
            f"start value of '{model.names(kind)[moved]}' changed from {before[moved]:.6g} to {after[moved]:.6g} to satisfy the "
            f'constraints on {level} level at t = {t:.9g}; initial_values="check" makes this an error',
            InitialValuesCorrected,
        )
    return float(relative.max())


def _newton(function, z: np.ndarray, names: tuple[str, ...], what: str, t: float) -> np.ndarray:
    """Gauss-Newton with minimum-norm steps until they are lost in rounding; damped when the residual grows."""
    residual, J = function(z)
    before = np.inf
    for _ in range(ITERATIONS):
        if not (np.isfinite(residual).all() and np.isfinite(J).all()):
            break
        if (np.abs(residual) <= 2e-16 * (np.abs(J) @ np.abs(z))).all():  # nothing but rounding is left
            return z
        step = np.linalg.lstsq(J, -residual, rcond=1e-12)[0]
        size = np.abs(step).max(initial=0.0)
        scale = 1 + np.abs(z).max(initial=0.0)
        norm = np.linalg.norm(residual)
        # converged only if the linearized constraints can be met: with redundant or contradictory ones they cannot
        solvable = np.linalg.norm(J @ step + residual) <= 1e-8 * norm + 1e-13 * (1 + np.abs(J).max(initial=0) * scale)
        if solvable and (size <= 4e-16 * scale or (size <= 1e-12 * scale and size >= 0.5 * before)):
            return z
        damping = 1.0
        while True:
            trial = z + damping * step
            trial_residual, trial_J = function(trial)
            if np.linalg.norm(trial_residual) <= norm * (1 - 0.1 * damping) or (
                size <= 1e-8 * scale and np.isfinite(trial_residual).all()
            ):
                break
            damping /= 2
            if damping < 1e-4:
                break
        if damping < 1e-4:
            break
        z, residual, J, before = trial, trial_residual, trial_J, size
    guilty = int(np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf)))
    raise InconsistentInitialValues(
        f"no consistent values of {what} were found near the given ones at t = {t:.9g}: {names[guilty]} keeps a residual of "
        f"{residual[guilty]:.3e}. Check the start values, and whether the constraints contradict each other."
    )


def _accelerations(
    model, function: PointFunction, t: float, theta: np.ndarray, values: dict, known: set[str], mode: str
) -> bool:
    """Solve for a, w, λ, μ; returns whether they are unique."""
    graph = model.graph
    parts = ("a", "w", "lam", "mu")
    sizes = [graph.size("v"), *(graph.size(k) for k in parts[1:])]
    cuts = np.cumsum(sizes)[:-1]
    equations = (
        *(f"equation of motion of '{n}'" for n in model.names("v")),
        *(f"auxiliary equation of '{n}'" for n in model.names("w")),
        *(f"holonomic constraint '{n}' on acceleration level" for n in model.names("lam")),
        *(f"nonholonomic constraint '{n}' on acceleration level" for n in model.names("mu")),
    )
    z = np.concatenate([np.zeros(sizes[0]), *(values[k] for k in parts[1:])])
    rank = len(z)
    before = np.inf
    for _ in range(ITERATIONS):
        values.update(zip(parts, np.split(z, cuts), strict=True))
        residual, J = function(t, values, theta)
        residual = residual.ravel()
        if not (np.isfinite(residual).all() and np.isfinite(J).all()):
            bad = (
                equations[int(np.argmax(~np.isfinite(residual)))] if not np.isfinite(residual).all() else "a derivative"
            )
            raise InconsistentInitialValues(
                f"{bad} is not finite at the start values, t = {t:.9g}; check the model there"
            )
        # rows are equilibrated: forces and constraints have different units
        scale = np.abs(J).max(axis=1, initial=0)
        scale[scale == 0] = 1
        step, rank = _solve(J / scale[:, None], -residual / scale)
        left = np.abs((J @ step + residual) / scale)
        size = np.abs(step).max(initial=0)
        limit = 1e-9 * (1 + np.abs(z).max(initial=0) + size)
        if rank < len(z) and left.max() > limit:
            raise InconsistentInitialValues(
                f"accelerations and multipliers cannot be determined at t = {t:.9g}: {_null_names(J, scale, equations)} "
                "contradict each other or leave the motion undetermined (mass matrix, redundant constraints)."
            )
        z = z + step
        if size <= 1e-14 * (1 + np.abs(z).max(initial=0)) or (
            size <= 1e-11 * (1 + np.abs(z).max(initial=0)) and size >= 0.3 * before
        ):
            break
        before = size
    else:
        raise InconsistentInitialValues(
            f"auxiliary variables and multipliers did not converge at t = {t:.9g}: {equations[int(np.argmax(np.abs(residual)))]} "
            "keeps a residual; give better start values w0=, lam0="
        )
    solved = dict(zip(parts, np.split(z, cuts), strict=True))
    for kind in ("w", "lam", "mu"):
        if mode == "trust" and kind in known:
            solved[kind] = values[kind] if kind not in known else np.array(values[kind])
    values.update({k: v.copy() for k, v in solved.items()})
    return rank == len(z)


def _solve(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
    """A⁻¹ b and the rank of A; the minimum-norm least-squares solution if A is singular."""
    if not b.size:
        return b.copy(), 0
    lu, pivots, info = dgetrf(A)
    if info == 0 and dgecon(lu, np.abs(A).sum(axis=0).max())[0] > 1e-13:
        return dgetrs(lu, pivots, b)[0], len(b)
    step, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-13)
    return step, rank


def _null_names(J: np.ndarray, scale: np.ndarray, equations: tuple[str, ...]) -> str:
    """The equations that dominate the left null space."""
    U, S, _ = np.linalg.svd(J / scale[:, None])
    null = np.abs(U[:, 1e-12 * S[0] >= S]).max(axis=1) if (1e-12 * S[0] >= S).any() else np.abs(U[:, -1])
    guilty = np.argsort(-null)[:3]
    return ", ".join(equations[i] for i in guilty if null[i] > 0.1 * null.max())


# -- quasi-linear DAEs ---------------------------------------------------------------------------------------------


def _quasi_linear(
    model: QuasiLinearDAE, t: float, theta: np.ndarray, x0: np.ndarray, mode: str, rtol: float, atol: float
) -> InitialValues:
    graph = model.graph
    with model.lock:
        if "initial" not in model.cache:
            along = ca.vertcat(graph.t, graph.u, graph.du)
            direction = ca.vertcat(1, graph.du, graph.ddu)
            k = graph.value("rhs")
            h = graph.value("constraints") if model.n_constraints else ca.SX(0, 1)
            h_x = jacobian(graph, "constraints", "x") if model.n_constraints else ca.SX(0, graph.size("x"))
            model.cache["initial"] = PointFunction(
                model,
                [
                    graph.value("leading"),
                    k,
                    jacobian(graph, "rhs", "x"),
                    h,
                    h_x,
                    ca.jtimes(k, along, direction),
                    ca.jtimes(h, along, direction),
                ],
            )
    function = model.cache["initial"]
    E = function(t, {"x": x0}, theta)[0]
    if not np.isfinite(E).all():
        raise InconsistentInitialValues(f"the leading matrix is not finite at the start values, t = {t:.9g}")
    U, S, _ = np.linalg.svd(E)
    rank = int((1e-12 * max(S[0] if S.size else 0, 1e-300) < S).sum())
    N = U[:, rank:]  # left null space: combinations of equations that contain no derivative
    algebraic_columns = ~np.any(np.abs(E) > 0, axis=0)
    names = tuple(f"algebraic equation {i + 1}" for i in range(N.shape[1])) + tuple(
        f"constraint {i + 1}" for i in range(model.n_constraints)
    )
    x = x0.copy()
    if names and mode != "trust":

        def restricted(columns: np.ndarray):
            def residual(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                point = x0.copy()
                point[columns] = z
                _, k, k_x, h, h_x, _, _ = function(t, {"x": point}, theta)
                return np.concatenate([N.T @ k.ravel(), h.ravel()]), np.vstack([N.T @ k_x, h_x])[:, columns]

            return residual

        # algebraic variables first, so that the given states stay; all of them if that cannot work
        for columns in (algebraic_columns, np.ones(len(x0), bool)):
            try:
                z = _newton(restricted(columns), x0[columns], names, "x", t)
            except (InconsistentInitialValues, np.linalg.LinAlgError):
                if columns.all():
                    raise
                continue
            x[columns] = z
            break
        weight = atol + rtol * np.abs(x0)
        change = np.abs(x - x0)
        worst = int(np.argmax(change / weight))
        if mode == "check" and change[worst] > weight[worst]:
            raise InconsistentInitialValues(
                f"the start values violate the algebraic equations at t = {t:.9g}: '{model.names('x')[worst]}' would have to "
                f'change by {change[worst]:.3e}. Correct it, or let initial_values="correct" do it.'
            )
    E, k, k_x, h, h_x, k_t, h_t = function(t, {"x": x}, theta)
    A = np.vstack([E, N.T @ k_x, h_x])
    b = np.concatenate([k.ravel(), -N.T @ k_t.ravel(), -h_t.ravel()])
    x_dot = np.linalg.lstsq(A, b, rcond=1e-12)[0]
    return InitialValues(t, {"x": x, "x_dot": x_dot}, float(np.max(np.abs(x - x0) / (1 + np.abs(x0)))))


def start_vectors(system: System, initial: InitialValues) -> tuple[np.ndarray, np.ndarray]:
    """x and x' of a formulation from consistent values of the model."""
    x, x_dot = np.zeros(system.n), np.zeros(system.n)
    for kind, part in system.slices.items():
        if kind in initial.values:
            x[part] = initial.values[kind]
    rates = {"p": "p_dot", "v": "a", "r": "r_dot", "x": "x_dot"}
    for kind, rate in rates.items():
        if kind in system.slices:
            x_dot[system.slices[kind]] = initial.values[rate]
    if not (np.isfinite(x).all() and np.isfinite(x_dot).all()):
        raise DalembertError("internal: start vectors are not finite")
    return x, x_dot
