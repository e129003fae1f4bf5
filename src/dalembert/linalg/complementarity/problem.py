"""The problem that all solvers of contact share, its answer, and how good an answer is.

Contacts stand one below the other, each a block of rows: the normal one first, then none, one or two tangential ones.
With the forces λ (impulses, in impacts) the rates of the rows are y = A λ + b, and for every contact

    0 ≤ y_N  ⊥  λ_N ≥ 0,        |λ_T| ≤ r,  y_T = 0 where |λ_T| < r,  else y_T = −κ λ_T with κ ≥ 0,

r = friction · (λ_N + preload) being the radius of the friction disc (Signorini and Coulomb).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, quiet_arithmetic, reals, shown
from dalembert.errors import ComplementarityFailed, ModelError
from dalembert.options import Options

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: residuals that count as solved, whatever the solver
SOLVED = 1e-10
#: of the terms of a sum, what rounding may make of it
ROUNDING = 1e-15
#: but not more than this, relative to b: forces so large that nothing is known of the rates are no solution
UNCERTAIN = 1e-7


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """Signorini's and Coulomb's conditions for contacts that act on each other.

    Parameters
    ----------
    A : array_like or sparse array, (n, n)
        What forces do to the rates of the rows: y = A λ + b. Usually W M⁻¹ Wᵀ; it may be singular (redundant contacts),
        and nonsymmetric (friction of sliding contacts substituted).
    b : array_like, (n,)
        Rates without forces.
    dims : sequence of int
        Rows of each contact: 1 (normal), 2 (and one tangential: planar) or 3 (and two: spatial).
    friction : float or sequence of float
        Coefficient of each contact; it says nothing where a contact has no tangential rows.
    preload : float or sequence of float
        Normal force that counts for friction in addition to λ_N, each ≥ 0.

    Examples
    --------
    A body that slides at speed 3 is pressed on the floor by the impulse 2:

    >>> from dalembert.linalg.complementarity import ContactProblem, solve
    >>> problem = ContactProblem([[1, 0], [0, 1]], [-2, 3], dims=[2], friction=0.5)
    >>> solution = solve(problem)
    >>> solution.lam, solution.y
    (array([ 2., -1.]), array([0., 2.]))
    """

    A: Any
    b: np.ndarray
    dims: np.ndarray
    friction: np.ndarray = 0.0
    preload: np.ndarray = 0.0
    starts: np.ndarray = field(init=False, repr=False)  # first row of each contact

    def __post_init__(self) -> None:
        faults: list[str] = []
        b = _vector("b", self.b, faults)
        A = _matrix(self.A, faults)
        dims = contact_dims(self.dims, faults)
        m = len(dims)
        friction = per_contact("friction", self.friction, m, faults)
        preload = per_contact("preload", self.preload, m, faults)
        if not faults:
            n = int(dims.sum())
            if b.shape != (n,):
                faults.append(f"b has {b.size} entries; the contacts have {n} rows together")
            if A.shape != (n, n):
                faults.append(f"A has shape {A.shape}; the contacts have {n} rows together, so it must be ({n}, {n})")
        if faults:
            raise ModelError("this contact problem is faulty", faults)
        starts = np.concatenate([[0], np.cumsum(dims)])[:-1].astype(np.int64)
        values = dict(A=A, b=b, dims=dims, friction=friction, preload=preload, starts=starts)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def at(self, b: np.ndarray, preload: np.ndarray | None = None) -> ContactProblem:
        """The same contacts at other rates; arrays of ours, which are not checked again."""
        twin = object.__new__(ContactProblem)
        twin.__dict__.update(self.__dict__, b=b)
        if preload is not None:
            twin.__dict__.pop("scaled_friction", None)
            twin.__dict__["preload"] = preload
        return twin

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.b)

    @property
    def sparse(self) -> bool:
        return not isinstance(self.A, np.ndarray)

    @cached_property
    def dense(self) -> np.ndarray:
        """A as an array."""
        return np.ascontiguousarray(self.A.toarray()) if self.sparse else self.A

    @cached_property
    def csr(self) -> csr_array:
        """A in rows of its nonzeros, sorted."""
        if self.sparse:
            return self.A
        from scipy.sparse import csr_array

        return csr_array(self.A)

    @cached_property
    def block_of(self) -> np.ndarray:
        """The contact of each row."""
        return np.repeat(np.arange(len(self.dims)), self.dims)

    @cached_property
    def scale(self) -> np.ndarray:
        """√ of a typical diagonal entry of A for each row, the same for the tangential rows of a contact.

        λ·scale and y/scale are of one size, and friction discs stay round.
        """
        if not self.n:
            return np.zeros(0)
        part = 2 * self.block_of
        part[self.tangential] += 1
        largest = np.zeros(2 * len(self.dims))
        np.maximum.at(largest, part, np.abs(self.A.diagonal()))
        # where a row cannot move itself, look at what others do there, and at last at the other rows of the contact
        rows = np.zeros(len(largest))
        np.maximum.at(rows, part, np.asarray(abs(self.A).sum(axis=1)).ravel())
        pairs = np.where(largest > 0, largest, rows).reshape(-1, 2)
        pairs = np.where(pairs > 0, pairs, pairs[:, ::-1]).ravel()
        return np.sqrt(np.where(pairs > 0, pairs, 1.0))[part]

    @cached_property
    def tangential(self) -> np.ndarray:
        """The tangential rows."""
        return np.flatnonzero(np.arange(self.n) != self.starts[self.block_of])

    @cached_property
    def scaled_friction(self) -> tuple[np.ndarray, np.ndarray]:
        """What friction and friction · preload are in scaled forces."""
        sideways = self.scale[self.starts + (self.dims > 1)] if self.n else np.zeros(0)
        return self.friction * sideways / self.scale[self.starts], self.friction * self.preload * sideways


@dataclass(frozen=True, eq=False)
class ContactSolution:
    """Forces, and what they lead to."""

    lam: np.ndarray  # forces
    y: np.ndarray  # rates, A lam + b
    residual: float  # how far the conditions are violated, see `residual`
    iterations: int  # pivots, sweeps or Newton steps
    solver: str  # which one found it


class ComplementaritySolver(Options):
    """Base of the solvers: frozen objects of options."""

    def obstacle(self, problem: ContactProblem) -> str:
        """Why this solver is not for the problem; empty if it is."""
        return ""

    def solve(self, problem: ContactProblem, guess: Any = None) -> ContactSolution:
        """Forces that satisfy the conditions, from the `guess` if that helps. Raises ComplementarityFailed."""
        raise NotImplementedError


def residual(problem: ContactProblem, lam: Any) -> float:
    """How far forces are from a solution: what projecting them onto the cones changes, relative to b.

    In units in which the diagonal of A is 1 it is the largest entry of λ_N − max(0, λ_N − y_N) and
    λ_T − proj(λ_T − y_T), the projection being that onto the friction disc, divided by the largest rate without forces.
    What rounding of the terms of y may be does not count.

    >>> problem = ContactProblem([[2.0]], [-4.0], dims=[1])
    >>> residual(problem, [2.0]), residual(problem, [0.0])
    (0.0, 1.0)
    """
    lam = forces("lam", lam, problem.n)
    return float(block_residuals(problem, lam).max(initial=0.0))


def block_residuals(problem: ContactProblem, lam: np.ndarray) -> np.ndarray:
    """`residual` of each contact."""
    if not problem.n:
        return np.zeros(0)
    with quiet_arithmetic():
        scale = problem.scale
        terms = (abs(problem.A) @ np.abs(lam) + np.abs(problem.b)) / scale + np.abs(lam) * scale
        size = max((np.abs(problem.b) / scale).max(), problem.scaled_friction[1].max()) or terms.max() or 1.0
        violation = np.abs(natural_map(problem, lam, problem.A @ lam + problem.b))
        rounding, most = ROUNDING * terms, UNCERTAIN * size
        violation += np.where(rounding <= most, -rounding, rounding - most)
        worst = np.zeros(len(problem.dims))
        np.maximum.at(worst, problem.block_of, violation)
        # a number that is not finite is as bad as can be
        return np.nan_to_num(worst / size, nan=np.inf, posinf=np.inf)


def natural_map(problem: ContactProblem, lam: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the projection of λ − y onto the cones changes, in units in which the diagonal of A is 1."""
    scale, starts, T = problem.scale, problem.starts, problem.tangential
    force = lam * scale
    moved = force - y / scale
    result = np.empty(problem.n)
    normal = force[starts]
    result[starts] = np.minimum(normal, y[starts] / scale[starts])
    friction, constant = problem.scaled_friction
    radius, contact = friction * np.maximum(normal, 0.0) + constant, problem.block_of[T]
    length = np.sqrt(np.bincount(contact, moved[T] ** 2, minlength=len(problem.dims)))
    shrink = np.where(length > radius, radius / np.where(length > 0, length, 1.0), 1.0)
    result[T] = np.where((length > radius)[contact], force[T] - moved[T] * shrink[contact], y[T] / scale[T])
    return result


def accepted(problem: ContactProblem, lam: np.ndarray, iterations: int, solver: str) -> ContactSolution:
    """The solution with these forces, from which rounding that pulls, or is too large for friction, is taken away."""
    lam, starts, T = lam.copy(), problem.starts, problem.tangential
    lam[starts] = np.maximum(lam[starts], 0.0)
    contact = problem.block_of[T]
    radius = problem.friction * (lam[starts] + problem.preload)
    length = np.sqrt(np.bincount(contact, lam[T] ** 2, minlength=len(problem.dims)))
    lam[T] *= np.where(length > radius, radius / np.where(length > 0, length, 1.0), 1.0)[contact]
    return ContactSolution(lam, problem.A @ lam + problem.b, residual(problem, lam), iterations, solver)


def failed(problem: ContactProblem, lam: np.ndarray, solver: str, iterations: int) -> ComplementarityFailed:
    """The exception of a solver that does not get any nearer."""
    worst = block_residuals(problem, lam)
    contact = int(np.argmax(worst))
    return ComplementarityFailed(
        f"{solver} found no forces that satisfy the conditions of contact within {iterations} iterations: at contact "
        f"{contact} they are violated by {worst[contact]:.2g} (relative). There may be no solution, or friction is "
        "large; Lemke() tells for planar problems.",
        contact,
    )


def no_solution(problem: ContactProblem, lam: np.ndarray, contact: int | None = None) -> ComplementarityFailed:
    """The exception where forces go to infinity, by default at the contact where the conditions are worst."""
    contact = int(np.argmax(block_residuals(problem, lam))) if contact is None else contact
    return ComplementarityFailed(
        "no forces satisfy the conditions of contact, as far as Lemke's algorithm can tell: those of contact "
        f"{contact} go to infinity (Painlevé's paradox, if it slides; else contacts contradict each other)",
        contact,
        "ray",
    )


# -- what users hand over --------------------------------------------------------------------------------------------


def forces(name: str, values: Any, n: int) -> np.ndarray:
    """A vector of n finite numbers. Raises ModelError."""
    faults: list[str] = []
    vector = _vector(name, values, faults)
    if not faults and vector.shape != (n,):
        faults.append(f"{name} has {vector.size} entries, the problem {n} rows")
    if faults:
        raise ModelError("these forces do not fit the contact problem", faults)
    return vector


def contact_dims(dims: Any, faults: list[str]) -> np.ndarray:
    """Rows of each contact."""
    found = _vector("dims", dims, faults)
    wrong = np.flatnonzero(~np.isin(found, (1, 2, 3)))
    faults += [f"dims of contact {i} is {found[i]:g}; a contact has 1, 2 or 3 rows" for i in wrong]
    return found.astype(np.int64) if not len(wrong) else np.ones(len(found), np.int64)


def per_contact(
    name: str, values: Any, m: int, faults: list[str], least: float = 0.0, most: float = np.inf
) -> np.ndarray:
    """One number for each of m contacts, or one for all."""
    found = np.full(m, least)
    try:
        given = reals(values)
    except NoNumber as reason:
        faults.append(f"{name}={shown(values)} {reason}")
        return found
    if given.ndim == 0:
        given = np.full(m, float(given))
    if given.shape != (m,):
        faults.append(f"{name} has {given.size} entries; there are {m} contacts")
        return found
    limits = f"at least {least:g}" if most == np.inf else f"between {least:g} and {most:g}"
    for i in np.flatnonzero(~((given >= least) & (given <= most) & np.isfinite(given))):
        faults.append(f"{name} of contact {i} is {given[i]:g}; it must be {limits}")
    return given


def _vector(name: str, values: Any, faults: list[str]) -> np.ndarray:
    try:
        found = reals(values)
    except NoNumber as reason:
        faults.append(f"{name}={shown(values)} {reason}")
        return np.zeros(0)
    if found.ndim != 1:
        faults.append(f"{name} has shape {found.shape}; it must be a vector")
        return np.zeros(0)
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        faults.append(f"{name}[{bad[0]}] is {found[bad[0]]}; it must be finite")
        found[bad] = 0.0
    return found


def _matrix(values: Any, faults: list[str]) -> Any:
    if _is_sparse(values):
        from scipy.sparse import csr_array

        matrix = csr_array(values, dtype=float, copy=True)
        matrix.sum_duplicates()
        numbers = matrix.data
    else:
        try:
            matrix = numbers = reals(values)
        except NoNumber as reason:
            faults.append(f"A={shown(values)} {reason}")
            return np.zeros((0, 0))
        if matrix.shape == (0,):
            matrix = matrix.reshape(0, 0)
    if matrix.ndim != 2:
        faults.append(f"A has shape {matrix.shape}; it must be a matrix")
    if not np.isfinite(numbers).all():
        faults.append("A has entries that are not finite")
    return matrix


def _is_sparse(values: Any) -> bool:
    return type(values).__module__.startswith("scipy.sparse")
