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
from dalembert.model.contacts import CLOSED, IMPLIED, OPEN, SLIDING

#: of the largest forces and accelerations there are: what is less counts as zero
TIE = 1e-10
#: a row depends on others if less than this of it is left beside them
DEPENDENT = 1e-9
#: a force is on the border of its cone if less than this is missing
BORDER = 1e-6


@dataclass
class Decision:
    """Modes of contacts, by number; contacts that are not named are open."""

    modes: dict[int, float] = field(default_factory=dict)
    slips: dict[int, np.ndarray] = field(default_factory=dict)  # unit vectors of those that begin to slide
    in_force: list[int] = field(default_factory=list)  # with a normal row of their own
    sticking: list[int] = field(default_factory=list)  # with tangential rows of their own
    normal: dict[int, float] = field(default_factory=dict)  # forces
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
    stick = [i for i in candidates if space.contacts[i].stick and i not in sliding]
    found = space.accelerations(t, vectors, theta, candidates, stick)
    dims = np.array([space.contacts[i].dim if i in stick else 1 for i in candidates], np.int64)
    problem = ContactProblem(found.A, found.b, dims, np.array([friction[i] if i in stick else 0.0 for i in candidates]))
    try:
        answer = solve(problem)
    except ComplementarityFailed as failure:
        raise _paradox(space, t, found.A, dims, candidates, sliding, failure) from failure
    starts = np.cumsum(dims) - dims
    diagonal = np.abs(np.diag(found.A))
    force = max(np.abs(answer.lam).max(), (np.abs(found.b) / np.where(diagonal > 0, diagonal, np.inf)).max())
    speed = np.abs(found.b).max() + (np.abs(found.A) @ np.abs(answer.lam)).max()
    decision = Decision(scale=float(force))
    stays = []
    for i, first, dim in zip(candidates, starts, dims, strict=True):
        lam, y = answer.lam[first : first + dim], answer.y[first : first + dim]
        loaded, rises = lam[0] > TIE * force, y[0] > TIE * speed
        if (rises and not loaded) or (not loaded and i in opening):
            continue
        stays.append((i, lam, y))
    stays.sort(key=lambda stay: -stay[1][0])  # those that carry most have rows of their own
    rows = _Independent(space, t, vectors, theta, candidates)
    for i, lam, y in stays:
        decision.normal[i] = max(float(lam[0]), 0.0)
        if not rows.take(i, 0):
            decision.modes[i] = IMPLIED
            continue
        decision.in_force.append(i)
        decision.modes[i] = SLIDING if i in sliding else CLOSED
        if len(lam) == 1:
            continue
        held, rate = float(np.linalg.norm(lam[1:])), float(np.linalg.norm(y[1:]))
        on_border = held >= (1 - BORDER) * friction[i] * lam[0]
        if on_border and rate > TIE * speed:
            decision.modes[i], decision.slips[i] = SLIDING, y[1:] / rate
        elif on_border and i in slipping and held > 0:
            decision.modes[i], decision.slips[i] = SLIDING, -lam[1:] / held
    for i in decision.in_force:
        contact = space.contacts[i]
        if (
            contact.stick
            and decision.modes[i] == CLOSED
            and all(rows.take(i, k + 1) for k in range(len(contact.stick)))
        ):
            decision.sticking.append(i)
    return decision


class _Independent:
    """Takes rows one after the other, as long as they do not depend on those before; other constraints come first."""

    def __init__(self, space: ContactSpace, t: float, vectors: Vectors, theta: np.ndarray, which: Sequence[int]):
        self._A = space.rates(t, vectors, theta, which).A
        dims = space.dims_of(which)
        self._first = dict(zip(which, np.cumsum(dims) - dims, strict=True))
        self._basis: list[np.ndarray] = []  # rows of a Cholesky factor

    def take(self, contact: int, row: int) -> bool:
        k = self._first[contact] + row
        left = self._A[k].copy()
        for known in self._basis:
            left -= known[k] * known
        if not left[k] > DEPENDENT * self._A[k, k]:
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
            f"Painlevé's paradox at t = {t:.9g}: while {named(space.contacts, suspects)} slides, no contact force keeps "
            "the bodies from penetrating each other: a larger force would press them together. Rigid bodies with this "
            "much friction have no motion here; take less friction, or a compliant contact (a stiff spring and damper)",
            name,
        )
    return ContactError(
        f"contact forces of {named(space.contacts, candidates)} could not be determined at t = {t:.9g}: {failure}", name
    )


def mode_values(space: ContactSpace, decision: Decision, names: Sequence[str], slack: float) -> Mapping[str, float]:
    """Discrete variables for a decision; `slack` is the speed that stands for a direction in space."""
    values: dict[str, float] = {}
    for contact in space.contacts:
        values[contact.mode] = decision.modes.get(contact.number, OPEN)
        slip = decision.slips.get(contact.number)
        if contact.dim == 3 and slip is not None:
            slip = slack * slip
        for k, name in enumerate(contact.slips):
            values[name] = 0.0 if slip is None else float(np.sign(slip[k]) if contact.dim == 2 else slip[k])
    return {name: values[name] for name in names if name in values}
