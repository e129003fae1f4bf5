"""The port of start values: residuals and Jacobians of the problems of `regularize.start_problems`, and the rates."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.compile.graph import compile_port
from dalembert.compile.ports import Port
from dalembert.compile.system import nonzeros, triplets
from dalembert.model import Model
from dalembert.model.vocabulary import MECHANICAL
from dalembert.regularize.start_problems import start_problems

#: unknowns of a problem up to which full matrices are taken
LARGEST = 150

Pattern = tuple[np.ndarray, np.ndarray]  # rows, columns


@dataclass(frozen=True)
class CompiledStart:
    """x = (p, v, r, w, s, λ, μ, a). `port` gives position residual, nonzeros of its Jacobian, the same for velocity and
    acceleration, then p' and r'."""

    port: Port
    slices: dict[str, slice]
    position: Pattern
    velocity: Pattern
    acceleration: Pattern
    affine: bool  # accelerations and multipliers occur linearly
    late_rates: bool  # r' depends on what the last problem determines


def compile_start(model: Model) -> CompiledStart | None:
    """Compile; None for models that are large, or have functions which could not be traced."""
    graph = model.graph
    unknowns = graph.size("v") + graph.size("w") + graph.size("lam") + graph.size("mu")
    if max(unknowns, graph.size("s") + graph.size("p")) > LARGEST or any(
        not function.traced for function in graph.functions.values()
    ):
        return None
    problems = start_problems(model)
    pairs = (problems.position_expressions, problems.velocity_expressions, problems.acceleration_expressions)
    rates = problems.rate_expressions
    parts = [part for residual, matrix in pairs for part in (residual, nonzeros(matrix))]
    out = ca.cse(ca.densify(ca.vertcat(*parts, *rates)))
    x = ca.vertcat(*(graph.symbol[kind] for kind in MECHANICAL), graph.a)
    ends = np.cumsum([0, *(graph.size(kind) for kind in MECHANICAL), graph.size("v")])
    slices = {kind: slice(*ends[i : i + 2].tolist()) for i, kind in enumerate((*MECHANICAL, "a"))}
    determined = ca.vertcat(graph.a, *(graph.symbol[kind] for kind in ("w", "lam", "mu")))
    return CompiledStart(
        compile_port(graph.t, x, graph.theta, out),
        slices,
        *(triplets(matrix.sparsity()) for _, matrix in pairs),
        affine=not ca.depends_on(nonzeros(pairs[2][1]), determined),
        late_rates=bool(graph.size("r")) and ca.depends_on(rates[1], determined),
    )
