"""Problems whose size or index is an argument: chains of integrators, ladders of resistors and capacitors."""

from __future__ import annotations

import numpy as np

from dalembert.draw import Columns, Drawing
from dalembert.errors import OptionError
from dalembert.model import QuasiLinearDAE

from ..arguments import check_choice, check_count, check_positive, checked
from ..problem import Problem, Reference


@checked
def integrator_chain(N: int = 5, *, t_end: float = 2.0) -> Problem:
    """N unknowns, x1' = x2, …, and the first of them is given: index N, with the exact solution.

    The last unknown is what has to go into a chain of N - 1 integrators to get sin t out of it. Differentiating the
    last equation N - 1 times gives all unknowns; nothing is left to integrate.
    """
    check_count("integrator_chain", "N", N, 1)
    check_positive("integrator_chain", t_end=t_end)
    model = QuasiLinearDAE(
        name=f"integrator_chain_{N}",
        drawing=[Columns([f"x{k}" for k in range(1, min(N, 16) + 1)])],
        x=[f"x{k}" for k in range(1, N + 1)],
        leading=np.r_[np.ones(N - 1), 0.0],
        rhs=lambda s: np.concatenate([s.x[1:], [s.x[0] - np.sin(s.t)]]),
    )

    def exact(t: float) -> np.ndarray:
        return np.tile([np.sin(t), np.cos(t), -np.sin(t), -np.cos(t)], N // 4 + 1)[:N]

    return Problem(
        name="integrator_chain",
        title="Chain of integrators driven backwards",
        model=model,
        x0=exact(0.0),
        t_end=t_end,
        reference=Reference(t=t_end, x=exact(t_end), source="exact", accuracy=1e-15),
    )


@checked
def rc_ladder(n: int = 100, *, source: str = "resistor", t_end: float = 0.5) -> Problem:
    """Ladder of n/2 resistors and capacitors with n unknowns, u1, i1, u2, i2, …: sparse, stiff, index 1 or 2.

    R = C = 2/n, so that for many of them it is a line of unit resistance and capacitance, open at its end. The current
    i_k flows through the resistor into node k. A source of sin(2π t) drives it:

    - ``source="resistor"``: through the first resistor; index 1.
    - ``source="node"``: the voltage of the first node is given, and i1 is the current of the source: index 2.

    The reference is exact: a sum over the eigenvectors, which are known.

    Parameters
    ----------
    n : number of unknowns, even, 4 at least.
    """
    check_count("rc_ladder", "n", n, 4)
    check_choice("rc_ladder", "source", source, ("resistor", "node"))
    check_positive("rc_ladder", t_end=t_end)
    if n % 2:
        raise OptionError(f"rc_ladder: n must be even, a voltage and a current for each rung, not {n}")
    m, given = n // 2, source == "node"
    model = QuasiLinearDAE(
        name=f"rc_ladder_{n}" + ("_node" if given else ""),
        drawing=Drawing([Columns([f"u{k}" for k in range(1, min(m, 16) + 1)])], name=f"RC ladder, {m} cells"),
        x=[f"{kind}{k}" for k in range(1, m + 1) for kind in "ui"],
        parameters={"R": 1 / m, "C": 1 / m, "omega": 2 * np.pi},
        leading=lambda s: [s.C, 0.0] * m,
        rhs=lambda s: _ladder(s, given),
    )
    return Problem(
        name="rc_ladder",
        title="Ladder of resistors and capacitors",
        model=model,
        x0=exact_ladder(m, 0.0, given),
        t_end=t_end,
        reference=Reference(t=t_end, x=exact_ladder(m, t_end, given), source="exact: eigenvectors", accuracy=1e-12),
    )


def _ladder(s, given: bool):
    u, i = s.x[::2], s.x[1::2]
    drive = np.sin(s.omega * s.t)
    before = np.concatenate([[drive], u[:-1]])
    rows = np.empty(len(s.x), dtype=object)
    rows[::2] = i - np.concatenate([i[1:], [0.0]])
    rows[1::2] = before - u - s.R * i
    if given:
        rows[1] = u[0] - drive
    return rows


def exact_ladder(m: int, t: float, given: bool) -> np.ndarray:
    """Unknowns of `rc_ladder` at time t: it begins uncharged.

    With the voltage given at the first node, the rest is a ladder of m - 1 resistors behind it, of the same R and C.
    """
    inner = m - 1 if given else m
    omega, rate = 2 * np.pi, float(m) ** 2  # 1/(RC)
    theta = (2 * np.arange(1, inner + 1) - 1) * np.pi / (2 * inner + 1)
    decay = 4 * rate * np.sin(theta / 2) ** 2
    # projections of the drive, which acts on the first node by rate sin(ωt), on the modes sin(kθ) of norm (2m+1)/4
    push = rate * np.sin(theta) * 4 / (2 * inner + 1)
    modes = (
        push / (decay**2 + omega**2) * (decay * np.sin(omega * t) + omega * (np.exp(-decay * t) - np.cos(omega * t)))
    )
    u = np.empty(inner)
    for start in range(0, inner, 500):  # all of them at once would be a large matrix
        k = np.arange(start + 1, min(start + 500, inner) + 1)
        u[start : start + 500] = np.sin(np.outer(k, theta)) @ modes
    drive = np.sin(omega * t)
    x = np.empty(2 * m)
    x[2 * (m - inner) :: 2] = u
    x[2 * (m - inner) + 1 :: 2] = m * -np.diff(np.concatenate([[drive], u]))
    if given:
        x[0] = drive
        x[1] = omega * np.cos(omega * t) / m + x[3]
    return x
