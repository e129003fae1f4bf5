"""The functions of a model that generated code calls, as nodes of its graph, with what they read and what they write.

    prepare      numbers of a member that depend on its parameters only           own
    stage        entries of M, C, (g_t, h), and what rates share with them        at
    point        the same, and what γ shares with them                            at
    rates        what moves of f, p' unless it is v, r'; with the values in `at`  out
    kinematics   p' = Z v                                                         out
    factor       of the saddle-point matrix with M, U `here` and G `there`        factors, margins
    once         accelerations of a stage: f − Uᵀλ = M a, C (v + h a) + … = 0     out, margins
    accelerate   accelerations and multipliers of a point, with its factors       out
    nearer       a step of Newton's method towards g = 0, with factors            out
    along        what takes C v + (g_t, h) away, with factors                     out
    look         functions of events                                              out

and for start values, where M is the identity:

    gap, excess                    g, and C v + (g_t, h) with a record `there`     out
    slope, matrix                  derivatives of g, and C                        out
    astray                         by how much invariants exceed tolerances       out
    factor_…, solve_…              of [I Jᵀ; J 0]
    scale_…                        the largest entry of each row of J             out
    held_…                         by how much residuals exceed rounding, and     out
                                   some more of it

The record `at` of a point holds q, then the moving entries of (g_t, h), then values of subexpressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dalembert.compile.generated.graph import Binding
from dalembert.solvers.half.generated.elimination import Eliminated
from dalembert.solvers.half.generated.model import ModelGraph
from dalembert.solvers.limits import NEARLY, ROUNDINGS, UNIT

PLACE = ("t", "p", "u")
STATE = (*PLACE, "v", "r")
#: vectors that are one number
SCALARS = ("t", "scale")


@dataclass(frozen=True)
class Definition:
    """A function: which vectors it reads, in the order of its arguments, and what it computes."""

    reads: tuple[str, ...]
    roots: tuple[int, ...]
    at: tuple[int, ...] = ()  # nodes that stand in the argument "at", in this order
    margins: tuple[int, ...] | None = None  # of a factorization: what must be positive
    #: the order in which nodes are best computed: until all margins are known, and afterwards
    down: tuple[int, ...] = ()
    up: tuple[int, ...] = ()

    @property
    def nodes(self) -> tuple[int, ...]:
        """All that is computed."""
        return (*self.roots, *(self.margins or ()))


class Definitions:
    """All functions of a model, and the sizes of what they exchange."""

    def __init__(self, model: ModelGraph, events: Sequence[int] = ()):
        self.model, self.graph, self.events = model, model.graph, tuple(events)
        moving = [model.rate[i] for i in model.moving_rate]
        rates = [*(model.force[i] for i in model.moving_force), *([] if model.plain else model.p_dot), *model.r_dot]
        cut = self._cut(rates)
        late = [node for node in self._cut(model.gamma) if node not in set(cut)]
        early, whole = (*model.q, *moving, *cut), (*model.q, *moving, *cut, *late)
        self.n_q, self.n_at, self.n_rates = len(model.q), len(whole), len(rates)
        self.n_f = len(model.moving_force)  # of the rates, in front
        self.n_factors, self.n_margins = len(model.saddle.kept), len(model.saddle.margins)
        self.functions: dict[str, Definition] = {
            "stage": Definition(PLACE, early),
            "point": Definition(PLACE, whole),
            "gap": Definition(PLACE, tuple(model.position)),
            "rates": Definition((*STATE, "at"), tuple(rates), early),
            "excess": Definition(("there", "v"), tuple(model.residual)),
            "kinematics": Definition((*PLACE, "v"), tuple(model.p_dot)),
            "slope": Definition(PLACE, tuple(model.position_entries)),
            "matrix": Definition(PLACE, tuple(model.constraint)),
            "astray": Definition(STATE, tuple(model.invariants)),
            "look": Definition((*STATE, "lam", "a"), self.events),
        }
        saddle = model.saddle
        self._factorization("", saddle, ("here", "there"))
        solution, down, up = saddle.solved_at_once(model.right_of_stage)
        self.functions["once"] = self._ordered(
            ("here", "there", "rates", "v", "scale"), solution[: model.n_v], saddle.margins, down, up
        )
        solution = saddle.solved(model.right_of_point)
        self.functions["accelerate"] = Definition((*STATE, "at", "rates", "factor"), tuple(solution), whole)
        self.functions["nearer"] = Definition((*PLACE, "factor"), tuple(model.correction(model.position)))
        self.functions["along"] = Definition(("there", "v", "factor"), tuple(model.correction(model.residual)))
        for suffix, system, pattern, count in (
            ("_position", model.smallest_position, model.position_pattern, model.n_lam),
            ("_velocity", model.smallest_velocity, model.constraint_pattern, model.n_m),
        ):
            if system is not None:
                self._factorization(suffix, system, ("entry",))
                b = self.graph.leaves("b", len(system.order), Binding.STATE)
                self.functions[f"solve{suffix}"] = Definition(("factor", "b"), tuple(system.solved(b)))
                self._judgement(suffix, [a.tolist() for a in pattern], count)
        roots = [node for function in self.functions.values() for node in function.nodes]
        bound = self.graph.frontier(roots, Binding.MEMBER)
        self.own = [node for node in bound if self.graph.binding[node] == Binding.MEMBER]
        shared = [node for node in bound if self.graph.binding[node] == Binding.SHARED]
        self.shared = list(dict.fromkeys([*shared, *self.graph.frontier(self.own, Binding.SHARED)]))
        self.functions["prepare"] = Definition(("member",), tuple(self.own))
        self.roots = [*roots, *self.own]

    def _cut(self, roots: Iterable[int]) -> list[int]:
        """What roots that depend on the state need of time and position, but for these themselves."""
        graph = self.graph
        found = graph.frontier(roots, Binding.POSITION)
        return [n for n in found if graph.binding[n] == Binding.POSITION and graph.keys[n][0] != "in"]

    def _factorization(self, suffix: str, system: Eliminated, reads: tuple[str, ...]) -> None:
        down = [node for step in system.steps for node in step]
        self.functions[f"factor{suffix}"] = self._ordered(reads, system.kept, system.margins, down)

    def _ordered(
        self, reads: tuple[str, ...], roots: Sequence[int], margins: Sequence[int], down: Sequence[int],
        up: Sequence[int] = (),
    ) -> Definition:  # fmt: skip
        """A function with what it computes in a given order, but for what nobody needs or what is known before."""
        graph, wanted = self.graph, (*roots, *margins)
        needed = {node for node in graph.needed(wanted, frozenset()) if graph.binding[node] > Binding.MEMBER}
        orders = (tuple(node for node in order if node in needed) for order in (down, up))
        return Definition(reads, tuple(roots), (), tuple(margins), *orders)

    def _judgement(self, suffix: str, pattern: Sequence[Sequence[int]], count: int) -> None:
        """An equation holds if its residual is a rounding error of its terms; as `start_kernel.holds`."""
        graph, unit = self.graph, self.graph.constant(ROUNDINGS * UNIT)
        largest = graph.operation("MUL", unit, graph.leaf("largest", 0, Binding.STATE))
        scale, terms = [graph.zero] * count, [graph.zero] * count
        for k, (i, j) in enumerate(zip(*pattern, strict=True)):
            size = graph.operation("FABS", graph.leaf("entry", k, Binding.POSITION))
            scale[i] = size if scale[i] == graph.zero else graph.operation("FMAX", scale[i], size)
            z = graph.operation("ADD", graph.operation("FABS", graph.leaf("z", j, Binding.STATE)), largest)
            terms[i] = graph.operation("ADD", terms[i], graph.operation("MUL", size, z))
        residuals = [graph.operation("FABS", node) for node in graph.leaves("residual", count, Binding.STATE)]
        excess = [
            graph.operation("SUB", residual, graph.operation("MUL", limit, term))
            for limit in (unit, graph.constant(NEARLY * UNIT))
            for residual, term in zip(residuals, terms, strict=True)
        ]
        self.functions[f"scale{suffix}"] = Definition(("entry",), tuple(scale))
        self.functions[f"held{suffix}"] = Definition(("residual", "entry", "z", "largest"), tuple(excess))
