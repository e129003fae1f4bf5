"""The general equations of motion of constrained mechanical systems."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.locks import forks_wait
from dalembert.model.base import check_names, wrong_name
from dalembert.model.collisions import Collisions
from dalembert.model.functions import ModelFunction, call_with_numbers, describe
from dalembert.model.native import ROLES, NativeFunction
from dalembert.model.native_blocks import native_function
from dalembert.model.structure import Structure, broken_promises, find_structure
from dalembert.model.touching import Touching
from dalembert.model.vocabulary import FUNCTIONS, LEVELS, MECHANICAL, VOCABULARY, equation_name

#: what is said about p=[]
NO_POSITIONS = (
    "p=: a system needs at least one position: equations of motion are about their derivatives. Equations of first "
    "order are a QuasiLinearDAE(x=[...], rhs=...), with leading= and constraints= for algebraic ones"
)


class EquationsOfMotion(Touching):
    """A constrained mechanical system in the general form [1]_.

    ::

        p' = Z(p) v                                           kinematics= (default: identity)
        M(p,t) v' = f(p,v,r,w,s,λ,μ,t) − Zᵀ Gᵀ λ − Zᵀ Hᵀ μ        mass=, force=
        r' = b(p,v,r,w,s,λ,μ,t)                               dynamics=        (dynamic force elements)
        0 = d(p,v,r,w,s,λ,μ,t)                                auxiliary=       (auxiliary variables w)
        0 = c(p,s,t)                                          contact_points=  (contact-point coordinates s)
        0 = H(p,s,t) Z v + h(p,s,t)                           nonholonomic=
        0 = g(p,s,t)                                          holonomic=
        0 = e(p,v,s,t)                                        invariant=       (e.g. energy)
        0 ≤ γ(p,s,t)                                          unilateral=      (contacts: restitution=, friction=)

    Every function takes one namespace `s` with all variables, parameters, inputs and `t` by name, and the vectors
    `s.p, s.v, s.r, s.w, s.s, s.lam, s.mu, s.u`. G = dg/dp, H and all time derivatives are derived.

    Parameters
    ----------
    p, v, r, w, s : sequences of str
        Names of positions, velocities (default: position name + ``_dot``), and the optional variables.
    mass : callable or array
        Vector (diagonal) or symmetric matrix; may be semi-definite.
    force, dynamics, auxiliary, contact_points, nonholonomic, holonomic, invariant : callable or sequence
        As above. SymPy expressions are accepted in place of, or returned from, functions.
    kinematics : callable or array
        Z as a matrix (n_p × n_v).
    parameters, inputs : mappings
        Numbers or arrays by name; functions of time (or `Input`) by name, whose rates are `name_dot`.
    discrete : mapping
        Start values of discrete variables by name: constant while the model is integrated, but events may set them
        (modes, contacts, switches).
    lam, mu : sequences of str, optional
        Names of the holonomic and nonholonomic constraints' multipliers.
    velocity_constraints, acceleration_constraints : callable, optional
        Your own g^I and (g^II, h^I); checked against the derived ones. `s.a` is v'.
    unilateral : callable or sequence, optional
        Gaps of contacts, which must not become negative: γ ≥ 0, normal force ≥ 0, and one of them is zero.
    contacts : sequence of str, optional
        Their names, which are those of the normal forces, too: ``sol["floor"]``. Default: contact1, contact2, ….
    restitution, friction : float, name of a parameter, or sequence or mapping of these, optional
        Of impacts, from 0 to 1, and Coulomb's coefficient, of all contacts or of each. Default: 0.
    sliding : callable, optional
        For each contact its sliding velocity, linear in v: one number in the plane, a list of two in space, [] without
        friction.
    edges : callable, optional
        Functions of positions and time that are zero where the surfaces of contacts have edges. Those of np.maximum,
        abs, np.where and the like in the gaps are found without it.
    impact : {"newton", "poisson", "sequential"}
        The law of impacts: Newton's (all contacts together), Poisson's, or Newton's for one contact after the other.
    dry_friction : mapping, optional
        Coulomb's friction with a given bound, as in joints: names to pairs of a sliding velocity (linear in v; two of
        them in space) and the largest force, ``{"brake": (lambda s: s.phi_dot, 2.0)}``. The force may be a number, the
        name of a parameter, or a function of positions, velocities and time.
    collisions : Collisions, optional
        Shapes of many bodies that collide with each other and with the ground; for `MoreauJean`.
    autonomous, constant_mass : bool, optional
        Promises for functions that cannot be traced; of all others `model.structure` knows it. A Python function for a
        diagonal mass returns a vector.
    outputs : mapping, optional
        Functions of the namespace by name, ``{"energy": lambda s: ...}``: quantities that results have by name. They
        return a number, a vector or a matrix, and may read everything, also `s.lam` and `s.a`.
    start : mapping, optional
        Start values that belong to the model, as ``{"p0": [...], "v0": [...]}`` or by names of variables; `simulate`
        takes them where it is given none.
    drawing : Drawing or sequence of parts, optional
        What it looks like, for `Solution.animate`; see `dalembert.draw`.

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.EquationsOfMotion(
    ...     p=["x", "y"], parameters=dict(m=1.0, L=1.0, g=9.81),
    ...     mass=lambda s: [s.m, s.m], force=lambda s: [0, -s.m * s.g],
    ...     holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2])
    >>> pendulum
    EquationsOfMotion('model': 2 positions, 2 velocities, 1 holonomic constraint)

    References
    ----------
    .. [1] A. Steinbrecher, "GEOMS: A software package for the numerical integration of general model equations of
       multibody systems", WIAS Preprint 1259, 2007, equations (1)-(3).
    """

    state_kinds = start_kinds = MECHANICAL
    readable_kinds = (*MECHANICAL, "a")
    residual_levels = (*LEVELS, "invariant")
    mechanical = True
    restart_mode = "trust"

    @forks_wait
    def __init__(
        self,
        p: Sequence[str],
        mass: Any,
        force: Any,
        *,
        v: Sequence[str] | None = None,
        r: Sequence[str] = (),
        w: Sequence[str] = (),
        s: Sequence[str] = (),
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        discrete: Mapping[str, float] | None = None,
        kinematics: Any = None,
        dynamics: Any = None,
        auxiliary: Any = None,
        contact_points: Any = None,
        holonomic: Any = None,
        nonholonomic: Any = None,
        invariant: Any = None,
        unilateral: Any = None,
        contacts: Sequence[str] | None = None,
        restitution: Any = None,
        friction: Any = None,
        sliding: Any = None,
        edges: Any = None,
        impact: str = "newton",
        dry_friction: Mapping[str, Any] | None = None,
        collisions: Collisions | None = None,
        lam: Sequence[str] | None = None,
        mu: Sequence[str] | None = None,
        velocity_constraints: Any = None,
        acceleration_constraints: Any = None,
        autonomous: bool | None = None,
        constant_mass: bool | None = None,
        outputs: Mapping[str, Any] | None = None,
        start: Mapping[str, Any] | None = None,
        drawing: Any = None,
        name: str = "model",
    ):
        faults: list[str] = []
        if not isinstance(p, str) and isinstance(p, Iterable):
            with contextlib.suppress(Exception):  # what is wrong with it `check_names` says
                p = tuple(p)  # it is read twice
        if v is None:
            v = [f"{n}_dot" for n in p if not wrong_name(n)] if isinstance(p, tuple) else ()
            if kinematics is not None:
                faults.append("v= must name the velocities when kinematics= is given, e.g. v=['wx', 'wy', 'wz']")
        self._begin(name, {"p": p, "v": v, "r": r, "w": w, "s": s}, parameters, inputs, discrete, faults)
        graph = self.graph
        if not graph.size("p"):
            raise ModelError(f"model '{name}' has faults", [NO_POSITIONS])
        for role, given in (("mass", mass), ("force", force)):
            if given is None:
                faults.append(f"{role}= is missing: give a function of the namespace s, or an array")
        self._declared("r", "dynamics", dynamics, faults)
        self._declared("w", "auxiliary", auxiliary, faults)
        self._declared("s", "contact_points", contact_points, faults)

        # functions of position and velocity come first: their lengths are the numbers of multipliers
        self._set_kinematics(kinematics, faults)
        self._set_vector("contact_points", contact_points, graph.size("s"), faults)
        self._set_vector("holonomic", holonomic, None, faults)
        self._set_vector("nonholonomic", nonholonomic, None, faults)
        traced = self._trace_contacts(unilateral, contacts, restitution, friction, sliding, edges, impact, faults)
        traced = self._trace_dry_friction(dry_friction, traced, faults)
        self._name_multipliers("lam", lam, "holonomic", faults, tuple(contact.name for contact in self.contacts))
        sticks = tuple(name for contact in (*self.contacts, *self.dry) for name in contact.stick_names)
        self._name_multipliers("mu", mu, "nonholonomic", faults, sticks)
        if traced is not None:
            traced = self._add_rows(traced, faults)
        self._set_mass(mass, faults)
        self._set_vector("force", force, graph.size("v"), faults)
        self._set_vector("dynamics", dynamics, graph.size("r"), faults)
        self._set_vector("auxiliary", auxiliary, graph.size("w"), faults)
        self._set_vector("invariant", invariant, None, faults)
        if traced is not None:
            outputs = self._add_forces(traced, outputs, faults)
        n_lam, n_mu = graph.size("lam"), graph.size("mu")
        for role, given, count in (
            ("velocity_constraints", velocity_constraints, n_lam),
            ("acceleration_constraints", acceleration_constraints, n_lam + n_mu),
        ):
            if given is not None and (self.contacts or self.dry):
                faults.append(f"{role}= cannot be given together with contacts: leave it out, it is derived")
            elif given is not None and not count:
                faults.append(f"{role}= is given, but there are no constraints that it could be the derivative of")
        self._set_vector("velocity_constraints", velocity_constraints, n_lam, faults)
        self._set_vector("acceleration_constraints", acceleration_constraints, n_lam + n_mu, faults)
        self._check_structure(faults)
        self._set_collisions(collisions, faults)
        for argument, given in (("autonomous", autonomous), ("constant_mass", constant_mass)):
            if not isinstance(given, bool | np.bool_ | None):
                faults.append(f"{argument}={shown(given)} must be True, False or None")
        if not faults:
            graph.promises = frozenset(
                promise for promise, given in (("autonomous", autonomous), ("constant mass", constant_mass)) if given
            )
            faults.extend(broken_promises(graph))
        self._finish(outputs, start, faults, drawing)

    @property
    def structure(self) -> Structure:
        """Whether the model is autonomous, and whether its mass matrix is diagonal or full, constant or varying."""
        return find_structure(self.graph)

    def __repr__(self) -> str:
        counts = {kind: self.graph.size(kind) for kind in self.state_kinds}
        if self.contacts or self.dry:  # their rows are in force only while they are closed
            counts["lam"] -= len(self.contacts)
            counts["mu"] -= sum(len(contact.stick) for contact in (*self.contacts, *self.dry))
        parts = [VOCABULARY[kind].count(number) for kind, number in counts.items() if number]
        if self.contacts:
            parts.append(f"{len(self.contacts)} contact{'s' if len(self.contacts) > 1 else ''}")
        if self.dry:
            parts.append(f"{len(self.dry)} element{'s' if len(self.dry) > 1 else ''} of dry friction")
        return f"EquationsOfMotion({self.name!r}: {', '.join(parts)})"

    # -- building --------------------------------------------------------------------------------------------------

    def _declared(self, kind: str, role: str, function: Any, faults: list[str]) -> None:
        n = self.graph.size(kind)
        if n and function is None:
            faults.append(f"{kind}= names {n} variables, but {role}= that determines them is missing")
        if function is not None and not n:
            faults.append(f"{role}= is given, but {kind}= names no variables for it")

    def _keep(self, role: str, function: ModelFunction | None) -> None:
        if function is not None:
            self.graph.functions[role] = function

    def _set_vector(self, role: str, given: Any, length: int | None, faults: list[str]) -> None:
        """A function that returns a vector; None means absent."""
        if given is None or length == 0:  # without variables for it `_declared` has complained
            return
        if isinstance(given, NativeFunction):
            self._set_native(role, given, (length if given.rows is None else given.rows, 1), faults)
            return
        function = self._trace(role, given, faults)
        if function is None:
            return
        rows, columns = function.shape
        if columns != 1 and rows == 1:  # a row is as good as a column
            sx = function.sx.T if function.traced else None
            function = ModelFunction(role, (columns, 1), 1, sx, function.python, function.reason)
            rows, columns = function.shape
        if columns != 1:
            faults.append(f"{describe(role, given)}: returned a {rows}×{columns} matrix; return a vector")
            return
        if length is not None and rows != length:
            faults.append(
                f"{describe(role, given)}: returned {rows} values where {length} are needed ({self._needed(role)})"
            )
            return
        if function.traced:
            function = ModelFunction(role, function.shape, 1, ca.densify(function.sx))
        self._keep(role, function)

    def _set_native(self, role: str, given: NativeFunction, shape: tuple[int | None, int], faults: list[str]) -> None:
        """A native function; what is traced of it are the forces that are applied."""
        if role not in ROLES:
            faults.append(f"{role}=: a native function cannot stand here; it can for {', '.join(ROLES)}")
            return
        length = {"force": "v", "dynamics": "r"}.get(role)
        if shape[0] is None or (length and shape[0] != self.graph.size(length)):
            needed = f"needs {self.graph.size(length)} rows, not {shape[0]}" if length else "needs rows=, their number"
            faults.append(f"{role}=: the native function '{given.recipe}' {needed}")
            return
        applied = None if given.applied is None else self._trace(role, given.applied, faults)
        if given.applied is not None and (applied is None or not applied.traced):
            faults.append(f"{role}=: applied= of the native function '{given.recipe}' cannot be traced")
            return
        column = None if applied is None else ca.densify(ca.vec(applied.sx))
        self._keep(role, native_function(self.graph, role, given, shape, column, faults))

    def _needed(self, role: str) -> str:
        return (
            "one for each of "
            + ", ".join(self.graph.vectors[FUNCTIONS[role].rows])
            + (
                ", then of the nonholonomic constraints"
                if role == "acceleration_constraints" and self.graph.size("mu")
                else ""
            )
        )

    def _set_kinematics(self, given: Any, faults: list[str]) -> None:
        n_p, n_v = self.graph.size("p"), self.graph.size("v")
        if given is None:
            if n_p != n_v:
                faults.append(f"{n_p} positions but {n_v} velocities: kinematics= (Z in p' = Z v) must be given")
                return
            self._keep("kinematics", ModelFunction("kinematics", (n_p, n_p), 2, ca.SX.eye(n_p)))
            return
        if isinstance(given, NativeFunction):
            self._set_native("kinematics", given, (n_p, n_v), faults)
            return
        function = self._trace("kinematics", given, faults)
        if function is None:
            return
        if function.shape != (n_p, n_v):
            rows, columns = function.shape
            faults.append(
                f"{describe('kinematics', given)}: returned {rows}×{columns}; "
                f"Z must be {n_p}×{n_v} (positions × velocities)"
            )
            return
        self._keep("kinematics", function)

    def _set_mass(self, given: Any, faults: list[str]) -> None:
        if given is None:
            return
        n = self.graph.size("v")
        if isinstance(given, NativeFunction):
            self._set_native("mass", given, (n, n), faults)
            return
        function = self._trace("mass", given, faults)
        if function is None:
            return
        rows, columns = function.shape
        if function.ndim <= 1 and (rows, columns) in ((n, 1), (1, n)):
            if function.traced:
                function = ModelFunction("mass", (n, n), 2, ca.diag(ca.vec(function.sx)))
            else:
                function = ModelFunction("mass", (n, 1), 1, None, function.python, function.reason)
        elif (rows, columns) != (n, n):
            got = f"{rows} values" if columns == 1 else f"a {rows}×{columns} matrix"
            faults.append(
                f"{describe('mass', given)}: returned {got}; "
                f"{n} velocities need a vector of {n} (diagonal) or a {n}×{n} matrix"
            )
            return
        self._keep("mass", function)
        if not (isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype == float and (given >= 0).all()):
            self._check_mass(function, describe("mass", given), faults)

    def _check_mass(self, function: ModelFunction, where: str, faults: list[str]) -> None:
        """Symmetric at sample points, to rounding; and if it is constant, positive semi-definite."""
        graph = self.graph
        moving = ca.vertcat(graph.symbol["p"], graph.symbol["s"], graph.changing)
        M = ca.sparsify(graph.value("mass"))
        entries = ca.Function("M", [moving, graph.parameter_symbols], [M, M - M.T]) if function.traced else None
        for seed in range(3):
            if function.traced:
                point = np.random.default_rng(seed).uniform(0.2, 1.2, moving.numel())
                matrix, skew = (np.array(x.nonzeros()) for x in entries(point, graph.parameter_values))
            else:
                matrix = None
                with contextlib.suppress(Exception):  # it need not be defined everywhere
                    found = call_with_numbers(function.python, graph.sample_points(("p", "s"), {})[seed])
                    skew, matrix = found - found.T if found.ndim == 2 else np.zeros(0), found
            if matrix is None or not np.isfinite(matrix).all():
                continue
            if np.abs(skew).max(initial=0) > 1e-9 * np.abs(matrix).max(initial=0):
                faults.append(f"{where}: the mass matrix is not symmetric")
                return
        if function.traced and not ca.depends_on(M, moving) and np.isfinite(matrix).all():
            least = _negative_eigenvalue(entries(point, graph.parameter_values)[0])
            if least is not None:
                faults.append(
                    f"{where}: the mass matrix has the negative eigenvalue {least:.6g}; masses are not negative"
                )

    def _name_multipliers(
        self, kind: str, names: Sequence[str] | None, role: str, faults: list[str], more: tuple[str, ...] = ()
    ) -> None:
        """Name the multipliers of a role's constraints; `more` are those of contacts behind them."""
        count = self.graph.functions[role].shape[0] if role in self.graph.functions else 0
        if names is not None:
            found = len(faults)
            names = check_names(kind, names, self.reserved, faults)
            if len(names) != count and len(faults) == found and not any(fault.startswith(role) for fault in faults):
                faults.append(f"{kind}= gives {len(names)} names, but {role}= has {count} constraints")
            for name in sorted(name for name, count in Counter(names).items() if count > 1):
                faults.append(f"{kind}: the name '{name}' is given twice")
        if names is None or len(names) != count:
            names = [f"{kind}{i + 1}" for i in range(count)]
        names = (*names, *more)
        taken = {*(n for ns in self.graph.vectors.values() for n in ns), *self.graph.other_names()}
        for name in sorted(taken & set(names)):
            faults.append(
                f"the name '{name}' is taken by a multiplier; rename it or name the multipliers with {kind}=[...]"
            )
        self.graph.add_vector(kind, names)

    def _check_structure(self, faults: list[str]) -> None:
        graph = self.graph
        variables = ca.vertcat(graph.symbol["p"], graph.symbol["s"])
        self._check_rows("holonomic", variables, "no position and no contact point", graph.vectors["lam"], faults)
        self._check_rows("nonholonomic", graph.symbol["v"], "no velocity", graph.vectors["mu"], faults)
        self._check_restraint(faults)
        if "nonholonomic" in graph.functions and graph.functions["nonholonomic"].traced:
            H = ca.jacobian(graph.functions["nonholonomic"].sx, graph.symbol["v"])
            nonlinear = _rows_depending(ca.vertcat(*H.nonzeros()), graph.symbol["v"])
            for i in sorted({H.sparsity().row()[k] for k in np.flatnonzero(nonlinear)}):
                faults.append(f"{equation_name('mu', graph.vectors['mu'][i])} is not linear in the velocities")
        self._check_rows("contact_points", graph.symbol["s"], "no contact-point coordinate", graph.vectors["s"], faults)
        self._check_rows("auxiliary", graph.symbol["w"], "no auxiliary variable", graph.vectors["w"], faults)
        motion = ca.vertcat(variables, graph.symbol["v"])
        rows = graph.functions["invariant"].shape[0] if "invariant" in graph.functions else 0
        self._check_rows("invariant", motion, "no position and no velocity", ("",) * rows, faults)

    def _check_restraint(self, faults: list[str]) -> None:
        """With kinematics of its own, a model may keep a holonomic constraint whatever its velocities are."""
        graph = self.graph
        functions = [graph.functions.get(role) for role in ("holonomic", "kinematics")]
        if any(function is None or not function.traced for function in functions):
            return
        g, Z = (function.sx for function in functions)
        if Z.is_eye():
            return
        G = ca.jacobian(g, graph.symbol["p"])
        rows = [ca.sum2(ca.fabs(ca.mtimes(G, Z))), ca.sum2(ca.mtimes(ca.fabs(G), ca.fabs(Z)))]
        moving = ca.vertcat(graph.symbol["p"], graph.symbol["s"], graph.changing)
        function = ca.Function("GZ", [moving, graph.parameter_symbols], [ca.densify(row) for row in rows])
        free = ~_rows_depending(g, graph.symbol["s"])
        for seed in range(3):
            point = np.random.default_rng(seed).uniform(0.2, 1.2, moving.numel())
            found, terms = (np.array(row).ravel() for row in function(point, graph.parameter_values))
            free &= (found <= 1e-12 * terms) & (terms > 0)
        for i in np.flatnonzero(free):
            faults.append(
                f"{equation_name('lam', graph.vectors['lam'][i])} restrains no velocity: p' = Z v keeps its value "
                "whatever the velocities are (G Z = 0), as that of a quaternion's norm, so that no force belongs to "
                "it. Give it as invariant=: start values are then corrected, and Geoms and Odassl keep it"
            )

    def _check_rows(self, role: str, on: ca.SX, nothing: str, names: Sequence[str], faults: list[str]) -> None:
        function = self.graph.functions.get(role)
        if function is None or not function.traced:
            return
        which = f"{role} constraint" if role.endswith("holonomic") else f"{role}: equation"
        for i in np.flatnonzero(~_rows_depending(function.sx, on)):
            quoted = f" ('{names[i]}')" if names[i] else ""
            faults.append(f"{which} {i + 1}{quoted} depends on {nothing}; it can never be enforced")


def _rows_depending(rows: ca.SX, on: ca.SX) -> np.ndarray:
    """Mask of the rows of a column in which one of the symbols `on` occurs."""
    pattern = ca.jacobian_sparsity(ca.densify(rows), on)
    return np.diff(pattern.T.colind()) > 0


def _negative_eigenvalue(matrix: ca.DM) -> float | None:
    """The least eigenvalue of a symmetric matrix if it is negative, beyond rounding; looked for block by block."""
    _, order, offsets = matrix.sparsity().scc()
    diagonal = np.array(ca.diag(matrix), float).ravel()
    rounding = 1e-9 * np.abs(matrix.nonzeros()).max(initial=0)
    least = diagonal.min(initial=0)  # all there is to see in blocks of size one
    for start, stop in itertools.pairwise(offsets):
        if stop - start == 1:
            continue
        block = np.array(matrix[order[start:stop], order[start:stop]], float)
        try:
            np.linalg.cholesky(block + rounding * np.eye(len(block)))
        except np.linalg.LinAlgError:
            least = min(least, np.linalg.eigvalsh(block)[0])
    return float(least) if least < -rounding else None
