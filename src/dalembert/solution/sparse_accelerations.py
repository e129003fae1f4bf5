"""Accelerations of large models: what `residuals.accelerations` does, block by block of a sparse mass matrix."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags
from scipy.sparse.csgraph import connected_components

from dalembert.model import Model
from dalembert.model.evaluate import PointFunction
from dalembert.regularize import hidden_constraints
from dalembert.regularize.sparse_steps import minimum_norm


def sparse_accelerations(
    model: Model, t: np.ndarray, values: Mapping[str, np.ndarray], theta: np.ndarray, singular: float
) -> np.ndarray:
    """v' at N points, shape (N, n_v). Eigenvalues of the scaled M below `singular` times the largest count as zero."""
    graph, hidden = model.graph, hidden_constraints(model)
    dynamics = PointFunction(model, [graph.value("mass"), graph.value("force") - hidden.constraint_force], sparse=True)
    constraints = PointFunction(
        model, [ca.vertcat(hidden.GZ, hidden.HZ), ca.vertcat(hidden.g_II, hidden.h_I)], sparse=True
    )
    a = np.full((len(t), graph.size("v")), np.nan)
    for i in range(len(t)):
        here = {kind: np.ascontiguousarray(value[:, i]) for kind, value in values.items()}
        M, rest = dynamics(t[i], here, theta[:, i])
        M, rest = csc_matrix(M), rest.ravel()  # a matrix of one column is not sparse
        if not (np.isfinite(M.data).all() and np.isfinite(rest).all()):
            continue
        scale = np.sqrt(np.abs(M.diagonal()))
        scale[scale == 0] = 1.0
        y, null = _block_by_block(csr_matrix(diags(1 / scale) @ M @ diags(1 / scale)), rest / scale, singular)
        if null.shape[1]:
            # with a = 0 only the part without accelerations is left
            C, at_rest = constraints(t[i], {**here, "a": np.zeros(len(y))}, theta[:, i])
            C = csc_matrix(csc_matrix(C) @ diags(1 / scale))
            missing, J = -(at_rest.ravel() + C @ y), csc_matrix(C @ null)
            if not np.isfinite(missing).all():
                continue
            y = y + null @ minimum_norm(csc_matrix(J.T @ J), J.T @ missing)
        a[i] = y / scale
    return a


def _block_by_block(M: csr_matrix, b: np.ndarray, singular: float) -> tuple[np.ndarray, csc_matrix]:
    """The smallest solution of M y = b in the sense of least squares, and a basis of the null space of M."""
    n = M.shape[0]
    _, label = connected_components(M, directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    groups = []
    for size in np.unique(sizes):
        # all blocks of one size at once: (blocks, size)
        members = order[starts[sizes == size][:, None] + np.arange(size)]
        rows, columns = np.broadcast_arrays(members[:, :, None], members[:, None, :])
        blocks = np.asarray(M[rows.ravel(), columns.ravel()]).reshape(rows.shape)
        groups.append((members, *np.linalg.eigh(blocks)))
    largest = max(np.abs(eigenvalues).max(initial=0) for _, eigenvalues, _ in groups)
    y, null_rows, null_columns, null_values, count = np.zeros(n), [], [], [], 0
    for members, eigenvalues, Q in groups:
        regular = np.abs(eigenvalues) > singular * largest
        along = np.einsum("bij,bi->bj", Q, b[members])
        y[members] = np.einsum("bij,bj->bi", Q, np.where(regular, along / np.where(regular, eigenvalues, 1), 0))
        block, column = np.nonzero(~regular)
        size = members.shape[1]
        null_rows.append(members[block].ravel())
        null_columns.append(np.repeat(count + np.arange(len(block)), size))
        null_values.append(Q[block, :, column].ravel())
        count += len(block)
    places = (np.concatenate(null_rows), np.concatenate(null_columns))
    return y, csc_matrix((np.concatenate(null_values), places), shape=(n, count))
