"""Constraints in force together that contradict each other: an ill-posed system, as at the edge of a surface.

Where a body passes from a plane z = 0 to a parabola z = x², both normals are the same, but the curvatures are not: no
acceleration suits both. A little further on the matrix of the constraints is regular, but only just, and what its
system demands (the body stands still) has nothing to do with the motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import IllPosedConstraints
from dalembert.regularize.newton import Matrix

#: rows of which a combination is shorter than this, all of length 1, are nearly parallel
PARALLEL = 0.05
#: part of the residuals that lies in such a combination if constraints contradict each other
SHARE = 0.1
#: rows for which it is looked
LARGEST = 800


def ill_posed(
    t: float, names: Sequence[str], C: Matrix, residual: np.ndarray | None = None
) -> IllPosedConstraints | None:
    """The exception for constraints with nearly parallel rows of C whose residuals contradict each other, or None.

    Residuals of consistent constraints have no part in combinations of rows that vanish; None: that is known already.
    """
    C = C if isinstance(C, np.ndarray) else C.toarray() if C.shape[0] <= LARGEST else np.zeros((0, 0))
    if not 2 <= len(C) <= LARGEST or not np.isfinite(C).all():
        return None
    length, u = _shortest(C)
    if length > PARALLEL:
        return None
    if residual is not None:
        rows = np.sqrt((C * C).sum(axis=1))
        r = residual / np.where(rows > 0, rows, 1.0)
        if not abs(u @ r) > SHARE * np.linalg.norm(r):
            return None
    guilty = [i for i in np.argsort(-np.abs(u), kind="stable")[:6] if abs(u[i]) > 0.1 * np.abs(u).max()]
    if len(guilty) < 2:
        return None
    return contradict(t, [names[i] for i in sorted(guilty)], length)


def impossible_velocities(
    t: float, names: Sequence[str], C: np.ndarray, residual: np.ndarray, tolerance: np.ndarray
) -> IllPosedConstraints | None:
    """The exception if velocities, with residuals C v + c, satisfy constraints only after a large change that nearly
    parallel rows of C demand alone; `tolerance` is what velocities may be wrong by. None: they do not."""
    rows = np.sqrt((C * C).sum(axis=1))
    if len(C) < 2 or not np.isfinite(C).all() or not (rows > 0).all():
        return None
    U, S, V = np.linalg.svd(C / rows[:, None], full_matrices=False)
    small = (S < PARALLEL) & (S > 0)
    change = V[small].T @ (U[:, small].T @ (residual / rows) / S[small])
    return ill_posed(t, names, C, residual) if (np.abs(change) > tolerance).any() else None


def _shortest(C: np.ndarray) -> tuple[float, np.ndarray]:
    """The length of the shortest combination of rows, all of length 1, and its coefficients."""
    rows = np.sqrt((C * C).sum(axis=1))
    U, S, _ = np.linalg.svd(C / np.where(rows > 0, rows, 1.0)[:, None])
    return (float(S[-1]) if len(S) == len(C) else 0.0), U[:, -1]


def contradict(t: float, names: Sequence[str], length: float) -> IllPosedConstraints:
    """The exception that names them."""
    how = "parallel" if length < 1e-13 else f"parallel but for an angle of {length:.1e}"
    return IllPosedConstraints(
        f"The system of constraints is ill-posed at t = {t:.9g}: {' and '.join(names)} are in force together, their "
        f"normals are {how}, and they contradict each other, as at the edge of a surface. Describe surfaces as "
        "contacts (unilateral=), of which those are in force that the motion needs: edges are then found and passed; "
        "Hem5(stages='complementarity') does without finding them. Or release one of the constraints there "
        "(Transition(active=...))",
        constraints=tuple(names),
    )
