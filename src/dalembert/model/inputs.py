"""Inputs u(t): prescribed functions of time that enter a model together with their first two time derivatives.

Inputs reach compiled code through `theta`, so that another input never recompiles the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert.checks import NoNumber, real, reals, said, shown, users_arithmetic
from dalembert.errors import FunctionFailed, ModelError, StepRefused, UntraceableError
from dalembert.kept import computed
from dalembert.model.expression import scalar, to_sx
from dalembert.model.functions import describe, numbers_of, warn_untraceable
from dalembert.model.numeric import directional_derivative
from dalembert.model.travel import Shared, carried

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

#: Times at which one input may be broken: integration restarts at each.
MOST_BREAKPOINTS = 100_000
#: Times at which an untraceable input is tried while the model is built.
SAMPLES = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Input(Shared):
    """A prescribed function of time.

    Parameters
    ----------
    function : callable or number
        ``function(t)``, NumPy style. What cannot be traced (tables, branches) runs as Python code.
    derivatives : (callable, callable), optional
        First and second time derivative, for functions that cannot be traced. Default: derived, numerically if need be.
    breakpoints : sequence of float
        Times at which the function or a derivative jumps: integration stops and restarts there.
    """

    function: Callable[[Any], Any] | float
    derivatives: tuple[Callable, Callable] | None = None
    breakpoints: Sequence[float] = ()

    @classmethod
    def table(cls, t: ArrayLike, values: ArrayLike) -> Input:
        """Interpolate measured data by a cubic spline; constant beyond the ends.

        >>> Input.table([0, 1, 2, 3], [0, 1, 4, 9]).function(1.5)
        2.25
        """
        from scipy.interpolate import CubicSpline

        try:
            t, values = reals(t), reals(values)
        except NoNumber:
            given = f"{shown(t)} and {shown(values)}"
            raise ModelError(f"an input table needs two vectors of numbers, not {given}") from None
        if t.ndim != 1 or t.shape != values.shape or len(t) < 2:
            raise ModelError(
                f"an input table needs two vectors of one length ≥ 2, got shapes {t.shape} and {values.shape}"
            )
        if not (np.isfinite(t).all() and np.isfinite(values).all() and (np.diff(t) > 0).all()):
            raise ModelError("an input table needs finite values at strictly increasing times")
        spline = CubicSpline(t, values)
        value, *derivatives = (Interpolated(spline, order) for order in range(3))
        return cls(value, derivatives=tuple(derivatives), breakpoints=(t[0], t[-1]))

    def __getstate__(self) -> dict[str, Any]:
        return self.packed("input")

    def packed(self, role: str) -> dict[str, Any]:
        """What is pickled of it; `role` names it in messages."""
        functions = {"function": carried(self.function, role)}
        if isinstance(self.derivatives, Sequence):
            functions["derivatives"] = tuple(carried(f, f"derivative of {role}") for f in self.derivatives)
        return self.__dict__ | functions


@dataclass(frozen=True)
class Interpolated:
    """A spline or one of its derivatives as a function of time; constant beyond the ends."""

    spline: CubicSpline
    order: int

    def __call__(self, time: float) -> float:
        time, (first, last) = float(time), self.spline.x[[0, -1]]
        if self.order and not first <= time <= last:
            return 0.0
        return float(self.spline(min(max(time, first), last), self.order))


@dataclass(frozen=True)
class Traced:
    """The value of a traced input as a function of time: what is left of the user's function after a journey."""

    sx: ca.Function

    def __call__(self, time: float) -> float:
        return float(self.sx(float(time))[0])


class TracedInput(Shared):
    """One input as an SX expression of time (`sx` = value and two derivatives) or as Python functions (`python`)."""

    def __init__(self, name: str, given: Any):
        self.name = name
        self.given = given if isinstance(given, Input) else Input(given)
        self.breakpoints = self._times(self.given.breakpoints)
        derivatives = self.given.derivatives
        if derivatives is not None and not (
            isinstance(derivatives, Sequence) and len(derivatives) == 2 and all(map(callable, derivatives))
        ):
            raise ModelError(f"input '{name}': derivatives={shown(derivatives)} must be two functions of time")
        self.reason: str | None = None
        self.sx: Any = None  # t -> (u, u', u'')
        self.constant: float | None = None  # the value, if it is a number at all times
        function = self.given.function
        if not callable(function):
            try:
                value = real(function)
            except NoNumber:
                raise ModelError(
                    f"input '{name}' must be a function of time or a number, not {shown(function)}"
                ) from None
            if not np.isfinite(value):
                raise ModelError(f"input '{name}' is {value}; it must be finite")
            time = ca.SX.sym("t")
            self.sx, self.constant = ca.Function("u", [time], [ca.vertcat(ca.SX(value), 0, 0)]), value
            return
        try:
            if self.given.derivatives is not None:
                raise UntraceableError("its derivatives are given as functions")
            time = ca.SX.sym("t")
            value_sx, _ = to_sx(function(scalar(time)))
            if value_sx.numel() != 1:
                raise ModelError(f"input '{name}' must return one number, not an array of {value_sx.numel()}")
            if not ca.symvar(value_sx) and not np.isfinite(float(value_sx)):
                raise ModelError(f"input '{name}' is {float(value_sx)} at all times; it must be finite")
            rate = ca.jacobian(value_sx, time)
            self.sx = ca.Function("u", [time], [ca.vertcat(value_sx, rate, ca.jacobian(rate, time))])
        except ModelError:
            raise
        except Exception as reason:  # whatever a user's function does with a symbol: run it as Python code
            self.reason = said(reason)
        if self.sx is None:
            self._try_numbers()
            if derivatives is None:
                warn_untraceable(describe(f"input '{name}'", function), self.reason)

    @computed
    def formula(self) -> ca.Function | None:
        """What is traced of it, as a function of time; None if it is a number, or runs as Python code."""
        return self.sx if self.constant is None else None

    @computed
    def text(self) -> str:
        """What tells its formula from others."""
        return "" if self.formula is None else self.formula.serialize()

    def __getstate__(self) -> dict[str, Any]:
        """A traced input goes without the user's functions."""
        given = self.given if self.sx is None else Input(Traced(self.sx), None, self.breakpoints)
        return self.__dict__ | {"given": given.packed(f"input '{self.name}'")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"given": Input(**state["given"])})

    def _times(self, breakpoints: Any) -> tuple[float, ...]:
        try:
            times = tuple(real(b) for b in itertools.islice(breakpoints, MOST_BREAKPOINTS + 1))
        except Exception:  # whatever comes out of it is no sequence of times
            times = (np.nan,)
        if len(times) > MOST_BREAKPOINTS:
            raise ModelError(f"input '{self.name}': breakpoints= has more than {MOST_BREAKPOINTS} times")
        if not np.isfinite(times).all():
            raise ModelError(
                f"input '{self.name}': breakpoints={shown(breakpoints)} must be a sequence of finite times"
            )
        return times

    def _try_numbers(self) -> None:
        """Raise ModelError unless the function gives a number at some time: it may be defined on an interval only."""
        failure: FunctionFailed | None = None
        for t in (*self.breakpoints, *SAMPLES):
            try:
                for order, function in enumerate((self.given.function, *(self.given.derivatives or ()))):
                    self._call(function, t, order)
                return
            except FunctionFailed as error:
                failure = failure or error
        raise ModelError(str(failure)) from failure

    def _call(self, function: Callable, t: float, order: int = 0) -> float:
        try:
            with users_arithmetic():
                value = numbers_of(function(t))
            if value.size != 1:
                raise TypeError(f"it returned an array of shape {value.shape}; return one number")
        except StepRefused:
            raise
        except Exception as error:
            which = ("", "the first derivative of ", "the second derivative of ")[order]
            where = describe(f"{which}input '{self.name}'", function)
            raise FunctionFailed(f"{where} raised {said(error)} at t = {t:.9g}") from error
        return value.item()

    def level(self, t: float, order: int) -> float:
        """The value, or a derivative that is given, of an input that cannot be traced."""
        return self._call((self.given.function, *(self.given.derivatives or ()))[order], t, order)

    def python(self, t: float, *, rates: bool = True) -> tuple[float, float, float]:
        """Value and derivatives of an input that cannot be traced; without `rates` these are 0 unless given."""
        function = self.given.function

        def at(point: np.ndarray) -> np.ndarray:
            try:
                return np.array([self._call(function, float(point[0]))])
            except FunctionFailed as error:  # a table may end here: differences with smaller steps may still work
                raise StepRefused(str(error)) from error

        value = self.level(t, 0)
        if self.given.derivatives is not None:
            return value, self.level(t, 1), self.level(t, 2)
        if not rates:
            return value, 0.0, 0.0
        here, forward = np.array([t]), np.ones(1)
        return (
            value,
            float(directional_derivative(at, here, forward)[0]),
            float(directional_derivative(at, here, forward, order=2)[0]),
        )
