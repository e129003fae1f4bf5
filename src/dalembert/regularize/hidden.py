"""Hidden constraints: the time derivatives of the constraints, derived from the graph.

With p' = Z v and the contact points s eliminated through c(p,s,t) = 0 [1]_:

    g^I  = G Z v + g_t − g_s c_s⁻¹ c_t                                           (7)
    g^II = (d/dt g^I)                                                            (8)
    h^I  = (d/dt) (H Z v + h)                                                    (9)

The second derivatives are kept as functions of the acceleration a = v': g^II = G Z a + γ. Inserting
a = M⁻¹ (f − Zᵀ Gᵀ λ − Zᵀ Hᵀ μ) gives (8b) and (9b) literally; leaving a in place needs no inverse mass and also covers
semi-definite M.

References
----------
.. [1] A. Steinbrecher, "GEOMS", WIAS Preprint 1259, 2007, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError, OptionError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.evaluate import PointFunction, is_large
from dalembert.model.kinematics import first, flow, jacobian, second, second_flow, solve
from dalembert.regularize.newton import solve_or_least_squares

HIDDEN: Slot[HiddenConstraints] = Slot("hidden constraints", most=1)
DERIVED: Slot[HiddenConstraints] = Slot("derived hidden constraints", most=1)


@dataclass(frozen=True, repr=False)
class HiddenConstraints:
    """Expressions in the symbols of the model; the methods give numbers."""

    model: Model
    G: ca.SX  # dg/dp with s eliminated
    GZ: ca.SX
    HZ: ca.SX
    c: ca.SX
    g: ca.SX
    g_I: ca.SX
    g_II: ca.SX  # with the symbol a for v'
    h: ca.SX
    h_I: ca.SX
    p_dot: ca.SX
    constraint_force: ca.SX  # Zᵀ Gᵀ λ + Zᵀ Hᵀ μ

    def __repr__(self) -> str:
        """How many there are on which level; the expressions themselves would be pages."""
        counts = ((self.g_I, "velocity"), (ca.vertcat(self.g_II, self.h_I), "acceleration"))
        parts = (f"{rows.numel()} on {level} level" for rows, level in counts if rows.numel())
        return f"HiddenConstraints(of model {self.model.name!r}: {', '.join(parts) or 'none'})"

    def velocity(self, p, v, t: float = 0.0, s=()) -> np.ndarray:
        """g^I, the holonomic constraints on velocity level (7)."""
        return self._numbers([self.g_I], t, {"p": p, "v": v, "s": s})[0].ravel()

    def acceleration(self, p, v, t: float = 0.0, r=(), w=(), s=(), lam=(), mu=()) -> np.ndarray:
        """g^II, the holonomic constraints on acceleration level (8b)."""
        return self._with_acceleration(self.g_II, t, {"p": p, "v": v, "r": r, "w": w, "s": s, "lam": lam, "mu": mu})

    def nonholonomic_acceleration(self, p, v, t: float = 0.0, r=(), w=(), s=(), lam=(), mu=()) -> np.ndarray:
        """h^I, the nonholonomic constraints on acceleration level (9b)."""
        return self._with_acceleration(self.h_I, t, {"p": p, "v": v, "r": r, "w": w, "s": s, "lam": lam, "mu": mu})

    def _with_acceleration(self, expression: ca.SX, t: float, given: Mapping) -> np.ndarray:
        graph = self.model.graph
        M, f, force = self._numbers([graph.value("mass"), graph.value("force"), self.constraint_force], t, given)
        a, rank = solve_or_least_squares(M, (f - force).ravel())
        if rank < len(a):
            raise ModelError(
                "the mass matrix is singular here: a = M⁻¹(…) does not exist; see consistent_initial_values"
            )
        return self._numbers([expression], t, {**given, "a": a})[0].ravel()

    def _numbers(self, outputs: list[ca.SX], t: float, given: Mapping) -> list[np.ndarray]:
        graph = self.model.graph
        values = {}
        for kind in graph.vectors:
            try:
                value = reals(given.get(kind, ())).ravel()
            except NoNumber as reason:
                raise ModelError(f"{kind} = {shown(given[kind])} {reason}") from None
            if value.size == 0:
                value = np.zeros(graph.size(kind))
            if value.size != graph.size(kind):
                raise ModelError(f"{kind} has {value.size} values; the model has {graph.size(kind)}")
            values[kind] = value
        if "a" in given:
            values["a"] = given["a"]
        try:
            t = real(t)
        except NoNumber as reason:
            raise ModelError(f"t={shown(t)} {reason}") from None
        function = PointFunction(self.model, outputs, sparse=is_large(graph.value("mass")))
        return function(t, values, self.model.theta(t))


def hidden_constraints(model: Model) -> HiddenConstraints:
    """Derive all hidden constraints of a model; its own ones, if given, are checked and then used.

    Examples
    --------
    >>> import dalembert as da
    >>> hidden = da.hidden_constraints(da.problems.pendulum().model)
    >>> hidden.velocity(p=[0.6, -0.8], v=[0.4, 0.3])     # 2 x x' + 2 y y'
    array([0.])
    """
    if not getattr(model, "mechanical", False):
        raise OptionError(f"hidden_constraints needs EquationsOfMotion, not {shown(model)}")
    return model.kept.get(HIDDEN, None, lambda: _with_own(model, derive(model)))


def derive(model: Model) -> HiddenConstraints:
    """The hidden constraints as the derivatives say, whatever the user gave; derived once."""
    return model.kept.get(DERIVED, None, lambda: _derive(model))


def _derive(model: Model) -> HiddenConstraints:
    graph = model.graph
    Z = graph.value("kinematics")
    rates = flow(graph)
    accelerations = second_flow(graph, rates)
    n_p, n_v = graph.size("p"), graph.size("v")

    g = g_I = g_II = ca.SX(0, 1)
    G = ca.SX(0, n_p)
    if "holonomic" in graph.functions:
        g = graph.value("holonomic")
        G = jacobian(graph, "holonomic", "p")
        g_I = first(graph, "holonomic", rates)
        g_II = ca.mtimes(G, accelerations["p"]) + second(graph, "holonomic", rates)
        if graph.size("s"):
            g_s = jacobian(graph, "holonomic", "s")
            g_II += ca.mtimes(g_s, accelerations["s"])
            c_s, c_p = (jacobian(graph, "contact_points", kind) for kind in ("s", "p"))
            G = G - ca.mtimes(g_s, solve(c_s, c_p))
    GZ = ca.mtimes(G, Z)

    h = h_I = ca.SX(0, 1)
    HZ = ca.SX(0, n_v)
    if "nonholonomic" in graph.functions:
        h = graph.value("nonholonomic")
        HZ = jacobian(graph, "nonholonomic", "v")
        h_I = ca.mtimes(HZ, graph.a) + first(graph, "nonholonomic", rates)

    force = ca.mtimes(GZ.T, graph.symbol["lam"]) + ca.mtimes(HZ.T, graph.symbol["mu"])
    c = graph.value("contact_points") if graph.size("s") else ca.SX(0, 1)
    return HiddenConstraints(model, G, GZ, HZ, c, g, g_I, g_II, h, h_I, rates["p"], force)


def _with_own(model: Model, derived: HiddenConstraints) -> HiddenConstraints:
    """Check the user's own hidden constraints against the derived ones at sample points, then prefer them."""
    graph = model.graph
    own: dict[str, ca.SX] = {}
    faults: list[str] = []
    if "velocity_constraints" in graph.functions:
        own["g_I"] = graph.value("velocity_constraints")
        _compare(model, derived, "velocity_constraints", own["g_I"], derived.g_I, faults)
    if "acceleration_constraints" in graph.functions:
        both = graph.value("acceleration_constraints")
        n = graph.size("lam")
        own["g_II"], own["h_I"] = both[:n], both[n:]
        _compare(model, derived, "acceleration_constraints", both, ca.vertcat(derived.g_II, derived.h_I), faults)
    if faults:
        raise ModelError(f"model '{model.name}': the hidden constraints given differ from the derived ones", faults)
    return HiddenConstraints(**{**derived.__dict__, **own})


def _compare(
    model: Model, derived: HiddenConstraints, role: str, own: ca.SX, expected: ca.SX, faults: list[str]
) -> None:
    graph = model.graph
    M, rest = graph.value("mass"), graph.value("force") - derived.constraint_force
    dynamics, compare = PointFunction(model, [M, rest], sparse=is_large(M)), PointFunction(model, [own, expected])
    names = (*graph.vectors["lam"], *graph.vectors["mu"])
    worst = np.zeros(own.numel())
    seen = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values = {kind: rng.uniform(-1, 1, len(ns)) for kind, ns in graph.vectors.items()}
        theta = model.theta(0.3 + seed)
        mass, force = dynamics(0.3 + seed, values, theta)
        # a user may write g^II with a or, as the paper does, with M⁻¹ f: with the true a both must agree
        values["a"] = solve_or_least_squares(mass, force.ravel())[0]
        given, true = (x.ravel() for x in compare(0.3 + seed, values, theta))
        scale = 1 + np.abs(true).max(initial=0)
        bad = ~(np.abs(given - true) <= 1e-8 * scale)
        if np.isfinite(true).all():
            worst = np.maximum(worst, bad)
            for i in np.flatnonzero(bad):
                seen[i] = (given[i], true[i])
    for i in np.flatnonzero(worst):
        faults.append(
            f"{role}: row {i + 1} ('{names[i]}') gives {seen[i][0]:.10g} where the derivative of the constraint "
            f"is {seen[i][1]:.10g}"
        )
