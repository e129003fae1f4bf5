"""What methods integrate in place of a DAE: its equations with the constraints of all levels.

    projected_form    for Qualidaes: differential equations that are projected, constraints in a chain of blocks
    overdetermined    for Odassl: as many equations as unknowns, and the others below them
    stabilized        for Radau5 and Dassl: as many equations as unknowns, with multipliers that vanish on the solution

References
----------
.. [1] R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with
   Modelica", Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013.
"""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.regularize.formulations import formulate
from dalembert.regularize.projected import Blocks, ProjectedSystem
from dalembert.regularize.structure.analysis import analyse
from dalembert.regularize.structure.chain import Rows, find_chain, kinematic_rows, one_block
from dalembert.regularize.structure.mechanical import equations_of_motion
from dalembert.regularize.structure.samples import Samples
from dalembert.regularize.system import System

PROJECTED: Slot[ProjectedSystem] = Slot("projected form of a DAE", most=4)


def projected_form(model: Model, *, invariants: str = "project") -> ProjectedSystem:
    """Build (once) what Qualidaes integrates: E x' = k and all constraints, in blocks.

    Parameters
    ----------
    invariants : {"project", "impose", "ignore"}
        What becomes of constraints that hold along all solutions anyway: accepted points are moved onto them, they are
        constraints as others are, or they are left out.
    """
    if model.own_formulation is None:
        raise ModelError(
            f"model '{model.name}' has equations of motion, which Qualidaes cannot treat: take Geoms, the same method "
            "for them"
        )
    return model.kept.get(PROJECTED, invariants, lambda: _projected(model, invariants))


def _projected(model: Model, invariants: str) -> ProjectedSystem:
    stacked, stage = _with_all_constraints(model)
    differential = stacked.differential_equations
    every = np.arange(len(stacked.equations))
    rows = Rows(every[differential], every[~differential], np.zeros(0, np.int64))
    n = stacked.n
    if len(rows.algebraic) > n:
        raise ModelError(
            f"model '{model.name}' has {len(rows.algebraic)} constraints for {n} unknowns: leave out those that follow "
            "from the others"
        )
    if len(every) < n:
        raise ModelError(
            f"model '{model.name}' has {len(every)} equations for {n} unknowns: hidden constraints are missing in "
            "constraints="
        )
    factors, blocks = _blocks(stacked, rows, stage)
    index = np.ones(n, np.int64)
    index[_of_index_2(stacked, rows)] = 2
    order = _order_of_rows(blocks, len(every))
    stacked, blocks = _reordered(stacked, blocks, order, factors)
    fields = {field.name: getattr(stacked, field.name) for field in dataclasses.fields(stacked) if field.init}
    fields.update(formulation="projected quasi-linear", index=index)
    return ProjectedSystem(**fields, blocks=blocks, form="quasi-linear")


def _with_all_constraints(model: Model) -> tuple[System, np.ndarray | None]:
    """All equations one below the other, and the stages of the unknowns if they are known."""
    if not model.linear_in_rates:
        raise ModelError(f"model '{model.name}' is an ImplicitDAE, which Qualidaes cannot treat: take method=Dassl()")
    stacked = formulate(model).stacked()
    if not all(function.traced for function in model.graph.functions.values()):
        return stacked, None
    return stacked, -analyse(model).d


def _blocks(system: System, rows: Rows, stage: np.ndarray | None) -> tuple[np.ndarray, Blocks]:
    """The blocks, and what rows are to be multiplied by."""
    graph, ones = system.model.graph, np.ones(len(system.equations))
    if stage is None or graph.externals_in(system.residual):
        nothing = np.zeros(0, np.int64)
        return ones, one_block(rows, system.n, (nothing, nothing))
    kinematic = kinematic_rows(system, rows)
    row, p, v = kinematic
    samples = Samples(system)
    if not samples:
        return ones, one_block(rows, system.n, (row, p))
    stage = stage.copy()
    # positions that no constraint restricts have the stage of their velocities: they may as well come before them
    alike = stage[p] == stage[v]
    stage[p[alike]] -= 1
    found = find_chain(system, rows, stage, samples, (row, p))
    if found is None:
        return ones, one_block(rows, system.n, (row, p))
    return equations_of_motion(system, rows, found, kinematic, samples) or (ones, found)


def _of_index_2(system: System, rows: Rows) -> np.ndarray:
    """Unknowns without derivatives of which no constraint knows: multipliers whose constraints are not on the highest
    level."""
    in_constraints = np.diff(system.jacobian[rows.algebraic.tolist(), :].sparsity().colind()) > 0
    return np.flatnonzero(~system.differential & ~in_constraints)


def _order_of_rows(blocks: Blocks, m: int) -> np.ndarray:
    """Rows as kernels expect them: kinematic, dynamic, of elements, then constraints from the highest level down."""
    parts = (blocks.kinematic, blocks.dynamic, blocks.elements, blocks.F1, blocks.F2, blocks.F3, blocks.F4)
    order = np.concatenate(parts).astype(np.int64)
    return order if len(order) == m else np.concatenate([order, np.setdiff1d(np.arange(m), order)])


def _reordered(system: System, blocks: Blocks, order: np.ndarray, factors: np.ndarray) -> tuple[System, Blocks]:
    """Rows in another order, and multiplied by factors."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows = order.tolist()
    residual, jacobian, leading = system.residual[rows], system.jacobian[rows, :], system.leading[rows, :]
    if (factors != 1).any():
        times = ca.DM(factors[order])
        residual, jacobian, leading = times * residual, ca.mtimes(ca.diag(times), jacobian), leading
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
