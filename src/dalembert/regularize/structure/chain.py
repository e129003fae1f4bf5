"""The constraints of a DAE as a chain of blocks that are solved one after another.

With the offsets d of structural analysis, unknown x_j belongs to stage −d_j: constraints of the lowest stage contain
unknowns of that stage alone, and each later one determines or restricts unknowns of its own, all before being known. In
equations of motion the stages are positions, velocities, multipliers; in general there are as many as the largest d
says. Each differential equation belongs to the latest stage whose derivatives it contains: there it is an unknown's own
equation. If their leading matrix is symmetric and positive definite, the transpose of a basis of the null space
selects from them what constraints leave; if not, equations are selected along the range of E on the null space.

If stages are not known, or constraints of one do not have full rank in its unknowns, all are one block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dalembert.regularize.projected import Blocks, ConstraintBlock
from dalembert.regularize.structure.samples import Samples, full_rank, positive_definite
from dalembert.regularize.system import System

NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Chain(Blocks):
    """Blocks of constraints that are no equations of motion."""

    same_on_all_levels = False
    links: tuple[ConstraintBlock, ...] = ()
    bordered: bool = False

    @property
    def constraints(self) -> tuple[ConstraintBlock, ...]:
        return self.links


@dataclass(frozen=True)
class Rows:
    """Which rows of a stacked system are what."""

    differential: np.ndarray
    algebraic: np.ndarray
    invariant: np.ndarray  # accepted points are projected onto them


def chain(
    rows: Rows, links: tuple[ConstraintBlock, ...], n: int, *, bordered: bool, kinematic: tuple[np.ndarray, np.ndarray]
) -> Chain:
    """The blocks for links of a chain; `kinematic` are rows x_i' = x_j and their x_i."""
    first, of = kinematic
    definite = bordered and all(link.definite for link in links)
    last = links[-1]
    determined = NOTHING if last.splits else last.unknowns
    return Chain(
        kinematic=first,
        dynamic=np.setdiff1d(rows.differential, first),
        elements=NOTHING,
        F1=NOTHING,
        F2=NOTHING,
        F3=rows.algebraic,
        F4=rows.invariant,
        Y=determined,
        free=NOTHING,
        V=NOTHING,
        Z=np.setdiff1d(np.arange(n), determined),
        P=of,
        multipliers=NOTHING,
        partitioned=False,
        selector="" if definite else "image",
        links=links,
        bordered=bordered,
    )


def one_block(rows: Rows, n: int, kinematic: tuple[np.ndarray, np.ndarray]) -> Chain:
    """All constraints restrict all unknowns."""
    everything = np.arange(n)
    link = ConstraintBlock(rows.algebraic, everything, np.full(n, -1), splits=True)
    return chain(rows, (link,), n, bordered=False, kinematic=kinematic)


def stages_of_rows(pattern: tuple[np.ndarray, np.ndarray], stage: np.ndarray, m: int) -> np.ndarray:
    """For each row the latest stage of an unknown in it; rows without entries have the lowest there is."""
    out = np.full(m, stage.min(initial=0))
    np.maximum.at(out, pattern[0], stage[pattern[1]])
    return out


def find_chain(
    system: System, rows: Rows, stage: np.ndarray, samples: Samples, kinematic: tuple[np.ndarray, np.ndarray]
) -> Chain | None:
    """The chain for given stages of the unknowns; None if it is not one."""
    J, E = (
        tuple(np.array(part, np.int64) for part in matrix.sparsity().get_triplet())
        for matrix in (system.jacobian, system.leading)
    )
    m = system.residual.numel()
    of_constraint, of_equation = stages_of_rows(J, stage, m), stages_of_rows(E, stage, m)
    moves = np.zeros(system.n, bool)
    moves[E[1]] = True
    links, bordered = [], True
    for s in np.unique(stage):
        unknowns = np.flatnonzero(stage == s)
        constraints = rows.algebraic[of_constraint[rows.algebraic] == s]
        if not all(full_rank(block) for block in samples.jacobians(constraints, unknowns)):
            return None
        equations, moving = rows.differential[of_equation[rows.differential] == s], unknowns[moves[unknowns]]
        own = own_equations(samples, equations, moving)
        splits = len(constraints) < len(unknowns)
        place = np.full(len(unknowns), -1)
        if own is not None:
            place[moves[unknowns]] = own
        if splits and (own is None or not _follow(samples, constraints, unknowns[~moves[unknowns]])):
            bordered = False
        definite = not splits or not len(constraints) or (own is not None and _definite(samples, own, moving))
        links.append(
            ConstraintBlock(constraints, unknowns, place, splits=splits, definite=definite, level=f"level {len(links)}")
        )
    if not links or sum(len(link.rows) for link in links) != len(rows.algebraic):
        return None
    return chain(rows, tuple(links), system.n, bordered=bordered, kinematic=kinematic)


def own_equations(samples: Samples, equations: np.ndarray, moving: np.ndarray) -> np.ndarray | None:
    """For each unknown that moves an equation of its own: so that the leading matrix is symmetric positive definite, if
    that is possible; None if there are not as many."""
    if len(equations) != len(moving):
        return None
    if not len(moving) or _definite(samples, equations, moving):
        return equations
    match = sparse.csgraph.maximum_bipartite_matching(samples.leading(equations, moving)[0].tocsr(), perm_type="row")
    return None if (match < 0).any() else equations[match]


def _definite(samples: Samples, equations: np.ndarray, moving: np.ndarray) -> bool:
    return all(positive_definite(block) for block in samples.leading(equations, moving))


def _follow(samples: Samples, constraints: np.ndarray, resting: np.ndarray) -> bool:
    """Whether unknowns without derivatives follow from the others by constraints of the same stage."""
    return all(full_rank(block.T.tocsr()) for block in samples.jacobians(constraints, resting))


def kinematic_rows(system: System, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows x_i' = x_j, with nothing else in them, and their i and j."""
    by_x, by_rate = system.jacobian, system.leading
    J, E = (tuple(np.array(part, np.int64) for part in matrix.sparsity().get_triplet()) for matrix in (by_x, by_rate))
    m = system.residual.numel()
    single = (np.bincount(J[0], minlength=m) == 1) & (np.bincount(E[0], minlength=m) == 1)
    single &= np.isin(np.arange(m), rows.differential)
    if not single.any():
        return NOTHING, NOTHING, NOTHING
    j_at, e_at = np.flatnonzero(single[J[0]]), np.flatnonzero(single[E[0]])
    value = {int(J[0][k]): (int(J[1][k]), by_x.nz[int(k)]) for k in j_at}
    rate = {int(E[0][k]): (int(E[1][k]), by_rate.nz[int(k)]) for k in e_at}
    found = []
    for row in sorted(value):
        (j, a), (i, e) = value[row], rate[row]
        if i != j and a.is_constant() and e.is_constant() and float(a) == 1.0 and float(e) == 1.0:
            found.append((row, i, j))
    rests = _without_unknowns(system, [row for row, _, _ in found])
    kept = [each for each, rest in zip(found, rests, strict=True) if rest]
    if not kept:
        return NOTHING, NOTHING, NOTHING
    return tuple(np.array(part, np.int64) for part in zip(*kept, strict=True))


def _without_unknowns(system: System, rows: list[int]) -> list[bool]:
    """Whether rows are zero where all unknowns are."""
    import casadi as ca

    if not rows:
        return []
    both = ca.vertcat(system.x, system.x_dot)
    rest = ca.substitute(system.residual[rows], both, ca.SX.zeros(both.numel()))
    return [element.is_zero() for element in ca.vertsplit(rest)]
