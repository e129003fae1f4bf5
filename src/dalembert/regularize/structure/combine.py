"""Equations in whose combinations derivatives cancel: a combination takes the place of one of them.

Two nodes with a capacitor between them have the rows C (a' − b') = … and −C (a' − b') = …. By its structure each of
them gives a derivative; in truth their sum gives none and is a constraint. Where such a combination has the same
numbers as coefficients at all points, for all parameters, it can be written in place of an equation, and structural
analysis is right again [1]_.

References
----------
.. [1] G. Tan, N.S. Nedialkov, J.D. Pryce, "Conversion methods for improving structural analysis of
   differential-algebraic equation systems", BIT 57, 2017.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from dalembert.model import Model
from dalembert.regularize.structure.analysis import Structure
from dalembert.regularize.structure.differentiate import Motion
from dalembert.regularize.structure.elimination import sample_points
from dalembert.regularize.structure.incidence import Equations, Incidence
from dalembert.regularize.structure.judge import SAME, Singular, combination_text, jacobian_entries, singular_blocks
from dalembert.regularize.structure.matching import best_transversal, maximum_matching, smallest_offsets

#: sums of terms that count as zero, in units of the largest
CANCELLED = 1e-10
#: value of an unknown that has no influence
ANYTHING = 0.37
#: how often all singular blocks are looked at, and how many of them are too many
PASSES, MOST = 60, 300
#: a matrix whose scaled pivots are above this is regular
CLEARLY = 1e-6
#: pivots on the diagonal above this fraction of the largest in their column stay there
PREFERRED = 0.01
#: combinations smaller than this, in units of the equation in whose place they stand, may be rounding errors
DOUBTFUL = 1e-8


def combined(model: Model, equations: Equations) -> tuple[Equations, Incidence]:
    """Equations that have the solutions of the given ones, and whose structure tells the truth; else the given ones."""
    sigma = equations.incidence()
    given, freedom = (equations, sigma), sigma.shape[1] + 1
    for _ in range(PASSES):
        if sigma.shape[0] != sigma.shape[1] or (maximum_matching(sigma) < 0).any():
            return given
        structure = structure_of(model, equations, sigma)
        singular = singular_everywhere(model, equations, structure)
        if not singular:
            return given if _doubtful(model, given[0], equations) else (equations, sigma)
        better = _with_a_combination(model, equations, structure, singular)
        if better is None or structure.degrees_of_freedom >= freedom:
            return given
        equations, sigma, freedom = better, better.incidence(), structure.degrees_of_freedom
    return given


def _doubtful(model: Model, given: Equations, equations: Equations) -> bool:
    """Whether there are combinations that may be nothing but rounding errors."""
    if equations is given:
        return False
    new = [i for i, (a, b) in enumerate(zip(given.names, equations.names, strict=True)) if a != b]
    unknowns = ca.vertcat(equations.x, equations.x_dot)
    arguments = [model.graph.t, equations.x, equations.x_dot, model.graph.theta]
    J = ca.sparsify(ca.jacobian(ca.vertcat(given.residual[new], equations.residual[new]), unknowns))
    function, of_row = ca.Function("J", arguments, [ca.densify(ca.vertcat(*J.nonzeros()))]), J.sparsity().row()
    for point in _points(model):
        entries, size = np.abs(np.array(function(*point), float)).ravel(), np.zeros(2 * len(new))
        np.maximum.at(size, of_row, entries)
        if np.isfinite(size).all() and (size[len(new) :] <= DOUBTFUL * size[: len(new)]).any():
            return True
    return False


def structure_of(model: Model, equations: Equations, sigma: Incidence) -> Structure:
    matching = best_transversal(sigma)
    c, d = smallest_offsets(sigma, matching)
    return Structure(equations.names, model.names("x"), np.arange(sigma.shape[0]), sigma, c, d, matching)


def singular_everywhere(model: Model, equations: Equations, structure: Structure) -> list[list[Singular]]:
    """Singular blocks of the system Jacobian at several points; empty if it is regular at one of them."""
    jacobian, seen = jacobian_entries(model, equations, structure), []
    for point in _points(model):
        entries = jacobian(*point)
        if not np.isfinite(entries).all():
            continue
        # with the transversal on the diagonal, where pivots stay unless they are small, factors are short
        if not seen and _clearly_regular(structure.leading.matrix(entries)[:, structure.matching]):
            return []
        found = singular_blocks(structure, entries)
        if not found:
            return []
        seen.append(found)
    return seen if len(seen) > 1 else []


def _with_a_combination(
    model: Model, equations: Equations, structure: Structure, seen: list[list[Singular]]
) -> Equations | None:
    """The equations with a combination in place of one of them; None if there is none with the same numbers."""
    replacements = {}
    if len(seen[0]) > MOST:
        return None
    for block in seen[0]:
        again = [other for found in seen[1:] for other in found if np.array_equal(other.rows, block.rows)]
        if len(block.rows) > 1 and len(again) == len(seen) - 1 and _same(block, again):
            replacements |= _replacement(model, equations, structure, block)
    if not replacements:
        return None
    rows, names = ca.vertsplit(equations.residual), list(equations.names)
    spent = np.zeros(len(names), int) if equations.spent is None else equations.spent.copy()
    for place, found in replacements.items():
        rows[place], names[place], spent[place] = found
    return Equations(tuple(names), ca.vertcat(*rows), equations.x, equations.x_dot, spent)


def _points(model: Model) -> list[tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
    """Generic points with generic parameters: what holds there does so whatever values they have."""
    rng, parameters, points = np.random.default_rng(4), model.theta_layout.parameters, []
    for t, x, x_dot, theta in sample_points(model):
        values = np.clip(theta[parameters], -1e300, 1e300)  # some stand for infinity
        theta[parameters] = np.where(values == 0, 1.0, values) * rng.uniform(0.7, 1.4, len(values))
        points.append((t, x, x_dot, theta))
    return points


def _clearly_regular(J: sparse.csr_array) -> bool:
    """Whether factors leave no doubt. What is said here decides only whether to look closer."""
    rows = abs(J).max(axis=1).toarray().ravel()
    columns = abs(J).max(axis=0).toarray().ravel()
    if (rows == 0).any() or (columns == 0).any():
        return False
    scaled = sparse.diags_array(1 / np.sqrt(rows)) @ J @ sparse.diags_array(1 / np.sqrt(columns))
    try:
        pivots = np.abs(splu(scaled.tocsc(), diag_pivot_thresh=PREFERRED).U.diagonal())
    except RuntimeError:
        return False
    return bool(pivots.min() > CLEARLY * pivots.max())


def _same(block: Singular, again: list[Singular]) -> bool:
    largest = np.argmax(np.abs(block.combination))
    shares = block.combination / block.combination[largest]
    return all(np.abs(other.combination / other.combination[largest] - shares).max() <= SAME for other in again)


def _replacement(
    model: Model, equations: Equations, structure: Structure, block: Singular
) -> dict[int, tuple[ca.SX, str, int]]:
    """The combination of a singular block for that of its equations which is differentiated least: expression, name,
    and how often equations in it are differentiated. Empty if it cannot be written.

    Others may enter with their first derivative, if they contain none themselves: so they are constraints, which hold
    further on.
    """
    c = structure.c[block.rows]
    target = int(np.argmin(c))
    counts = c - c[target]
    shares = block.combination / block.combination[target]
    rounded = np.rint(2 * shares) / 2
    shares = np.where(np.abs(shares - rounded) <= SAME * np.abs(rounded), rounded, shares)
    terms = equations.residual[block.rows.tolist()]
    again = np.flatnonzero(counts).tolist()
    if again:
        moving = ca.vertcat(equations.x_dot, model.graph.ddu)
        if counts.max() > 1 or ca.depends_on(terms[again], moving):
            return {}
        terms[again] = Motion.of(model, equations.x, equations.x_dot).derivative(terms[again])
    row = _sum(model, equations, terms * ca.DM(shares))
    name = combination_text(shares, [equations.names[i] for i in block.rows], counts)
    before = 0 if equations.spent is None else equations.spent[block.rows]
    return {int(block.rows[target]): (row, name, int((before + counts).max()))}


def _sum(model: Model, equations: Equations, terms: ca.SX) -> ca.SX:
    """The sum of terms, without those unknowns and derivatives that have no influence on it, though they occur."""
    row, arguments = ca.sum1(terms), [model.graph.t, equations.x, equations.x_dot, model.graph.theta]
    points = _points(model)
    for symbols, value in ((equations.x_dot, 0.0), (equations.x, ANYTHING)):
        J = ca.sparsify(ca.jacobian(terms, symbols))
        columns = np.unique(J.sparsity().get_triplet()[1]).astype(int)
        if not len(columns):
            continue
        function = ca.Function("J", arguments, [ca.densify(J[:, columns.tolist()])])
        values = [np.array(function(*point), float) for point in points]
        values = np.array([each for each in values if np.isfinite(each).all()])
        if not len(values):
            continue
        gone = columns[(np.abs(values.sum(axis=1)) <= CANCELLED * np.abs(values).sum(axis=1)).all(axis=0)]
        if len(gone):
            row = ca.substitute(row, symbols[gone.tolist()], ca.SX(ca.DM(np.full(len(gone), value))))
    return row
