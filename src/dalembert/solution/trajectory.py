"""Dense output: the piecewise polynomial through which a method describes the state between its steps."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert.checks import NoNumber, reals, shown
from dalembert.errors import OptionError
from dalembert.locks import prepared, renewed

if TYPE_CHECKING:
    from dalembert.solution.spool import Extent, Steps

#: times this many units in the last place beyond the ends count as the ends
SLACK = 8
#: numbers that a drawing is made of
MOST_DRAWN = 20_000_000
#: numbers computed at once
PIECE = 4_000_000

_SETTLING = renewed(threading.RLock())


def in_order(t: np.ndarray, h: np.ndarray, direction: float) -> bool:
    """Whether times go strictly in one direction, and step sizes, too."""
    return bool((direction * t[1:] > direction * t[:-1]).all() and (direction * h > 0).all())


class Unsettled(Protocol):
    """Columns of coefficients that are computed when somebody looks at them."""

    def settle_ends(self, trajectory: Trajectory, coefficients: np.ndarray) -> None:
        """In place: the states at the ends of the steps."""

    def settle(self, trajectory: Trajectory, coefficients: np.ndarray) -> None:
        """In place: everything."""


class Trajectory:
    """The state as a function of time: one polynomial for each accepted step.

    With s = (t − t_k)/h_k ∈ [−1, 0] the state within step k is Σ_j c_j s^j; c_0 is the state at its end t_k.
    `from_points` makes a trajectory that holds single points only.

    Parameters
    ----------
    start_t : float
    start_x : array (n,)
    t : array (K,)
        Ends of the steps, strictly increasing, or decreasing if time runs backwards. K may be 0.
    h : array (K,)
        Step sizes with sign.
    coefficients : array (K, degree + 1, n)
    restarts : sequence of int, optional
        Numbers of the steps before which the state jumped, 0 … K, in order; K is a jump at the very end. A number that
        occurs twice stands for two jumps at one time.
    restart_x : array (R, n), optional
        The states after the jumps.
    trusted : bool
        Whether all this is known to fit together, and need not be looked at.
    unsettled : Unsettled, optional
        What completes the coefficients when they are looked at first.

    Examples
    --------
    One step of x(t) = t² from t = 0 to t = 2, that is x = 4 + 8 s + 4 s²:

    >>> square = Trajectory(0.0, [0.0], [2.0], [2.0], [[[4.0], [8.0], [4.0]]])
    >>> square(1.5)
    array([2.25])
    >>> square.points()[1].ravel()
    array([0., 4.])
    """

    def __init__(
        self,
        start_t: float,
        start_x: Sequence[float] | np.ndarray,
        t: Sequence[float] | np.ndarray,
        h: Sequence[float] | np.ndarray,
        coefficients: Sequence | np.ndarray,
        *,
        restarts: Sequence[int] | np.ndarray = (),
        restart_x: Sequence | np.ndarray | None = None,
        trusted: bool = False,
        unsettled: Unsettled | None = None,
    ):
        self.start_t = float(start_t)
        self.start_x = np.array(start_x, float)
        own = np.asarray if trusted else np.array  # copies of what somebody else may change
        self.t = own(t, float)
        self.h = own(h, float)
        self.restarts = np.array(restarts, int)
        n, steps = self.start_x.size, self.t.size
        self._coefficients: Any = np.asarray(coefficients, float)  # large: no copy; None without dense output
        self._unsettled = unsettled
        if not steps and self._coefficients.ndim != 3:
            self._coefficients = np.zeros((0, 1, n))
        self.restart_x = np.zeros((0, n)) if restart_x is None else np.array(restart_x, float)
        if not self.restarts.size and not self.restart_x.size:
            self.restart_x = np.zeros((0, n))
        if not trusted:
            self._check(n, steps)
        self.interval = (self.start_t, float(self.t[-1]) if steps else self.start_t)
        self._points: tuple[np.ndarray, np.ndarray] | None = None
        self.extent: Extent | None = None  # of the folder on the disk that has the steps, if one has

    @classmethod
    def from_steps(
        cls, steps: Steps, *, restarts: Sequence[int] | np.ndarray = (), restart_x: Sequence | np.ndarray | None = None
    ) -> Trajectory:
        """A trajectory whose steps stay on the disk, but for those that are looked at."""
        trajectory = cls(
            float(steps.t[0]), steps.c[0, 0], steps.t[1:], steps.h[1:], steps.c[1:],
            restarts=restarts, restart_x=restart_x, trusted=True,
        )  # fmt: skip
        trajectory._check_jumps(steps.extent.n, steps.extent.steps)
        trajectory.extent = steps.extent
        if not trajectory.restarts.size:
            trajectory._points = steps.t, steps.c[:, 0]
        return trajectory

    @classmethod
    def from_points(
        cls, t: Sequence[float] | np.ndarray, x: Sequence | np.ndarray, *, interval: tuple[float, float] | None = None
    ) -> Trajectory:
        """A trajectory without dense output, known at the times `t` only.

        Parameters
        ----------
        t : array (N,)
        x : array (N, n)
        interval : (float, float), optional
            First and last time that the integration reached. Default: the first and the last of `t`.

        Examples
        --------
        >>> trajectory = Trajectory.from_points([0, 1], [[0.0], [1.0]])
        >>> trajectory(0.5)
        Traceback (most recent call last):
            ...
        dalembert.errors.OptionError: this result holds 2 points and nothing between them; ...
        """
        t, x = np.array(t, float), np.array(x, float)
        if t.ndim != 1 or x.ndim != 2 or len(t) != len(x):
            raise OptionError(f"points need shapes (N,) and (N, n), not {t.shape} and {x.shape}")
        if interval is None:
            if not t.size:
                raise OptionError("a trajectory without points needs interval=(first, last)")
            interval = t[0], t[-1]
        trajectory = cls(interval[0], x[0] if len(x) else np.full(x.shape[1], np.nan), (), (), ())
        trajectory._coefficients = None
        trajectory.interval = float(interval[0]), float(interval[1])
        trajectory._points = (t, x)
        return trajectory

    def _check(self, n: int, steps: int) -> None:
        shapes = (self.start_x.ndim, self.t.ndim, self.h.shape, self._coefficients.ndim)
        wrong = shapes != (1, 1, (steps,), 3) or self._coefficients.shape[::2] != (steps, n)
        if wrong or not self._coefficients.shape[1]:
            raise OptionError(
                "a trajectory needs start_x (n,), t (K,), h (K,) and coefficients (K, degree + 1, n), "
                f"not {self.start_x.shape}, {self.t.shape}, {self.h.shape}, {self._coefficients.shape}"
            )
        if not in_order(np.concatenate([[self.start_t], self.t]), self.h, self._direction):
            raise OptionError("the step ends of a trajectory must be strictly monotone, and h must have their sign")
        self._check_jumps(n, steps)

    def _check_jumps(self, n: int, steps: int) -> None:
        if self.restart_x.shape != (self.restarts.size, n):
            shape = (self.restarts.size, n)
            raise OptionError(f"{shape[0]} restarts need restart_x of shape {shape}, not {self.restart_x.shape}")
        if self.restarts.size and (np.diff(self.restarts, prepend=0, append=steps) < 0).any():
            raise OptionError(f"restarts must be step numbers 0 … {steps} in order, not {self.restarts.tolist()}")

    @property
    def _direction(self) -> float:
        return -1.0 if self.t.size and self.t[-1] < self.start_t else 1.0

    @property
    def dense(self) -> bool:
        """Whether the state is known between the points."""
        return self._coefficients is not None

    @property
    def coefficients(self) -> np.ndarray | None:
        """The polynomials, of shape (K, degree + 1, n); None without dense output."""
        if self._unsettled is not None:
            with prepared(_SETTLING):
                if self._unsettled is not None:
                    self._unsettled.settle(self, self._coefficients)
                    self._unsettled = None
        return self._coefficients

    def __getstate__(self) -> dict:
        self.coefficients  # noqa: B018 - copies need not know how they are completed
        return self.__dict__

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be computed when somebody looks at it."""
        return self._unsettled is None

    @property
    def n(self) -> int:
        """Length of the state vector."""
        return self.start_x.size

    def looked_at(
        self, t: float | Sequence[float] | np.ndarray | None = None
    ) -> tuple[Any, np.ndarray, Callable[[], np.ndarray] | None]:
        """Times and states, at the accepted points or at t; and a function that gives the states with settled columns,
        if there are some that are not."""
        if t is not None:
            x = self(t, settled=False)
            time = reals(t)[()]
            return time, x, (lambda: self(time)) if self._unsettled is not None else None
        if self._points is not None or self._unsettled is None:
            return *self.points(), None
        return *self._ends(), lambda: self.points()[1]

    def __call__(self, t: float | Sequence[float] | np.ndarray, *, settled: bool = True) -> np.ndarray:
        """The state at one time, shape (n,), or at an array of times, shape (N, n). At a jump: the state after it.

        Without `settled`, columns that are computed when somebody looks at them may be a method's own.
        """
        if not self.dense:
            raise OptionError(
                f"this result holds {len(self.points()[0])} points and nothing between them; "
                "for values at any time use simulate(..., dense_output=True)"
            )
        try:
            t = reals(t)
        except NoNumber as reason:
            raise OptionError(f"t = {shown(t)} {reason}") from None
        inside = self.covers(t)
        if not inside.all():
            low, high = sorted(self.interval)
            wrong = float(t[~inside].ravel()[0])
            raise OptionError(f"t = {wrong} lies outside the interval [{low}, {high}] that was computed")
        along = self._direction * t.ravel()  # increases whatever the direction of time
        x = np.empty((along.size, self.n))
        started = along > self._direction * self.start_t
        x[~started] = self.start_x
        if self.t.size:
            ends = self.t if self._direction > 0 else -self.t
            step = np.minimum(np.searchsorted(ends, along[started]), self.t.size - 1)
            with np.errstate(over="ignore"):  # steps may be as short as numbers can be
                s = np.clip((t.ravel()[started] - self.t[step]) / self.h[step], -1.0, 0.0)
            x[started] = self._polynomials(step, s, settled)
        # the last of several jumps at one time wins, as assignment goes in order
        for place, after in zip(self.jump_times(), self.restart_x, strict=True):
            at_jump = t.ravel() == place
            if place == self.interval[1]:
                at_jump |= along > self._direction * place
            if place == self.start_t:
                at_jump |= ~started
            x[at_jump] = after
        return x.reshape(*t.shape, self.n)

    def jump_times(self) -> np.ndarray:
        """When the state jumped, in the order of `restarts`."""
        times = np.full(self.restarts.size, self.start_t)
        later = self.restarts > 0
        times[later] = self.t[self.restarts[later] - 1]
        return times

    def covers(self, t: float | np.ndarray) -> np.ndarray:
        """Whether times lie in the interval that was computed, up to rounding."""
        t = np.asarray(t, float)
        low, high = sorted(self.interval)
        slack = SLACK * np.spacing(max(abs(low), abs(high)))
        return (t >= low - slack) & (t <= high + slack)

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and states of the accepted points with the start; at a jump both states, the time being repeated."""
        if self._points is None:
            if self._unsettled is not None:
                with prepared(_SETTLING):
                    if self._unsettled is not None:
                        self._unsettled.settle_ends(self, self._coefficients)
            self._points = self._ends()
        return self._points

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the steps are stored as they are."""
        x = np.concatenate([self.start_x[None, :], self._coefficients[:, 0]])
        return self._with_jumps(np.concatenate([[self.start_t], self.t]), x, 1)

    def curve(self, least: int = 500, *, settled: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """At least `least` times and states for a smooth drawing; the accepted points are among them.

        Without `settled`, columns that are computed when somebody looks at them may be a method's own.
        """
        if self.dense and self.t.size > max(5000, MOST_DRAWN // self.n):  # evenly chosen, jumps are not looked for
            step = np.unique(np.linspace(0, self.t.size - 1, max(5000, MOST_DRAWN // self.n)).astype(int))
            x = self._polynomials(step, np.zeros(len(step)), settled)
            return np.concatenate([[self.start_t], self.t[step]]), np.concatenate([self.start_x[None, :], x])
        if not self.dense or not self.t.size or self.t.size > 5000:  # as many as anybody can see
            return self.points() if settled or not self.dense else self._ends()
        return self._sampled(max(4, math.ceil(least / self.t.size)), settled)

    def _polynomials(self, step: np.ndarray, s: np.ndarray, settled: bool = True) -> np.ndarray:
        """Horner's scheme for many steps at once; piece by piece where copies would fill the memory."""
        rows = max(1, PIECE // max(1, self.n))
        if len(step) > rows:
            x = np.empty((len(step), self.n))
            for first in range(0, len(step), rows):
                part = slice(first, first + rows)
                x[part] = self._polynomials(step[part], s[part], settled)
            return x
        c: Any = self.coefficients if settled else self._coefficients
        degree = c.shape[1] - 1
        x = c[step, degree]
        for j in range(degree - 1, -1, -1):
            x = x * s[:, None] + c[step, j]
        return x

    def _sampled(self, within: int, settled: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The start, `within` equidistant points of each step up to its end, and the states after jumps."""
        step = np.repeat(np.arange(self.t.size), within)
        s = np.tile(np.arange(1 - within, 1) / within, self.t.size)
        t = np.concatenate([[self.start_t], self.t[step] + s * self.h[step]])
        x = np.concatenate([self.start_x[None, :], self._polynomials(step, s, settled)])
        return self._with_jumps(t, x, within)

    def _with_jumps(self, t: np.ndarray, x: np.ndarray, within: int) -> tuple[np.ndarray, np.ndarray]:
        """Points, `within` of them for each step behind the start, with the states after jumps put in."""
        if not self.restarts.size:
            return t, x
        places = self.restarts * within
        return np.insert(t, places + 1, t[places]), np.insert(x, places + 1, self.restart_x, axis=0)

    def __repr__(self) -> str:
        first, last = self.interval
        if not self.dense:
            return f"Trajectory({len(self.points()[0])} points, t = {first:g} … {last:g}, n = {self.n})"
        jumps = f", {self.restarts.size} jumps" if self.restarts.size else ""
        return f"Trajectory({self.t.size} steps, t = {first:g} … {last:g}, n = {self.n}{jumps})"
