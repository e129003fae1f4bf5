"""Ports of expressions with native functions: machine code throughout, whatever the size of the model.

Arguments of native functions are gathered, their code is called, and then the rest of the expression follows. Where
that is nothing but symbols and constants in some order (rates = (v, f)), it is copied, and nothing is compiled at all.
All of it is data of a *plan*, which one kernel carries out (`plan_kernel`); the port itself is a few instructions that
embed the plan's address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from dalembert.compile import jit
from dalembert.compile.emit import STACK
from dalembert.compile.gather import Gathered, gathered, run_of, stretches
from dalembert.compile.graph import compile_port
from dalembert.compile.memory import Memory
from dalembert.compile.ports import Port
from dalembert.compile.symbols import library_symbols
from dalembert.compile.tape import QUICK, port_function
from dalembert.model.graph import External, Graph
from dalembert.model.native import Code
from dalembert.model.native_values import Groups

#: runs of consecutive numbers that are copied one by one; more of them are gathered
MOST_RUNS = 32

_TRAMPOLINE = """
declare ptr @malloc(i64)
declare void @free(ptr)

define i32 @port(double %t, ptr %x, ptr %theta, ptr %out) {{
entry:
 {work}
 %null = icmp eq ptr %w, null
 br i1 %null, label %stop, label %go
go:
 %follow = inttoptr i64 {follow} to ptr
 %status = call i32 %follow(double %t, ptr %x, ptr %theta, ptr %out, ptr %w, i64 {plan})
 {free}
 ret i32 %status
stop:
 ret i32 2
}}
"""


@dataclass
class _Draft:
    """A plan that is being made."""

    steps: list[list[int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    work: int = 0  # numbers of work space
    keep: list = field(default_factory=list)
    arguments: dict = field(default_factory=dict)  # where they stand, by the vectors and the role

    def room(self, count: int) -> int:
        """Where `count` numbers of work space stand."""
        self.work += count
        return self.work - count

    def add(self, *words: int) -> None:
        self.steps.append([int(word) for word in words])


def native_port(graph: Graph, x: ca.SX, expression: ca.SX, at_zero: ca.SX | None = None) -> Port | None:
    """A port of (t, x, θ) for a dense column of a model with native functions; None if it needs functions in Python.

    Native functions get zeros for the symbols `at_zero`.
    """
    known = list(graph.externals.values())
    found = gathered([graph.t, x, graph.theta, *(block.symbol for block in known)], expression)
    others = found.others
    rest = expression if len(others) == expression.numel() else expression[others.tolist()]
    in_rest = [len(others) > 0 and ca.depends_on(rest, block.symbol) for block in known]
    used = [k for k in range(len(known)) if in_rest[k] or (found.source == 3 + k).any()]
    if any(known[k].native is None for k in used):
        return None
    from dalembert.compile.kernel import load  # with numba: not before it is needed

    load("dalembert.compile.plan_kernel")
    from dalembert.compile.plan_kernel import Base, Op

    draft = _Draft()
    at = _evaluate_all(draft, graph, x, {k: known[k] for k in used}, found, at_zero)
    sources = {1: (Base.X, 0), 2: (Base.THETA, 0)} | {3 + k: place for k, place in at.items()}
    if len(others):
        sources[-2] = target = (int(Base.OUT), 0) if rest is expression else (int(Base.WORK), draft.room(len(others)))
        mine = [k for k in used if in_rest[k]]
        inner = _compiled(graph, x, rest, [known[k].symbol for k in mine])
        draft.keep.append(inner)
        place = extended = draft.room(inner.n_theta)
        for base, offset, count in [
            (Base.THETA, 0, graph.theta.numel()),
            *((*at[k], known[k].native.size) for k in mine),
        ]:
            draft.add(Op.COPY, base, offset, Base.WORK, place, count, 1)
            place += count
        draft.add(Op.PORT, inner.address, Base.WORK, extended, *target)
    _gather(draft, found, sources, (int(Base.OUT), 0))
    return _port(draft, x.numel(), graph.theta.numel(), expression.numel())


def _evaluate_all(
    draft: _Draft, graph: Graph, x: ca.SX, blocks: dict[int, External], found: Gathered, at_zero: ca.SX | None
) -> dict[int, tuple[int, int]]:
    """Let the plan fill blocks; returns base and offset of each."""
    from dalembert.compile.plan_kernel import Base, Op

    at = {}
    for names, address in _together(graph, list(blocks.values())):
        mine = [k for what in names for k, block in blocks.items() if (block.role, block.what) == what]
        given, code = _given(draft, graph, x, blocks[mine[0]], at_zero)
        place = draft.room(sum(blocks[k].native.size for k in mine))
        draft.add(Op.NATIVE, address, code.record, *given, Base.WORK, place)
        for k in mine:
            at[k] = (int(Base.WORK), place)
            place += blocks[k].native.size
    for k, block in blocks.items():
        if k not in at:
            run = run_of(found, 3 + k, block.native.size)
            at[k] = _evaluate(draft, graph, x, block, at_zero, run)
    return at


def _compiled(graph: Graph, x: ca.SX, column: ca.SX, symbols: list[ca.SX]) -> Port:
    """A port of what has to be computed, with native functions' results behind θ.

    Compilation must not take longer for longer models: CasADi's virtual machine does all that is not short.
    """
    theta = ca.vertcat(graph.theta, *symbols)
    length = port_function(graph.t, x, theta, column, unique=False).n_instructions()
    return compile_port(graph.t, x, theta, column, prefer="auto" if length <= QUICK else "machine")


def gather_port(t: ca.SX, x: ca.SX, theta: ca.SX, out: ca.SX) -> Port | None:
    """A port of nothing but symbols and constants; None if `out` is anything else."""
    found = gathered([t, x, theta], out)
    if len(found.others):
        return None
    from dalembert.compile.kernel import load  # with numba: not before it is needed

    load("dalembert.compile.plan_kernel")
    from dalembert.compile.plan_kernel import Base

    draft = _Draft()
    _gather(draft, found, {1: (Base.X, 0), 2: (Base.THETA, 0)}, (int(Base.OUT), 0))
    return _port(draft, x.numel(), theta.numel(), out.numel())


def _evaluate(
    draft: _Draft, graph: Graph, x: ca.SX, block: External, at_zero: ca.SX | None, run: int | None
) -> tuple[int, int]:
    """Let the plan fill a block; returns base and offset of the result: work space, or its final place `run`."""
    from dalembert.compile.plan_kernel import Base, Op

    native = block.native
    given, code = _given(draft, graph, x, block, at_zero)
    address, scratch = int(code.addresses[native.given]), int(code.scratch.get(native.given, 0))
    if native.parent is not None:
        target = (int(Base.WORK), draft.room(native.size))
        groups = _groups(draft, graph, block, sum(a.numel() for a in native.arguments), scratch)
        draft.add(Op.DIFFERENCE, address, code.record, *given, *target, groups.address)
        return target
    at_once = run is not None and not scratch
    target = (int(Base.OUT), run) if at_once else (int(Base.WORK), draft.room(native.size + scratch))
    draft.add(Op.NATIVE, address, code.record, *given, *target)
    return target


def _together(graph: Graph, blocks: Sequence[External]) -> Iterator[tuple[list[tuple[str, str]], int]]:
    """Roles and quantities that one call fills, and the address of its code."""
    here = {(block.role, block.what) for block in blocks if block.native.parent is None}
    for role in dict.fromkeys(block.role for block in blocks):
        code = graph.functions[role].native.code(graph)
        # the largest first: what they fill is not looked at again
        for names, address in sorted(code.together.items(), key=lambda item: -len(item[0])):
            group = [(role, what) for what in names]
            if here.issuperset(group):
                here -= set(group)
                yield group, int(address)


def _given(
    draft: _Draft, graph: Graph, x: ca.SX, block: External, at_zero: ca.SX | None
) -> tuple[tuple[int, int], Code]:
    """Base and offset of the arguments of a block, and its code."""
    code = block.native.function.code(graph)
    draft.keep.append(code)
    arguments = ca.vertcat(*block.native.arguments) if block.native.arguments else ca.SX(0, 1)
    if at_zero is not None:
        arguments = ca.substitute(arguments, at_zero, ca.SX.zeros(at_zero.numel()))
    key = (block.native.kinds, block.role)
    if key not in draft.arguments:
        draft.arguments[key] = _argument(draft, graph, x, arguments)
    return draft.arguments[key], code


def _argument(draft: _Draft, graph: Graph, x: ca.SX, arguments: ca.SX) -> tuple[int, int]:
    """Base and offset of the arguments of native code."""
    from dalembert.compile.plan_kernel import Base, Op

    found = gathered([graph.t, x, graph.theta], arguments)
    of_x = len(found.source) and (found.source == 1).all() and (found.sign > 0).all()
    if of_x and (np.diff(found.index) == 1).all():
        return int(Base.X), int(found.index[0])
    target = (int(Base.WORK), draft.room(arguments.numel()))
    if not len(found.others):
        _gather(draft, found, {1: (Base.X, 0), 2: (Base.THETA, 0)}, target)
        return target
    inner = _compiled(graph, x, arguments, [])
    draft.keep.append(inner)
    draft.add(Op.PORT, inner.address, Base.THETA, 0, *target)
    return target


def _gather(draft: _Draft, found: Gathered, sources: dict[int, tuple[int, int]], target: tuple[int, int]) -> None:
    """Copy entries to where they belong."""
    from dalembert.compile.plan_kernel import Base, Op

    count = len(found.source)
    base, offset = np.full(count, int(Base.CONSTANTS)), np.zeros(count, np.int64)
    for source, (of, first) in sources.items():
        mine = found.source == source
        base[mine], offset[mine] = int(of), first + (np.arange(mine.sum()) if source == -2 else found.index[mine])
    time, constant = found.source == 0, found.source == -1
    if time.any():
        place = draft.room(1)
        draft.add(Op.TIME, Base.WORK, place)
        base[time], offset[time] = int(Base.WORK), place
    if constant.any():
        values, which = np.unique(found.value[constant], return_inverse=True)
        offset[constant] = len(draft.constants) + which
        draft.constants.extend(values.tolist())
    there = (base == target[0]) & (offset == target[1] + np.arange(count))  # native code has written these
    there &= found.sign > 0
    kinds = (np.diff(base) != 0) | (np.diff(there) != 0) | (np.diff(found.sign) != 0)
    breaks = np.flatnonzero((np.diff(offset) != 1) | kinds) + 1
    starts = np.concatenate([[0], breaks, [count]]) if count else np.zeros(1, int)
    if len(starts) - 1 <= MOST_RUNS:
        for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            if not there[start]:
                sign = int(found.sign[start])
                draft.add(Op.COPY, base[start], offset[start], target[0], target[1] + start, stop - start, sign)
        return
    for start, stop in stretches(~there):
        codes = found.sign[start:stop].astype(np.int64) * (1 + base[start:stop] + 8 * offset[start:stop])
        draft.keep.append(codes)
        draft.add(Op.GATHER, codes.ctypes.data, target[0], target[1] + start, stop - start)


def _groups(draft: _Draft, graph: Graph, block: External, n_arguments: int, scratch: int) -> Memory:
    from dalembert.compile.plan_kernel import GROUPS

    native = block.native
    groups = Groups(native.pattern, native.shape[1])
    column = np.concatenate([np.zeros(0, np.int64), *groups.members])
    counts = groups.starts[column + 1] - groups.starts[column]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    to = groups.entries[np.repeat(groups.starts[column], counts) + inside]
    n_out = graph.native_size(block.role, native.parent)
    whole = lambda values: np.ascontiguousarray(values, np.int64)  # noqa: E731
    memory = Memory(
        GROUPS,
        dict(
            group=whole(np.cumsum([0, *map(len, groups.members)])), column=whole(column),
            start=whole(np.cumsum([0, *counts])), row=whole(groups.rows[to]), to=whole(to), n_groups=groups.count,
            n_columns=len(column), n_entries=len(to), n_arguments=n_arguments, first=native.place.start, n_out=n_out,
            room=scratch, scratch=draft.room(n_arguments + 2 * (n_out + scratch)),
        ),
    )  # fmt: skip
    draft.keep.append(memory)
    return memory


def _port(draft: _Draft, n_x: int, n_theta: int, n_out: int) -> Port:
    from dalembert.compile.kernel import address_of
    from dalembert.compile.plan_kernel import PLAN, WIDTH, follow

    steps = np.zeros((len(draft.steps), WIDTH), np.int64)
    for row, words in zip(steps, draft.steps, strict=True):
        row[: len(words)] = words
    constants = np.array(draft.constants, float)
    plan = Memory(PLAN, dict(steps=steps, constants=constants, n_steps=len(steps), n_out=n_out))
    words = max(draft.work, 1)
    on_stack = words <= STACK
    text = _TRAMPOLINE.format(
        work=f"%w = alloca double, i64 {words}" if on_stack else f"%w = call ptr @malloc(i64 {8 * words})",
        free="" if on_stack else "call void @free(ptr %w)",
        follow=address_of(follow),
        plan=plan.address,
    )
    code, _ = jit.build(text, {name: library_symbols()[name] for name in ("malloc", "free")}, level=0)
    return Port(
        code.address, n_x=n_x, n_theta=n_theta, n_out=n_out, backend="native",
        keep=(code, plan, follow, draft.keep),
    )  # fmt: skip
