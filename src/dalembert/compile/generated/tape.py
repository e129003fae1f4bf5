"""Graphs as data: bundles of operations that the threads of a group carry out together, in memory that they share.

Straight code of large models does not fit into the registers of a GPU's thread, and takes long to translate. Here, some
threads have one member; its numbers stand in fast memory, each at its *place*, and a bundle has one operation for each
thread. Almost all are ±a·b ± c, sums and products alike. Nothing that is compiled grows with the model.

An operation is four 16-bit numbers, where a, b, c and the result stand in bytes; the last bits of a and c say that they
are to be negated. Segments are runs of bundles of one kind.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.compile.generated.graph import Graph

#: the operation ±a·b ± c
LINEAR = "LINEAR"
_LINEAR = frozenset(("ADD", "SUB", "MUL", "NEG"))
#: bytes of memory that 16 bits can address, whose last three bits are always zero
MOST_PLACES = 1 << 13


class TooLarge(Exception):
    """A model whose numbers do not fit into the memory of a group."""


@dataclass
class Memory:
    """Places for the numbers of one member."""

    size: int = 0
    constants: dict[float, int] = field(default_factory=dict)
    _free: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nowhere = self.allocate(1)  # for threads without an operation
        self.zero, self.one = self.constant(0.0), self.constant(1.0)

    def allocate(self, count: int) -> int:
        """The first of some places."""
        first = self.size
        self.size += count
        if self.size > MOST_PLACES:
            raise TooLarge(f"it needs more than {MOST_PLACES} numbers")
        return first

    def constant(self, value: float) -> int:
        """The place of a number, which is put there at the beginning."""
        place = self.constants.get(value)
        if place is None:
            place = self.constants[value] = self.allocate(1)
        return place

    def borrow(self) -> int:
        return self._free.pop() if self._free else self.allocate(1)

    def give_back(self, place: int) -> None:
        self._free.append(place)


@dataclass(frozen=True)
class Operation:
    """What a thread does: its kind, its operands as (place or node, negated), and the node that it computes."""

    kind: str
    operands: tuple[tuple[int, bool], ...]
    nodes: tuple[int | None, ...]  # of the operands, where they are computed in this tape
    result: int


@dataclass
class Tapes:
    """All tapes of a module: `words` (bundles, group, 4) and `segments` (kind, first bundle, one behind the last)."""

    group: int
    kinds: list[str] = field(default_factory=lambda: [LINEAR])
    words: list[np.ndarray] = field(default_factory=list)
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    bundles: int = 0

    def add(self, parts: Sequence[tuple[str, np.ndarray]]) -> tuple[int, int]:
        """Append a tape; returns its segments, first and one behind the last."""
        first = len(self.segments)
        for kind, words in parts:
            if kind not in self.kinds:
                self.kinds.append(kind)
            number = self.kinds.index(kind)
            begin, self.bundles = self.bundles, self.bundles + len(words)
            self.words.append(words)
            if len(self.segments) > first and self.segments[-1][0] == number:
                self.segments[-1] = (number, self.segments[-1][1], self.bundles)
            else:
                self.segments.append((number, begin, self.bundles))
        return first, len(self.segments)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        nothing = np.zeros((1, self.group, 4), np.uint16)  # whoever looks ahead looks one bundle too far
        words = np.concatenate([*self.words, nothing])
        return words, np.array(self.segments or [(0, 0, 0)], np.int32)


def write_tape(
    graph: Graph, roots: Sequence[int], targets: Sequence[int], known: Mapping[int, int], memory: Memory, tapes: Tapes
) -> tuple[int, int]:
    """Code that computes roots into target places; `known` nodes have places already. Returns its segments."""
    places = dict(known)
    for node in {n for r in graph.needed(roots, frozenset(known)) for n in graph.arguments(r)} | set(roots):
        value = graph.value(node)
        if value is not None:
            places[node] = memory.constant(value)
    sources = {places[n] for n in places}
    home: dict[int, int] = {}  # nodes that are computed where they are wanted
    moves: list[tuple[int, int]] = []
    for node, target in zip(roots, targets, strict=True):
        if node in places or node in home or target in sources:
            moves.append((node, target))
        else:
            home[node] = target
    operations = _operations(graph, roots, places)
    parts = _scheduled(operations, home, {node for node, _ in moves}, places, memory, tapes.group)
    parts += _moved(moves, places, memory, tapes.group)
    for node, _ in moves:
        if node in places and node not in known and graph.value(node) is None and node not in home:
            memory.give_back(places[node])
    return tapes.add(parts)


def _operations(graph: Graph, roots: Sequence[int], places: Mapping[int, int]) -> list[Operation]:
    """Operations in an order in which arguments come first; products that one sum alone reads become part of it."""
    order = graph.needed(roots, frozenset(places))
    uses = Counter(argument for node in order for argument in graph.arguments(node))
    uses.update(roots)
    inside = set(order)
    absorbed: set[int] = set()
    product: dict[int, tuple[int, bool]] = {}  # of a sum: which of its arguments, and whether that is subtracted
    for node in order:
        name, *arguments = graph.keys[node]
        if name not in ("ADD", "SUB"):
            continue
        for which in (1, 0):
            factor = arguments[which]
            if factor in inside and factor not in absorbed and graph.keys[factor][0] == "MUL" and uses[factor] == 1:
                absorbed.add(factor)
                product[node] = factor, name == "SUB" and which == 1
                break
    return [_operation(graph, node, product.get(node), places) for node in order if node not in absorbed]


def _operation(
    graph: Graph, node: int, product: tuple[int, bool] | None, places: Mapping[int, int]
) -> Operation:
    name, *arguments = graph.keys[node]

    def made(kind: str, *operands: tuple[int | None, bool]) -> Operation:
        """None stands for 0, −1 for 1."""
        nodes = tuple(n if n is not None and n >= 0 and n not in places else None for n, _ in operands)
        given = tuple((ZERO if n is None else ONE if n == -1 else places.get(n, -1), s) for n, s in operands)
        return Operation(kind, given, nodes, node)

    if product is not None:
        factor, negated = product
        a, b = graph.arguments(factor)
        left, right = arguments
        other = right if left == factor else left
        return made(LINEAR, (a, negated), (b, False), (other, name == "SUB" and other == right and left == factor))
    if name == "MUL":
        return made(LINEAR, (arguments[0], False), (arguments[1], False), (None, False))
    if name == "NEG":
        return made(LINEAR, (arguments[0], True), (-1, False), (None, False))
    if name in ("ADD", "SUB"):
        return made(LINEAR, (arguments[0], False), (-1, False), (arguments[1], name == "SUB"))
    padded = [(argument, False) for argument in arguments] + [(None, False)] * (3 - len(arguments))
    return made(name, *padded)


#: stand for the places of these numbers
ZERO, ONE = -2, -3


def _scheduled(
    operations: Sequence[Operation], home: Mapping[int, int], kept: set[int], places: dict[int, int], memory: Memory,
    group: int,
) -> list[tuple[str, np.ndarray]]:  # fmt: skip
    """Bundles: first what most other operations wait for. `places` learns where everything stands."""
    by_node = {operation.result: operation for operation in operations}
    users: dict[int, list[int]] = defaultdict(list)
    waits: dict[int, int] = {}
    for operation in operations:
        needs = {n for n in operation.nodes if n is not None}
        waits[operation.result] = len(needs)
        for n in needs:
            users[n].append(operation.result)
    height: dict[int, int] = {}
    for operation in reversed(operations):
        height[operation.result] = 1 + max((height[u] for u in users[operation.result]), default=0)
    readers = {node: len(readers) for node, readers in users.items()}
    ready: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for operation in operations:
        if not waits[operation.result]:
            heapq.heappush(ready[operation.kind], (-height[operation.result], operation.result))
    parts: list[tuple[str, np.ndarray]] = []
    left = len(operations)
    while left:
        full = [kind for kind, queue in ready.items() if len(queue) >= group]
        some = full or [kind for kind, queue in ready.items() if queue]
        kind = min(some, key=lambda kind: (ready[kind][0][0], -len(ready[kind])))
        chosen = [heapq.heappop(ready[kind])[1] for _ in range(min(group, len(ready[kind])))]
        left -= len(chosen)
        words = np.full((group, 4), 0, np.uint16)
        words[:] = _word(memory, [(memory.zero, False)] * 3, memory.nowhere)
        released = []
        for thread, node in enumerate(chosen):
            operation = by_node[node]
            operands = [
                (_resolved(memory, place) if n is None else places[n], negated)
                for (place, negated), n in zip(operation.operands, operation.nodes, strict=True)
            ]
            places[node] = home[node] if node in home else memory.borrow()
            words[thread] = _word(memory, operands, places[node])
            for n in {n for n in operation.nodes if n is not None}:
                readers[n] -= 1
                if not readers[n] and n not in home and n not in kept:
                    released.append(places[n])
            for user in users[node]:
                waits[user] -= 1
                if not waits[user]:
                    heapq.heappush(ready[by_node[user].kind], (-height[user], user))
        for place in released:  # not before the bundle is over: its threads may read and write in any order
            memory.give_back(place)
        parts.append((kind, words[None]))
    return parts


def _resolved(memory: Memory, place: int) -> int:
    return memory.zero if place == ZERO else memory.one if place == ONE else place


def _word(memory: Memory, operands: Iterable[tuple[int, bool]], result: int) -> tuple[int, int, int, int]:
    (a, minus_a), (b, _), (c, minus_c) = operands
    return 8 * a + minus_a, 8 * b, 8 * c + minus_c, 8 * result


def _moved(
    moves: Sequence[tuple[int, int]], places: Mapping[int, int], memory: Memory, group: int
) -> list[tuple[str, np.ndarray]]:
    """Copies, each from the place of its node: targets may be sources of others, so all are read before any is written.

    Bundles follow each other; those that would overwrite what a later one reads go through places of their own.
    """
    pending = [(places[node], target) for node, target in moves if places[node] != target]
    targets = {target for _, target in pending}
    direct = [(source, target) for source, target in pending if source not in targets]
    detour = [(source, target) for source, target in pending if source in targets]
    steps = []
    borrowed = [memory.borrow() for _ in detour]
    steps += [[(source, place) for (source, _), place in zip(detour, borrowed, strict=True)]]
    steps += [direct + [(place, target) for (_, target), place in zip(detour, borrowed, strict=True)]]
    for place in borrowed:
        memory.give_back(place)
    parts = []
    for step in steps:
        for first in range(0, len(step), group):
            words = np.zeros((group, 4), np.uint16)
            words[:] = _word(memory, [(memory.zero, False)] * 3, memory.nowhere)
            for thread, (source, target) in enumerate(step[first : first + group]):
                words[thread] = _word(memory, [(source, False), (memory.one, False), (memory.zero, False)], target)
            parts.append((LINEAR, words[None]))
    return parts


def carry_out(tapes: Tapes, segments: tuple[int, int], memory: np.ndarray, function: Callable[..., float]) -> None:
    """What a group does, one thread after the other: for tests. `function(kind, a, b)` computes what is not linear."""
    words, table = tapes.arrays()
    for number, first, last in table[segments[0] : segments[1]].tolist():
        for bundle in words[first:last].astype(int):
            out = {}
            for a, b, c, d in bundle.tolist():
                x, y, z = memory[a >> 3], memory[b >> 3], memory[c >> 3]
                if tapes.kinds[number] == LINEAR:
                    out[d >> 3] = (-x if a & 1 else x) * y + (-z if c & 1 else z)
                else:
                    out[d >> 3] = function(tapes.kinds[number], x, y)
            for place, value in out.items():
                memory[place] = value
