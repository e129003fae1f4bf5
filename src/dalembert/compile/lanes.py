"""Straight-line code for three right-hand sides at once: vectors of three numbers in place of numbers.

Some inputs of a tape are coefficients, numbers as ever; the others, and the results, have rows of three. What is
computed must be linear in these: sums, and products with coefficients. Products and sums may be fused.
"""

from __future__ import annotations

import casadi

from dalembert.compile.emit import ALIASES, Tape, literal

#: changes with the text that is written
FORMAT = 1

_LANES = "<3 x double>"
_OPERATIONS = {casadi.OP_ADD: "fadd", casadi.OP_SUB: "fsub", casadi.OP_MUL: "fmul"}
KNOWN = {*_OPERATIONS, *ALIASES, casadi.OP_NEG, casadi.OP_TWICE, casadi.OP_SQ, casadi.OP_INPUT, casadi.OP_OUTPUT}
KNOWN |= {casadi.OP_CONST}


def emit_lanes(tape: Tape, wide: frozenset[int]) -> str:
    """Write the module that exports the tape as `port`; the inputs numbered in `wide` have rows of three."""
    lines: list[str] = []
    values: dict[int, tuple[str, bool]] = {}  # register -> name or literal, and whether it is a vector

    def vector(register: int, k: int) -> str:
        name, is_vector = values[register]
        if is_vector:
            return name
        lines.append(f" %e{k}r{register} = insertelement {_LANES} undef, double {name}, i32 0")
        lines.append(
            f" %b{k}r{register} = shufflevector {_LANES} %e{k}r{register}, {_LANES} undef, <3 x i32> zeroinitializer"
        )
        return f"%b{k}r{register}"

    for k, (operation, inputs, outputs, constant) in enumerate(tape.instructions):
        if operation == casadi.OP_OUTPUT:
            lines.append(f" %o{k} = getelementptr double, ptr %out, i64 {3 * outputs[1]}")
            lines.append(f" store {_LANES} {vector(inputs[0], k)}, ptr %o{k}, align 8")
            continue
        if operation == casadi.OP_CONST:
            values[outputs[0]] = literal(constant), False
        elif operation == casadi.OP_INPUT:
            argument, position = inputs
            if not argument:
                values[outputs[0]] = "%t", False
                continue
            kind, place = (_LANES, 3 * position) if argument in wide else ("double", position)
            lines.append(f" %p{k} = getelementptr double, ptr %x{argument}, i64 {place}")
            lines.append(f" %v{k} = load {kind}, ptr %p{k}, align 8")
            values[outputs[0]] = f"%v{k}", argument in wide
        elif operation in ALIASES:
            values[outputs[0]] = values[inputs[0]]
        else:
            a, b = inputs[0], inputs[-1]
            is_vector = values[a][1] or values[b][1]
            kind = _LANES if is_vector else "double"
            left, right = (vector(r, k) if is_vector else values[r][0] for r in (a, b))
            if operation == casadi.OP_NEG:
                lines.append(f" %v{k} = fneg contract {kind} {left}")
            else:
                name = {casadi.OP_TWICE: "fadd", casadi.OP_SQ: "fmul"}.get(operation) or _OPERATIONS[operation]
                if operation in (casadi.OP_TWICE, casadi.OP_SQ):
                    right = left
                lines.append(f" %v{k} = {name} contract {kind} {left}, {right}")
            values[outputs[0]] = f"%v{k}", is_vector
    body = "\n".join(lines)
    return f"define i32 @port({tape.parameters}) nounwind noinline {{\nentry:\n{body}\n ret i32 0\n}}\n"
