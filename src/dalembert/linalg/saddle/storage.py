"""How M and G are stored: found from the pattern, or demanded and checked."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.linalg.saddle.solver import SaddlePattern
from dalembert.options import one_of

MASS = ("auto", "full", "block", "diagonal")
CONSTRAINT = ("auto", "full", "sparse")
FULL_SHARE = 0.5  # G with a larger share of nonzeros is stored as a full matrix


def check_storage(mass: str, constraint: str) -> None:
    """Raise OptionError for unknown words."""
    one_of("mass", mass, MASS)
    one_of("constraint", constraint, CONSTRAINT)


def mass_blocks(pattern: SaddlePattern, mass: str, joined: np.ndarray | None = None) -> list[np.ndarray]:
    """Those of each diagonal block of M: all for "full", connected ones for "block", single ones for "diagonal".

    Blocks that the constraints `joined` touch become one.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    rows, columns = pattern.mass
    if mass == "full":
        return [np.arange(pattern.n_v)] if pattern.n_v else []
    off = np.flatnonzero(rows != columns)
    if mass == "diagonal" and len(off):
        i, j = (pattern.velocity_names[a[off[0]]] for a in (rows, columns))
        raise OptionError(f"mass='diagonal' contradicts the entry of M at ({i}, {j}); use 'block' or 'auto'")
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(pattern.n_v, pattern.n_v))
    count, label = connected_components(graph, directed=False)
    if mass == "block" and count == 1 and pattern.n_v > 1:
        far = int(np.argmax(np.abs(rows - columns)))
        i, j = pattern.velocity_names[rows[far]], pattern.velocity_names[columns[far]]
        raise OptionError(
            f"mass='block' contradicts the pattern of M: all velocities are coupled, e.g. by the entry at ({i}, {j}); "
            "use 'full' or 'auto'"
        )
    if joined is not None:  # constraints that couple velocities too
        gi, gj = (a[np.isin(pattern.constraint[0], joined)] for a in pattern.constraint)
        n = pattern.n_v
        rows, columns = np.concatenate([rows, gj]), np.concatenate([columns, n + gi])
        graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n + pattern.n_lam, n + pattern.n_lam))
        label = connected_components(graph, directed=False)[1][:n]
    order = np.argsort(label, kind="stable")
    return sorted(np.split(order, np.flatnonzero(np.diff(label[order])) + 1), key=lambda b: b[0]) if pattern.n_v else []


def constraint_kind(pattern: SaddlePattern, constraint: str = "auto") -> str:
    """What "auto" finds for G."""
    if constraint != "auto":
        return constraint
    full = len(pattern.constraint[0]) > FULL_SHARE * pattern.n_v * pattern.n_lam
    return "full" if full else "sparse"


def block_tables(blocks: list[np.ndarray], n: int) -> dict[str, np.ndarray]:
    """Order of the velocities by blocks, its inverse, where blocks begin, and where their matrices begin."""
    order = np.concatenate([*blocks, np.zeros(0, np.int64)]).astype(np.int64)
    sizes = np.array([len(b) for b in blocks], np.int64)
    return {
        "order": order,
        "place": np.argsort(order).astype(np.int64),
        "begin": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "at": np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64),
        "block": np.repeat(np.arange(len(blocks)), sizes).astype(np.int64),
    }
