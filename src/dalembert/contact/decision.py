"""Which contacts stay closed, and which of them stick: a complementarity problem on acceleration level decides.

Of the contacts that are closed and whose gaps do not change (I2), each either keeps its gap closed with a force ≥ 0 or
opens with an acceleration ≥ 0; those that do not slide stick as long as Coulomb's cone allows it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.contact.space import ContactSpace, Vectors, named
from dalembert.errors import ComplementarityFailed, ContactError, PainleveParadox
from dalembert.linalg.complementarity import ContactProblem, solve
from dalembert.model.contacts import CLOSED, OPEN, SLIDING

#: of the largest forces and accelerations there are: what is less counts as zero
TIE = 1e-10
#: of what forces are made of: TIE times this is rounding
OF_TERMS = 1e-3
#: a row depends on others if less than this of it is left beside them
DEPENDENT = 1e-9
#: a force is on the border of its cone if less than this is missing
BORDER = 1e-9


@dataclass
class Decision:
    """Modes of contacts, by number; contacts that are not named are open."""

    modes: dict[int, float] = field(default_factory=dict)
    slips: dict[int, np.ndarray] = field(default_factory=dict)  # directions of those that slide
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # in force, in the numbering of contact space
    implied: set[int] = field(default_factory=set)  # contacts without a normal row of their own
    constant: dict[int, np.ndarray] = field(default_factory=dict)  # forces of rows that are not in force
    scale: float = 0.0  # of forces


def decide(
    space: ContactSpace,
    t: float,
    vectors: Vectors,
    theta: np.ndarray,
    candidates: Sequence[int],
    sliding: Collection[int],
    friction: np.ndarray,
    *,
    opening: Collection[int] = (),
    slipping: Collection[int] = (),
) -> Decision:
    """Decide about `candidates`; θ has the modes and directions of those of them that are `sliding`.

    `opening` are contacts whose force has just vanished, `slipping` those whose friction has just reached its bound:
    where nothing else tells, they open and slide.
    """
    if not candidates:
        return Decision()
    bounds = space.bounds(t, vectors, theta)
    decision = Decision(modes={i: SLIDING for i in candidates if i in bounds and i in sliding})
    candidates = [i for i in candidates if i not in decision.modes]  # of dry friction that slides the force is known
    if not candidates:
        return decision
    stick = {i for i in candidates if space.contacts[i].stick and i not in sliding}
    groups = [space.rows[i] if i in stick else space.rows[i][:1] for i in candidates]
    found = space.accelerations(t, vectors, theta, np.concatenate(groups))
    A, b, dims = _with_normals(found.A, found.b, [len(rows) for rows in groups], [i in bounds for i in candidates])
    problem = ContactProblem(
        A, b, dims, np.array([friction[i] if i in stick else 0.0 for i in candidates]),
        np.array([bounds.get(i, 0.0) for i in candidates]),
    )  # fmt: skip
    try:
        answer = solve(problem)
    except ComplementarityFailed as failure:
        raise _paradox(space, t, A, dims, candidates, sliding, failure) from failure
    starts = np.cumsum(dims) - dims
    diagonal = np.abs(np.diag(A))
    force = max(np.abs(answer.lam).max(), (np.abs(b) / np.where(diagonal > 0, diagonal, np.inf)).max())
    own = np.abs(np.diag(found.A))
    rounding = (found.terms / np.where(own > 0, own, np.inf)).max()
    force = max(force, OF_TERMS * rounding)  # forces that all but cancel leave nothing that could be told from zero
    speed = max(np.abs(b).max() + (np.abs(A) @ np.abs(answer.lam)).max(), OF_TERMS * found.terms.max())
    decision.scale = float(force)
    forces: dict[int, np.ndarray] = {}
    yields = []  # to sliding, if one of them does
    for i, first, dim in zip(candidates, starts, dims, strict=True):
        lam, y = answer.lam[first : first + dim].copy(), answer.y[first : first + dim]
        loaded, rises = lam[0] > TIE * force, y[0] > TIE * speed
        if i in bounds:
            lam[0] = bounds[i]
        elif not loaded and (rises or i in opening):
            continue
        forces[i] = lam
        decision.modes[i] = SLIDING if i in sliding else CLOSED
        if dim == 1:
            continue
        held, rate = float(np.linalg.norm(lam[1:])), float(np.linalg.norm(y[1:]))
        on_border = held >= (1 - BORDER) * friction[i] * lam[0]
        if on_border and rate > TIE * speed:
            decision.modes[i], decision.slips[i] = SLIDING, y[1:] / rate
        elif on_border and held > 0:
            yields.append(i)
    if set(yields) & set(slipping):  # friction that is shared among contacts yields in all of them
        for i in yields:
            decision.modes[i], decision.slips[i] = SLIDING, -forces[i][1:] / np.linalg.norm(forces[i][1:])
    _choose_rows(space, t, vectors, theta, decision, forces, friction)
    return decision


def _with_normals(
    A: np.ndarray, b: np.ndarray, lengths: Sequence[int], dry: Sequence[bool]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix with a normal row for dry friction, too, in which nothing happens; and the rows of each block."""
    own = np.concatenate([[False] * missing + [True] * n for n, missing in zip(lengths, dry, strict=True)]).astype(bool)
    if own.all():
        return A, b, np.array(lengths, np.int64)
    whole, right = np.eye(len(own)), np.ones(len(own))
    scale = np.abs(np.diag(A)).max(initial=0) or 1.0
    whole *= scale
    right *= np.abs(b).max(initial=0) or 1.0
    whole[np.ix_(own, own)], right[own] = A, b
    return whole, right, np.array([n + missing for n, missing in zip(lengths, dry, strict=True)], np.int64)


def _choose_rows(
    space: ContactSpace,
    t: float,
    vectors: Vectors,
    theta: np.ndarray,
    decision: Decision,
    forces: Mapping[int, np.ndarray],
    friction: np.ndarray,
) -> None:
    """Rows in force must not depend on each other: the others keep the forces that they have now."""
    if not forces:
        return
    rows, taken = _Independent(space, t, vectors, theta, list(forces)), []
    by_load = sorted(forces, key=lambda i: -forces[i][0])  # those that carry most have rows of their own
    for i in by_load:
        if space.contacts[i].dry:
            continue
        if rows.take(i, 0):
            taken.append(space.rows[i][0])
        else:
            decision.implied.add(i)
            decision.constant[i] = np.zeros(space.contacts[i].dim)
            decision.constant[i][0] = max(forces[i][0], 0.0)
    sticking = [i for i in by_load if space.contacts[i].stick and decision.modes[i] == CLOSED]
    dependent = []
    for i in sticking:
        for k in range(1, space.contacts[i].dim):
            if rows.take(i, k):
                taken.append(space.rows[i][k - space.contacts[i].dry])
            else:
                dependent.append((i, k))
    if dependent:
        spread = _spread(rows, sticking, forces, friction)
        for i, k in dependent:
            decision.constant.setdefault(i, np.zeros(space.contacts[i].dim))[k] = spread[i][k - 1]
    decision.rows = np.array(taken, int)


def _spread(
    rows: _Independent, sticking: Sequence[int], forces: Mapping[int, np.ndarray], friction: np.ndarray
) -> dict[int, np.ndarray]:
    """Friction forces that do the same as the given ones, and are far from the bounds of every contact."""
    own = {i: forces[i][1:] for i in sticking}
    order = np.concatenate([rows.first[i] + np.arange(1, 1 + len(own[i])) for i in sticking])
    given = np.concatenate([own[i] for i in sticking])
    bound = np.concatenate([np.full(len(own[i]), friction[i] * max(forces[i][0], 0.0)) for i in sticking])
    A = rows.A[np.ix_(order, order)]
    # of all forces with the same effect the smallest, in units of the bounds
    small = bound * np.linalg.lstsq(A * bound, A @ given, rcond=1e-12)[0]
    cuts = np.cumsum([len(own[i]) for i in sticking])[:-1]
    found = dict(zip(sticking, np.split(small, cuts), strict=True))
    fits = all(np.linalg.norm(found[i]) <= friction[i] * forces[i][0] for i in sticking)
    return found if fits else own


class _Independent:
    """Takes rows one after the other, as long as they do not depend on those before; other constraints come first."""

    def __init__(self, space: ContactSpace, t: float, vectors: Vectors, theta: np.ndarray, which: Sequence[int]):
        self.A = space.rates(t, vectors, theta, which).A
        dims = space.dims_of(which)
        first = np.cumsum(dims) - dims - [space.contacts[i].dry for i in which]  # tangential rows are counted from 1
        self.first = dict(zip(which, first.tolist(), strict=True))
        self._basis: list[np.ndarray] = []  # rows of a Cholesky factor

    def take(self, contact: int, row: int) -> bool:
        k = self.first[contact] + row
        left = self.A[k].copy()
        for known in self._basis:
            left -= known[k] * known
        if not left[k] > DEPENDENT * self.A[k, k]:
            return False
        self._basis.append(left / np.sqrt(left[k]))
        return True


def _paradox(
    space: ContactSpace,
    t: float,
    A: np.ndarray,
    dims: np.ndarray,
    candidates: Sequence[int],
    sliding: Collection[int],
    failure: ComplementarityFailed,
) -> ContactError:
    """Name the contact for which there is no force."""
    starts = np.cumsum(dims) - dims
    guilty = [i for i, k in zip(candidates, starts, strict=True) if i in sliding and A[k, k] <= 0]
    suspects = guilty or [i for i in candidates if i in sliding]
    name = space.contacts[(suspects or list(candidates))[0]].name
    if suspects:
        return PainleveParadox(
            f"Painlevé's paradox at t = {t:.9g}: while {named(space.contacts, suspects)} slides, no contact force "
            "keeps the bodies from penetrating each other: a larger force would press them together. Rigid bodies with "
            "this much friction have no motion here; take less friction, or a compliant contact (a stiff spring and "
            "damper)",
            name,
        )
    return ContactError(
        f"contact forces of {named(space.contacts, candidates)} could not be determined at t = {t:.9g}: {failure}", name
    )


def mode_values(space: ContactSpace, decision: Decision, slack: float) -> dict[str, float]:
    """Discrete variables for a decision; `slack` is the speed that stands for a direction in space."""
    values: dict[str, float] = {}
    for contact in space.contacts:
        i, zero = contact.number, np.zeros(len(contact.stick))
        slip, constant = decision.slips.get(i, zero), decision.constant.get(i, np.zeros(contact.dim))
        values |= {
            contact.mode: decision.modes.get(i, OPEN),
            contact.implied: float(i in decision.implied),
            contact.load: float(constant[0]),
        }
        values |= dict(zip(contact.slips, (np.sign(slip) if contact.dim == 2 else slack * slip).tolist(), strict=True))
        values |= dict(zip(contact.grips, constant[1:].tolist(), strict=True))
    return values
