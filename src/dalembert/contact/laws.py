"""Laws of impact: impulses that contacts exert on each other in an instant.

The rates of the contacts' rows change from γ⁻ to γ⁺ = γ⁻ + A p by the impulses p, A = W M⁻¹ Wᵀ. Normal impulses push
and never pull, nobody approaches anybody afterwards, and tangential impulses obey Coulomb's law with γ_T⁺ (no
restitution in tangential directions). Restitution is said in one of three ways:

    "newton"      0 ≤ γ_N⁺ + e γ_N⁻ ⊥ p_N ≥ 0 where bodies approach, all contacts at once
    "poisson"     compression until nobody approaches, by impulses p_C; then restitution by at least e p_C
    "sequential"  one contact after the other by Newton's law, the fastest first, until nobody approaches

They differ where several contacts are closed: Newton's cradle with e = 1 sends one ball away by the third law, and two
by the first. The first two may create energy, with friction or different restitutions, and may contradict what other
contacts allow; then all restitutions are scaled down by one factor, the largest that does neither.

References
----------
.. [1] C. Glocker, F. Pfeiffer, "Multiple impacts with friction in rigid multibody systems", 1995.
.. [2] J. J. Moreau, "Unilateral contact and dry friction in finite freedom dynamics", 1988.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.checks import quiet_arithmetic
from dalembert.errors import ComplementarityFailed, ModelError
from dalembert.linalg.complementarity.choice import solve
from dalembert.linalg.complementarity.gauss_seidel import diagonal_blocks
from dalembert.linalg.complementarity.problem import ContactProblem, ContactSolution, per_contact
from dalembert.options import one_of

LAWS = ("newton", "poisson", "sequential")
#: of the work of all impulses, what rounding may make of no energy
ROUNDING = 1e-13
#: A is symmetric but for this
SYMMETRIC = 1e-8
#: approach, relative to the largest rate before, that a sequence of impacts leaves to one without restitution
AT_REST = 1e-14
#: the same, if there are no impulses that stop it
NEGLIGIBLE = 1e-10
#: impacts in a sequence for each contact
MOST_IMPACTS = 1000
#: factors on restitution that are looked at before the search among them
SAMPLES = 16
#: steps of that search
HALVINGS = 24


@dataclass(frozen=True, eq=False)
class Impulses:
    """What an impact does."""

    impulse: np.ndarray  # of every row
    gamma_after: np.ndarray  # rates of the rows afterwards
    restitution_used: np.ndarray  # of every contact, what was left of it so that no energy is created


def resolve(
    A: Any, gamma_before: Any, dims: Any, friction: Any = 0.0, restitution: Any = 0.0, law: str = "newton"
) -> Impulses:
    """Impulses of closed contacts, and the rates after them.

    Parameters
    ----------
    A : array_like or sparse array, (n, n)
        W M⁻¹ Wᵀ, symmetric and positive semidefinite; contacts may be redundant.
    gamma_before : array_like, (n,)
        Rates of the rows: of each contact the normal one first (negative: bodies approach), then tangential ones.
    dims : sequence of int
        Rows of each contact: 1, 2 (planar friction) or 3 (spatial).
    friction, restitution : float or sequence of float
        Of each contact; friction ≥ 0, restitution in [0, 1].
    law : {"newton", "poisson", "sequential"}

    Returns
    -------
    Impulses
        `gamma_after` is ``gamma_before + A @ impulse``; the energy changes by
        ``impulse @ (gamma_before + gamma_after) / 2``, which is never positive (but for rounding).

    Raises
    ------
    ModelError
        If something given is faulty.
    ComplementarityFailed
        If no impulses satisfy the conditions.

    Examples
    --------
    Newton's cradle of three balls of mass 1, of which the first one arrives with speed 1:

    >>> import numpy as np
    >>> W = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    >>> v = np.array([1.0, 0.0, 0.0])
    >>> for law in ("newton", "sequential"):
    ...     impulses = resolve(W @ W.T, W @ v, dims=[1, 1], restitution=1.0, law=law)
    ...     print(law, v + W.T @ impulses.impulse)
    newton [-0.33333333  0.66666667  0.66666667]
    sequential [0. 0. 1.]
    """
    one_of("law", law, LAWS)
    at_rest = ContactProblem(A, gamma_before, dims, friction)
    faults: list[str] = []
    e = per_contact("restitution", restitution, len(at_rest.dims), faults, 0.0, 1.0)
    _check_symmetry(at_rest, faults)
    if faults:
        raise ModelError("this impact is faulty", faults)
    with quiet_arithmetic():
        if law == "sequential":
            return _sequential(at_rest, e)
        if not (at_rest.b[at_rest.starts] < 0).any():  # nobody approaches anybody
            return Impulses(np.zeros(at_rest.n), at_rest.b, e)
        return _dissipative(at_rest, e, _newton if law == "newton" else _poisson)


def _check_symmetry(problem: ContactProblem, faults: list[str]) -> None:
    difference = abs(problem.A - problem.A.T)
    relative = difference.max() / (abs(problem.A).max() or 1.0) if problem.n else 0.0
    if not relative <= SYMMETRIC:
        faults.append(f"A is not symmetric (relative difference {relative:.2g}); it should be W M⁻¹ Wᵀ")
    negative = np.flatnonzero(problem.A.diagonal() < 0)
    if len(negative):
        faults.append(f"A[{negative[0]}, {negative[0]}] is negative; it should be W M⁻¹ Wᵀ, positive semidefinite")


# -- all contacts at once --------------------------------------------------------------------------------------------

Solver = Callable[[ContactProblem], ContactSolution]
Law = Callable[[ContactProblem, np.ndarray, Solver], np.ndarray]


def _newton(before: ContactProblem, e: np.ndarray, solver: Solver) -> np.ndarray:
    """Impulses by Newton's law. Of a contact that opens already nothing is asked but to stay open."""
    b = before.b.copy()
    normal = b[before.starts]
    b[before.starts] = normal + e * np.minimum(normal, 0.0)
    return solver(before.at(b)).lam


def _poisson(before: ContactProblem, e: np.ndarray, solver: Solver) -> np.ndarray:
    """Impulses by Poisson's law: those of compression, then e times as much, and more where bodies would approach."""
    compression = solver(before).lam
    given = np.zeros(before.n)
    given[before.starts] = e * compression[before.starts]
    if not given.any():
        return compression
    b = before.b + before.A @ (compression + given)
    more = solver(before.at(b, given[before.starts])).lam
    return compression + given + more


def _dissipative(before: ContactProblem, e: np.ndarray, law: Law) -> Impulses:
    """Impulses by a law with the restitution s·e, s ≤ 1 being the largest factor that creates no energy."""

    def attempt(s: float) -> Impulses | None:
        try:
            near = found.impulse if found is not None else None
            impulse = law(before, s * e, partial(solve, guess=near, quick=0.0 < s < 1.0))
        except ComplementarityFailed:
            if s == 0.0 or not e.any():
                raise
            return None
        after = before.b + before.A @ impulse
        # a factor that is searched for is one with which no rounding is needed
        allowed = ROUNDING if s in (0.0, 1.0) else 0.0
        return Impulses(impulse, after, s * e) if _work(impulse, before.b, after) <= allowed else None

    found = None
    found = attempt(1.0)
    if found is not None:
        return found
    low = high = 1.0
    while found is None:
        if low == 0.0 or not e.any():
            raise ComplementarityFailed("rounding errors are larger than the energy of the impact", _largest(before))
        high, low = low, low - 1 / SAMPLES
        found = attempt(low)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        better = attempt(middle)
        if better is None:
            high = middle
        else:
            low, found = middle, better
    return found


def _work(impulse: np.ndarray, before: np.ndarray, after: np.ndarray) -> float:
    """How much kinetic energy grows, relative to what impulses do in each direction."""
    size = (np.abs(impulse) * (np.abs(before) + np.abs(after))).sum()
    return float((impulse * (before + after)).sum() / size) if size > 0 else 0.0


def _largest(problem: ContactProblem) -> int:
    return int(np.argmin(problem.b[problem.starts]))


# -- one after the other ---------------------------------------------------------------------------------------------


def _sequential(before: ContactProblem, e: np.ndarray) -> Impulses:
    """Impacts of single contacts, always that with the largest speed of approach, until nobody approaches.

    With e < 1 there may be infinitely many. What is left of the approach in the end is stopped at once, without
    restitution.
    """
    from dalembert.compile.kernel import load

    load("dalembert.contact.sequence_kernels")
    from dalembert.contact.sequence_kernels import impacts_in_sequence

    A, starts, m = before.dense, before.starts, len(before.dims)
    gamma, impulse, used = before.b.copy(), np.zeros(before.n), e.copy()
    still = AT_REST * np.abs(before.b).max(initial=0.0)
    impacts_in_sequence(
        A, starts, before.dims, before.friction, e, diagonal_blocks(before), gamma, impulse, used, np.zeros(9), still,
        MOST_IMPACTS * m,
    )  # fmt: skip
    gamma = before.b + A @ impulse
    approach = -gamma[starts].min(initial=0.0)
    if approach > still:
        try:
            rest = solve(before.at(gamma)).lam
        except ComplementarityFailed:  # what is left is rounding errors, or contacts that will not come to rest
            if approach > NEGLIGIBLE * np.abs(before.b).max():
                rest, impulse = solve(before).lam, np.zeros(before.n)
            else:
                rest = 0.0
        impulse = impulse + rest
        gamma = before.b + A @ impulse
    return Impulses(impulse, gamma, used)
