"""Mass, force, kinematics and constraints from the equations that SymPy's mechanics has formed.

Constraints are handed over as such, with multipliers, and not solved for dependent coordinates or speeds: methods keep
them, and nothing has to be chosen that may become singular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ModelError

#: seed of the points at which constraints on velocities are compared with derivatives of those on positions
SEED = 11


@dataclass
class Form:
    """M v' = f, q' = Z v, and constraints, as matrices and lists of SymPy expressions."""

    q: list[Any]
    v: list[Any]  # speeds, or derivatives of the coordinates
    mass: Any
    force: Any
    kinematics: Any = None  # None: q' = v
    holonomic: list[Any] = field(default_factory=list)
    nonholonomic: list[Any] = field(default_factory=list)
    #: what expressions of the user's have to be changed by to be about q and v
    replace: Callable[[Any], Any] = lambda expression: expression

    def parts(self) -> dict[str, Any]:
        """Arguments of `EquationsOfMotion`, without names."""
        found = {"mass": self.mass.tolist(), "force": list(self.force)}
        others = {"holonomic": self.holonomic, "nonholonomic": self.nonholonomic}
        if self.kinematics is not None:
            found["kinematics"] = self.kinematics.tolist()
        return found | {role: rows for role, rows in others.items() if rows}


def form_of(method: Any, mechanics: Any) -> Form:
    """The form of a KanesMethod, a LagrangesMethod, or of a System or JointsMethod, which have one of those."""
    if isinstance(method, mechanics.LagrangesMethod):
        return _lagrange(method)
    if isinstance(method, mechanics.KanesMethod):
        return _kane(method, mechanics)
    if isinstance(method, getattr(mechanics, "System", ())):
        if method.eom_method is None:
            method.form_eoms()
        return form_of(method.eom_method, mechanics)
    if isinstance(method, getattr(mechanics, "JointsMethod", ())):
        if method.method is None:
            method.form_eoms()
        return form_of(method.method, mechanics)
    raise ModelError(f"from_sympy needs a KanesMethod, a LagrangesMethod or a System, not {type(method).__name__}")


def _lagrange(method: Any) -> Form:
    if method.eom is None:
        method.form_lagranges_equations()
    rates = dict.fromkeys(method._qdoubledots, 0)
    forces = dict.fromkeys(method.lam_vec, 0)
    n = len(method._hol_coneqs)
    return Form(
        q=list(method.q), v=list(method._qdots),
        mass=method.eom.jacobian(method._qdoubledots), force=-method.eom.subs(rates).subs(forces),
        holonomic=list(method._hol_coneqs), nonholonomic=list(method.coneqs)[n:],
    )  # fmt: skip


def _kane(method: Any, mechanics: Any) -> Form:
    import sympy

    t, q, u = mechanics.dynamicsymbols._t, list(method.q), list(method.u)
    if method.bodies is None:
        raise ModelError("the equations have not been formed yet: call kanes_equations(bodies, loads) first")
    flow, none = method.kindiffdict(), _auxiliary(method, t)
    constrained = len(method._udep) or len(method._f_h)
    plain = method
    if constrained:  # the same bodies and loads, without what depends on others
        kinematic = [coordinate.diff(t) - flow[coordinate.diff(t)] for coordinate in q]
        plain = mechanics.KanesMethod(
            method._inertial, q_ind=q, u_ind=u, kd_eqs=kinematic, u_auxiliary=list(method._uaux)
        )
    if constrained or method._fr is None:
        plain.kanes_equations(method.bodies, method.loads or None)
    rates = sympy.Matrix([flow[coordinate.diff(t)] for coordinate in q]).xreplace(none)
    speeds = sympy.Matrix(u)
    kinematics = rates.jacobian(speeds)
    holonomic, nonholonomic = list(method._f_h), []
    if len(method._udep):
        rows = method._k_nh * speeds + method._f_nh
        by_speeds = sympy.Matrix(holonomic).jacobian(sympy.Matrix(q)) * kinematics if holonomic else None
        nonholonomic = [rows[i] for i in _independent(by_speeds, method._k_nh, [*q, *u])]
    form = Form(
        q=q, v=u, mass=plain.mass_matrix.xreplace(none), force=plain.forcing.xreplace(none), kinematics=kinematics,
        holonomic=holonomic, nonholonomic=[row.xreplace(none) for row in nonholonomic],
        replace=lambda expression: expression.xreplace(flow).xreplace(none),
    )  # fmt: skip
    offset = rates.xreplace(dict.fromkeys(u, 0)).applyfunc(lambda entry: sympy.simplify(entry) if entry else entry)
    return form if all(entry == 0 for entry in offset) else _without_offset(form, offset, t)


def _auxiliary(method: Any, t: Any) -> dict[Any, int]:
    """Auxiliary speeds, which bring forces into evidence, are zero."""
    return {entry: 0 for speed in method._uaux for entry in (speed, speed.diff(t))}


def _without_offset(form: Form, offset: Any, t: Any) -> Form:
    """The same motion with v = q' where q' = Z u + b: then u = Z⁻¹ (q' − b), and u' follows from that."""
    import sympy

    if form.kinematics.rows != form.kinematics.cols:
        raise ModelError(
            "the kinematic differential equations have terms without speeds, q' = Z u + b, and there are "
            f"{form.kinematics.rows} coordinates and {form.kinematics.cols} speeds: choose speeds so that q' = Z u"
        )
    rates = [coordinate.diff(t) for coordinate in form.q]
    inverse = form.kinematics.inv()
    speeds = inverse * (sympy.Matrix(rates) - offset)
    known = dict(zip(form.v, speeds, strict=True))
    change = speeds.diff(t)
    accelerations = dict.fromkeys([rate.diff(t) for rate in rates], 0)

    def replace(expression: Any) -> Any:
        return expression.xreplace(known)

    mass = replace(form.mass)
    return Form(
        q=form.q, v=rates, mass=inverse.T * mass * inverse,
        force=inverse.T * (replace(form.force) - mass * change.subs(accelerations)), holonomic=form.holonomic,
        nonholonomic=[replace(row) for row in form.nonholonomic],
        replace=lambda expression: replace(form.replace(expression)),
    )  # fmt: skip


def _independent(known: Any, rows: Any, dynamic: Sequence[Any]) -> list[int]:
    """Rows of a matrix that do not follow from those that are known, at a random point."""
    from sympy.core.function import AppliedUndef

    generator = np.random.default_rng(SEED)
    parts = [rows] if known is None else [rows, known]
    applied = {f for part in parts for f in part.atoms(AppliedUndef)} | {*dynamic}
    values = {f: generator.uniform(0.3, 1.3) for f in sorted(applied, key=str)}
    values |= {s: generator.uniform(0.3, 1.3) for s in sorted({s for p in parts for s in p.free_symbols}, key=str)}

    def numbers(matrix: Any) -> np.ndarray:
        return np.array(matrix.subs(values).evalf().tolist(), float)

    found = numbers(known) if known is not None else np.zeros((0, rows.shape[1]))
    kept = []
    for i, row in enumerate(numbers(rows)):
        more = np.vstack([found, row])
        if not len(found) or np.linalg.matrix_rank(more) > np.linalg.matrix_rank(found):
            kept.append(i)
            found = more
    return kept
