"""The chain of four-bar linkages: one degree of freedom that passes through singular positions again and again."""

from __future__ import annotations

import numpy as np
from scipy.special import ellipk, ellipkinc

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion

from .arguments import checked
from .drawings import chains
from .pendulum import exact_angle
from .problem import Problem, Reference

_GRAVITY = 9.81
#: singular positions that are worth listing
MOST_TIMES = 1_000_000


@checked
def four_bar_chain(n: int = 2, *, t_end: float = 10.0) -> Problem:
    """N four-bar linkages side by side (IFToMM benchmark A02 [1]_): 2(N+1) coordinates, 2N+1 constraints.

    N+1 cranks stand on ground pins (i, 0), i = 0…N, and couplers join their tops B_i = (xi, yi). All links are uniform
    rods of 1 m and 1 kg; |B_i - (i, 0)|² = 1 and |B_i - B_{i-1}|² = 1, cranks first, then couplers. The chain starts
    upright with velocity (1, 0) and moves as a parallelogram, B_i = (i, 0) + (sin θ, cos θ), which leaves one equation:

        ((N+1)/3 + N) θ'' = g ((N+1)/2 + N) sin θ,   θ(0) = 0,   θ'(0) = 1.

    Whenever the links lie in one line (cos θ = 0) the constraint Jacobian loses rank, from 2N+1 to N+1, and other
    motions, with some of the cranks turning the other way, branch off; a method has to find its way through.
    `four_bar_singular_times` gives these moments; for N = 2 the first are 0.714355529293, 1.228159393314, 2.6568704519.
    For N = 1 the multipliers stay bounded there. For N > 1 they grow like 1/cos θ: left alone, the inner and the outer
    points would fall at different rates, and links in one line cannot hold them; at the position itself there are none.

    The reference is exact, also its multipliers.

    Parameters
    ----------
    n : number of loops, N.
    t_end : end time; the exact reference follows it.

    References
    ----------
    .. [1] M. González, D. Dopico, U. Lugrís, J. Cuadrado, "A benchmarking system for MBS simulation software: problem
       standardization and performance measurement", Multibody System Dynamics 16, 2006.
    """
    _check(n)
    if not t_end > 0:
        raise OptionError(f"four_bar_chain: t_end must be positive, not {t_end!r}")
    model = EquationsOfMotion(
        name=f"four_bar_chain_{n}",
        drawing=chains.four_bar_chain(n),
        p=[f"{axis}{i}" for i in range(n + 1) for axis in "xy"],
        parameters={"m": 1.0, "L": 1.0, "g": _GRAVITY},
        mass=lambda s: s.m / 6 * np.kron(_rods(n), np.eye(2)),
        force=lambda s: np.kron(_rods_at(n), [0, -s.m * s.g / 2]),
        holonomic=lambda s: _lengths(s, n),
        lam=[f"crank{i}" for i in range(n + 1)] + [f"coupler{i}" for i in range(1, n + 1)],
    )
    pins = np.array([[i, 0.0] for i in range(n + 1)])
    p, v, lam = _parallelogram(n, t_end)
    return Problem(
        name="four_bar_chain",
        title=f"Chain of four-bar linkages ({n} loop{'s' if n > 1 else ''})",
        model=model,
        p0=(pins + np.array([0.0, 1.0])).ravel(),
        v0=np.tile([1.0, 0.0], n + 1),
        t_end=t_end,
        reference=Reference(
            t=t_end,
            p=(pins + p).ravel(),
            v=np.tile(v, n + 1),
            lam=lam,
            source="exact: Jacobi elliptic functions on the parallelogram branch",
            accuracy=1e-14 * (1 + 10 * t_end),
        ),
    )


@checked
def four_bar_singular_times(n: int = 2, *, t_end: float = 10.0) -> np.ndarray:
    """Times in (0, t_end) at which all links of `four_bar_chain(n)` lie in one line.

    >>> four_bar_singular_times(2, t_end=3.0).round(9).tolist()
    [0.714355529, 1.228159393, 2.656870452]
    """
    _check(n)
    omega2 = _omega2(n)
    k = np.sqrt(1 + 1 / (4 * omega2))  # the chain goes round: θ/2 + π/2 is a Jacobi amplitude of parameter 1/k²
    quarter = ellipk(1 / k**2)
    eighth = ellipkinc(np.pi / 4, 1 / k**2)  # from hanging to horizontal
    count = k * np.sqrt(omega2) * t_end / (2 * quarter)
    if count > MOST_TIMES:
        raise OptionError(f"four_bar_singular_times: until t_end={t_end:g} there are more than {MOST_TIMES}")
    turns = np.arange(int(count) + 1)
    times = np.array([2 * turns * quarter + quarter - eighth, 2 * turns * quarter + quarter + eighth])
    times = times.T.ravel() / (k * np.sqrt(omega2))
    return times[times < t_end]


def _check(n) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise OptionError(f"four_bar_chain: n must be a positive whole number, not {n!r}")


def _rods_at(n: int) -> np.ndarray:
    """Number of rods that end in each point: a crank, and a coupler on one side or on both."""
    return np.array([2.0] + [3.0] * (n - 1) + [2.0])


def _rods(n: int) -> np.ndarray:
    """Mass matrix of all rods in units of m/6: a rod between P and Q has [[2, 1], [1, 2]] on (P, Q)."""
    beside = np.ones(n)
    return np.diag(2 * _rods_at(n)) + np.diag(beside, 1) + np.diag(beside, -1)


def _lengths(s, n: int):
    x, y = s.p[0::2], s.p[1::2]
    cranks = (x - s.L * np.arange(n + 1)) ** 2 + y**2 - s.L**2
    couplers = (x[1:] - x[:-1]) ** 2 + (y[1:] - y[:-1]) ** 2 - s.L**2
    return np.concatenate([cranks, couplers])


def _omega2(n: int) -> float:
    """θ'' = omega2 sin θ."""
    return _GRAVITY * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)


def _parallelogram(n: int, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position B_0 and velocity of the points at time t, and the multipliers of cranks and couplers."""
    omega2 = _omega2(n)
    hanging, rate = exact_angle(np.pi, 1.0, omega2, t)  # a pendulum, angle from the lower rest position
    along = np.array([-np.sin(hanging), -np.cos(hanging)])  # (sin θ, cos θ), θ = hanging - π
    across = np.array([along[1], -along[0]])
    acceleration = omega2 * along[0] * across - rate**2 * along
    # Balance of forces at each point. The cranks alone carry what is vertical, the couplers pass on the rest.
    neighbours = _rods_at(n) - 1
    needed = np.outer(1 / 3 + neighbours / 2, acceleration) + np.outer(1 / 2 + neighbours / 2, [0, _GRAVITY])
    cranks = -needed[:, 1] / (2 * along[1])
    couplers = np.cumsum(needed[:, 0] + 2 * cranks * along[0])[:-1] / 2
    return along, rate * across, np.concatenate([cranks, couplers])
