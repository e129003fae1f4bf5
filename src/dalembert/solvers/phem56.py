"""PHEM56: the partitioned half-explicit Runge-Kutta method of order 5 on the pair of Dormand and Prince [1]_.

The stages are those of the explicit pair; the multipliers of each are such that the velocities at another point, with
coefficients of its own, satisfy their constraints.

References
----------
.. [1] A. Murua, "Partitioned half-explicit Runge-Kutta methods for differential-algebraic systems of index 2",
   Computing 59, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.solvers.half.dormand_prince import ESTIMATE, FIFTH, ROWS, TIMES
from dalembert.solvers.half.options import HalfExplicitRungeKutta
from dalembert.solvers.half.tableau import HalfExplicitTableau

TABLEAU = HalfExplicitTableau(
    name="PHEM56",
    order=5,
    A=ROWS,
    c=TIMES,
    closing=(
        (),
        (3 / 40, 9 / 40),
        (21 / 256, 45 / 256, 15 / 128),
        (19235 / 98784, -225 / 392, 6235 / 6174, 2755 / 32928),
        (-293 / 1152, 85 / 48, -2275 / 1908, 35 / 32, -2835 / 6784),
        FIFTH,
    ),
    closing_c=(0, 3 / 10, 3 / 8, 5 / 7, 1, 1),
    estimates=(ESTIMATE,),
    estimate_power=5,
    project_estimate=True,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Phem56(HalfExplicitRungeKutta):
    """Options of PHEM56. Main: none is needed. Other: projection, drift and step limits (see `RungeKuttaOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Phem56(), rtol=1e-9, atol=1e-9)
    >>> pendulum.error(sol) < 1e-7, sol.max_residual("velocity") < 1e-13
    (True, True)
    """

    tableau = TABLEAU
