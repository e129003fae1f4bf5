"""Equations of motion among quasi-linear DAEs: p' = v, M v' = f − Gᵀ λ with constraints on three levels.

Whoever writes them so gets the linear algebra of equations of motion: coordinates are partitioned once for positions
and velocities, and multipliers follow from all others (`solvers/radau/partitioned.py`).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dalembert.regularize.projected import Blocks
from dalembert.regularize.structure.chain import NOTHING, Chain, Rows
from dalembert.regularize.structure.samples import SAME, Samples, equal, positive_definite
from dalembert.regularize.system import System

#: constraints up to which it is asked whether multipliers act along them
LARGEST = 400


def equations_of_motion(
    system: System, rows: Rows, found: Chain, kinematic: tuple[np.ndarray, np.ndarray, np.ndarray], samples: Samples
) -> tuple[np.ndarray, Blocks] | None:
    """The blocks of equations of motion, if the system is one, and what rows are to be multiplied by; None if not."""
    links = found.links
    if len(links) != 3 or len(rows.invariant) or links[2].splits:
        return None
    of_p, of_v, of_y = links
    row, p, v = kinematic
    n_p = len(of_p.unknowns)
    here = np.isin(p, of_p.unknowns)
    row, p, v = row[here], p[here], v[here]
    if not n_p or len(p) != n_p or len(np.unique(p)) != n_p or len(np.unique(v)) != n_p:
        return None
    if not np.isin(v, of_v.unknowns).all() or len(of_v.rows) != len(of_p.rows) or len(of_p.rows) > LARGEST:
        return None
    # velocities as they stand among the unknowns; positions and equations follow
    order = np.argsort(v)
    row, p, v = row[order], p[order], v[order]
    own = dict(zip(of_v.unknowns.tolist(), of_v.own.tolist(), strict=True))
    dynamic = np.array([own[j] for j in v.tolist()])
    free = np.setdiff1d(of_v.unknowns, v)
    elements = np.array([own[j] for j in free.tolist()], np.int64)
    if (dynamic < 0).any() or (elements < 0).any():
        return None
    everything = np.concatenate([row, dynamic, elements])
    if len(np.unique(everything)) != len(rows.differential) or len(everything) != len(rows.differential):
        return None
    aligned = _aligned(samples, of_p.rows, p, of_v.rows, v)
    if aligned is None:
        return None
    F2, times = aligned
    if not _is_motion(system, samples, (of_p.rows, F2), (p, v, free, of_y.unknowns), dynamic, elements):
        return None
    factors = np.ones(len(system.equations))
    factors[F2] = 1.0 / times
    return factors, Blocks(
        kinematic=row,
        dynamic=dynamic,
        elements=elements,
        F1=of_y.rows,
        F2=F2,
        F3=of_p.rows,
        F4=NOTHING,
        Y=of_y.unknowns,
        free=free,
        V=v,
        Z=p,
        P=p,
        multipliers=NOTHING,
        partitioned=True,
    )


def _aligned(
    samples: Samples, F3: np.ndarray, p: np.ndarray, F2: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The constraints on velocity level in the order of those on positions, whose derivatives they are up to factors;
    and these factors."""
    A, B = samples.jacobians(F3, p), samples.jacobians(F2, v)
    rows: dict[tuple[int, ...], list[int]] = {}
    for k in range(len(F2)):
        rows.setdefault(_support(B[0], k), []).append(k)
    order, times = [], []
    for i in range(len(F3)):
        candidates = rows.get(_support(A[0], i), [])
        match = next((k for k in candidates if (factor := _factor(A, i, B, k)) is not None), None)
        if match is None:
            return None
        candidates.remove(match)
        order.append(match)
        times.append(factor)
    return F2[order], np.array(times)


def _support(matrix: sparse.csr_array, i: int) -> tuple[int, ...]:
    """Columns of the nonzeros of a row."""
    return tuple(np.sort(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]).tolist())


def _factor(A: list[sparse.csr_array], i: int, B: list[sparse.csr_array], k: int) -> float | None:
    """By what row k of B is row i of A, everywhere; None if by nothing."""
    factor = None
    for a, b in zip(A, B, strict=True):
        first, second = a[[i]].toarray().ravel(), b[[k]].toarray().ravel()
        at = int(np.argmax(np.abs(first)))
        if first[at] == 0.0 or second[at] == 0.0:
            return None
        factor = second[at] / first[at] if factor is None else factor
        if np.abs(factor * first - second).max() > SAME * np.abs(second).max():
            return None
    return factor


def _is_motion(
    system: System,
    samples: Samples,
    constraints: tuple[np.ndarray, np.ndarray],
    unknowns: tuple[np.ndarray, ...],
    dynamic: np.ndarray,
    elements: np.ndarray,
) -> bool:
    """Whether multipliers act along the constraints alone, and nothing else couples the parts."""
    F3, F2 = constraints
    p, v, free, y = unknowns
    of_motion = np.concatenate([dynamic, elements])
    for J, E in zip(samples.J, samples.E, strict=True):
        if J[np.concatenate([F3, F2])][:, np.concatenate([free, y])].nnz or J[F3][:, v].nnz:
            return False
        if J[elements][:, y].nnz or E[dynamic][:, np.concatenate([p, free])].nnz:
            return False
        if len(free) and not equal(E[elements], _unit(free, system.n)):
            return False
        if not positive_definite(E[dynamic][:, v]):
            return False
        G, forces = J[F3][:, p].toarray(), J[dynamic][:, y].toarray()
        if np.linalg.norm(forces) == 0.0 and len(y):
            continue
        # what constraints allow is not moved by multipliers
        along = np.linalg.lstsq(G.T, forces, rcond=None)[0]
        if np.abs(G.T @ along - forces).max(initial=0.0) > SAME * np.abs(forces).max(initial=0.0):
            return False
    return len(of_motion) > 0


def _unit(columns: np.ndarray, n: int) -> sparse.csr_array:
    k = len(columns)
    return sparse.csr_array((np.ones(k), (np.arange(k), columns)), shape=(k, n))
