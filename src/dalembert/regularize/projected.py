"""The projected strangeness-free form of the equations of motion: constraints on all levels, and the differential
equations that a selector will be applied to.

Rows of the residual, in this order:

    kinematic      Z v − p'                                  (later multiplied by S_p)
    dynamic        f − Zᵀ Gᵀ λ − Zᵀ Hᵀ μ − M v'                (by S_v)
    force elements b − r'
    F1             d, g^II, h^I        determine w, λ, μ      "strangeness-free"
    F2             g^I, h, e           restrict v
    F3             c, g, e             determine s and restrict p
    F4             e                   not part of the stages: accepted points are projected onto them

Without the constraints on acceleration level ("index1") F1 is d alone, and λ, μ stay with the differential part [1]_.
Invariants that do not contain velocities (the norm of Euler parameters) belong to F3. The others stand in F2 as in the
paper ("impose"), where they determine velocities: a pendulum with its energy has none left to integrate, and is
singular at every turning point. In F4 ("project") they only correct accepted points, along the null space of the
constraints, which is regular wherever the gradient of the invariant on the constraints is.

References
----------
.. [1] A. Steinbrecher, "GEOMS", WIAS Preprint 1259, 2007, equations (12) and (18).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Slot, computed
from dalembert.model import Model
from dalembert.model.chain import rows_with, total_jacobian
from dalembert.model.vocabulary import equation_names, numbered
from dalembert.regularize.formulations import gives_missing_force, motion
from dalembert.regularize.hidden import hidden_constraints
from dalembert.regularize.system import System, places


@dataclass(frozen=True)
class ConstraintBlock:
    """Constraints that are solved for some unknowns, those of the blocks before them being known."""

    rows: np.ndarray  # of the residual
    unknowns: np.ndarray
    own: np.ndarray  # for each unknown the row of its own differential equation, or −1
    splits: bool  # leaves directions free; otherwise it determines its unknowns, and redundancy their smallest values
    directs: bool = False  # free multipliers are integrated along its rows
    definite: bool = True  # the leading matrix of its unknowns' own equations is symmetric and positive definite
    level: str = ""  # for messages: constraints are redundant on …


@dataclass(frozen=True)
class Blocks:
    """Rows and columns of the blocks, as index arrays into the residual and the unknowns."""

    kinematic: np.ndarray  # rows
    dynamic: np.ndarray
    elements: np.ndarray
    F1: np.ndarray
    F2: np.ndarray
    F3: np.ndarray
    F4: np.ndarray
    Y: np.ndarray  # columns determined by F1
    free: np.ndarray  # columns of the differential part beside v and z: r, and λ, μ without F1's constraints
    V: np.ndarray
    Z: np.ndarray  # s and p
    P: np.ndarray  # p alone
    multipliers: np.ndarray  # λ and μ
    partitioned: bool  # p' = v, holonomic constraints alone, and neither w nor multipliers in forces and dynamics
    #: whether the three blocks are the same constraints on three levels, so that redundant ones are redundant on each
    same_on_all_levels = True
    #: whether every unknown with a derivative has an equation of its own, so that sparse matrices can be bordered
    bordered = True
    selector: str = ""  # "image" where no differential equation belongs to an unknown; otherwise as the options say

    @computed
    def constraints(self) -> tuple[ConstraintBlock, ...]:
        """In the order in which they are solved."""
        own_z = np.full(len(self.Z), -1)
        own_z[np.isin(self.Z, self.P)] = self.kinematic
        of_z = ConstraintBlock(
            self.F3, self.Z, own_z, splits=True,
            level="position level, or the contact-point equations do not determine s",
        )  # fmt: skip
        of_v = ConstraintBlock(
            self.F2, self.V, self.dynamic, splits=True, directs=bool(np.isin(self.free, self.multipliers).any()),
            level="velocity level, or invariants follow from them",
        )  # fmt: skip
        of_y = ConstraintBlock(
            self.F1, self.Y, np.full(len(self.Y), -1), splits=False,
            level="acceleration level, or the auxiliary equations do not determine w",
        )  # fmt: skip
        return of_z, of_v, of_y


@dataclass(frozen=True, eq=False)
class ProjectedSystem(System):
    """A `System` with more equations than unknowns, and its block structure."""

    blocks: Blocks | None = None
    form: str = "strangeness-free"


PROJECTED: Slot[ProjectedSystem] = Slot("projected form", most=8)
SEMI_DEFINITE: Slot[bool] = Slot("whether the mass is semi-definite", most=4)


def projected(
    model: Model,
    form: str = "strangeness-free",
    *,
    invariants: str = "project",
    accelerations: str = "auto",
) -> ProjectedSystem:
    """Build (once) the projected form of a model.

    Parameters
    ----------
    form : {"strangeness-free", "index1"}
        With or without the constraints on acceleration level.
    invariants : {"project", "impose", "ignore"}
        What becomes of the model's invariants that contain velocities; see above.
    accelerations : {"auto", "eliminated", "unknown"}
        In g^II and h^I, v' is M⁻¹ (…), or an unknown of its own, which semi-definite M needs. "auto" looks at the
        structure of M and at its values, at generic points if they change.
    """
    if not model.mechanical:
        raise ModelError(
            f"model '{model.name}' has no positions and velocities: the projected form needs EquationsOfMotion; "
            "Radau5 and Dassl take a QuasiLinearDAE, Dassl an ImplicitDAE"
        )
    invariants = invariants if "invariant" in model.graph.functions else "ignore"
    unknown = form == "strangeness-free" and _accelerations_are_unknown(model, accelerations)
    key = (form, invariants, unknown)
    return model.kept.get(PROJECTED, key, lambda: _build(model, form, invariants, unknown))


def _accelerations_are_unknown(model: Model, accelerations: str) -> bool:
    graph = model.graph
    if accelerations != "auto" or not (graph.size("lam") + graph.size("mu")):
        return accelerations == "unknown"
    if graph.functions["mass"].native is not None:
        return True  # its inverse would be a graph that grows with the model
    values = graph.parameter_values.tobytes()
    return model.kept.get(SEMI_DEFINITE, values, lambda: _mass_is_semidefinite(model))


def _mass_is_semidefinite(model: Model) -> bool:
    """Whether M is singular for structural reasons, or wherever it is looked at: if it changes, at generic points."""
    graph = model.graph
    M = ca.sparsify(graph.value("mass"))
    if ca.sprank(M) < M.shape[0]:
        return True
    if graph.externals_in(M):
        return False
    p, s, theta = graph.symbol["p"], graph.symbol["s"], graph.theta
    function = ca.Function("M", [p, s, graph.t, theta], [M])
    if not ca.depends_on(M, ca.vertcat(p, s, graph.changing)):
        return mass_is_singular(function(0, 0, 0, model.theta(0.0)))
    seen = False
    for point in _generic_points(p.numel() + s.numel()):
        values = function(point[: p.numel()], point[p.numel() :], 0.0, model.theta(0.0))
        if np.isfinite(np.array(values.nonzeros())).all():
            seen = True
            if not mass_is_singular(values):
                return False
    return seen


def _generic_points(n: int) -> list[np.ndarray]:
    """Points in which nothing vanishes by chance, of several sizes: functions may not be defined at all of them."""
    random = np.random.default_rng(1)
    return [size * random.uniform(0.2, 1.0, n) for size in (1.0, 0.1, -0.7, 10.0)]


def mass_is_singular(M: ca.DM, threshold: float = 1e-12) -> bool:
    """Whether a mass matrix is singular, up to the scale of its coordinates: by Cholesky's pivots, block by block, as
    one matrix of all bodies would be far too large."""
    scale = np.sqrt(np.abs(np.array(ca.diag(M), float).ravel()))
    if (scale == 0).any():
        return True
    _, order, offsets = M.sparsity().scc()
    for start, stop in itertools.pairwise(offsets):
        if stop - start > 1:
            at = order[start:stop]
            block = np.array(M[at, at], float) / np.outer(scale[at], scale[at])
            try:
                pivots = np.diag(np.linalg.cholesky(block)) ** 2
            except np.linalg.LinAlgError:
                return True
            if not pivots.min() > threshold:
                return True
    return False


def _build(model: Model, form: str, invariants: str, unknown: bool) -> ProjectedSystem:
    graph, hidden = model.graph, hidden_constraints(model)
    free_of_strangeness = form == "strangeness-free"
    kinds = [kind for kind in model.state_kinds if graph.size(kind)]
    symbol = {kind: graph.symbol[kind] for kind in kinds}
    if unknown:
        kinds.append("a")
        symbol["a"] = graph.a
    names = {kind: model.names(kind) for kind in kinds}
    slices = places({kind: len(names[kind]) for kind in kinds})
    n = sum(map(len, names.values()))
    rate = {kind: ca.SX.sym(f"{kind}_dot", len(names[kind])) for kind in kinds}
    if not unknown and gives_missing_force(graph):
        rate["v"] = graph.a  # which its code reads

    def equations(kind: str, level: str | None = None) -> list[str]:
        # those for accelerations are named by velocities
        return list(equation_names(kind, graph.vectors["v" if kind == "a" else kind], level))

    M = graph.value("mass")
    if unknown and gives_missing_force(graph):  # F1 determines a, and v' = a says the same as M v' = …
        dynamic = graph.a - rate["v"]
    else:
        dynamic = motion(graph, rate["v"], hidden.constraint_force)
    g_II, h_I = hidden.g_II, hidden.h_I
    F1, F1_names = [], []
    if graph.size("w"):
        F1.append(graph.value("auxiliary"))
        F1_names += equations("w")
    if free_of_strangeness:
        if unknown:
            F1.append(motion(graph, graph.a, hidden.constraint_force))
            F1_names += equations("a")
        elif g_II.numel() + h_I.numel():
            a = _solve_mass(M, graph.value("force") - hidden.constraint_force)
            g_II, h_I = ca.substitute(g_II, graph.a, a), ca.substitute(h_I, graph.a, a)
        F1 += [g_II, h_I]
        F1_names += equations("lam", "acceleration") + equations("mu", "acceleration")
    F2, F2_names = [hidden.g_I, hidden.h], equations("lam", "velocity") + equations("mu", "velocity")
    F3, F3_names = [hidden.c, hidden.g], equations("s") + equations("lam")
    F4: list[ca.SX] = []
    F4_names: list[str] = []
    if invariants != "ignore":
        e = graph.value("invariant")
        with_v = rows_with(graph, e, "v")
        for i, name in enumerate(numbered("invariant", e.numel())):
            rows, row_names = (F3, F3_names)
            if with_v[i]:
                rows, row_names = (F2, F2_names) if invariants == "impose" else (F4, F4_names)
            rows.append(e[i])
            row_names.append(name)

    rows = {
        "kinematic": (hidden.p_dot - rate["p"], equations("p")),
        "dynamic": (dynamic, equations("v")),
        "elements": (graph.value("dynamics") - rate["r"] if graph.size("r") else ca.SX(0, 1), equations("r")),
        "F1": (ca.vertcat(*F1), F1_names),
        "F2": (ca.vertcat(*F2), F2_names),
        "F3": (ca.vertcat(*F3), F3_names),
        "F4": (ca.vertcat(*F4), F4_names),
    }
    blocks = places({name: len(row_names) for name, (_, row_names) in rows.items()})

    def columns(*wanted: str) -> np.ndarray:
        parts = [np.arange(n)[slices[k]] for k in wanted if k in slices]
        return np.concatenate([np.zeros(0, int), *parts])

    x, x_dot = ca.vertcat(*(symbol[k] for k in kinds)), ca.vertcat(*(rate[k] for k in kinds))
    residual = ca.densify(ca.vertcat(*(row for row, _ in rows.values())))
    index = np.ones(n, int)
    index[columns("a")] = 2  # accelerations of stiff parts are far rougher than anything the user asked for
    if not free_of_strangeness:
        index[columns("lam", "mu")] = 2
    return ProjectedSystem(
        model=model,
        formulation="projected strangeness-free" if free_of_strangeness else "projected index 1",
        slices=slices,
        variables=tuple(name for kind in kinds for name in names[kind]),
        equations=tuple(name for _, row_names in rows.values() for name in row_names),
        index=index,
        x=x,
        x_dot=x_dot,
        residual=residual,
        jacobian=total_jacobian(graph, residual, x),
        leading=-ca.sparsify(total_jacobian(graph, residual, x_dot)),
        blocks=Blocks(
            **{name: np.arange(part.start, part.stop) for name, part in blocks.items()},
            Y=columns("w", "a", "lam", "mu") if free_of_strangeness else columns("w"),
            free=columns("r") if free_of_strangeness else columns("lam", "mu", "r"),
            V=columns("v"),
            Z=columns("s", "p"),
            P=columns("p"),
            multipliers=columns("lam", "mu"),
            partitioned=free_of_strangeness and _is_partitioned(model, F2, F3, F4),
        ),
        form=form,
    )


def _is_partitioned(model: Model, F2: list[ca.SX], F3: list[ca.SX], F4: list[ca.SX]) -> bool:
    """Whether constraints on p and v have one Jacobian, and forces and dynamics no part in F1."""
    graph = model.graph
    if graph.size("s") or graph.size("mu") or len(F2) + len(F3) > 4 or F4:
        return False
    Z = ca.sparsify(graph.value("kinematics"))
    if Z.sparsity() != ca.Sparsity.diag(*Z.shape) or not all(e.is_constant() and float(e) == 1 for e in Z.nonzeros()):
        return False
    rates = ca.vertcat(graph.value("force"), graph.value("dynamics") if graph.size("r") else ca.SX(0, 1))
    return not (rows_with(graph, rates, "w") | rows_with(graph, rates, "lam")).any()


def _solve_mass(M: ca.SX, b: ca.SX) -> ca.SX:
    """M⁻¹ b in the graph by a sparse LDLᵀ factorization; M is positive definite here."""
    D, L, order = ca.ldl(ca.sparsify(M))
    return ca.ldl_solve(b, D, L, order)
