"""What is said when start values of a DAE cannot be found: which equations, which unknowns, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.regularize.newton import Matrix, entries, equilibrated, minimum_norm_step

if TYPE_CHECKING:
    from dalembert.regularize.structure.start import Start

#: equations and unknowns that are named, at most
MOST = 4
#: of the largest part in a contradiction: what is worth naming
SHARE = 0.1


def contradiction(start: Start, rows: np.ndarray, moving: np.ndarray, z: np.ndarray) -> InconsistentInitialValues:
    """The exception for equations (a mask) that no values of the unknowns that may move satisfy; z is the best point.

    There, what is left of the residuals is orthogonal to all that the unknowns can do: its large components are the
    equations that contradict each other.
    """
    eq, t = start.equations, start.t
    numbers = np.flatnonzero(rows)
    residual, J = eq(t, z, start.theta)
    residual, J = residual[numbers], J[numbers]
    where = f"at t = {t:.9g}"
    finite = np.isfinite(residual)
    if not (finite.all() and np.isfinite(entries(J)).all()):
        return _not_finite(start, numbers, finite, J, where)
    A, scale = equilibrated(J)
    columns = np.flatnonzero(moving)
    r = residual / scale
    left = r - A[:, columns] @ minimum_norm_step(A[:, columns], r) if len(columns) else r
    if not np.abs(left).max(initial=0) > SHARE * np.abs(r).max(initial=0):
        left = r  # not at such a point: all that is known is what does not hold
    order = np.argsort(-np.abs(left), kind="stable")[:MOST]
    guilty = sorted(int(i) for i in order if abs(left[i]) > SHARE * np.abs(left).max())
    worst = guilty[int(np.argmax(np.abs(r[guilty])))]
    guilty = _together(J[guilty], guilty, guilty.index(worst))
    names = [eq.names[numbers[i]] for i in guilty]
    size = abs(J[guilty]).sum(axis=0)
    involved = np.flatnonzero((np.asarray(size).ravel() > 0) & start.fixed)
    fixed = listed([eq.variables[i] for i in involved])
    found = f"no consistent start values were found {where}: {joined(names)} "
    found += "does not hold" if len(names) == 1 else "do not hold together"
    found += f" while {fixed} {'stays' if len(involved) == 1 else 'stay'} as given" if len(involved) else ""
    found += f" ({eq.names[numbers[worst]]} keeps a residual of {residual[worst]:.3e})."
    own = [name for i, name in zip(guilty, names, strict=True) if eq.conditions[numbers[i]]]
    return InconsistentInitialValues(f"{found} {_remedy(start, len(involved), own, guilty, numbers, J, z)}")


def _together(J: Matrix, rows: list[int], worst: int) -> list[int]:
    """Those of the rows that have to do with the worst of them: they share unknowns with it, or with one that does."""
    there = (J if isinstance(J, np.ndarray) else J.toarray()) != 0
    found = np.arange(len(rows)) == worst
    for _ in rows:
        found |= there[:, there[found].any(axis=0)].any(axis=1)
    return [row for row, there in zip(rows, found, strict=True) if there]


def _remedy(
    start: Start, fixed: int, own: Sequence[str], guilty: list[int], numbers: np.ndarray, J: Matrix, z: np.ndarray
) -> str:
    eq = start.equations
    freedom = start.form.degrees_of_freedom - len(start.form.invariants)
    count = int(start.fixed.sum() + eq.conditions.sum())
    too_many = f": {count} {'are' if count > 1 else 'is'} given, and {_choices(freedom)} can be chosen"
    too_many = too_many if count > freedom else ""
    if fixed and own:
        return f"Leave one of them out of fixed=, or one of these initial conditions{too_many}."
    if fixed:
        return f"{'Leave it' if fixed == 1 else 'Leave one of them'} out of fixed=, or give other values{too_many}."
    if own:
        return f"Leave out or correct {own[0] if len(own) == 1 else 'one of these initial conditions'}{too_many}."
    size = np.asarray(abs(J[guilty]).sum(axis=0)).ravel()
    there = "" if size.any() else "where they change these equations, "
    if not size.any():  # derivatives vanish there; elsewhere they may not
        near = z + np.random.default_rng(0).uniform(0.1, 1, len(z)) * (1 + np.abs(z))
        size = np.asarray(abs(eq(start.t, near, start.theta)[1][numbers[guilty]]).sum(axis=0)).ravel()
    names = listed([eq.variables[i] for i in np.argsort(-size, kind="stable")[:MOST] if size[i] > 0])
    return f"Give other start values of {names}, {there}from where to look; or these equations contradict each other."


def _choices(freedom: int) -> str:
    return "nothing" if freedom == 0 else f"only {freedom}"


def _not_finite(
    start: Start, numbers: np.ndarray, finite: np.ndarray, J: Matrix, where: str
) -> InconsistentInitialValues:
    eq = start.equations
    if finite.all():
        rows, columns = np.nonzero(~np.isfinite(J)) if isinstance(J, np.ndarray) else _bad(J)
        row, columns = int(rows[0]), columns[rows == rows[0]]
        what = "a derivative of "
    else:
        row, what = int(np.argmax(~finite)), ""
        part = J[row] if isinstance(J, np.ndarray) else J[[row]].toarray().ravel()
        columns = np.flatnonzero(part)  # NaN counts as an entry
    names = listed([eq.variables[i] for i in columns[:MOST]])
    return InconsistentInitialValues(
        f"{what}{eq.names[numbers[row]]} is not finite at the start values, {where}: give others"
        + (f" of {names}" if len(columns) else "")
        + ", from where to look"
    )


def _bad(J: Matrix) -> tuple[np.ndarray, np.ndarray]:
    coordinates = J.tocoo()
    bad = ~np.isfinite(coordinates.data)
    return coordinates.row[bad], coordinates.col[bad]


def nothing_determines(start: Start, guilty: np.ndarray, count: int) -> InconsistentInitialValues:
    """The exception for unknowns without start values; `count` values are missing."""
    eq = start.equations
    names = listed([eq.variables[i] for i in guilty])
    several = len(guilty) > 1
    return InconsistentInitialValues(
        f"nothing determines the start value{'s' if several else ''} of {names} at t = {start.t:.9g}, which "
        f"{'were' if several else 'was'} not given: give {_number(count, several)}x0=, or "
        f"{'as many ' if several else 'an '}initial condition{'s' if several else ''}"
    )


def _number(count: int, several: bool) -> str:
    if not several:
        return "it in "
    return f"{count} of them in "


def listed(names: Sequence[str]) -> str:
    """ "'a', 'b' and 'c'"; of many the first ones."""
    quoted = [f"'{name}'" for name in names[:MOST]]
    return f"{', '.join(quoted)}, … ({len(names)} in all)" if len(names) > MOST else joined(quoted)


def joined(words: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
