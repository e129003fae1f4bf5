"""Contact space: rates and accelerations of contacts as functions of their forces and impulses.

With the other constraints eliminated, everything that laws of contact need are small matrices. On velocity level, of
the rows W of contacts (normal, then tangential ones),

    γ⁺ = γ⁻ + A Λ,        A = W (M⁻¹ − …) Wᵀ,

and on acceleration level y = A' λ + b, where A' also has the friction of contacts that slide, and need not be
symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from dalembert.errors import SimulationError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.contacts import Contact
from dalembert.model.evaluate import PointFunction
from dalembert.regularize.newton import decompose
from dalembert.regularize.start_problems import start_problems

SPACE: Slot[ContactSpace] = Slot("contact space", most=1)

Vectors = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Rates:
    """Of the rows of some contacts at one state."""

    gamma: np.ndarray  # rates of the rows before
    A: np.ndarray
    answer: np.ndarray  # (n_v, rows): what an impulse of one in each row does to the velocities
    drift: np.ndarray  # what velocities must change by so that other constraints hold exactly


@dataclass(frozen=True)
class Accelerations:
    """Of the rows of some contacts: y = A λ + b."""

    A: np.ndarray
    b: np.ndarray
    terms: np.ndarray  # sums of the moduli of what b is made of


class ContactSpace:
    """Of one model, whatever its parameters."""

    def __init__(self, model: Model):
        self.model = model
        graph = model.graph
        self.contacts = (*model.contacts, *model.dry)
        self.n = {kind: graph.size(kind) for kind in ("v", "w", "lam", "mu")}
        normals = [contact.normal for contact in model.contacts]
        # rows in the constraints (λ, then μ) of each contact; dry friction has no normal one
        self.rows = [
            np.array([*([] if contact.dry else [contact.normal]), *(self.n["lam"] + k for k in contact.stick)], int)
            for contact in self.contacts
        ]
        self.others = np.setdiff1d(np.arange(self.n["lam"] + self.n["mu"]), np.concatenate(self.rows))
        gaps = -graph.value("holonomic")[normals] if normals else ca.SX(0, 1)
        bounds = graph.functions["bound"].sx if model.dry else ca.SX(0, 1)
        self._gaps, self._bounds = PointFunction(model, [gaps]), PointFunction(model, [bounds])

    def gaps(self, t: float, vectors: Vectors, theta: np.ndarray) -> np.ndarray:
        return self._gaps(t, vectors, theta)[0].ravel()

    def bounds(self, t: float, vectors: Vectors, theta: np.ndarray) -> dict[int, float]:
        """The largest forces of dry friction, by number."""
        found, first = self._bounds(t, vectors, theta)[0].ravel(), len(self.model.contacts)
        return {first + k: float(bound) for k, bound in enumerate(found)}

    @cached_property
    def _sliding(self) -> PointFunction:
        graph = self.model.graph
        rows = [k for contact in self.contacts for k in contact.stick]
        values = -graph.value("nonholonomic")[rows] if rows else ca.SX(0, 1)
        return PointFunction(self.model, [values])

    def sliding(self, t: float, vectors: Vectors, theta: np.ndarray) -> dict[int, np.ndarray]:
        """Sliding velocities of all contacts that have friction."""
        values, found, begin = self._sliding(t, vectors, theta)[0].ravel(), {}, 0
        for contact in self.contacts:
            if contact.stick:
                found[contact.number] = values[begin : begin + len(contact.stick)]
                begin += len(contact.stick)
        return found

    def rows_of(self, which: Sequence[int]) -> np.ndarray:
        """Rows of the given contacts, one contact after the other."""
        return np.concatenate([np.zeros(0, int), *(self.rows[i] for i in which)])

    def dims_of(self, which: Sequence[int]) -> np.ndarray:
        """How many rows they have."""
        return np.array([len(self.rows[i]) for i in which], np.int64)

    def rates(self, t: float, vectors: Vectors, theta: np.ndarray, which: Sequence[int]) -> Rates:
        """Rates of the contacts `which`, and how they answer to impulses."""
        problems = start_problems(self.model)
        residual, J = problems.velocity(t, vectors, theta)
        residual, J = residual.ravel(), _dense(J)
        (M,) = problems.mass(t, vectors, theta)
        M, n, others = _dense(M), self.n["v"], self.others
        Wo, rows = J[others], self.rows_of(which)
        W = -J[rows]
        K = np.block([[M, Wo.T], [Wo, np.zeros((len(others), len(others)))]])
        right = np.zeros((len(K), len(rows) + 1))
        right[:n, :-1] = W.T
        right[n:, -1] = -residual[others]
        answer = _solved(K, right, t)
        drift = answer[:n, -1]
        return Rates(-residual[rows] + W @ drift, W @ answer[:n, :-1], answer[:n, :-1], drift)

    def accelerations(self, t: float, vectors: Vectors, theta: np.ndarray, rows: np.ndarray) -> Accelerations:
        """Second derivatives of gaps and first ones of sliding velocities, for rows of contacts.

        θ says in which direction contacts slide.
        """
        n = self.n
        zero = {**vectors, "a": np.zeros(n["v"]), "lam": np.zeros(n["lam"]), "mu": np.zeros(n["mu"])}
        residual, J = start_problems(self.model).acceleration(t, zero, theta)
        residual, J = residual.ravel(), _dense(J)
        first = n["v"] + n["w"]
        inside = np.concatenate([np.arange(first), first + self.others])
        K, B, C = J[np.ix_(inside, inside)], J[np.ix_(inside, first + rows)], J[np.ix_(first + rows, inside)]
        found = _solved(K, np.column_stack([-residual[inside], -B]), t)
        z, answer = found[:, 0], found[:, 1:]
        terms = np.abs(residual[first + rows]) + np.abs(answer).T @ np.abs(residual[inside])
        return Accelerations(-(C @ answer), -(residual[first + rows] + C @ z), terms)

    def motion(self, t: float, vectors: Vectors, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """v' with the given rows of contacts in force; θ has the forces of others."""
        n = self.n
        zero = {**vectors, "a": np.zeros(n["v"]), "lam": np.zeros(n["lam"]), "mu": np.zeros(n["mu"])}
        residual, J = start_problems(self.model).acceleration(t, zero, theta)
        first = n["v"] + n["w"]
        inside = np.concatenate([np.arange(first), first + self.others, first + np.asarray(rows, int)])
        return _solved(_dense(J)[np.ix_(inside, inside)], -residual.ravel()[inside][:, None], t)[: n["v"], 0]


def contact_space(model: Model) -> ContactSpace:
    """That of a model and its variants, set up once."""
    return model.kept.get(SPACE, None, lambda: ContactSpace(model))


def _dense(matrix: np.ndarray) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _solved(K: np.ndarray, right: np.ndarray, t: float) -> np.ndarray:
    """K⁻¹ right; where other constraints are redundant, the smallest solution."""
    if not len(K):
        return right.copy()
    try:
        found = np.linalg.solve(K, right)
    except np.linalg.LinAlgError:
        found = None
    if found is None or not np.isfinite(found).all() or np.linalg.cond(K) > 1e14:
        square = decompose(K)
        found = np.column_stack([square.solve(column) for column in right.T])
    if not np.isfinite(found).all():
        raise SimulationError(f"mass matrix and constraints cannot be solved for contact at t = {t:.9g}")
    return found


def named(contacts: Sequence[Contact], which: Sequence[int]) -> str:
    """Contacts in words."""
    names = [f"'{contacts[i].name}'" for i in which]
    return ("contact " if len(names) == 1 else "contacts ") + ", ".join(names)
