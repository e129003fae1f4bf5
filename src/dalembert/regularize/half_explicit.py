"""The descriptor form of the equations of motion, as half-explicit methods integrate it [1]_:

    p' = Z v                                  position constraints        g(p, t) = 0
    M v' = f − (G Z)ᵀ λ − (H Z)ᵀ μ              velocity constraints        G Z v + g_t = 0,   H Z v + h = 0
    r' = b                                    acceleration level          G Z v' + γ_g = 0,  H Z v' + γ_h = 0

λ and μ together are the multipliers of one saddle-point system, whose constraint matrix C stacks G Z and H Z. M may be
semi-definite as long as it is positive on the null space of C.

References
----------
.. [1] Ch. Lubich, U. Nowak, U. Pöhle, Ch. Engstler, "MEXX - Numerical software for the integration of constrained
   mechanical multibody systems", Konrad-Zuse-Zentrum Berlin, 1992, chapter 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from dalembert.errors import ModelError
from dalembert.kept import Kept, Slot, computed
from dalembert.model import Model
from dalembert.model.functions import call_with_numbers
from dalembert.model.graph import Graph
from dalembert.model.kinematics import jacobian
from dalembert.model.linearity import linear_in
from dalembert.model.namespace import UnknownName
from dalembert.model.vocabulary import FUNCTIONS, MECHANICAL, VOCABULARY, Role, select
from dalembert.regularize.form import Form
from dalembert.regularize.hidden import derive
from dalembert.regularize.system import places

#: the unknowns, in this order
UNKNOWNS = select(MECHANICAL, Role.DIFFERENTIAL, Role.MULTIPLIER)
MULTIPLIERS = select(MECHANICAL, Role.MULTIPLIER)
DESCRIPTOR: Slot[DescriptorForm] = Slot("descriptor form", most=2)


@dataclass(frozen=True, eq=False)
class DescriptorForm(Form):
    """Expressions in the symbols of the model; x = (p, v, r, λ, μ). Rows of C are those of λ, then of μ."""

    model: Model
    slices: dict[str, slice]
    variables: tuple[str, ...]
    constraint_names: tuple[str, ...]  # rows of C
    x: ca.SX
    p_dot: ca.SX
    force: ca.SX
    r_dot: ca.SX
    mass: ca.SX
    constraint: ca.SX  # C
    constraint_rate: ca.SX  # (g_t, h): what C v must be the negative of; functions of v are to be taken at v = 0
    position: ca.SX  # g
    acceleration: ca.SX  # γ: C v' + γ = 0
    friction: ca.SX  # F = ∂f/∂(λ, μ); no nonzeros if the forces do not depend on multipliers
    dynamics_read_multipliers: bool  # whether r' depends on λ or μ
    formulation: str = "descriptor"
    inequalities: bool = False  # contacts may act or not within a step: multipliers are those of the method
    kept: Kept = field(init=False, repr=False)

    @property
    def settles_multipliers(self) -> bool:
        """With contacts: forces of bodies at rest may change much within a step, and polynomials do not follow them."""
        return bool(self.model.has_contacts and self.constraint_names) and not self.inequalities

    @computed
    def has_friction(self) -> bool:
        """Whether the forces depend on the multipliers."""
        return self.friction.nnz() > 0

    @computed
    def linear_friction(self) -> bool:
        """Whether the forces are f + F (λ, μ) with an F that does not depend on multipliers."""
        multipliers = ca.vertcat(*(self.model.graph.symbol[kind] for kind in MULTIPLIERS))
        function = self.model.graph.functions["force"]
        return function.traced and linear_in(function.sx, multipliers)

    @computed
    def plain_kinematics(self) -> bool:
        """Whether p' = v."""
        Z = self.model.graph.value("kinematics")
        return Z.is_square() and Z.is_constant() and bool(ca.DM(Z - ca.SX.eye(Z.shape[0])).is_zero())


def descriptor_form(model: Model, method: str = "this method", *, inequalities: bool = False) -> DescriptorForm:
    """Build (once) the descriptor form of a model; `method` is the name for the message if it has none.

    `inequalities`: for methods that decide within their steps which contacts act.
    """
    if not model.mechanical:
        raise ModelError(
            f"model '{model.name}' has no positions and velocities: {method} needs EquationsOfMotion; Radau5 and Dassl "
            "take a QuasiLinearDAE, Dassl an ImplicitDAE"
        )
    faults = [
        f"{method} cannot treat {VOCABULARY[kind].title} ({', '.join(model.names(kind))}): take Geoms or Radau5, which "
        "can"
        for kind in model.state_kinds
        if kind not in UNKNOWNS and model.graph.size(kind)
    ]
    if faults:
        raise ModelError(f"model '{model.name}' is not of the descriptor form of half-explicit methods", faults)
    return model.kept.get(DESCRIPTOR, inequalities, lambda: _build(model, inequalities))


def _build(model: Model, inequalities: bool) -> DescriptorForm:
    graph = model.graph
    # the user's own hidden constraints need not be linear in v' as they stand; the derived ones are
    hidden = derive(model)
    kinds = [kind for kind in UNKNOWNS if graph.size(kind)]
    slices = places({kind: graph.size(kind) for kind in kinds})
    n_m = graph.size("lam") + graph.size("mu")
    at_rest = ca.SX.zeros(graph.size("v"))
    rate = ca.substitute(ca.vertcat(hidden.g_I, hidden.h), graph.symbol["v"], at_rest)
    gamma = ca.substitute(ca.vertcat(hidden.g_II, hidden.h_I), graph.a, at_rest)
    friction = ca.SX(graph.size("v"), n_m)
    if n_m and reads_multipliers(graph, "force"):
        by = [jacobian(graph, "force", kind) for kind in MULTIPLIERS if graph.size(kind)]
        friction = ca.sparsify(ca.horzcat(*by))
    return DescriptorForm(
        model=model,
        slices=slices,
        variables=tuple(name for kind in kinds for name in graph.vectors[kind]),
        constraint_names=(*graph.vectors["lam"], *graph.vectors["mu"]),
        x=ca.vertcat(*(graph.symbol[kind] for kind in kinds)),
        p_dot=hidden.p_dot,
        force=graph.value("force"),
        r_dot=graph.value("dynamics") if graph.size("r") else ca.SX(0, 1),
        mass=_symmetric_pattern(ca.sparsify(graph.value("mass"))),
        constraint=ca.sparsify(ca.vertcat(hidden.GZ, hidden.HZ)),
        constraint_rate=rate,
        position=hidden.g,
        acceleration=gamma,
        friction=friction,
        inequalities=inequalities,
        dynamics_read_multipliers=bool(graph.size("r") and n_m) and reads_multipliers(graph, "dynamics"),
    )


def _symmetric_pattern(M: ca.SX) -> ca.SX:
    """The matrix with nonzeros wherever it or its transpose has some."""
    return ca.project(M, M.sparsity() + M.sparsity().T)


def reads_multipliers(graph: Graph, role: str) -> bool:
    """Whether a function depends on λ or μ; one that could not be traced is watched at a few sample points."""
    function = graph.functions[role]
    symbols = ca.vertcat(*(graph.symbol[kind] for kind in MULTIPLIERS))
    if function.traced:
        return bool(symbols.numel()) and ca.depends_on(function.sx, symbols)
    if function.native is not None:
        reads = any(kind in MULTIPLIERS for kind in function.native.reads)
        return reads or (function.applied is not None and ca.depends_on(function.applied, symbols))
    kinds = tuple(kind for kind in FUNCTIONS[role].reads if kind not in MULTIPLIERS)
    for point in graph.sample_points(kinds, {}):
        try:
            call_with_numbers(function.python, point)
        except UnknownName:
            return True
        except Exception:  # it need not be defined everywhere
            continue
    return False
