"""What a random model is to the fuzzer, and its reference: the equations as an ODE in NumPy, integrated by SciPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da

#: of the rates, for one reference
MOST_EVALUATIONS = 20_000


@dataclass
class Case:
    """A model with start values, and the same equations once more.

    `rates(t, y, modes)` are those of y, the vectors of `kinds` one after the other. Where they jump, `modes` are the
    signs of `switches(t, y)` and, behind them, the number of `breaks` that have passed.
    """

    name: str
    model: Any
    start: dict[str, Any]
    t_end: float
    rates: Callable[[float, np.ndarray, tuple], np.ndarray]
    kinds: tuple[str, ...] = ("p", "v")
    switches: Callable[[float, np.ndarray], Sequence[float]] = lambda t, y: ()
    breaks: tuple[float, ...] = ()
    tangent: Callable[[float, np.ndarray, np.ndarray], np.ndarray] = lambda t, y, d: d  # part that keeps constraints
    features: set[str] = field(default_factory=set)

    def vectors(self, solution: Any) -> np.ndarray:
        """The solution's points in the reference's order."""
        return np.hstack([getattr(solution, kind) for kind in self.kinds])


def integrate(case: Case, y: np.ndarray, times: Sequence[float], begin: float = 0.0) -> np.ndarray:
    """The reference at times that rise, restarted at breaks and wherever a switch changes its sign."""
    points, t, y, left = [], begin, np.array(y, float), MOST_EVALUATIONS

    def rates(t, y, all_modes):
        nonlocal left
        left -= 1
        if left < 0:
            raise ArithmeticError("too many evaluations")
        return case.rates(t, y, all_modes)

    stops = sorted({*times, *(b for b in case.breaks if begin < b < times[-1])})
    modes = tuple(np.sign(case.switches(t, y)))
    for stop in stops:
        while t < stop:
            passed = sum(b <= t for b in case.breaks)
            events = []
            for i in range(len(modes)):

                def crossing(t, y, modes_, i=i):
                    return case.switches(t, y)[i]

                crossing.terminal, crossing.direction = True, -modes[i]
                events.append(crossing)
            run = solve_ivp(
                rates, (t, stop), y, method="DOP853", rtol=1e-12, atol=1e-13,
                events=events or None, args=((*modes, passed),),
            )  # fmt: skip
            if run.status < 0:
                raise ArithmeticError(run.message)
            t, y = run.t[-1], run.y[:, -1]
            if run.status == 1:
                modes = tuple(-m if len(run.t_events[i]) else m for i, m in enumerate(modes))
        if stop in times:
            points.append(y)
    return np.array(points)


def condition(case: Case, start: np.ndarray, times: Sequence[float], exact: np.ndarray, rng) -> float:
    """By how much a small change of the motion, at the start or halfway, grows until the times; at least 1."""
    largest, half = 1.0, times[len(times) // 2]
    for begin, y in ((0.0, start), (half, exact[len(times) // 2])):
        later = [t for t in times if t > begin]
        if not later:
            continue
        for _ in range(2):
            d = case.tangent(begin, y, rng.normal(size=len(y)) * (1 + np.abs(y)))
            size = 1e-7 * d / max(np.max(np.abs(d) / (1 + np.abs(y))), 1e-300)
            moved = integrate(case, y + size, later, begin)
            largest = max(
                largest, np.max(np.abs(moved - exact[-len(later) :]) / (1 + np.abs(exact[-len(later) :]))) / 1e-7
            )
    return float(largest)


def saddle(M: np.ndarray, G: np.ndarray, f: np.ndarray, gamma: np.ndarray, redundant: bool = False) -> np.ndarray:
    """Accelerations of M a + Gᵀ λ = f, G a + γ = 0; redundant constraints may be there."""
    if not len(G):
        return np.linalg.solve(M, f)
    n, m = len(M), len(G)
    A, b = np.zeros((n + m, n + m)), np.concatenate([f, -gamma])
    A[:n, :n], A[:n, n:], A[n:, :n] = M, G.T, G
    if redundant:
        return np.linalg.lstsq(A, b, rcond=1e-12)[0][:n]
    return np.linalg.solve(A, b)[:n]


def null_part(G: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The part of d that G maps to zero."""
    return d - np.linalg.pinv(G, rcond=1e-10) @ (G @ d) if len(G) else d


def pairs(items: Sequence) -> list[tuple]:
    return list(itertools.combinations(items, 2))


def everything_but(*features: str) -> Callable[[Case], bool]:
    return lambda case: not case.features & set(features)


#: methods and what they do not take; the model decides about the rest by an error of ours
METHODS: list[tuple[Any, Callable[[Case], bool]]] = [
    (da.Radau5(), everything_but()),
    (da.Radau5(formulation="index1"), everything_but()),
    (da.Radau5(formulation="index2"), everything_but()),
    (da.Radau5(jacobian=da.Differences()), everything_but()),
    (da.Radau5(linear_solver=da.Sparse(), jacobian=da.GroupedDifferences()), everything_but()),
    (da.Geoms(), everything_but()),
    (da.Geoms(algebraic="svd"), everything_but()),
    (da.Dassl(), everything_but()),
    (da.Dassl(formulation="index1", jacobian=da.Exact(partitioned=True)), everything_but()),
    (da.Dassl(formulation="index2", linear_solver=da.Sparse()), everything_but()),
    (da.Dassl(jacobian=da.Differences(partitioned=True)), everything_but()),
    (da.Dassl(jacobian=da.GroupedDifferences(pattern="estimated", partitioned=True)), everything_but()),
    (da.Odassl(), everything_but()),
    (da.Hem5(), everything_but("stiff")),
    (da.Hem5(linear_solver=da.Sparse()), everything_but("stiff")),
    (da.Phem56(), everything_but("stiff")),
    (da.Hedop5(), everything_but("stiff")),
    (da.Rkf45(), everything_but("stiff")),
    (da.Mexx(), everything_but("stiff")),
    (da.Mexx(sequence="paper", max_order=8), everything_but("stiff")),
    ("auto", everything_but()),
]
