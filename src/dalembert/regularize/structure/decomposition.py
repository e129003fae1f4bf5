"""The parts of a system of equations: which of them are too many or too few for their unknowns (Dulmage and Mendelsohn
[1]_), which are solved together, and in which order.

References
----------
.. [1] A.L. Dulmage, N.S. Mendelsohn, "Coverings of bipartite graphs", Canadian Journal of Mathematics 10, 1958.
"""

from __future__ import annotations

import heapq

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dalembert.regularize.structure.incidence import Incidence
from dalembert.regularize.structure.matching import maximum_matching

#: rows and columns of a block
Block = tuple[np.ndarray, np.ndarray]


def triangular_blocks(sigma: Incidence, matched: np.ndarray) -> list[Block]:
    """Block triangular form of a square incidence with a transversal, in the order of solution.

    The rows of a block contain its own columns and those of blocks before it.

    >>> sigma = Incidence.of([0, 0, 1, 2, 2], [0, 1, 1, 0, 2], [0, 0, 0, 0, 0], (3, 3))
    >>> [(rows.tolist(), columns.tolist()) for rows, columns in triangular_blocks(sigma, np.array([0, 1, 2]))]
    [([1], [1]), ([0], [0]), ([2], [2])]
    """
    n = sigma.shape[0]
    row_of = np.empty(n, np.int64)
    row_of[matched] = np.arange(n)
    # row i waits for the rows that determine its other unknowns
    waits = sparse.csr_array((np.ones(len(sigma.columns)), row_of[sigma.columns], sigma.starts), shape=(n, n))
    count, label = connected_components(waits, directed=True, connection="strong")
    order = solution_order(label, count, sigma.rows, row_of[sigma.columns])
    members = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count))
    groups = np.split(members, ends[:-1])
    return [(groups[k], matched[groups[k]]) for k in order]


def too_many(sigma: Incidence, most: int = 20) -> list[Block]:
    """Sets of rows that have one column less than they are: of each row too much the smallest set that holds it.

    They are what alternating paths reach from the rows that a maximum matching leaves out. At most `most` are given.

    >>> sigma = Incidence.of([0, 1, 1, 2, 3, 3], [0, 0, 1, 1, 2, 3], [0] * 6, (4, 4))
    >>> [(rows.tolist(), columns.tolist()) for rows, columns in too_many(sigma)]
    [([0, 1, 2], [0, 1])]
    """
    column_of = maximum_matching(sigma)
    row_of = np.full(sigma.shape[1], -1)
    row_of[column_of[column_of >= 0]] = np.flatnonzero(column_of >= 0)
    parts = []
    for free in np.flatnonzero(column_of < 0)[:most]:
        rows, columns = {int(free)}, set()
        waiting = [int(free)]
        while waiting:
            fresh = set(sigma.row(waiting.pop()).tolist()) - columns  # all matched, or the matching could grow
            columns |= fresh
            waiting.extend(row_of[list(fresh)].tolist())
            rows.update(row_of[list(fresh)].tolist())
        parts.append((np.array(sorted(rows), np.int64), np.array(sorted(columns), np.int64)))
    return parts


def too_few(sigma: Incidence, most: int = 20) -> list[Block]:
    """Sets of columns that occur in one row less than they are, with these rows: `too_many` of the transpose."""
    transposed = Incidence.of(sigma.columns, sigma.rows, sigma.order, sigma.shape[::-1])
    return [(rows, columns) for columns, rows in too_many(transposed, most)]


def solution_order(label: np.ndarray, count: int, rows: np.ndarray, needed: np.ndarray) -> list[int]:
    """Labels of groups such that each comes after those that it needs; row `rows[k]` needs row `needed[k]`.

    Groups that do not depend on each other keep the order of their first rows.
    """
    edges = np.unique(np.stack([label[needed], label[rows]]), axis=1)
    edges = edges[:, edges[0] != edges[1]]
    open_needs = np.bincount(edges[1], minlength=count)
    first = np.full(count, len(label))
    np.minimum.at(first, label, np.arange(len(label)))
    starts = np.searchsorted(edges[0], np.arange(count + 1))
    ready = [(int(first[k]), k) for k in np.flatnonzero(open_needs == 0).tolist()]
    heapq.heapify(ready)
    order = []
    while ready:
        _, k = heapq.heappop(ready)
        order.append(k)
        for follower in edges[1, starts[k] : starts[k + 1]].tolist():
            open_needs[follower] -= 1
            if open_needs[follower] == 0:
                heapq.heappush(ready, (int(first[follower]), follower))
    return order
