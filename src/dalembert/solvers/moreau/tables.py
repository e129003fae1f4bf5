"""What a model means for Moreau and Jean's method: which rows are contacts, which entries go where."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.compile.half_explicit import CompiledDescriptor
from dalembert.compile.memory import Memory
from dalembert.compile.ports import Port
from dalembert.compile.system import expression_port, nonzeros, triplets
from dalembert.linalg.saddle.auto import AUTO
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.solver import SaddlePattern
from dalembert.linalg.saddle.sparse import Sparse
from dalembert.model.graph import Graph

#: velocities up to which Jacobians of forces are taken unasked
MODERATE = 150
#: unknowns up to which matrices that are not symmetric are full
SMALL = 60


@dataclass(frozen=True, eq=False)
class Tables:
    """Places of entries, for the record of a run; `stepper.new_state` takes them over."""

    compiled: CompiledDescriptor
    jacobian: Port | None
    n_by_v: int
    passes: int  # evaluations of the forces in a step
    pattern: SaddlePattern
    mass_place: np.ndarray
    jacobian_place: np.ndarray
    bilateral_entry: np.ndarray
    bilateral_row: np.ndarray
    row_start: np.ndarray
    row_entry: np.ndarray
    row_column: np.ndarray
    row_of: np.ndarray
    first_row: np.ndarray
    normal: np.ndarray

    def solver(self) -> Memory:
        """The record of a linear solver for the matrix of a step."""
        if self.jacobian is None:
            return AUTO.build(self.pattern)
        return (Dense() if self.pattern.n <= SMALL else Sparse()).build(self.pattern)


def make_tables(compiled: CompiledDescriptor, implicit: bool | None) -> Tables:
    """Tables of a form; `implicit`: whether Jacobians of forces are wanted, None: if they are at hand."""
    form = compiled.form
    model, graph = form.model, form.model.graph
    n_lam, n_v = graph.size("lam"), graph.size("v")
    rows = [[contact.normal, *(n_lam + k for k in contact.stick)] for contact in model.contacts]
    row_of = np.array([row for group in rows for row in group], np.int64)
    bilateral_row = np.setdiff1d(np.arange(len(form.constraint_names)), row_of)
    C_rows, C_columns = compiled.constraint_pattern
    bilateral_entry = np.flatnonzero(np.isin(C_rows, bilateral_row))
    entries = [np.flatnonzero(C_rows == row) for row in row_of]
    by_v, by_p, reads = _derivatives(form, graph)
    if implicit is None:
        implicit = by_v is not None and n_v <= MODERATE and not graph.size("r")
    if not implicit or by_v is None or by_v.nnz() + by_p.nnz() == 0:
        by_v = by_p = ca.SX(n_v, n_v)
    blocks = [compiled.mass_pattern, triplets(by_v.sparsity()), triplets(by_p.sparsity())]
    mass, (mass_place, v_place, p_place) = _union(blocks, n_v)
    jacobian = None
    if by_v.nnz() + by_p.nnz():
        jacobian = expression_port(form, ca.vertcat(nonzeros(by_v), nonzeros(by_p)))
    constraint = (np.searchsorted(bilateral_row, C_rows[bilateral_entry]), C_columns[bilateral_entry])
    return Tables(
        compiled=compiled, jacobian=jacobian, n_by_v=by_v.nnz(), passes=2 if jacobian is None and reads else 1,
        pattern=SaddlePattern(
            n_v=n_v, n_lam=len(bilateral_row), mass=mass, constraint=constraint,
            force=constraint if len(bilateral_row) else None, velocity_names=model.names("v"),
            constraint_names=[form.constraint_names[i] for i in bilateral_row],
        ),
        mass_place=mass_place, jacobian_place=np.concatenate([v_place, p_place]), bilateral_entry=bilateral_entry,
        bilateral_row=bilateral_row, row_start=np.cumsum([0, *map(len, entries)]),
        row_entry=np.concatenate([np.zeros(0, np.int64), *entries]),
        row_column=C_columns[np.concatenate([np.zeros(0, np.int64), *entries])], row_of=row_of,
        first_row=np.cumsum([0, *map(len, rows)]), normal=np.array([group[0] for group in rows], np.int64),
    )  # fmt: skip


def _derivatives(form, graph: Graph) -> tuple[ca.SX | None, ca.SX | None, bool]:
    """∂f/∂v and ∂f/∂p Z, None where they are not at hand; whether forces depend on velocities or on r."""
    kinds = [kind for kind in ("v", "r") if graph.size(kind)]
    if not graph.functions["force"].traced or not graph.functions["kinematics"].traced:
        return None, None, True
    contacts = [graph.symbol["lam"][contact.normal] for contact in form.model.contacts]
    force = form.force
    if contacts:  # sliding friction stands in the forces, but here impulses are in its place
        force = ca.substitute(force, ca.vertcat(*contacts), ca.SX.zeros(len(contacts)))
    reads = any(ca.depends_on(force, graph.symbol[kind]) for kind in kinds) or bool(graph.size("r"))
    if graph.size("v") > 4 * MODERATE:
        return None, None, reads
    by_v = ca.sparsify(ca.jacobian(force, graph.symbol["v"]))
    by_p = ca.sparsify(ca.mtimes(ca.jacobian(force, graph.symbol["p"]), graph.value("kinematics")))
    return by_v, by_p, reads


def _union(blocks: list, n: int) -> tuple[tuple[np.ndarray, np.ndarray], list[np.ndarray]]:
    """A pattern that holds those of all blocks and their transposes, and where the entries of each are in it."""
    keys = [rows * n + columns for rows, columns in blocks]
    turned = [columns * n + rows for rows, columns in blocks]
    union = np.unique(np.concatenate([*keys, *turned]))
    return (union // n, union % n), [np.searchsorted(union, key) for key in keys]
