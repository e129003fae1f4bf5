"""What is known of a model beside its equations: whether time occurs in it, and how its mass matrix is built.

The graph tells for traced functions. For functions that run as Python code the user may promise it; promises are tried
at sample points, and then save evaluations: a constant mass is evaluated once, derivatives by time are zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.model.functions import call_with_numbers, describe
from dalembert.model.graph import SAMPLES, Graph
from dalembert.model.opaque import DEPENDENCIES, WITHOUT_INPUT_RATES


@dataclass(frozen=True)
class Structure:
    """`autonomous`: neither t nor inputs occur. `mass`: "diagonal" or "full"; `constant_mass`: M does not move."""

    autonomous: bool
    mass: str
    constant_mass: bool

    def __str__(self) -> str:
        time = "autonomous" if self.autonomous else "depends on time"
        return f"{time}; mass matrix {'constant' if self.constant_mass else 'varying'}, {self.mass}"


def find_structure(graph: Graph) -> Structure:
    """From the graph; functions that could not be traced count as depending on everything that was not promised."""
    M = ca.sparsify(graph.value("mass"))
    off = any(row != column for row, column in zip(*M.sparsity().get_triplet(), strict=True))
    moving = ca.vertcat(graph.symbol["p"], graph.symbol["s"], _time(graph))
    constant = not ca.depends_on(M, moving) and (graph.functions["mass"].traced or "constant mass" in graph.promises)
    timeless = all(not ca.depends_on(f.sx, _time(graph)) for f in graph.functions.values() if f.traced)
    opaque = any(not f.traced for f in graph.functions.values())
    return Structure(
        timeless and (not opaque or "autonomous" in graph.promises), "full" if off else "diagonal", constant
    )


def broken_promises(graph: Graph) -> Iterator[str]:
    """Promises that the graph or a sample point contradicts, in words."""
    if "constant mass" in graph.promises:
        mass = graph.functions["mass"]
        if mass.traced:
            moving = ca.vertcat(graph.symbol["p"], graph.symbol["s"], _time(graph))
            if ca.depends_on(mass.sx, moving):
                yield "constant_mass=True, but mass depends on positions, contact points, time or inputs"
        elif _differ(graph, "mass", range(len(SAMPLES)), (0.0, 0.7)):
            yield f"constant_mass=True, but {describe('mass', mass.python)} gives other values at other points"
    if "autonomous" in graph.promises:
        for role, function in graph.functions.items():
            where = describe(role, function.python)
            if function.traced:
                if ca.depends_on(function.sx, _time(graph)):
                    yield f"autonomous=True, but {where} contains the time or an input"
            elif any(_differ(graph, role, (k,), (0.0, 0.7)) for k in range(len(SAMPLES))):
                yield f"autonomous=True, but {where} gives other values at other times"


def _time(graph: Graph) -> ca.SX:
    return ca.vertcat(graph.t, graph.u, graph.du, graph.ddu)


def _differ(graph: Graph, role: str, samples: range | tuple[int, ...], times: tuple[float, ...]) -> bool:
    """Whether an untraceable function has different values at these sample points and times (where it has any)."""
    kinds = DEPENDENCIES[role]
    seen = []
    for k in samples:
        values = {
            kind: SAMPLES[k] + 0.1 * np.arange(graph.size("v") if kind == "a" else graph.size(kind)) for kind in kinds
        }
        for t in times:
            theta = np.concatenate([graph.parameter_values, np.full(3 * len(graph.inputs), SAMPLES[0] + t)])
            namespace = graph.numbers(kinds, {}, t, values, theta, role not in WITHOUT_INPUT_RATES)
            try:
                seen.append(np.asarray(call_with_numbers(graph.functions[role].python, namespace), float))
            except Exception:  # it need not be defined everywhere
                continue
    return any(not np.array_equal(value, seen[0]) for value in seen[1:] if np.isfinite(value).all())
