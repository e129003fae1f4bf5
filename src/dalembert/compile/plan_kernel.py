"""The kernel that carries out a plan: what the port of an expression with native functions does, step by step.

A plan is a table of whole numbers, a row for each step. Places are two of them: a *base* (unknowns, θ, results, work
space, constants) and an offset into it. The kernel knows nothing of the model's size: it is compiled once.
"""

from __future__ import annotations

from enum import IntEnum

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dalembert.compile.kernel import call_port, device, kernel
from dalembert.compile.memory import imat, ivec, layout, member, vec
from dalembert.compile.ports import OK, RETRY

#: words of a step
WIDTH = 10


class Base(IntEnum):
    """Where numbers stand."""

    X = 0
    THETA = 1
    OUT = 2
    WORK = 3
    CONSTANTS = 4


class Op(IntEnum):
    """What a step does; the words behind it are listed."""

    COPY = 0  # from base, from offset, to base, to offset, count, sign
    GATHER = 1  # address of codes, to base, to offset, count; a code is sign · (1 + base + 8 · offset)
    NATIVE = 2  # address, record, argument's base and offset, result's base and offset
    PORT = 3  # address, θ's base and offset, result's base and offset
    DIFFERENCE = 4  # address, record, argument's base and offset, result's base and offset, address of `GROUPS`
    TIME = 5  # to base, to offset


PLAN = layout(arrays=["steps", "constants"], wholes=["n_steps", "n_out"])
#: columns of one vector in groups that have no row in common: `group` holds where groups start in `column`, `start`
#: where the entries of a column do in `row` and `to`
GROUPS = layout(
    arrays=["group", "column", "start", "row", "to"],
    wholes=["n_groups", "n_columns", "n_entries", "n_arguments", "first", "n_out", "room", "scratch"],
)
plan_at, groups_at = member(PLAN), member(GROUPS)
STEP, LEAST = 6e-6, 1e-2  # as in `model.native_values`


@intrinsic
def call_native(typingctx, address, t, x, theta, out, record):
    """Call the code of a native function; all but t are addresses. Returns its status, int32."""
    signature = types.int32(types.uint64, types.float64, *[types.uint64] * 4)

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [ir.DoubleType(), *[pointer] * 4])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        pointers = [builder.inttoptr(argument, pointer) for argument in arguments[2:]]
        return builder.call(function, [arguments[1], *pointers])

    return signature, generate


@device
def place(bases, base, offset):
    """The address of a number."""
    return bases[base] + types.uint64(8 * offset)


@device
def difference(t, address, record, argument, theta, result, work, groups):
    """Central differences of native code, group by group; returns a status."""
    g = groups_at(groups)
    n, m, first = g.n_arguments, g.n_out, g.first
    room = m + g.room
    scratch = work + types.uint64(8 * g.scratch)
    given, point = vec(argument, n), vec(scratch, n)
    above = vec(scratch + types.uint64(8 * n), m)
    below_at = scratch + types.uint64(8 * (n + room))
    below = vec(below_at, m)
    out = vec(result, g.n_entries)
    group, column, start = ivec(g.group, g.n_groups + 1), ivec(g.column, g.n_columns), ivec(g.start, g.n_columns + 1)
    row, to = ivec(g.row, g.n_entries), ivec(g.to, g.n_entries)
    for i in range(n):
        point[i] = given[i]
    for k in range(g.n_groups):
        for i in range(group[k], group[k + 1]):
            j = first + column[i]
            point[j] = given[j] + STEP * max(abs(given[j]), LEAST)
        status = call_native(address, t, scratch, theta, scratch + types.uint64(8 * n), record)
        if status != OK:
            return status
        for i in range(group[k], group[k + 1]):
            j = first + column[i]
            point[j] = given[j] - STEP * max(abs(given[j]), LEAST)
        status = call_native(address, t, scratch, theta, below_at, record)
        if status != OK:
            return status
        for i in range(group[k], group[k + 1]):
            j = first + column[i]
            point[j] = given[j]
            width = 2 * STEP * max(abs(given[j]), LEAST)
            for e in range(start[i], start[i + 1]):
                out[to[e]] = (above[row[e]] - below[row[e]]) / width
    return OK


@kernel("int32(float64, uint64, uint64, uint64, uint64, uint64)")
def follow(t, x, theta, out, work, plan):
    """Carry out a plan; returns the status of a port."""
    p = plan_at(plan)
    bases = (x, theta, out, work, p.constants)
    steps = imat(p.steps, p.n_steps, WIDTH)
    for k in range(p.n_steps):
        s = steps[k]
        op = s[0]
        status = OK
        if op == Op.COPY:
            source, target = vec(place(bases, s[1], s[2]), s[5]), vec(place(bases, s[3], s[4]), s[5])
            sign = 1.0 * s[6]
            for i in range(s[5]):
                target[i] = sign * source[i]
        elif op == Op.GATHER:
            codes, target = ivec(types.uint64(s[1]), s[4]), vec(place(bases, s[2], s[3]), s[4])
            for i in range(s[4]):
                code = abs(codes[i]) - 1
                value = vec(place(bases, code & 7, code >> 3), 1)[0]
                target[i] = value if codes[i] > 0 else -value
        elif op == Op.NATIVE:
            status = call_native(
                types.uint64(s[1]), t, place(bases, s[3], s[4]), theta, place(bases, s[5], s[6]), types.uint64(s[2])
            )
        elif op == Op.PORT:
            status = call_port(types.uint64(s[1]), t, x, place(bases, s[2], s[3]), place(bases, s[4], s[5]))
        elif op == Op.DIFFERENCE:
            status = difference(
                t, types.uint64(s[1]), types.uint64(s[2]), place(bases, s[3], s[4]), theta, place(bases, s[5], s[6]),
                work, types.uint64(s[7]),
            )  # fmt: skip
        else:
            vec(place(bases, s[1], s[2]), 1)[0] = t
        if status != OK:
            return status
    result = vec(out, p.n_out)
    check = 0.0
    for i in range(p.n_out):
        check += 0.0 * result[i]
    return OK if check == 0.0 else RETRY
