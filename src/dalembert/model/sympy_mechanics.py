"""Models from `sympy.physics.mechanics`: equations that `KanesMethod` or `LagrangesMethod` has formed, in one call.

Constraints are handed over as such, with multipliers, and not solved for dependent coordinates or speeds: methods keep
them, and nothing has to be chosen that may become singular. SymPy is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, ModelError
from dalembert.model.equations_of_motion import EquationsOfMotion

#: seed of the points at which constraints on velocities are compared with derivatives of those on positions
SEED = 11


def from_sympy(
    method: Any,
    parameters: Mapping[Any, Any] | None = None,
    *,
    inputs: Mapping[Any, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    name: str = "model",
) -> EquationsOfMotion:
    """Equations of motion that SymPy has formed, as a model.

    Parameters
    ----------
    method : KanesMethod or LagrangesMethod
        If its equations have not been formed yet, those of a LagrangesMethod are.
    parameters : mapping of symbols (or their names) to numbers
    inputs : mapping of dynamic symbols (or their names) to functions of time or numbers
        Those that are neither coordinates nor speeds.
    outputs : mapping of names to SymPy expressions or functions, optional
    start : mapping, optional
        As for `EquationsOfMotion`.
    name : str

    Examples
    --------
    A pendulum in Cartesian coordinates, by Lagrange's equations of the first kind:

    >>> import sympy, sympy.physics.mechanics as me
    >>> import dalembert as da
    >>> x, y = me.dynamicsymbols("x y")
    >>> m, g, L = sympy.symbols("m g L")
    >>> energies = m * (x.diff()**2 + y.diff()**2) / 2 - m * g * y
    >>> lagrange = me.LagrangesMethod(energies, [x, y], hol_coneqs=[x**2 + y**2 - L**2])
    >>> model = da.from_sympy(lagrange, {m: 1.0, g: 9.81, L: 1.0})
    >>> model
    EquationsOfMotion('model': 2 positions, 2 velocities, 1 holonomic constraint)
    >>> sol = da.simulate(model, (0, 1), p0=[1, 0])
    >>> sol.max_residual("position") < 1e-6
    True
    """
    try:
        from sympy.physics import mechanics
    except ImportError:
        raise DalembertError("from_sympy() needs SymPy; install it with: pip install sympy") from None
    if isinstance(method, mechanics.LagrangesMethod):
        parts = _lagrange(method)
    elif isinstance(method, mechanics.KanesMethod):
        parts = _kane(method, mechanics)
    else:
        raise ModelError(f"from_sympy needs a KanesMethod or a LagrangesMethod, not {type(method).__name__}")
    values, functions = _by_name(parameters, "parameters"), _by_name(inputs, "inputs")
    _must_be_known(parts, values, functions)
    extra = {} if outputs is None else {"outputs": dict(outputs)}
    if start is not None:
        extra["start"] = start
    return EquationsOfMotion(name=name, parameters=values, inputs=functions, **parts, **extra)


def _lagrange(method: Any) -> dict[str, Any]:
    if method.eom is None:
        method.form_lagranges_equations()
    q = list(method.q)
    accelerations = dict.fromkeys(method._qdoubledots, 0)
    forces = dict.fromkeys(method.lam_vec, 0)
    mass = method.eom.jacobian(method._qdoubledots)
    force = -method.eom.subs(accelerations).subs(forces)
    n = len(method._hol_coneqs)
    constraints = {"holonomic": list(method._hol_coneqs), "nonholonomic": list(method.coneqs)[n:]}
    names = [_name(coordinate) for coordinate in q]
    return {
        "p": names, "v": [f"{each}_dot" for each in names], "mass": mass.tolist(), "force": list(force),
        **{role: rows for role, rows in constraints.items() if rows},
    }  # fmt: skip


def _kane(method: Any, mechanics: Any) -> dict[str, Any]:
    import sympy

    q, u = list(method.q), list(method.u)
    t = mechanics.dynamicsymbols._t
    flow = method.kindiffdict()
    rates = sympy.Matrix([flow[coordinate.diff(t)] for coordinate in q])
    kinematics = rates.jacobian(sympy.Matrix(u))
    offset = (rates - kinematics * sympy.Matrix(u)).applyfunc(sympy.simplify)
    if any(entry != 0 for entry in offset):
        raise ModelError(
            "the kinematic differential equations have terms without speeds, q' = Z u + …, which EquationsOfMotion has "
            "not: choose speeds so that q' = Z u"
        )
    if method.bodies is None:
        raise ModelError("the equations have not been formed yet: call kanes_equations(bodies, loads) first")
    plain = method
    if len(method._udep) or len(method._f_h):  # the same bodies and loads, without what depends on others
        kinematic = [coordinate.diff(t) - flow[coordinate.diff(t)] for coordinate in q]
        plain = mechanics.KanesMethod(method._inertial, q_ind=q, u_ind=u, kd_eqs=kinematic)
        plain.kanes_equations(method.bodies, method.loads)
    holonomic = list(method._f_h)
    nonholonomic = []
    if len(method._udep):
        rows = method._k_nh * sympy.Matrix(u) + method._f_nh
        by_speeds = sympy.Matrix(holonomic).jacobian(sympy.Matrix(q)) * kinematics if holonomic else None
        kept = _independent(by_speeds, method._k_nh, [*q, *u])
        nonholonomic = [rows[i] for i in kept]
    return {
        "p": [_name(each) for each in q], "v": [_name(each) for each in u], "mass": plain.mass_matrix.tolist(),
        "force": list(plain.forcing), "kinematics": kinematics.tolist(),
        **({"holonomic": holonomic} if holonomic else {}), **({"nonholonomic": nonholonomic} if nonholonomic else {}),
    }  # fmt: skip


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


def _name(symbol: Any) -> str:
    """Of q(t), or of a plain symbol."""
    return getattr(getattr(symbol, "func", None), "__name__", None) if getattr(symbol, "args", ()) else str(symbol)


def _by_name(given: Mapping[Any, Any] | None, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ModelError(f"from_sympy: {what}= must be a mapping of symbols to values")
    return {key if isinstance(key, str) else _name(key): value for key, value in given.items()}


def _must_be_known(parts: Mapping[str, Any], parameters: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    """Raise ModelError with the names of all symbols that have no value."""
    import sympy
    from sympy.core.function import AppliedUndef

    known = {*parts["p"], *parts["v"], *parameters, *inputs, "t"}
    constants, functions = set(), set()
    for role in ("mass", "force", "kinematics", "holonomic", "nonholonomic"):
        for entry in _entries(parts.get(role, ())):
            expression = sympy.sympify(entry)
            functions |= {_name(f) for f in expression.atoms(AppliedUndef)}
            constants |= {str(s) for s in expression.free_symbols}
    missing = sorted(constants - known), sorted(functions - known)
    faults = [f"parameters: '{name}' has no value" for name in missing[0]]
    faults += [f"inputs: '{name}(t)' is neither a coordinate nor a speed, and is not given" for name in missing[1]]
    if faults:
        raise ModelError("the equations have symbols without values", faults)


def _entries(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _entries(item)
    else:
        yield value
