"""Why a saddle-point matrix is singular, by the names of velocities and constraints."""

from __future__ import annotations

import numpy as np

from dalembert.compile.memory import Memory
from dalembert.linalg.factors.lu import null_vector
from dalembert.linalg.saddle.solver import SaddlePattern

LARGEST = 800  # for which singular vectors are computed
SINGULAR = 1e-13  # reciprocal condition


def diagnose(memory: Memory, code: int) -> str:
    """Words for the failed factorization of the values in `memory`; `code` is what `factor` returned."""
    pattern: SaddlePattern = memory.pattern
    parts = [("M", pattern.mass, memory.M), ("G", pattern.constraint, memory.G)]
    if not pattern.symmetric:
        parts.append(("U", pattern.force, memory.U))
    return (
        _not_finite(pattern, parts)
        or _empty(pattern, parts)
        or _dependent(pattern, memory, code)
        or f"singular at {pattern.name(code - 1)}"
    )


def _not_finite(pattern: SaddlePattern, parts: list) -> str:
    for name, (rows, columns), values in parts:
        for k in np.flatnonzero(~np.isfinite(values))[:1]:
            of = pattern.velocity_names if name == "M" else pattern.constraint_names
            return f"{name} is not finite at ({of[rows[k]]}, {pattern.velocity_names[columns[k]]}): {values[k]}"
    return ""


def _empty(pattern: SaddlePattern, parts: list) -> str:
    moved = np.zeros(pattern.n_v, bool)
    for name, (rows, columns), values in parts:
        moved[columns[values != 0]] = True
        if name != "M":
            restrained = np.zeros(pattern.n_lam, bool)
            restrained[rows[values != 0]] = True
            for i in np.flatnonzero(~restrained)[:1]:
                return f"constraint '{pattern.constraint_names[i]}' restrains no velocity: its row of {name} is zero"
    for i in np.flatnonzero(~moved)[:1]:
        return f"velocity '{pattern.velocity_names[i]}' has no mass and stands in no constraint"
    return ""


def _dependent(pattern: SaddlePattern, memory: Memory, code: int) -> str:
    if pattern.n > LARGEST:
        return ""
    _, v, reciprocal = null_vector(dense_matrix(memory))
    if reciprocal > SINGULAR:
        return "the matrix is regular, but " + memory.solver.weakness(memory, code)
    w, lam = np.abs(v[: pattern.n_v]), np.abs(v[pattern.n_v :])
    if lam.size and lam.max() > 0.5 * w.max(initial=0.0):
        names = _named(pattern.constraint_names, lam)
        if _has_friction(pattern) and np.linalg.matrix_rank(_dense_constraint(memory)) == pattern.n_lam:
            return (
                f"forces of constraints {names} are not determined: with the friction that they cause they change no "
                "acceleration that these constraints restrain (Painlevé's paradox; take less friction)"
            )
        return f"constraints {names} are redundant: their rows of G depend on each other"
    return (
        f"M is not positive definite on the motions that the constraints allow: velocities "
        f"{_named(pattern.velocity_names, w)} can change without any mass or constraint opposing"
    )


def _named(names: tuple[str, ...], size: np.ndarray) -> str:
    large = [i for i in np.argsort(-size, kind="stable") if size[i] > 0.05 * size.max()]
    more = f" and {len(large) - 6} more" if len(large) > 6 else ""
    return ", ".join(f"'{names[i]}'" for i in sorted(large[:6])) + more


def _has_friction(pattern: SaddlePattern) -> bool:
    """Whether U has more than the entries of G: forces that depend on the multipliers."""
    return not pattern.symmetric and len(pattern.force[0]) > len(pattern.constraint[0])


def _dense_constraint(memory: Memory) -> np.ndarray:
    """G with rows of length 1."""
    G = np.zeros((memory.pattern.n_lam, memory.pattern.n_v))
    np.add.at(G, memory.pattern.constraint, memory.G)
    return G / np.linalg.norm(G, axis=1, keepdims=True)


def dense_matrix(memory: Memory) -> np.ndarray:
    """The whole matrix from the values in `memory`."""
    pattern = memory.pattern
    force = memory.G if pattern.symmetric else memory.U
    A = np.zeros((pattern.n, pattern.n))
    np.add.at(A, pattern.entries(), np.concatenate([memory.M, memory.G, force]))
    return A
