"""Solvers of other packages as methods of a study, each as fast as we could make it.

They get their model from the same graph as our methods, with parameters and inputs inserted, as a function of CasADi;
Jacobians are exact, start values consistent, derivatives at the start given. Integration restarts where an input is not
smooth. What a peer builds for a problem is built in its first run and kept, and so are the consistent values at each
(re)start, for which our own methods pay in every run: the timed runs of peers integrate only.

- CasADi IDAS: the index-1 form, x = (p, v, r), z = (a, w, s, λ, μ), with `suppress_algebraic` (halves the time),
  without `calc_ic` (start values and `init_xdot` are exact), and with the sparse direct solver `csparse` (up to a tenth
  faster than the default `qr`; iterative schemes take twice the time). "casadi idas eliminated" inserts a = M⁻¹ (...)
  symbolically, so that only the multipliers are algebraic: twice as fast where M is diagonal, slower where it is full.
- scikit-sundae IDA and solve-dae: the same equations as F(t, y, y') = 0 with y = (x, z), called from Python, with a
  large absolute tolerance for z. (Without a among the variables λ would come from v', a difference quotient: the
  systems are smaller, but steps are more by far, and fail.)
- SciPy: the index-0 form, v' from the linear system for (a, λ, μ) at each evaluation. Positions and velocities drift.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from dalembert.errors import ModelError, SimulationError
from dalembert.model import Model
from dalembert.problems import Problem
from dalembert.regularize import consistent_initial_values, hidden_constraints

#: steps after which a peer gives up; each has its own, small default
MAX_STEPS = 10_000_000

End = tuple[np.ndarray, np.ndarray, Mapping[str, int]]


# -- the model, as the peers need it -----------------------------------------------------------------------------------


def intervals(problem: Problem) -> list[tuple[float, float]]:
    """Intervals of smooth inputs that make up [0, t_end]; each lies strictly on one side of the breakpoints."""
    inside = [b for b in problem.model.breakpoints if 0 < b < problem.t_end]
    starts = [0.0, *(float(np.nextafter(b, np.inf)) for b in inside)]
    return list(zip(starts, [*(float(np.nextafter(b, -np.inf)) for b in inside), problem.t_end], strict=True))


def insert_numbers(model: Model, expressions: list[ca.SX]) -> list[ca.SX]:
    """Put numbers, and the inputs as expressions of t, in the place of θ in expressions of the model's graph."""
    if model.untraceable:
        raise ModelError(f"model '{model.name}' has Python functions ({', '.join(model.untraceable)}): not for peers")
    graph = model.graph
    inputs = [traced.sx(graph.t) for traced in model.inputs.values()]
    levels = [ca.vertcat(*(column[k] for column in inputs)) if inputs else ca.SX(0, 1) for k in range(3)]
    fixed = np.concatenate([graph.parameter_values, graph.discrete_values])
    theta = ca.vertcat(ca.SX(ca.DM(fixed)), *levels)
    return ca.cse(ca.substitute(expressions, [graph.theta], [theta]))


def index1_semi_explicit(model: Model) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """x = (p, v, r), z = (a, w, s, λ, μ), x' and the algebraic equations."""
    graph, hidden = model.graph, hidden_constraints(model)

    def value(role: str) -> ca.SX:
        return graph.value(role) if role in graph.functions else ca.SX(0, 1)

    x = ca.vertcat(*(graph.symbol[kind] for kind in ("p", "v", "r")))
    z = ca.vertcat(graph.a, *(graph.symbol[kind] for kind in ("w", "s", "lam", "mu")))
    rates = ca.vertcat(hidden.p_dot, graph.a, value("dynamics"))
    motion = ca.mtimes(graph.value("mass"), graph.a) + hidden.constraint_force - graph.value("force")
    algebraic = ca.vertcat(motion, value("auxiliary"), hidden.c, hidden.g_II, hidden.h_I)
    return x, z, rates, algebraic


class Buffered:
    """A CasADi function with its arguments and (dense) results in fixed arrays: the cheapest call from Python."""

    def __init__(self, arguments: list[ca.SX], results: list[ca.SX]):
        self.function = ca.Function("f", arguments, [ca.densify(result) for result in results])
        self._buffer, self._call = self.function.buffer()
        self.arguments: list[Any] = [np.zeros(self.function.numel_in(k)) for k in range(len(arguments))]
        # CasADi stores columns one after the other
        self.results: list[Any] = [np.zeros(self.function.size_out(k), order="F") for k in range(len(results))]
        for k, argument in enumerate(self.arguments):
            self._buffer.set_arg(k, memoryview(argument))
        for k, result in enumerate(self.results):
            self._buffer.set_res(k, memoryview(result.ravel(order="F")) if result.size else np.zeros(1).data)

    def __call__(self, *values: Any) -> list[np.ndarray]:
        """The results; valid until the next call."""
        for argument, value in zip(self.arguments, values, strict=True):
            argument[:] = value
        self._call()
        return self.results


@dataclass(eq=False)
class Peer:
    """Base of the peers: keeps what is built for a problem, and for a tolerance, between runs."""

    _built: WeakKeyDictionary = field(default_factory=WeakKeyDictionary, init=False, repr=False)

    def once(self, problem: Problem, key: Any, build: Callable[[], Any]) -> Any:
        """The result of `build()`, made at first use."""
        kept = self._built.setdefault(problem, {})
        if key not in kept:
            kept[key] = build()
        return kept[key]

    def run(self, problem: Problem, tolerance: float) -> End:
        """Integrate to the end; p and v there, and counters."""
        raise NotImplementedError


def _start(problem: Problem) -> Any:
    return consistent_initial_values(problem.model, 0.0, **problem.start())


def _restart(problem: Problem, t: float, x: np.ndarray) -> Any:
    """Consistent values for x = (p, v, r) at any time; w and s start from the problem's guesses."""
    graph = problem.model.graph
    parts = np.split(x, np.cumsum([graph.size("p"), graph.size("v")]))
    given: dict[str, Any] = {f"{kind}0": part for kind, part in zip("pvr", parts, strict=True) if part.size}
    given |= {name: value for name, value in problem.start().items() if name in ("w0", "s0")}
    return consistent_initial_values(problem.model, t, mode="trust", **given)


def _values(initial: Any, *kinds: str) -> np.ndarray:
    return np.concatenate([np.ravel(initial.values.get(kind, ())) for kind in kinds])


# -- CasADi ------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class CasadiIdas(Peer):
    """IDAS of SUNDIALS, a multistep method (BDF), through ``casadi.integrator``."""

    eliminate: bool = False  # a = M⁻¹ (...) symbolically, so that z = (w, s, λ, μ)
    linear_solver: str = "csparse"
    options: Mapping[str, Any] = field(default_factory=dict)  # further ones of IDAS, or other values

    def run(self, problem: Problem, tolerance: float) -> End:
        n_p, n_v = len(problem.p0), len(problem.v0)
        x, counters = self.once(problem, "start", lambda: self._x0(problem)), {"accepted": 0, "rhs_evaluations": 0}
        for span in intervals(problem):
            # a run is deterministic: the start derivatives found in the first one hold for all
            integrator, z = self.once(problem, (tolerance, span), lambda: self._build(problem, tolerance, span, x))  # noqa: B023
            x = integrator(x0=x, z0=z)["xf"]
            stats = integrator.stats()
            counters["accepted"] += stats["nsteps"]
            counters["rhs_evaluations"] += stats["nfevals"]
        x = np.array(x).ravel()
        return x[:n_p], x[n_p : n_p + n_v], counters

    def _x0(self, problem: Problem) -> np.ndarray:
        return _values(_start(problem), "p", "v", "r")

    def _equations(self, problem: Problem) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        model = problem.model
        x, z, rates, algebraic = index1_semi_explicit(model)
        if self.eliminate:
            graph = model.graph
            n = graph.a.numel()
            free = graph.value("force") - hidden_constraints(model).constraint_force
            acceleration = ca.solve(graph.value("mass"), free)
            rates, algebraic = ca.substitute([rates, algebraic[n:]], [graph.a], [acceleration])
            z = z[n:]
        return x, z, *insert_numbers(model, [rates, algebraic])

    def _build(
        self, problem: Problem, tolerance: float, span: tuple[float, float], x0: Any
    ) -> tuple[ca.Function, np.ndarray]:
        graph = problem.model.graph
        x, z, rates, algebraic = self.once(problem, "equations", lambda: self._equations(problem))
        initial = _restart(problem, span[0], np.array(x0, float).ravel())
        z0 = _values(initial, *(() if self.eliminate else ("a",)), "w", "s", "lam", "mu")
        x_dot = ca.Function("rates", [graph.t, x, z], [rates])(span[0], x0, z0)
        options = {
            "abstol": tolerance,
            "reltol": tolerance,
            "max_num_steps": MAX_STEPS,
            "suppress_algebraic": True,
            "calc_ic": False,
            "init_xdot": np.array(x_dot).ravel().tolist(),
            "linear_solver": self.linear_solver,
            "disable_internal_warnings": True,
            **self.options,
        }
        equations = {"t": graph.t, "x": x, "z": z, "ode": rates, "alg": algebraic}
        return ca.integrator("F", "idas", equations, *span, options), z0


# -- solvers of F(t, x, x') = 0 called from Python ---------------------------------------------------------------------


class _Index1:
    """Residual and Jacobians of the index-1 form of a problem, y = (p, v, r, a, w, s, λ, μ)."""

    def __init__(self, problem: Problem):
        self.problem, graph = problem, problem.model.graph
        x, z, rates, algebraic = index1_semi_explicit(problem.model)
        self.sizes = np.cumsum([graph.size("p"), graph.size("v"), graph.size("r")])
        y = ca.vertcat(x, z)
        y_dot = ca.SX.sym("y_dot", y.numel())
        F = ca.vertcat(rates - y_dot[: x.numel()], algebraic)
        parts = [ca.densify(e) for e in (F, ca.jacobian(F, y), ca.jacobian(F, y_dot))]
        F, J, E = insert_numbers(problem.model, parts)
        self.residual, self.jacobians = (Buffered([graph.t, y, y_dot], out) for out in ([F], [J, E]))
        self.rates = ca.Function("rates", [graph.t, y], insert_numbers(problem.model, [rates]))
        self.algebraic = np.arange(x.numel(), y.numel())
        self.n = y.numel()

    def start(self, t: float, y: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """y and y' at the start, or anew after a breakpoint."""
        initial = _start(self.problem) if y is None else _restart(self.problem, t, y[: self.sizes[-1]])
        y = _values(initial, "p", "v", "r", "a", "w", "s", "lam", "mu")
        return y, np.concatenate([np.array(self.rates(t, y)).ravel(), np.zeros(self.algebraic.size)])

    def end(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_p, end_v, _ = self.sizes
        return y[:n_p].copy(), y[n_p:end_v].copy()


@dataclass(eq=False)
class _ImplicitPeer(Peer):
    """A solver of F(t, y, y') = 0 with Python callbacks."""

    relax: float = 1e6  # factor on the absolute tolerance of algebraic variables, in place of `suppress_algebraic`

    def run(self, problem: Problem, tolerance: float) -> End:
        equations = self.once(problem, "equations", lambda: _Index1(problem))
        atol = np.full(equations.n, tolerance)
        atol[equations.algebraic] *= self.relax
        x, counters = None, {"accepted": 0, "rhs_evaluations": 0}
        for span in intervals(problem):
            x0, x_dot = self.once(problem, (tolerance, span), lambda: equations.start(span[0], x))  # noqa: B023
            x, steps, evaluations = self.solve(equations, span, x0, x_dot, tolerance, atol)
            counters["accepted"] += steps
            counters["rhs_evaluations"] += evaluations
        return *equations.end(x), counters

    def solve(
        self,
        equations: _Index1,
        span: tuple[float, float],
        x0: np.ndarray,
        x_dot: np.ndarray,
        rtol: float,
        atol: np.ndarray,
    ) -> tuple[np.ndarray, int, int]:
        """x at the end, steps, evaluations."""
        raise NotImplementedError


@dataclass(eq=False)
class SksundaeIda(_ImplicitPeer):
    """IDA of SUNDIALS, a multistep method (BDF), through scikit-sundae."""

    linear_solver: str = "dense"

    def solve(self, equations, span, x0, x_dot, rtol, atol):
        from sksundae.ida import IDA

        def residual(t, x, x_dot, out):
            out[:] = equations.residual(t, x, x_dot)[0][:, 0]

        def jacobian(t, x, x_dot, residual, cj, out):
            J, E = equations.jacobians(t, x, x_dot)
            out[:, :] = J + cj * E

        solver = IDA(
            residual,
            jacfn=jacobian,
            algebraic_idx=equations.algebraic if equations.algebraic.size else None,
            rtol=rtol,
            atol=atol,
            linsolver=self.linear_solver,
            max_num_steps=MAX_STEPS,
        )
        result = solver.solve(np.array(span), x0, x_dot)
        if not result.success:
            raise SimulationError(f"IDA: {result.message}")
        return result.y[-1], len(result.t) - 1, int(result.nfev)


@dataclass(eq=False)
class SolveDae(_ImplicitPeer):
    """Radau IIA or BDF in Python: solve-dae (formerly scipy_dae)."""

    method: str = "Radau"  # or "BDF"

    def solve(self, equations, span, x0, x_dot, rtol, atol):
        from solve_dae.integrate import solve_dae

        result = solve_dae(
            lambda t, x, x_dot: equations.residual(t, x, x_dot)[0][:, 0].copy(),
            span,
            x0,
            x_dot,
            method=self.method,
            rtol=rtol,
            atol=atol,
            jac=lambda t, x, x_dot: tuple(matrix.copy() for matrix in equations.jacobians(t, x, x_dot)),
        )
        if not result.success:
            raise SimulationError(f"solve_dae: {result.message}")
        return result.y[:, -1], len(result.t) - 1, int(result.nfev)


# -- SciPy -------------------------------------------------------------------------------------------------------------


class _Index0:
    """v' as a function of t and x = (p, v, r), from the linear system for (a, λ, μ)."""

    def __init__(self, problem: Problem):
        model, graph = problem.model, problem.model.graph
        if graph.size("w") or graph.size("s"):
            raise ModelError(f"model '{model.name}' has auxiliary or contact variables: no index-0 form here")
        x, z, rates, algebraic = index1_semi_explicit(model)
        matrix = ca.jacobian(algebraic, z)
        if ca.depends_on(matrix, z):
            raise ModelError(f"model '{model.name}': forces depend on multipliers nonlinearly, no index-0 form here")
        zero = ca.SX.zeros(z.numel())
        matrix, rest, p_dot, r_dot = insert_numbers(
            model,
            [ca.densify(matrix), -ca.substitute(algebraic, z, zero), *_outer(rates, graph.size("p"), graph.size("v"))],
        )
        self.parts = Buffered([graph.t, x], [matrix, rest, p_dot, r_dot])
        self.n_p, self.n_v = graph.size("p"), graph.size("v")
        self.x0 = _values(_start(problem), "p", "v", "r")

    def __call__(self, t: float, x: np.ndarray) -> np.ndarray:
        from scipy.linalg.lapack import dgesv

        matrix, rest, p_dot, r_dot = self.parts(t, x)
        _, _, z, info = dgesv(matrix, rest)
        if info:
            raise SimulationError(f"the system for the accelerations is singular at t = {t:.9g}")
        return np.concatenate([p_dot[:, 0], z[: self.n_v, 0], r_dot[:, 0]])


def _outer(rates: ca.SX, n_p: int, n_v: int) -> tuple[ca.SX, ca.SX]:
    """p' and r' out of (p', v', r')."""
    return rates[:n_p], rates[n_p + n_v :]


@dataclass(eq=False)
class ScipyOde(Peer):
    """A solver of ``scipy.integrate.solve_ivp`` on the index-0 form."""

    method: str = "DOP853"

    def run(self, problem: Problem, tolerance: float) -> End:
        from scipy.integrate import solve_ivp

        rhs = self.once(problem, "equations", lambda: _Index0(problem))
        x, counters = rhs.x0, {"accepted": 0, "rhs_evaluations": 0}
        for span in intervals(problem):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # LSODA warns before it fails
                result = solve_ivp(rhs, span, x, method=self.method, rtol=tolerance, atol=tolerance)
            if not result.success:
                raise SimulationError(f"{self.method}: {result.message}")
            x = result.y[:, -1]
            counters["accepted"] += len(result.t) - 1
            counters["rhs_evaluations"] += int(result.nfev)
        return x[: rhs.n_p], x[rhs.n_p : rhs.n_p + rhs.n_v], counters


# -- the list ----------------------------------------------------------------------------------------------------------

#: Peers by label: the modules they need, and how to make them.
PEERS: dict[str, tuple[tuple[str, ...], Callable[[], Peer]]] = {
    "casadi idas": (("casadi",), CasadiIdas),
    "casadi idas eliminated": (("casadi",), lambda: CasadiIdas(eliminate=True)),
    "sksundae ida": (("sksundae",), SksundaeIda),
    "solve_dae radau": (("solve_dae.integrate",), SolveDae),
    "solve_dae bdf": (("solve_dae.integrate",), lambda: SolveDae(method="BDF")),
    "scipy dop853": (("scipy.integrate",), ScipyOde),
    "scipy lsoda": (("scipy.integrate",), lambda: ScipyOde(method="LSODA")),
}


def available_peers(report: Callable[[str], None] | None = None) -> dict[str, Peer]:
    """The peers whose packages are installed, by label; `report` gets a line for each that is not.

    Examples
    --------
    >>> "casadi idas" in available_peers()
    True
    """
    found = {}
    for label, (modules, make) in PEERS.items():
        try:
            for module in modules:
                importlib.import_module(module)
        except Exception as reason:  # a package that is broken, not just missing, fails in its own ways
            if report is not None:
                report(f"peer '{label}' is left out: {type(reason).__name__}: {reason}")
            continue
        found[label] = make()
    return found
