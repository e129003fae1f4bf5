"""What is known of a model beside its equations: whether time occurs in it, and how its mass matrix is built.

The graph tells for traced functions. For functions that run as Python code the user may promise it; promises are tried
at sample points, and then save evaluations: a constant mass is evaluated once, derivatives by time are zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.model.functions import call_with_numbers, describe
from dalembert.model.graph import SAMPLES, Graph
from dalembert.model.vocabulary import FUNCTIONS


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
    moving = _what_mass_may_follow(graph)
    known = graph.functions["mass"].traced or "constant mass" in graph.promises
    constant = known and not ca.depends_on(M, moving)
    timeless = all(not ca.depends_on(f.sx, graph.time) for f in graph.functions.values() if f.traced)
    natives = [f for f in graph.functions.values() if f.native is not None]
    timeless &= not any(
        f.native.moves or (f.applied is not None and ca.depends_on(f.applied, graph.time)) for f in natives
    )
    opaque = any(not f.traced and f.native is None for f in graph.functions.values())
    return Structure(
        timeless and (not opaque or "autonomous" in graph.promises), "full" if off else "diagonal", constant
    )


def broken_promises(graph: Graph) -> Iterator[str]:
    """Promises that the graph or a sample point contradicts, in words."""
    if "constant mass" in graph.promises:
        mass = graph.functions["mass"]
        if mass.traced:
            if ca.depends_on(mass.sx, _what_mass_may_follow(graph)):
                others = "inputs or discrete variables" if graph.discrete else "inputs"
                yield f"constant_mass=True, but mass depends on positions, contact points, time or {others}"
        elif mass.native is None and _differ(graph, "mass", range(len(SAMPLES)), (0.0, 0.7), discrete=(0.0, 1.0)):
            yield f"constant_mass=True, but {describe('mass', mass.python)} gives other values at other points"
    if "autonomous" in graph.promises:
        for role, function in graph.functions.items():
            where = describe(role, function.python)
            if function.traced:
                if ca.depends_on(function.sx, graph.time):
                    yield f"autonomous=True, but {where} contains the time or an input"
            elif function.native is not None:
                if function.native.moves:
                    yield f"autonomous=True, but the native function for {role} says that it moves with time"
            elif any(_differ(graph, role, (k,), (0.0, 0.7)) for k in range(len(SAMPLES))):
                yield f"autonomous=True, but {where} gives other values at other times"


def _what_mass_may_follow(graph: Graph) -> ca.SX:
    return ca.vertcat(graph.symbol["p"], graph.symbol["s"], graph.changing)


def _differ(
    graph: Graph,
    role: str,
    samples: range | tuple[int, ...],
    times: tuple[float, ...],
    discrete: tuple[float, ...] = (0.0,),
) -> bool:
    """Whether an untraceable function has different values at these sample points and times (where it has any).

    `discrete` holds what is added to the discrete variables.
    """
    may = FUNCTIONS[role]
    seen = []
    for k in samples:
        values = {kind: SAMPLES[k] + 0.1 * np.arange(graph.size(kind)) for kind in may.reads}
        for t, change in itertools.product(times, discrete):
            theta = graph.sample_theta(SAMPLES[0] + t, change)
            namespace = graph.numbers(may.reads, {}, t, values, theta, may.input_rates)
            try:
                seen.append(np.asarray(call_with_numbers(graph.functions[role].python, namespace), float))
            except Exception:  # it need not be defined everywhere
                continue
    return any(not np.array_equal(value, seen[0]) for value in seen[1:] if np.isfinite(value).all())
