"""How generated kernels call the functions of a model: as straight code, or as tapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from dalembert.compile.generated.code import Code, Module
from dalembert.compile.generated.group import GroupCode
from dalembert.compile.generated.straight import Source, Straight
from dalembert.compile.generated.tape import write_tape
from dalembert.compile.generated.values import Array, Real, Truth
from dalembert.solvers.half.generated.definitions import SCALARS, Definition, Definitions


class Calls(ABC):
    """Calls in one kernel."""

    def __init__(self, code: Code, definitions: Definitions, *, tables: bool):
        self.code, self.definitions, self._tables = code, definitions, tables
        model = definitions.model
        self._n_p, self._n_v = model.n_p, model.n_v
        self.u = code.array(3 * model.n_tables)

    @abstractmethod
    def call(self, name: str, out: Sequence[tuple[Array, int]], arrays: Mapping[str, Array | Real]) -> None:
        """Carry out a function; its results go to so many numbers of some arrays, one after the other."""

    def _call(self, name: str, out: Array, **arrays: Array | Real) -> None:
        self.call(name, [(out, len(self.definitions.functions[name].roots))], arrays)

    def _at(self, t: Real) -> dict[str, Array | Real]:
        """The time, and the inputs that are tables then."""
        if self._tables:
            self.code.call("inputs", "%tables", t, self.u)
        return {"t": t, "u": self.u}

    def _state(self, t: Real, x: Array) -> dict[str, Array | Real]:
        return {**self._at(t), "p": x, "v": x.behind(self._n_p), "r": x.behind(self._n_p + self._n_v)}

    def prepare(self, member: Array, own: Array) -> None:
        self._call("prepare", own, member=member)

    def stage(self, t: Real, p: Array, at: Array) -> None:
        self._call("stage", at, **self._at(t), p=p)

    def point(self, t: Real, p: Array, at: Array) -> None:
        self._call("point", at, **self._at(t), p=p)

    def gap(self, t: Real, p: Array, out: Array) -> None:
        self._call("gap", out, **self._at(t), p=p)

    def rates(self, t: Real, x: Array, at: Array, out: Array) -> None:
        self._call("rates", out, **self._state(t, x), at=at)

    def accelerate(self, t: Real, x: Array, at: Array, rates: Array, factors: Array, out: Array) -> None:
        self._call("accelerate", out, **self._state(t, x), at=at, rates=rates, factor=factors)

    def look(self, t: Real, x: Array, lam: Array, a: Array, out: Array) -> None:
        self._call("look", out, **self._state(t, x), lam=lam, a=a)

    def kinematics(self, t: Real, p: Array, v: Array, out: Array) -> None:
        self._call("kinematics", out, **self._at(t), p=p, v=v)

    def excess(self, there: Array, v: Array, out: Array) -> None:
        self._call("excess", out, there=there, v=v)

    def slope(self, t: Real, p: Array, out: Array) -> None:
        self._call("slope", out, **self._at(t), p=p)

    def astray(self, t: Real, x: Array, out: Array) -> None:
        self._call("astray", out, **self._state(t, x))

    def matrix(self, t: Real, p: Array, out: Array) -> None:
        self._call("matrix", out, **self._at(t), p=p)

    def factor(self, here: Array, there: Array, factors: Array) -> Real:
        """Factors of a saddle-point matrix; returns 1 where a pivot is not good, else 0."""
        return self._factored("factor", factors, self.definitions.n_factors, here=here, there=there)

    @abstractmethod
    def _factored(self, name: str, factors: Array, kept: int, **arrays: Array | Real) -> Real:
        """Carry out a factorization; returns 1 where a margin is not positive, else 0."""

    def once(self, here: Array, there: Array, rates: Array, v: Array, scale: Real, out: Array) -> Real:
        """Accelerations of a stage, where `scale` is −1 by its step; returns 1 where a pivot is not good, else 0."""
        return self._factored("once", out, self._n_v, here=here, there=there, rates=rates, v=v, scale=scale)

    def nearer(self, t: Real, p: Array, factors: Array, out: Array) -> None:
        self._call("nearer", out, **self._at(t), p=p, factor=factors)

    def along(self, there: Array, v: Array, factors: Array, out: Array) -> None:
        self._call("along", out, there=there, v=v, factor=factors)

    def smallest(self, suffix: str, kept: int, entry: Array, factors: Array, b: Array) -> Real:
        """Solve [I Jᵀ; J 0], in place; returns 1 where rows may depend on each other."""
        flaw = self._factored(f"factor{suffix}", factors, kept, entry=entry)
        self._call(f"solve{suffix}", b, factor=factors, b=b)
        return flaw

    def scale(self, suffix: str, entry: Array, out: Array) -> None:
        self._call(f"scale{suffix}", out, entry=entry)

    def held(self, suffix: str, residual: Array, entry: Array, z: Array, largest: Array, out: Array) -> None:
        self._call(f"held{suffix}", out, residual=residual, entry=entry, z=z, largest=largest)


class StraightCalls(Calls):
    """Functions of the module, by memory."""

    def __init__(self, code: Code, definitions: Definitions, own: Array, *, tables: bool):
        super().__init__(code, definitions, tables=tables)
        self._own, self._flaw = own, code.array(1)

    def _factored(self, name: str, factors: Array, kept: int, **arrays: Array | Real) -> Real:
        self.call(name, [(factors, kept), (self._flaw, 1)], arrays)
        return self._flaw[0]

    def call(self, name: str, out: Sequence[tuple[Array, int]], arrays: Mapping[str, Array | Real]) -> None:
        given = [arrays[vector] for vector in self.definitions.functions[name].reads]
        own = [] if name == "prepare" else [self._own]
        self.code.call(name, "%shared", *own, *given, *(array for array, _ in out))


def write_functions(module: Module, definitions: Definitions, only: Sequence[str] = ()) -> None:
    """The functions that `StraightCalls` calls, or some of them. Arguments come first, then places for results: those
    of factorizations are the factors, or what is solved for, and whether a margin is not positive."""
    leaves = [(node, key[1], key[2]) for node, key in enumerate(definitions.graph.keys) if key[0] == "in"]
    early = {node: ("shared", k) for k, node in enumerate(definitions.shared)}
    bound = {node: ("own", k) for k, node in enumerate(definitions.own)}
    for name, function in definitions.functions.items():
        if only and name not in only:
            continue
        outs = ["out"] if function.margins is None else ["out", "flaw"]
        own = [] if name == "prepare" else ["own"]
        kinds = [(module.target.real if vector in SCALARS else "ptr", vector) for vector in function.reads]
        pointers = [("ptr", "shared"), *(("ptr", name) for name in own)]
        code = module.function(name, [*pointers, *kinds, *(("ptr", out) for out in outs)])
        known: dict[int, Source] = {}
        for node, (_, k) in early.items():
            known[node] = lambda k=k, code=code: code.shared("%shared", k)
        for node, (vector, k) in (bound if own else {}).items():
            known[node] = _element(code, vector, k)
        for node, vector, k in leaves:
            if vector == "rate" and "there" in function.reads:
                known[node] = _element(code, "there", definitions.n_q + k)
            elif vector in SCALARS and vector in function.reads:
                known[node] = lambda code=code, vector=vector: Real(code, f"%{vector}")
            elif vector in function.reads:
                known[node] = _element(code, vector, k)
        for k, node in enumerate(function.at):
            known.setdefault(node, _element(code, "at", k))
        _compute(code, function, Straight(code, definitions.graph, known))
        code.finish()


def _compute(code: Code, function: Definition, values: Straight) -> None:
    """Write results. Those of factorizations go to places of their own, each as soon as it is known: few numbers
    have to wait. Others may take the place of what the function reads."""
    out = code.parameter("out")
    if function.margins is None:
        for k, result in enumerate([values[node] for node in function.roots]):
            out.put(k, result)
        return
    margins, places = set(function.margins), defaultdict(list)
    for k, node in enumerate(function.roots):
        places[node].append(k)

    def compute(nodes: Iterable[int], wrong: Truth) -> Truth:
        for node in dict.fromkeys(nodes):
            number = values[node]
            for k in places.pop(node, ()):
                out.put(k, number)
            if node in margins:
                wrong = wrong | (number <= 0.0)
        return wrong

    wrong = compute((*function.down, *function.margins), code.truth(False))
    code.parameter("flaw").put(0, code.select(wrong, 1.0, 0.0))
    values.forget()  # reading a number once more takes less than putting it aside
    compute((*function.up, *function.roots), wrong)


def _element(code: Code, vector: str, k: int) -> Source:
    return lambda: code.parameter(vector)[k]


class TapeCalls(Calls):
    """Tapes, each written for the arrays that it is called with."""

    def __init__(self, code: GroupCode, definitions: Definitions, own: Array, shared: Array, *, tables: bool):
        self._scalars = {name: code.array(1) for name in SCALARS}
        super().__init__(code, definitions, tables=tables)
        graph = definitions.graph
        self._leaves = [(node, key[1], key[2]) for node, key in enumerate(graph.keys) if key[0] == "in"]
        self._early = {node: shared.offset + k for k, node in enumerate(definitions.shared)}
        self._bound = {node: own.offset + k for k, node in enumerate(definitions.own)}
        self._known: dict[tuple, tuple[int, int]] = {}
        systems = (definitions.model.saddle, definitions.model.smallest_position, definitions.model.smallest_velocity)
        self._margins = code.array(max(len(system.margins) for system in systems if system is not None))

    def _factored(self, name: str, factors: Array, kept: int, **arrays: Array | Real) -> Real:
        count = len(self.definitions.functions[name].margins or ())
        self.call(name, [(factors, kept), (self._margins, count)], arrays)
        code, margins = self.code, self._margins
        return code.highest(count, lambda k: code.select(margins[k] <= 0.0, 1.0, 0.0))

    def call(self, name: str, out: Sequence[tuple[Array, int]], arrays: Mapping[str, Array | Real]) -> None:
        code: GroupCode = self.code
        function = self.definitions.functions[name]
        given = {**arrays, **self._scalars}
        for scalar in set(SCALARS) & set(function.reads):
            self._scalars[scalar].put(0, arrays[scalar])
        places = {vector: given[vector].offset for vector in function.reads}
        key = (name, *places.values(), *(array.offset for array, _ in out))
        if key not in self._known:
            self._known[key] = self._write(name, places, [array.offset + k for array, n in out for k in range(n)])
        code.carry(self._known[key])

    def _write(self, name: str, places: Mapping[str, int], targets: list[int]) -> tuple[int, int]:
        definitions, function = self.definitions, self.definitions.functions[name]
        known = dict(self._early) if name == "prepare" else {**self._early, **self._bound}
        for node, vector, k in self._leaves:
            if vector == "rate" and "there" in places:
                known[node] = places["there"] + definitions.n_q + k
            elif vector in places:
                known[node] = places[vector] + k
        for k, node in enumerate(function.at):
            known.setdefault(node, places["at"] + k)
        code: GroupCode = self.code
        return write_tape(definitions.graph, function.nodes, targets, known, code.memory, code.tapes)
