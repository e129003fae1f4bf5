"""Constraints that the user has written besides those which determine the unknowns: what they are.

An overdetermined DAE has more equations than unknowns. As many as hide most of the others are taken for the DAE, its
hidden constraints are derived, and every equation that is left is

- a consequence: it holds wherever these constraints hold. Mostly it is one of them, or the same in other words;
- an invariant: it stays as it is along all solutions, and restricts the start values only;
- or a contradiction, in which case the DAE has no solution that deserves the name.

All this is seen at points at which the constraints hold, near points of several sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.regularize.structure.analysis import equations_of
from dalembert.regularize.structure.differentiate import Motion
from dalembert.regularize.structure.forms import Constraints, Regularized, picked

#: points that are enough, and how many beginnings are tried to find them
ENOUGH, TRIES = 3, 16
#: steps of an iteration, and what is left of constraints where it ends, in units of their terms
STEPS, CONVERGED = 60, 1e-11
#: values that count as zero where constraints hold, in units of their terms
ZERO = 1e-7
#: unknowns from which sparse matrices are used
LARGE = 300


def with_written(form: Regularized) -> Regularized:
    """The same, with what the user has written recognized: names of constraints, and invariants."""
    equations, whole = equations_of(form.model)
    extra = np.setdiff1d(np.arange(whole.shape[0]), form.structure.rows)
    if not len(extra):
        return form
    names = [equations.names[i] for i in extra]
    rows = ca.substitute(picked(equations.residual, extra), form.x_dot, form.rates)
    surface = _Surface(form, rows)
    points = surface.points()
    if not points:  # nothing can be said; at the start they are constraints like others
        return replace(form, invariants=_some(rows, names, extra, np.arange(len(extra))))
    follows = np.array([surface.holds(point) for point in points]).all(axis=0)
    others = np.flatnonzero(~follows)
    if len(others):
        _check_others(form.model, surface, points, others, names)
    form = _recognized(form, surface, points, np.flatnonzero(follows), names)
    return replace(form, invariants=_some(rows, names, extra, others))


def _some(rows: ca.SX, names: list[str], numbers: np.ndarray, which: np.ndarray) -> Constraints:
    """Some of the rows, which the user has written."""
    chosen = tuple(names[i] for i in which)
    return Constraints(picked(rows, which), chosen, numbers[which], np.zeros(len(which), bool))


@dataclass(frozen=True)
class _Point:
    """A point at which constraints hold."""

    t: float
    z: np.ndarray  # x and y
    theta: np.ndarray


class _Surface:
    """The points at which all constraints h = 0 hold, and further rows e on it."""

    def __init__(self, form: Regularized, rows: ca.SX):
        self._model, self._n = form.model, form.x.numel()
        graph, z, h = form.model.graph, ca.vertcat(form.x, form.y), form.constraints
        # unknowns whose derivatives follow from h
        self._free = np.concatenate([~form.determined, np.ones(form.y.numel(), bool)])
        self.m = h.numel()
        both = ca.vertcat(h, rows)
        by_z = ca.jacobian(both, z)
        by_time = Motion.of(form.model, ca.SX(0, 1), ca.SX(0, 1)).derivative(both)
        arguments = [graph.t, z, graph.theta]
        self._function = ca.Function("surface", arguments, [ca.densify(both), by_z, by_time, form.rates])
        self._pattern = by_z.sparsity()
        self._many = z.numel() > LARGE

    def _numbers(
        self, t: float, z: np.ndarray, theta: np.ndarray
    ) -> tuple[np.ndarray, sparse.csr_array, np.ndarray, np.ndarray]:
        """Values of h and e, their derivatives by x and y, by time, and x'."""
        values, by_z, by_time, rates = self._function(t, z, theta)
        i, j = (np.array(part, int) for part in self._pattern.get_triplet())
        J = sparse.csr_array((np.array(by_z.nonzeros(), float), (i, j)), shape=by_z.shape)
        return np.array(values, float).ravel(), J, np.array(by_time, float).ravel(), np.array(rates, float).ravel()

    def points(self) -> list[_Point]:
        """Points at which h = 0."""
        rng, found = np.random.default_rng(2), []
        for k in range(TRIES if not self._many else ENOUGH):
            t, size = float(rng.uniform(0, 1)), (1.0, 0.3, 2.0, 0.05)[k % 4]
            z = size * rng.uniform(-1, 1, len(self._free))
            if k % 2:
                z = np.abs(z) + 0.1 * size
            theta = self._model.theta(t)
            z = self.nearest(t, z, theta, np.arange(self.m))
            if z is not None:
                found.append(_Point(t, z, theta))
            if len(found) == ENOUGH:
                break
        return found

    def nearest(self, t: float, z: np.ndarray, theta: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        """A point at which some rows are zero, by a damped Gauss-Newton iteration; None if there is none near."""
        values, J, _, _ = self._numbers(t, z, theta)
        for _ in range(STEPS):
            if not (np.isfinite(values).all() and np.isfinite(J.data).all()):
                return None
            if (np.abs(values[rows]) <= CONVERGED * (1 + abs(J)[rows] @ np.abs(z))).all():
                return z
            step = _smallest_solution(J[rows], values[rows], self._many)
            size, factor = np.linalg.norm(values[rows]), 1.0
            while factor > 1e-4:
                moved = z - factor * step
                values, J, _, _ = self._numbers(t, moved, theta)
                if np.isfinite(values).all() and np.linalg.norm(values[rows]) < (1 - 0.1 * factor) * size:
                    break
                factor /= 2
            else:
                return None
            z = moved
        return None

    def moved(self, points: list[_Point], which: np.ndarray) -> list[_Point]:
        """Points near these at which further rows are zero, too."""
        rows, found = np.concatenate([np.arange(self.m), self.m + which]), []
        for point in points:
            z = self.nearest(point.t, point.z, point.theta, rows)
            if z is not None:
                found.append(replace(point, z=z))
        return found

    def holds(self, point: _Point) -> np.ndarray:
        """Mask of the further rows that are zero at a point."""
        values, J, _, _ = self._numbers(point.t, point.z, point.theta)
        terms = abs(J)[np.arange(self.m, len(values))] @ np.abs(point.z)
        return np.abs(values[self.m :]) <= ZERO * (1e-300 + terms)

    def change(self, point: _Point) -> tuple[np.ndarray, np.ndarray]:
        """Time derivatives of the further rows at a point, and the sizes of their terms."""
        _, J, by_time, rates = self._numbers(point.t, point.z, point.theta)
        z_dot = np.zeros(len(point.z))
        z_dot[: self._n] = rates
        if self._free.any():
            known, h = J @ z_dot + by_time, np.arange(self.m)
            free = np.flatnonzero(self._free)
            z_dot[free] = -_smallest_solution(J[h][:, free], known[h], self._many)
        further = np.arange(self.m, J.shape[0])
        terms = abs(J)[further] @ np.abs(z_dot) + np.abs(by_time[further])
        return np.abs(J[further] @ z_dot + by_time[further]), terms

    def shares(self, point: _Point, row: int) -> np.ndarray:
        """By which factors the gradients of h, made to length one, add up to that of a further row."""
        _, J, _, _ = self._numbers(point.t, point.z, point.theta)
        h, e = J[np.arange(self.m)], J[[self.m + row]].toarray().ravel()
        size = np.sqrt(np.asarray((h * h).sum(axis=1)).ravel())
        return np.abs(_smallest_solution(h.T.tocsr(), e, self._many)) * size / max(np.linalg.norm(e), 1e-300)


def _smallest_solution(A: sparse.csr_array, b: np.ndarray, many: bool) -> np.ndarray:
    """The smallest x for which A x − b is smallest."""
    if not many:
        return np.linalg.lstsq(A.toarray(), b, rcond=None)[0]
    wide = A.shape[0] <= A.shape[1]
    square = (A @ A.T if wide else A.T @ A).tocsc()
    square = square + 1e-13 * max(abs(square).max(), 1e-300) * sparse.eye_array(square.shape[0])
    factors = splu(square.tocsc())
    return A.T @ factors.solve(b) if wide else factors.solve(A.T @ b)


def _check_others(model: Model, surface: _Surface, points: list[_Point], others: np.ndarray, names: list[str]) -> None:
    """Raise ModelError if equations that are no consequences of the others are no invariants either."""
    changes, sizes = (np.array(part) for part in zip(*map(surface.change, points), strict=True))
    size = sizes.max(axis=0)
    stays = ~(changes > ZERO * (1e-300 + size)).any(axis=0)[others]  # wherever one starts
    faults = []
    for group in (others[stays], others) if stays.any() else (others,):
        where = surface.moved(points, group)
        if not where:
            alone = [i for i in group if not surface.moved(points, np.array([i]))]
            faults += [
                f"{names[i]} is no derivative of the other equations, and no point was found at which it holds "
                "together with them and what follows from them; leave it out or correct it"
                for i in (alone or group)
            ]
            break
        # others than those that stay anyway may stay zero where all of them are zero
        change = np.array([surface.change(point)[0] for point in where]).max(axis=0)
        faults += [
            f"{names[i]} neither follows from the other equations nor stays as it is along their solutions; leave "
            'it out or correct it (with hidden="given", equations are taken as they stand)'
            for i in group
            if change[i] > ZERO * size[i]
        ]
    if faults:
        raise ModelError(
            f"model '{model.name}' has more equations than unknowns, and some of them contradict the others", faults
        )


def _recognized(
    form: Regularized, surface: _Surface, points: list[_Point], which: np.ndarray, names: list[str]
) -> Regularized:
    """The same, with those constraints of a level called by the user's names which the user has written."""
    if not len(which) or not form.levels:
        return form
    level_of = np.concatenate([np.full(len(level), k) for k, level in enumerate(form.levels)])
    place_of = np.concatenate([np.arange(len(level)) for level in form.levels])
    added = [level.added.copy() for level in form.levels]
    titles = [list(level.names) for level in form.levels]
    for i in which:
        shares = surface.shares(points[0], int(i))
        nobodys = np.array([added[k][place] for k, place in zip(level_of, place_of, strict=True)])
        candidates = np.flatnonzero((shares > 1e-6) & nobodys)
        if len(candidates):
            best = candidates[np.lexsort((shares[candidates], level_of[candidates]))[-1]]
            k, place = level_of[best], place_of[best]
            added[k][place] = False
            titles[k][place] = f"{names[i]} ({titles[k][place]})"
    levels = tuple(
        replace(level, names=tuple(title), added=mask)
        for level, title, mask in zip(form.levels, titles, added, strict=True)
    )
    return replace(form, levels=levels)
