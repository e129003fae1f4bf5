"""HEDOP5: the pair of Dormand and Prince made half-explicit, with an explicit first stage [1]_.

The first stage has the accelerations of the current point, which the constraints on acceleration level give (the
original takes them from one more stage at 19/20 of the step before); the multipliers of the others are such that the
velocities of the next stage satisfy their constraints. Six evaluations of the forces a step, and as many linear
systems.

References
----------
.. [1] M. Arnold, "Half-explicit Runge-Kutta methods with explicit stages for differential-algebraic systems of index
   2", BIT 38, 1998.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.solvers.half.dormand_prince import ESTIMATE, FIFTH, ROWS, TIMES
from dalembert.solvers.half.options import HalfExplicitRungeKutta
from dalembert.solvers.half.tableau import HalfExplicitTableau

TABLEAU = HalfExplicitTableau.classical(
    "HEDOP5",
    order=5,
    c=(*TIMES, 1),
    rows=(*ROWS, FIFTH),
    first_known=True,
    estimates=(ESTIMATE,),
    estimate_power=5,
    project_estimate=True,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Hedop5(HalfExplicitRungeKutta):
    """Options of HEDOP5. Main: none is needed. Other: projection, drift and step limits (see `RungeKuttaOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Hedop5(), rtol=1e-9, atol=1e-9)
    >>> pendulum.error(sol) < 1e-7, sol.max_residual("velocity") < 1e-13
    (True, True)
    """

    tableau = TABLEAU
