"""Inputs u(t): prescribed functions of time that enter a model together with their first two time derivatives.

Inputs reach compiled code through `theta`, so that another input never recompiles the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import ModelError, UntraceableError
from dalembert.model.expression import scalar, to_sx
from dalembert.model.numeric import directional_derivative


@dataclass(frozen=True)
class Input:
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
    def table(cls, t: Sequence[float], values: Sequence[float]) -> Input:
        """Interpolate measured data by a cubic spline; constant beyond the ends.

        >>> Input.table([0, 1, 2, 3], [0, 1, 4, 9]).function(1.5)
        2.25
        """
        from scipy.interpolate import CubicSpline

        t, values = np.asarray(t, float), np.asarray(values, float)
        if t.ndim != 1 or t.shape != values.shape or len(t) < 2:
            raise ModelError(
                f"an input table needs two vectors of one length ≥ 2, got shapes {t.shape} and {values.shape}"
            )
        if not (np.isfinite(t).all() and np.isfinite(values).all() and (np.diff(t) > 0).all()):
            raise ModelError("an input table needs finite values at strictly increasing times")
        spline = CubicSpline(t, values)

        def inside(derivative: int) -> Callable[[float], float]:
            def evaluate(time: float) -> float:
                time = float(time)
                if derivative and not t[0] <= time <= t[-1]:
                    return 0.0
                return float(spline(min(max(time, t[0]), t[-1]), derivative))

            return evaluate

        return cls(inside(0), derivatives=(inside(1), inside(2)), breakpoints=(t[0], t[-1]))


class TracedInput:
    """One input as an SX expression of time (`sx` = value and two derivatives) or as Python functions (`python`)."""

    def __init__(self, name: str, given: Any):
        self.name = name
        self.given = given if isinstance(given, Input) else Input(given)
        self.breakpoints = tuple(float(b) for b in self.given.breakpoints)
        self.reason: str | None = None
        self.sx: ca.Function | None = None  # t -> (u, u', u'')
        function = self.given.function
        if not callable(function):
            try:
                value = float(function)
            except (TypeError, ValueError):
                raise ModelError(f"input '{name}' must be a function of time or a number, not {function!r}") from None
            if not np.isfinite(value):
                raise ModelError(f"input '{name}' is {value}; it must be finite")
            time = ca.SX.sym("t")
            self.sx = ca.Function("u", [time], [ca.vertcat(ca.SX(value), 0, 0)])
            return
        try:
            if self.given.derivatives is not None:
                raise UntraceableError("its derivatives are given as functions")
            time = ca.SX.sym("t")
            value_sx, _ = to_sx(function(scalar(time)))
            if value_sx.numel() != 1:
                raise ModelError(f"input '{name}' must return one number, not an array of {value_sx.numel()}")
            rate = ca.jacobian(value_sx, time)
            self.sx = ca.Function("u", [time], [ca.vertcat(value_sx, rate, ca.jacobian(rate, time))])
        except ModelError:
            raise
        except Exception as reason:  # whatever a user's function does with a symbol: run it as Python code
            self.reason = f"{type(reason).__name__}: {reason}"
            value = np.asarray(function(0.0 if not self.breakpoints else self.breakpoints[0]), float)
            if value.size != 1:
                raise ModelError(
                    f"input '{name}' must return one number, not an array of shape {value.shape}"
                ) from None

    def python(self, t: float) -> tuple[float, float, float]:
        """Value and derivatives of an input that cannot be traced."""
        function = self.given.function

        def at(point: np.ndarray) -> np.ndarray:
            return np.array([float(function(float(point[0])))])

        value = float(function(t))
        if self.given.derivatives is not None:
            return value, float(self.given.derivatives[0](t)), float(self.given.derivatives[1](t))
        here, forward = np.array([t]), np.ones(1)
        return (
            value,
            float(directional_derivative(at, here, forward)[0]),
            float(directional_derivative(at, here, forward, order=2)[0]),
        )
