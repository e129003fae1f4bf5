"""The numbers of a half-explicit Runge-Kutta method, as data that is checked.

For y = (p, v, r), the multipliers λ and s stages [1]_ [2]_

    Y_i = y + h Σ_{j<i} a_ij f(Y_j, λ_j)                            stages, explicit
    Ȳ_i = y + h Σ_{j≤i} ā_ij f(Y_j, λ_j),  G v + g_t = 0 at Ȳ_i     closing points: they determine λ_i
    y_new = Ȳ_s

Row i of `closing` holds ā_i. Where it equals row i + 1 of A the closing point is the next stage, as in all methods of
[1]_, and the model is evaluated once for both. A first row of zeros says that the first stage takes the accelerations
and multipliers that are known at the current point.

References
----------
.. [1] V. Brasey, E. Hairer, "Half-explicit Runge-Kutta methods for differential-algebraic systems of index 2", SIAM J.
   Numer. Anal. 30, 1993.
.. [2] A. Murua, "Partitioned half-explicit Runge-Kutta methods for differential-algebraic systems of index 2",
   Computing 59, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.kept import computed

#: published coefficients have 16 digits, some of which cancel in the conditions
ROUNDING = 1e-12

#: for which the kernel has room
MOST_STAGES = 8

# how a stage gets its multipliers: from the current point, from the next stage, from a point of its own
KNOWN, NEXT, APART = range(3)


@dataclass(frozen=True, kw_only=True, eq=False)
class HalfExplicitTableau:
    """Coefficients of a method; numbers that do not belong together raise ValueError.

    Examples
    --------
    >>> midpoint = HalfExplicitTableau.classical("half-explicit midpoint rule", order=2, c=[0, 1/2, 1],
    ...     rows=[[], [1/2], [0, 1]], estimates=[[-1, 1]], estimate_power=2)
    >>> midpoint.stages, midpoint.links
    (2, (1, 1))
    >>> HalfExplicitTableau.classical("wrong", order=2, c=[0, 1/2, 1], rows=[[], [1/2], [1, 0]],
    ...     estimates=[[-1, 1]], estimate_power=2)
    Traceback (most recent call last):
    ...
    ValueError: tableau 'wrong': closing[1, 1] is zero, so that nothing determines the multipliers of stage 1
    """

    name: str
    order: int
    A: np.ndarray  # (s, s), strictly lower triangular
    c: np.ndarray  # (s,) times of the stages
    closing: np.ndarray  # (s, s), lower triangular; the last row are the weights of the new point
    closing_c: np.ndarray  # (s,)
    # Differences of weights: h Σ d_j f_j estimates the error. A second row is for a larger estimate of lower order,
    # which damps the first: e₁² / (e₁ + e₂/100). Column s, if there is one, is for the rates of the new point.
    estimates: np.ndarray
    estimate_power: int  # the estimate is proportional to the step size to this power
    project_estimate: bool = False  # that of the velocities, onto their constraints

    def __post_init__(self) -> None:
        def put(name: str, value: np.ndarray) -> None:
            value.setflags(write=False)
            object.__setattr__(self, name, value)

        s = len(self.c)
        for name in ("A", "closing"):
            put(name, _lower(getattr(self, name), s))
        put("c", np.array(self.c, float))
        put("closing_c", np.array(self.closing_c, float))
        put("estimates", _lower(self.estimates, s + 1))
        fault = self._fault()
        if fault:
            raise ValueError(f"tableau '{self.name}': {fault}")

    @classmethod
    def classical(cls, name: str, *, c, rows, first_known: bool = False, **others) -> HalfExplicitTableau:
        """A method whose closing points are the next stages: `rows` and times `c` of the stages and of the new point.

        `first_known`: the multipliers of the first stage are those of the current point.
        """
        s = len(rows) - 1
        closing = [[] if first_known and i == 0 else rows[i + 1] for i in range(s)]
        closing_c = [0.0 if first_known else c[1], *c[2:]]
        return cls(name=name, A=rows[:-1], c=c[:-1], closing=closing, closing_c=closing_c, **others)

    @property
    def stages(self) -> int:
        return len(self.c)

    @property
    def weights(self) -> np.ndarray:
        return self.closing[-1]

    @property
    def first_known(self) -> bool:
        """Whether the first stage has the accelerations of the current point."""
        return not self.closing[0].any()

    @property
    def estimate_at_end(self) -> bool:
        """Whether the error estimate needs the rates of the new point."""
        return bool(self.estimates[:, self.stages].any())

    @computed
    def links(self) -> tuple[int, ...]:
        """For each stage KNOWN, NEXT or APART."""
        s = self.stages
        following = [*range(1, s)]
        shared = [np.array_equal(self.closing[i - 1], self.A[i]) for i in following] + [True]
        links = [NEXT if same else APART for same in shared]
        return (KNOWN, *links[1:]) if self.first_known else tuple(links)

    def _fault(self) -> str:
        """What is wrong with the numbers; empty if nothing is."""
        s, A, closing, first = self.stages, self.A, self.closing, int(self.first_known)
        if A.shape != (s, s) or closing.shape != (s, s) or self.closing_c.shape != (s,):
            return f"{s} times c, but A is {A.shape}, closing {closing.shape}, closing_c {self.closing_c.shape}"
        if s > MOST_STAGES:
            return f"{s} stages, and the kernel has room for {MOST_STAGES}"
        if self.estimates.shape[0] not in (1, 2):
            return f"{self.estimates.shape[0]} rows of estimates: one or two are needed"
        if not all(np.isfinite(a).all() for a in (A, closing, self.c, self.closing_c, self.estimates)):
            return "a coefficient is not finite"
        if np.triu(A).any() or np.triu(closing, 1).any():
            return "the stages are not explicit: entries on or above the diagonal of A, or above that of closing"
        for i in range(first, s):
            if closing[i, i] == 0.0:
                return f"closing[{i}, {i}] is zero, so that nothing determines the multipliers of stage {i}"
        for what, rows, times in (("A", A, self.c), ("closing", closing[first:], self.closing_c[first:])):
            off = np.abs(rows.sum(axis=1) - times)
            if off.max() > ROUNDING:
                return f"row {int(off.argmax())} of {what} sums to another time, by {off.max():.1e}"
            if times.min() < 0 or times.max() > 1:
                return f"a time of {what} lies outside of the step"
        if self.closing_c[-1] != 1.0:
            return "the last row of closing does not lead to the end of the step"
        if np.abs(self.estimates.sum(axis=1)).max() > ROUNDING:
            return "the weights of an error estimate do not sum to zero: a constant velocity would count as an error"
        for k in range(1, self.order + 1):
            off = abs(self.weights @ self.c ** (k - 1) - 1 / k)
            if off > ROUNDING:
                return f"the weights do not integrate t**{k - 1}, which order {self.order} needs (off by {off:.1e})"
        return ""


def _lower(rows, width: int) -> np.ndarray:
    """A matrix from rows that may be shorter than `width`; those that are longer keep their length."""
    width = max([width, *(len(row) for row in rows)])
    return np.array([[*row, *[0.0] * (width - len(row))] for row in rows], float).reshape(len(rows), width)
