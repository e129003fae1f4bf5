"""What methods integrate in place of a DAE: its equations with the constraints of all levels [1]_.

    projected_form    for Qualidaes: differential equations that are projected, constraints in a chain of blocks
    overdetermined    for Odassl: as many equations as unknowns, and the other constraints below them
    stabilized        for Radau5 and Dassl: as many equations as unknowns, and multipliers κ that vanish on the solution

References
----------
.. [1] R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with
   Modelica", Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.vocabulary import VOCABULARY
from dalembert.regularize.formulations import formulate
from dalembert.regularize.projected import Blocks, ProjectedSystem
from dalembert.regularize.structure.analysis import analyse
from dalembert.regularize.structure.chain import Rows, find_chain, kinematic_rows, one_block, stages_of_rows
from dalembert.regularize.structure.hidden import Regularized, regularized
from dalembert.regularize.structure.incidence import Incidence
from dalembert.regularize.structure.matching import augment
from dalembert.regularize.structure.mechanical import equations_of_motion
from dalembert.regularize.structure.samples import Samples
from dalembert.regularize.system import System, places

PROJECTED: Slot[ProjectedSystem] = Slot("projected form of a DAE", most=4)
STACKED: Slot[Stacked] = Slot("a DAE with all its constraints", most=1)
SQUARE: Slot[System] = Slot("a DAE with all its constraints for other methods", most=2)


def is_regularized(model: Model) -> bool:
    """Whether methods integrate more than the equations that a model has: there are hidden constraints to be found, or
    it is overdetermined."""
    if model.own_formulation is None or model.hidden != "auto" or not _is_traced(model):
        return False
    return model.n_differential + model.n_constraints > len(model.names("x")) or analyse(model).hides


def _is_traced(model: Model) -> bool:
    return all(function.traced for function in model.graph.functions.values())


@dataclass(frozen=True, eq=False)
class Stacked:
    """Differential equations, and all constraints below them."""

    system: System
    stage: np.ndarray | None  # of the unknowns: −d of structural analysis; None if it is not known
    n_invariants: int = 0  # the last rows: they hold along solutions anyway

    def rows(self, invariants: str) -> Rows:
        """What the rows are if invariants are to be projected onto, imposed or ignored."""
        differential, every = self.system.differential_equations, np.arange(len(self.system.equations))
        first = len(every) - self.n_invariants
        algebraic = every[~differential]
        if invariants != "impose":
            algebraic = algebraic[algebraic < first]
        return Rows(every[differential], algebraic, every[first:] if invariants == "project" else every[:0])


def with_all_constraints(model: Model) -> Stacked:
    """All equations of a model, those that it hides too, one below the other (kept with it)."""
    return model.kept.get(STACKED, None, lambda: _with_all_constraints(model))


def _with_all_constraints(model: Model) -> Stacked:
    known = _is_traced(model)
    if is_regularized(model) or (known and not model.linear_in_rates):
        form = regularized(model)
        stage = np.concatenate([-form.structure.d, form.y_of[:, 1] - form.structure.d[form.y_of[:, 0]]])
        return Stacked(_system_of(form), stage, len(form.invariants))
    if not model.linear_in_rates:
        raise ModelError(
            f"the residual of model '{model.name}' runs as Python code, so that its constraints are not known: take "
            "method=Dassl()"
        )
    return Stacked(formulate(model).stacked(), -analyse(model).d if known else None)


def _system_of(form: Regularized) -> System:
    n_x, n_y = form.x.numel(), form.y.numel()
    x = ca.vertcat(form.x, form.y)
    x_dot = ca.vertcat(form.x_dot, ca.SX.sym("y_dot", n_y))
    h = ca.vertcat(form.constraints, form.invariants.rows)
    residual = ca.densify(ca.vertcat(form.k - ca.mtimes(form.E, form.x_dot), h))
    leading = ca.sparsify(ca.vertcat(ca.horzcat(form.E, ca.SX(form.E.shape[0], n_y)), ca.SX(h.numel(), n_x + n_y)))
    sizes = {"x": n_x, "y": n_y} if n_y else {"x": n_x}
    return System(
        model=form.model,
        formulation="regularized",
        slices=places(sizes),
        variables=(*form.model.names("x"), *form.y_names),
        equations=(*form.differential_names, *form.constraint_names, *form.invariants.names),
        index=np.concatenate([_weights(form), np.full(n_y, 2)]),
        x=x,
        x_dot=x_dot,
        residual=residual,
        jacobian=ca.sparsify(ca.jacobian(residual, x)),
        leading=leading,
        derivative_of=form.y_of[:, 0] if n_y and (form.y_of[:, 1] == 1).all() else None,
    )


def _weights(form: Regularized) -> np.ndarray:
    """The index by which errors of the unknowns are weighted: 2 for those that derivatives of equations determine.

    Multipliers of stiff parts are far rougher than what they act on, and their errors those of the others, amplified.
    """
    index = np.ones(form.x.numel(), np.int64)
    derived = ca.vertcat(*(level.rows for level in form.levels[1:]))
    if derived.numel():
        occurs = np.diff(ca.jacobian_sparsity(derived, form.x).colind()) > 0
        index[occurs & (form.structure.d == 0)] = 2
    return index


# -- for Qualidaes -------------------------------------------------------------------------------------------------


def projected_form(model: Model, *, invariants: str = "project") -> ProjectedSystem:
    """Build (once) what Qualidaes integrates: E x' = k and all constraints, in blocks.

    Parameters
    ----------
    invariants : {"project", "impose", "ignore"}
        What becomes of constraints that hold along all solutions anyway: accepted points are moved onto them, they are
        constraints as others are, or they are left out.
    """
    return model.kept.get(PROJECTED, invariants, lambda: _projected(model, invariants))


def _projected(model: Model, invariants: str) -> ProjectedSystem:
    whole = with_all_constraints(model)
    system, rows = whole.system, whole.rows(invariants)
    n, m = system.n, len(rows.differential) + len(rows.algebraic)
    if len(rows.algebraic) > n:
        raise ModelError(
            f"model '{model.name}' has {len(rows.algebraic)} constraints for {n} unknowns: leave out those that follow "
            "from the others"
        )
    if m < n:
        raise ModelError(
            f"model '{model.name}' has {m} equations for {n} unknowns: hidden constraints are missing in constraints="
        )
    factors, blocks = _blocks(system, rows, whole.stage)
    index = np.ones(n, np.int64)
    index[_of_index_2(system, rows)] = 2
    index[system.slices.get("y", slice(0, 0))] = 2  # derivatives of stiff parts are rougher than what was asked for
    system, blocks = _reordered(system, blocks, _order_of_rows(blocks), factors)
    fields = {field.name: getattr(system, field.name) for field in dataclasses.fields(system) if field.init}
    fields.update(formulation="projected quasi-linear", index=index)
    return ProjectedSystem(**fields, blocks=blocks, form="quasi-linear")


def _blocks(system: System, rows: Rows, stage: np.ndarray | None) -> tuple[np.ndarray, Blocks]:
    """The blocks, and what rows are to be multiplied by."""
    ones, nothing = np.ones(len(system.equations)), np.zeros(0, np.int64)
    if stage is None:
        return ones, one_block(rows, system.n, (nothing, nothing))
    kinematic = kinematic_rows(system, rows)
    row, p, v = kinematic
    samples = Samples(system)
    if not samples:
        return ones, one_block(rows, system.n, (row, p))
    stage = stage.copy()
    # positions that no constraint restricts have the stage of their velocities: they may as well come before them
    stage[p[stage[p] == stage[v]]] -= 1
    found = find_chain(system, rows, stage, samples, (row, p))
    if found is None:
        return ones, one_block(rows, system.n, (row, p))
    return equations_of_motion(system, rows, found, kinematic, samples) or (ones, found)


def _of_index_2(system: System, rows: Rows) -> np.ndarray:
    """Unknowns without derivatives of which no constraint knows: multipliers whose constraints are not on the highest
    level."""
    in_constraints = np.diff(system.jacobian[rows.algebraic.tolist(), :].sparsity().colind()) > 0
    return np.flatnonzero(~system.differential & ~in_constraints)


def _order_of_rows(blocks: Blocks) -> np.ndarray:
    """Rows as kernels expect them: kinematic, dynamic, of elements, then constraints from the highest level down."""
    parts = (blocks.kinematic, blocks.dynamic, blocks.elements, blocks.F1, blocks.F2, blocks.F3, blocks.F4)
    return np.concatenate(parts).astype(np.int64)


def _reordered(system: System, blocks: Blocks, order: np.ndarray, factors: np.ndarray) -> tuple[System, Blocks]:
    """Some of the rows, in another order, constraints multiplied by factors."""
    place = np.full(len(system.equations), -1)
    place[order] = np.arange(len(order))
    rows = order.tolist()
    residual, jacobian, leading = system.residual[rows], system.jacobian[rows, :], system.leading[rows, :]
    if (factors != 1).any():
        times = ca.DM(factors[order])
        residual, jacobian = times * residual, ca.mtimes(ca.diag(times), jacobian)
    moved = dataclasses.replace(
        system,
        equations=tuple(system.equations[i] for i in rows),
        residual=ca.densify(residual),
        jacobian=jacobian,
        leading=leading,
    )
    names = ("kinematic", "dynamic", "elements", "F1", "F2", "F3", "F4")
    changed = {name: place[getattr(blocks, name)] for name in names}
    if hasattr(blocks, "links"):
        changed["links"] = tuple(
            dataclasses.replace(link, rows=place[link.rows], own=np.where(link.own >= 0, place[link.own], -1))
            for link in blocks.links
        )
    return moved, dataclasses.replace(blocks, **changed)


# -- for other methods ---------------------------------------------------------------------------------------------


def overdetermined(model: Model) -> System:
    """Build (once) what Odassl integrates: a DAE of index 1, and as further constraints all that it hides."""
    return model.kept.get(SQUARE, "overdetermined", lambda: _overdetermined(model))


def _overdetermined(model: Model) -> System:
    whole = with_all_constraints(model)
    system, rows = whole.system, whole.rows("impose")
    used, others = _square_part(model, whole)
    kept, extra = np.concatenate([rows.differential, used]).tolist(), others.tolist()
    return dataclasses.replace(
        system,
        formulation="regularized, overdetermined",
        index=np.ones(system.n, np.int64),  # constraints of the highest level are to be satisfied as all others
        equations=tuple(system.equations[i] for i in kept),
        residual=system.residual[kept],
        jacobian=system.jacobian[kept, :],
        leading=system.leading[kept, :],
        constraints=system.residual[extra] if extra else ca.SX(0, 1),
        constraint_names=tuple(system.equations[i] for i in extra),
    )


def stabilized(model: Model) -> System:
    """Build (once) what Radau5 and Dassl integrate: E x' = k − B κ with all constraints, index 2 in κ.

    There is one κ for each constraint on unknowns whose derivatives occur, and it vanishes on the solution, as η
    does in the form of Gear, Gupta and Leimkuhler. It changes unknowns of the constraint's own stage alone, along its
    gradient A, in the metric of their leading matrix: errors of κ then do not move what constraints leave free.
    B = Aᵀ if that matrix is symmetric and positive definite, else E Aᵀ; for unknowns without derivatives 0 = Aᵀ κ.
    Without stages κ belongs to each constraint that determines no unknown without derivatives, and B = E (∂h/∂x)ᵀ.
    """
    return model.kept.get(SQUARE, "stabilized", lambda: _stabilized(model))


def _stabilized(model: Model) -> System:
    whole = with_all_constraints(model)
    system, rows, invariant = whole.system, whole.rows("ignore"), whole.rows("project").invariant
    _, blocks = _blocks(system, rows, whole.stage)
    every = whole.rows("impose").algebraic
    if not blocks.bordered:
        used, others = _square_part(model, whole)
        parts = [_along_all(system, rows.differential, others)]
        return _with_multipliers(system, rows.differential, np.concatenate([used, others]), others, parts)
    differential, constraints, parts, resting = [blocks.elements], [], [], []
    for link in blocks.constraints:
        moves = link.own >= 0
        if not moves.any():  # it determines its unknowns, and nothing else does
            continue
        differential.append(link.own[moves])
        if len(link.rows):
            constraints.append(link.rows)
            gradients = system.jacobian[link.rows.tolist(), link.unknowns[moves].tolist()].T
            if not link.definite:
                gradients = ca.mtimes(
                    system.leading[link.own[moves].tolist(), link.unknowns[moves].tolist()], gradients
                )
            parts.append((link.own[moves], gradients))
            resting.append(
                (link.unknowns[~moves], system.jacobian[link.rows.tolist(), link.unknowns[~moves].tolist()].T)
            )
    if len(invariant):
        constraints.append(invariant)
        parts.append(_along_all(system, rows.differential, invariant))
    constraints = np.concatenate([np.zeros(0, np.int64), *constraints])
    return _with_multipliers(system, np.concatenate(differential), every, constraints, parts, resting)


def _along_all(system: System, equations: np.ndarray, constraints: np.ndarray) -> tuple[np.ndarray, ca.SX]:
    """E (∂h/∂x)ᵀ in these equations."""
    moving = np.flatnonzero(system.differential).tolist()
    if not len(constraints):
        return equations, ca.SX(len(equations), 0)
    gradients = system.jacobian[constraints.tolist(), moving]
    return equations, ca.mtimes(system.leading[equations.tolist(), moving], gradients.T)


def _with_multipliers(
    system: System,
    differential: np.ndarray,
    algebraic: np.ndarray,
    constraints: np.ndarray,
    parts: list[tuple[np.ndarray, ca.SX]],
    resting: Sequence[tuple[np.ndarray, ca.SX]] = (),
) -> System:
    """Differential equations with B κ, algebraic ones, and 0 = Aᵀ κ of resting unknowns.

    `parts` are equations and their rows of B, in the order of the constraints that the multipliers belong to.
    """
    n, k = system.n, len(constraints)
    kappa = ca.SX.sym("kappa", k)
    place = np.full(len(system.equations), -1)
    place[differential] = np.arange(len(differential))
    B, still, names, first = ca.SX(len(differential), 0), [], [], 0
    for number, (equations, block) in enumerate(parts):
        here = place[equations] >= 0
        wide = ca.SX(len(differential), block.shape[1])
        if here.any():
            wide[place[equations[here]].tolist(), :] = block[np.flatnonzero(here).tolist(), :]
        B = ca.horzcat(B, wide)
        if number < len(resting) and len(resting[number][0]):
            unknowns, gradients = resting[number]
            row = ca.SX(len(unknowns), k)
            row[:, first : first + block.shape[1]] = gradients
            still.append(ca.sparsify(row))
            names += [f"multipliers of constraints on '{system.variables[j]}'" for j in unknowns]
        first += block.shape[1]
    B = ca.sparsify(B)
    still = ca.vertcat(*still) if still else ca.SX(0, k)
    differential, algebraic = differential.tolist(), algebraic.tolist()
    residual = [system.residual[differential] - ca.mtimes(B, kappa) if differential else ca.SX(0, 1)]
    residual += [ca.mtimes(still, kappa), system.residual[algebraic]]
    # κ vanishes on the solution: Newton's matrix does without its products with derivatives of B
    by_x = ca.vertcat(system.jacobian[differential, :], ca.SX(len(names), n), system.jacobian[algebraic, :])
    by_kappa = ca.vertcat(-B, still, ca.SX(len(algebraic), k))
    leading = ca.vertcat(system.leading[differential, :], ca.SX(len(names) + len(algebraic), n))
    component = VOCABULARY["kappa"].component
    return dataclasses.replace(
        system,
        formulation="regularized, stabilized",
        slices={**system.slices, "kappa": slice(n, n + k)},
        variables=(*system.variables, *(component.format(system.equations[i]) for i in constraints)),
        equations=(
            *(system.equations[i] for i in differential),
            *names,
            *(system.equations[i] for i in algebraic),
        ),
        index=np.concatenate([system.index, np.full(k, 3)]),
        x=ca.vertcat(system.x, kappa),
        x_dot=ca.vertcat(system.x_dot, ca.SX.sym("kappa_dot", k)),
        residual=ca.densify(ca.vertcat(*residual)),
        jacobian=ca.sparsify(ca.horzcat(by_x, by_kappa)),
        leading=ca.sparsify(ca.horzcat(leading, ca.SX(leading.shape[0], k))),
    )


def _square_part(model: Model, whole: Stacked) -> tuple[np.ndarray, np.ndarray]:
    """Constraints that determine the unknowns without derivatives, those of the latest stages; and all others."""
    system, rows, n = whole.system, whole.rows("impose"), whole.system.n
    moving = system.differential
    if len(rows.differential) != moving.sum():
        raise ModelError(
            f"model '{model.name}' has {len(rows.differential)} equations with derivatives, of {moving.sum()} "
            "unknowns, so that there is no form of it with as many equations as unknowns: take Qualidaes"
        )
    resting = np.flatnonzero(~moving)
    i, j = (np.array(part, np.int64) for part in system.jacobian.sparsity().get_triplet())
    stage = np.zeros(n, np.int64) if whole.stage is None else whole.stage
    latest = stages_of_rows((i, j), stage, len(system.equations))[rows.algebraic]
    ordered = rows.algebraic[np.argsort(-latest, kind="stable")]
    row_at, column_at = (np.full(size, -1) for size in (len(system.equations), n))
    row_at[ordered], column_at[resting] = np.arange(len(ordered)), np.arange(len(resting))
    here = (row_at[i] >= 0) & (column_at[j] >= 0)
    pattern = Incidence.of(row_at[i[here]], column_at[j[here]], np.zeros(here.sum()), (len(ordered), len(resting)))
    row_of, column_of = np.full(len(resting), -1), np.full(len(ordered), -1)
    for number in range(len(ordered)):  # each finds its place if those before it leave one
        augment(pattern, number, row_of, column_of)
    if (row_of < 0).any():
        names = ", ".join(f"'{system.variables[resting[k]]}'" for k in np.flatnonzero(row_of < 0)[:4])
        raise ModelError(
            f"model '{model.name}' has no constraints that determine {names}, of which no derivative occurs: take "
            "Qualidaes"
        )
    used = ordered[row_of]
    return used, np.setdiff1d(rows.algebraic, used)
