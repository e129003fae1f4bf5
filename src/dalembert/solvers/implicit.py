"""What the drivers of all implicit methods share: records, ports, explanations of failure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.compile.kernel import address_of, load
from dalembert.compile.memory import Memory
from dalembert.compile.monitor import PORT, Monitor, Watched
from dalembert.compile.ports import Port
from dalembert.compile.system import CompiledSystem, leading_port
from dalembert.errors import FunctionFailed, SingularMatrix, StepSizeTooSmall, TooManySteps
from dalembert.kept import Slot
from dalembert.linalg.factors.lu import null_vector
from dalembert.regularize.form import Form
from dalembert.regularize.system import System
from dalembert.solvers.differences import differences_record
from dalembert.solvers.jacobians import Exact, Jacobian
from dalembert.solvers.method import RunSpec, Tolerances
from dalembert.solvers.status import Outcome, Status
from dalembert.solvers.stepper import KernelStepper

#: what linear algebras call their sparse factors
SPARSE_FACTORS = ("lu", "real", "complex")
PORTS = ("residual", "jacobian", "inputs", "events")
#: unknowns of systems whose null spaces are computed, as full matrices, to explain a failure
LARGEST_LOOKED_AT = 2000


#: records of strategies for Jacobians
DIFFERENCES: Slot[Memory] = Slot("differences", most=16)


def differences_of(
    compiled: CompiledSystem,
    strategy: Jacobian,
    leading_apart: bool = False,
    exact: np.ndarray | None = None,
) -> Memory:
    """A record of `solvers.differences`; `leading_apart`: E is needed for itself; `exact`: nonzeros of ∂F/∂x that are
    not to be differences, always the same for a system."""
    system, apart = compiled.system, strategy.partitioned or leading_apart

    def make() -> Memory:
        leading = leading_port(system) if apart else None
        kernels = (0, 0)
        if not isinstance(strategy, Exact) or strategy.partitioned:
            load("dalembert.solvers.difference_kernels")
            from dalembert.solvers.difference_kernels import refresh, renew

            kernels = (address_of(renew), address_of(refresh))
        address, n_inputs = leading.address if leading else 0, system.model.theta_layout.n_moving
        record = differences_record(compiled, strategy, n_inputs, address, kernels, exact)
        record.leading_port = leading  # stays alive with the record and its copies
        return record

    return system.kept.get(DIFFERENCES, (strategy, apart, exact is None), make)


def time_unit(form: Form, tolerances: Tolerances) -> float:
    """The time after which an error of a velocity that its absolute tolerance allows has moved the position by as much
    as that one's allows; 1 where both are the same number, or there are no velocities.

    Powers of h that weigh errors are meant in this unit: results do not depend on whether time is told in seconds or
    in hours, as long as the tolerances are.

    >>> import dalembert as da
    >>> form = da.formulate(da.problems.pendulum().model, "index2")
    >>> time_unit(form, Tolerances(np.full(5, 1e-6), np.array([1e-6, 1e-6, 2e-9, 2e-9, 1e-6])))
    500.0
    """
    atol = tolerances.atol
    if atol.min() == atol.max():  # nearly always, and quickly seen
        return 1.0
    positions, velocities = (atol[form.slices.get(kind, slice(0, 0))] for kind in ("p", "v"))
    if not positions.size or not velocities.size:
        return 1.0
    return float(np.exp(np.mean(np.log(positions)) - np.mean(np.log(velocities))))


class ImplicitStepper(KernelStepper):
    """A run of a method on F(t, x, x') = 0, with the linear algebra in the record `algebra`.

    The record `state` has the fields of `shell.py`, error, scale, failed and failed_t.
    """

    form: System
    algebra: Memory
    differences: Memory
    #: the iteration matrix is σ E − J with σ = leading_coefficient / h
    leading_coefficient = 1.0
    #: the kernels of the linear algebra: field of the record, what a profile calls it, and how it is called
    algebra_kernels: tuple[tuple[str, str, int], ...] = ()

    def __init__(
        self,
        compiled: CompiledSystem,
        algebra: Memory,
        state: Memory,
        differences: Memory,
        n_coefficients: int,
        jacobian: Port | None = None,
    ):
        """`jacobian` is the port that the kernel calls, if not the one of the compiled system."""
        self.compiled, self.jacobian = compiled, jacobian or compiled.jacobian
        records = {"algebra": algebra, "state": state, "differences": differences}
        super().__init__(compiled.system, records, n_coefficients)

    def link(self, spec: RunSpec) -> None:
        self.ports = ports = self.ports._replace(
            residual=np.uintp(self.compiled.residual.address), jacobian=np.uintp(self.jacobian.address)
        )
        state, algebra = self.state, self.algebra
        algebra.set(own=algebra.address, state=state.address)
        self.differences.set(
            residual=int(ports.residual), jacobian=int(ports.jacobian), theta=ports.theta.ctypes.data,
            now=ports.theta[self.model.theta_layout.inputs].ctypes.data, stage=state.address_in("stage"),
            nonzeros=algebra.address_in("nonzeros"),
        )  # fmt: skip
        state.set(differences=self.differences.address)
        if self.form.blocks is None and time_unit(self.form, spec.tolerances) != 1.0:
            # rows cannot be compared while unknowns are measured in units of very different size
            atol = spec.tolerances.atol
            unit = atol / np.exp(np.mean(np.log(atol[self.form.slices["p"]])))
            for factors in (getattr(self._with_pivots(), name, None) for name in SPARSE_FACTORS):
                if isinstance(factors, Memory) and hasattr(factors, "unit"):
                    factors.unit[: self.form.n] = unit

    def name_counts(self, counts: np.ndarray) -> dict[str, int]:
        named = super().name_counts(counts)
        # a constant mass matrix is evaluated once; otherwise it comes with the Jacobian
        constant = self.form.leading_is_constant
        named["mass_evaluations"] = min(1, named["jacobian_evaluations"]) if constant else named["jacobian_evaluations"]
        return named

    # -- profile ---------------------------------------------------------------------------------------------------

    def watched(self) -> list[Watched]:
        """What the kernel calls, for a `Monitor`."""
        model = [Watched(name, int(getattr(self.ports, name)), PORT) for name in PORTS]
        algebra = [Watched(name, int(getattr(self.algebra, field)), kind) for field, name, kind in self.algebra_kernels]
        return [function for function in (*model, *algebra) if function.address]

    def watch_by(self, monitor: Monitor) -> None:
        relays = {f.address: relay for f, relay in zip(monitor.functions, monitor.addresses, strict=True)}
        self.state.set(monitor=monitor.clock)
        self.ports = self.ports._replace(
            **{name: np.uintp(relays.get(int(getattr(self.ports, name)), 0)) for name in PORTS}
        )
        self.differences.set(residual=int(self.ports.residual), jacobian=int(self.ports.jacobian))
        self.algebra.set(**{field: relays[int(getattr(self.algebra, field))] for field, _, _ in self.algebra_kernels})

    # -- explanations ----------------------------------------------------------------------------------------------

    def explain(self, status: int) -> Exception:
        t = self.t
        error = self.function_error()
        if error is not None:
            return error
        if status == Status.TOO_MANY_STEPS:
            return TooManySteps(
                f"{self.spec.max_steps} steps did not reach the end; stopped at t = {t:.9g}. Raise max_steps, "
                "loosen rtol and atol, or look for a fast oscillation or a chattering input there."
            )
        if status in (Status.NOT_FINITE, Status.PORT_FAILED):
            return FunctionFailed(f"{self.not_finite()} at t = {self.state.failed_t:.9g}: check the model there")
        singular = self._singularity()
        if status == Status.SINGULAR or singular:
            culprit = singular or self._pivot()
            return SingularMatrix(
                f"the iteration matrix is singular at t = {t:.9g}: {culprit}. Look for redundant constraints, a "
                f"variable that no equation determines, or a singular configuration.{self._who_treats_it()}"
            )
        if self.state.why == Outcome.CANNOT_EVALUATE:
            return FunctionFailed(
                f"{self.not_finite()} beyond t = {t:.9g} (tried t = {self.state.failed_t:.9g}), and no "
                "step size avoids it: the solution may leave the domain of a function there (root, logarithm, division)"
            )
        if status == Status.CONVERGENCE_FAILURES:
            return StepSizeTooSmall(
                f"{self.shrunk(status)}: Newton's method does not converge; the largest error is in "
                f"'{self._worst_variable()}'. The model may be discontinuous or singular there, start values may be "
                "inconsistent, or derivatives wrong."
            )
        return StepSizeTooSmall(
            f"{self.shrunk(status)}; the largest error is in '{self._worst_variable()}'. The solution may be "
            "discontinuous or singular there, or the tolerances too tight."
        )

    def _who_treats_it(self) -> str:
        if not self.model.mechanical or not (self.model.names("lam") or self.model.names("mu")):
            return ""
        return (
            " Geoms(algebraic='svd') treats redundant constraints, Geoms(singular='step over') isolated singular "
            "positions."
        )

    def model_ports(self) -> tuple[Port | None, ...]:
        return self.compiled.residual, self.jacobian

    def bad_outputs(self, t: float, x: np.ndarray, theta: np.ndarray) -> Iterator[str]:
        out = np.zeros(self.compiled.residual.n_out)
        self.compiled.residual.call_status(t, x, theta, out)
        return (self.form.equations[i] for i in np.flatnonzero(~np.isfinite(out)))

    def _singularity(self) -> str | None:
        """If σ E − J is numerically singular, the equation and variable that dominate its null spaces."""
        system, state = self.form, self.state
        if system.n > LARGEST_LOOKED_AT:
            return None
        rows, columns = self.compiled.jacobian_pattern
        e_rows, e_columns = self.compiled.leading_pattern
        nonzeros = np.zeros(len(rows) + len(e_rows))
        both = np.concatenate([state.x, state.x_dot])
        if self.compiled.jacobian.call_status(self.t, both, self.ports.theta, nonzeros):
            return None
        # a step size of the size of the motion, not the one that failed: tiny steps hide singular constraints
        unit = float(state.time_unit)
        speed = unit * np.max(np.abs(state.x_dot), initial=0.0)
        h = unit * (1 + np.max(np.abs(state.x), initial=0.0)) / max(speed, 1.0) * 1e-2
        matrix = np.zeros((len(system.equations), system.n))
        matrix[rows, columns] -= nonzeros[: len(rows)]
        matrix[e_rows, e_columns] += self.leading_coefficient / h * nonzeros[len(rows) :]
        matrix = matrix[: system.n]
        if not np.isfinite(matrix).all():
            return None
        left, right, reciprocal = null_vector(matrix)
        if reciprocal > 1e-15:
            return None
        equation = system.equations[int(np.argmax(np.abs(left)))]
        variable = system.variables[int(np.argmax(np.abs(right)))]
        return f"{equation} and variable '{variable}' are behind it"

    def _with_pivots(self) -> Memory:
        """The linear algebra that chooses its pivots: it finds out which is missing."""
        return getattr(self.algebra, "other", self.algebra)

    def _pivot(self) -> str:
        at = int(self._with_pivots().singular)
        name = f"variable '{self.form.variables[at]}'" if at >= 0 else self.form.equations[self.form.n - 1 - at]
        return f"{name} has no pivot"

    def _worst_variable(self) -> str:
        return self.form.variables[int(np.argmax(np.abs(self.state.error * self.state.scale)))]
