"""Matchings of equations and unknowns, and how often each equation has to be differentiated.

Pryce's Σ-method [1]_: a transversal (one entry in each row and column) of the largest sum of orders, and the smallest
offsets c ≥ 0, d with d_j − c_i ≥ σ_ij everywhere and equality on the transversal. Equation i is differentiated c_i
times, and then the derivatives x_j^(d_j) follow from the system.

References
----------
.. [1] J.D. Pryce, "A simple structural analysis method for DAEs", BIT 41, 2001.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

from dalembert.regularize.structure.incidence import Incidence


def maximum_matching(sigma: Incidence) -> np.ndarray:
    """For each row the column with which it is matched, −1 where there is none; as many as possible.

    >>> maximum_matching(Incidence.of([0, 0, 1, 2], [0, 1, 0, 0], [0, 0, 0, 0], (3, 2))).tolist()
    [1, 0, -1]
    """
    return maximum_bipartite_matching(sigma.matrix(), perm_type="column").astype(np.int64)


def first_rows(sigma: Incidence) -> np.ndarray:
    """As many rows as can be matched together; earlier ones are preferred to later ones.

    >>> first_rows(Incidence.of([0, 1, 1, 2, 2], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0], (3, 2))).tolist()
    [0, 1]
    """
    row_of, column_of = np.full(sigma.shape[1], -1), np.full(sigma.shape[0], -1)
    for i in range(sigma.shape[0]):
        augment(sigma, i, row_of, column_of)
    return np.flatnonzero(column_of >= 0)


def deepest_rows(sigma: Incidence) -> np.ndarray:
    """As many rows as can be matched together: those with derivatives first, then those that hide most.

    Of a constraint and its derivatives, which an overdetermined system may have as rows, the constraint itself is the
    one whose unknowns are farthest from those without a derivative: these act on derivatives of others, and so on.

    >>> pendulum = Incidence.of(          # p' = v, v' = λ; rows with λ, with v, with p
    ...     [0, 0, 1, 1, 2, 3, 4], [0, 1, 1, 2, 2, 1, 0], [1, 0, 1, 0, 0, 0, 0], (5, 3))
    >>> first_rows(pendulum).tolist(), deepest_rows(pendulum).tolist()
    ([0, 1, 2], [0, 1, 4])
    """
    differential = np.bincount(sigma.rows, sigma.order, sigma.shape[0]) > 0
    with_rate = np.zeros(sigma.shape[1], bool)
    with_rate[sigma.columns[sigma.order > 0]] = True
    far = sigma.shape[1] + 1
    depth = np.where(with_rate, far, 0)
    own = sigma.order > 0
    while True:
        nearest = np.full(sigma.shape[0], far)  # of the unknowns in each row, derivatives apart
        np.minimum.at(nearest, sigma.rows[~own], depth[sigma.columns[~own]])
        reached = depth.copy()
        np.minimum.at(reached, sigma.columns[own], nearest[sigma.rows[own]] + 1)
        reached = np.minimum(reached, far)
        if np.array_equal(reached, depth):
            break
        depth = reached
    hides = np.where(nearest < far, nearest, -1)  # what depends on no such unknown is an invariant, if anything
    order = np.lexsort((np.arange(len(hides)), -hides, ~differential))
    return np.sort(order[first_rows(sigma.take(order))])


def augment(sigma: Incidence, row: int, row_of: np.ndarray, column_of: np.ndarray) -> bool:
    """Match one more row along a shortest alternating path; False if there is none.

    The matching, `row_of` of each column and `column_of` of each row, is changed in place.
    """
    came_from: dict[int, int] = {}  # column: the row from which the search reached it
    level = [row]
    while level:
        following = []
        for i in level:
            for j in sigma.row(i).tolist():
                if j in came_from:
                    continue
                came_from[j] = i
                if row_of[j] < 0:
                    _shift(j, row, came_from, row_of, column_of)
                    return True
                following.append(int(row_of[j]))
        level = following
    return False


def _shift(free: int, row: int, came_from: dict[int, int], row_of: np.ndarray, column_of: np.ndarray) -> None:
    """Every row on the path from `row` to the free column takes the column by which the path leaves it."""
    j = free
    while j >= 0:
        i = came_from[j]
        row_of[j], column_of[i], j = i, j, column_of[i] if i != row else -1


def best_transversal(sigma: Incidence) -> np.ndarray:
    """For each row its column on a transversal with the largest sum of orders. There must be a transversal."""
    # scipy takes zeros for missing entries: costs are 1 and 2
    cost = 1.0 + sigma.order.max(initial=0) - sigma.order
    rows, columns = min_weight_full_bipartite_matching(sigma.matrix(cost))
    matched = np.empty(sigma.shape[0], np.int64)
    matched[rows] = columns
    return matched


def smallest_offsets(sigma: Incidence, matched: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """c and d for a transversal of the largest sum.

    d_j = max (σ_ij + c_i) and c_i = d_j − σ_ij on the transversal, again and again from c = 0, until nothing changes:
    rows of which c has grown pass it on.
    """
    n = sigma.shape[0]
    row_of = np.empty(n, np.int64)
    row_of[matched] = np.arange(n)
    own = np.zeros(n, np.int64)  # σ on the transversal
    on_it = sigma.columns == matched[sigma.rows]
    own[sigma.rows[on_it]] = sigma.order[on_it]
    c, d = np.zeros(n, np.int64), np.zeros(n, np.int64)
    changed = np.arange(n)
    while len(changed):
        part = sigma.take(changed)
        np.maximum.at(d, part.columns, part.order + c[changed][part.rows])
        rows = np.unique(row_of[part.columns])
        grown = d[matched[rows]] - own[rows]
        changed = rows[grown > c[rows]]
        c[rows] = grown
    return c, d
