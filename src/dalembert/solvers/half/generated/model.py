"""The functions that a half-explicit method asks of a descriptor form, as nodes of one graph.

Saddle-point systems are eliminated symbolically: M and U *here*, where the forces are, G *there*, where the constraints
shall hold. Entries of M and C that change with time and position stand once in the record of a point (`q`), however
often they occur in the matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from dalembert.compile.generated.graph import Binding, Graph
from dalembert.compile.half_explicit import constant_nonzeros
from dalembert.compile.system import nonzeros, triplets
from dalembert.compile.tape import port_function
from dalembert.linalg.saddle.solver import SaddlePattern
from dalembert.regularize.half_explicit import DescriptorForm
from dalembert.solvers.half.generated.elimination import Eliminated, eliminated
from dalembert.solvers.limits import INDEPENDENT

#: tolerances of start values
RTOL, ATOL = 1e-6, 1e-8


@dataclass
class ModelGraph:
    """Nodes of all functions of a model. Rows of C are those of λ, then of μ."""

    form: DescriptorForm
    varied: tuple[int, ...]  # places in θ of the numbers that members have of their own
    inputs: Sequence[ca.Function | None] = ()  # t -> (u, u', u''); None: it is given by a table
    graph: Graph = field(default_factory=Graph)

    def __post_init__(self) -> None:
        form, graph = self.form, self.graph
        own = form.model.graph
        self.n_p, self.n_v, self.n_r = (own.size(kind) for kind in ("p", "v", "r"))
        self.n_lam, self.n_m = own.size("lam"), len(form.constraint_names)
        self.n_d = self.n_p + self.n_v + self.n_r
        self.n_tables = sum(function is None for function in self.inputs)
        self.plain = form.plain_kinematics
        self.t = graph.leaf("t", 0, Binding.POSITION)
        self.p = graph.leaves("p", self.n_p, Binding.POSITION)
        self.v = graph.leaves("v", self.n_v, Binding.STATE)
        self.r = graph.leaves("r", self.n_r, Binding.STATE)
        self.multipliers = graph.leaves("lam", self.n_m, Binding.STATE)
        self.theta = self._theta()
        self.x = [*self.p, *self.v, *self.r, *self.multipliers]
        self._read()
        if graph.find_sums([*self.mass, *self.constraint, *self.force, *self.position, *self.gamma, *self.rate]):
            self._read()
        self.constraint_pattern = triplets(form.constraint.sparsity())
        moving = [n for n in (*self.mass, *self.constraint) if graph.binding[n] == Binding.POSITION]
        self.q = list(dict.fromkeys(moving))
        self.residual = self._velocity_residual()
        self.saddle = self._saddle()
        self._right_sides()
        self._start()

    def _read(self) -> None:
        form = self.form
        self.mass, self.constraint = self.read(nonzeros(form.mass)), self.read(nonzeros(form.constraint))
        self.rate = self.read(form.constraint_rate)  # (g_t, h)
        self.force, self.p_dot, self.r_dot = self.read(form.force), self.read(form.p_dot), self.read(form.r_dot)
        self.position, self.gamma = self.read(form.position), self.read(form.acceleration)

    def _theta(self) -> list[int]:
        """Nodes of θ: shared and members' numbers, and inputs as functions of time."""
        graph, model = self.graph, self.form.model
        layout, own = model.theta_layout, {place: k for k, place in enumerate(self.varied)}
        fixed = [
            graph.leaf("member", own[i], Binding.MEMBER) if i in own else graph.leaf("shared", i, Binding.SHARED)
            for i in range(layout.n_fixed)
        ]
        rows: list[list[int]] = [[], [], []]
        tables = 0
        for function in self.inputs:
            if function is None:
                levels = [graph.leaf("u", 3 * tables + order, Binding.POSITION) for order in range(3)]
                tables += 1
            else:
                time = ca.SX.sym("t")
                levels = graph.read(ca.Function("u", [time], [ca.densify(function(time))]), [[self.t]])[0]
            for row, node in zip(rows, levels, strict=True):
                row.append(node)
        return [*fixed, *rows[0], *rows[1], *rows[2]]

    def read(self, expression: ca.SX, accelerations: Sequence[int] = ()) -> list[int]:
        """The nodes of an expression of the model's symbols."""
        if not expression.numel():
            return []
        own, form = self.form.model.graph, self.form
        x = ca.vertcat(form.x, own.a) if accelerations else form.x
        function = port_function(own.t, x, own.theta, expression)
        return self.graph.read(function, [[self.t], [*self.x, *accelerations], self.theta])[0]

    # -- linear algebra --------------------------------------------------------------------------------------------

    def _at(self, which: str, nodes: Sequence[int]) -> list[int]:
        """The nodes with entries of q taken from the record of a point."""
        places = {node: self.graph.leaf(which, k, Binding.POSITION) for k, node in enumerate(self.q)}
        return [places.get(node, node) for node in nodes]

    def _velocity_residual(self) -> list[int]:
        """C v + (g_t, h), C from the record of a point; entries of the last that move are leaves "rate"."""
        graph = self.graph
        self.moving_rate = [i for i, n in enumerate(self.rate) if graph.binding[n] == Binding.POSITION]
        leaves = {i: graph.leaf("rate", k, Binding.POSITION) for k, i in enumerate(self.moving_rate)}
        out = [leaves.get(i, node) for i, node in enumerate(self.rate)]
        entries = self._at("there", self.constraint)
        for entry, i, j in zip(entries, *(a.tolist() for a in self.constraint_pattern), strict=True):
            out[i] = graph.operation("ADD", out[i], graph.operation("MUL", entry, self.v[j]))
        return out

    def _saddle(self) -> Eliminated:
        form = self.form
        pattern = SaddlePattern(
            n_v=self.n_v,
            n_lam=self.n_m,
            mass=triplets(form.mass.sparsity()),
            constraint=self.constraint_pattern,
            force=self.constraint_pattern if self.n_m else None,
            velocity_names=form.model.names("v"),
            constraint_names=form.constraint_names,
            mass_values=constant_nonzeros(form.mass),
            constraint_values=constant_nonzeros(form.constraint),
        )
        force = self._at("here", self.constraint) if self.n_m else None
        return eliminated(
            self.graph, pattern, self._at("here", self.mass), force, self._at("there", self.constraint)
        )

    def _right_sides(self) -> None:
        """Of the system for a stage, and of that for accelerations and multipliers: forces that a member's motion
        changes are leaves "rates", others are what they are."""
        graph = self.graph
        self.moving_force = [i for i, n in enumerate(self.force) if graph.binding[n] > Binding.MEMBER]
        leaves = {i: graph.leaf("rates", k, Binding.STATE) for k, i in enumerate(self.moving_force)}
        force = [leaves.get(i, node) for i, node in enumerate(self.force)]
        scale = graph.leaf("scale", 0, Binding.STATE)
        self.right_of_stage = [*force, *(graph.operation("MUL", scale, node) for node in self.residual)]
        self.right_of_point = [*force, *(graph.operation("NEG", node) for node in self.gamma)]

    def correction(self, residual: Sequence[int]) -> list[int]:
        """What takes residuals of the first constraints away, with factors: the velocities among the unknowns."""
        graph = self.graph
        right = [graph.operation("NEG", node) for node in residual]
        nothing = graph.zero
        right = [*[nothing] * self.n_v, *right, *[nothing] * (self.n_m - len(residual))]
        return self.saddle.solved(right)[: self.n_v]

    # -- start values ----------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Constraints of positions and of velocities with the smallest corrections: M is the identity there."""
        own, form = self.form.model.graph, self.form
        jacobian = ca.sparsify(ca.jacobian(form.position, own.symbol["p"]))
        self.position_pattern, self.position_entries = triplets(jacobian.sparsity()), self.read(nonzeros(jacobian))
        self.smallest_position = self._smallest(self.n_p, self.n_lam, self.position_pattern)
        same = self.n_lam == self.n_m and all(map(np.array_equal, self.position_pattern, self.constraint_pattern))
        self.smallest_velocity = (
            self.smallest_position if same else self._smallest(self.n_v, self.n_m, self.constraint_pattern)
        )

        self.invariants = self._invariants()

    def _invariants(self) -> list[int]:
        """By how much invariants exceed what tolerances of positions and velocities make of them; as
        `initial_invariants`."""
        graph, own = self.graph, self.form.model.graph
        if "invariant" not in own.functions:
            return []
        e, z = own.value("invariant"), ca.vertcat(own.symbol["p"], own.symbol["v"])
        jacobian = ca.sparsify(ca.jacobian(e, z))
        excess = [graph.operation("FABS", node) for node in self.read(e)]
        entries = zip(self.read(nonzeros(jacobian)), *(a.tolist() for a in triplets(jacobian.sparsity())), strict=True)
        for node, i, j in entries:
            size = graph.operation("FABS", ([*self.p, *self.v])[j])
            allowed = graph.operation("ADD", graph.constant(ATOL), graph.operation("MUL", graph.constant(RTOL), size))
            term = graph.operation("MUL", graph.operation("FABS", node), allowed)
            excess[i] = graph.operation("SUB", excess[i], term)
        return excess

    def _smallest(self, n: int, m: int, pattern: tuple[np.ndarray, np.ndarray]) -> Eliminated | None:
        """The system of [I Jᵀ; J 0]; entries of J are leaves "entry"."""
        if not m:
            return None
        every = np.arange(n)
        saddle = SaddlePattern(
            n_v=n, n_lam=m, mass=(every, every), constraint=pattern, mass_values=np.ones(n),
            constraint_values=np.full(len(pattern[0]), np.nan),
        )  # fmt: skip
        entries = self.graph.leaves("entry", len(pattern[0]), Binding.POSITION)
        return eliminated(self.graph, saddle, [self.graph.one] * n, None, entries, small=INDEPENDENT**2)
