"""The tape of a CasADi SX function as LLVM IR.

Text is written directly: llvmlite's builder objects would take longer than the compilation. Every name in the text
is made here (`%v` + number); names of users' symbols never reach it. No fast-math flags are set, so that NaN, infinity
and signed zero behave as in CasADi's own virtual machine, and results agree with it bit for bit up to `erfinv`.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import casadi

CHUNK = 500  # instructions in one function; compile time is superlinear in the length of a function
STACK = 4096  # numbers of work space that may lie on the stack (32 kB)

# Sequences for {d} = operation({a}, {b}); further names derive from {d}. Truth follows C: NaN is true.
_TEMPLATES = {
    "ADD": "{d} = fadd double {a}, {b}",
    "SUB": "{d} = fsub double {a}, {b}",
    "MUL": "{d} = fmul double {a}, {b}",
    "DIV": "{d} = fdiv double {a}, {b}",
    "NEG": "{d} = fneg double {a}",
    "SQ": "{d} = fmul double {a}, {a}",
    "TWICE": "{d} = fadd double {a}, {a}",
    "INV": "{d} = fdiv double 1.0, {a}",
    "LT": "{d}c = fcmp olt double {a}, {b}\n {d} = uitofp i1 {d}c to double",
    "LE": "{d}c = fcmp ole double {a}, {b}\n {d} = uitofp i1 {d}c to double",
    "EQ": "{d}c = fcmp oeq double {a}, {b}\n {d} = uitofp i1 {d}c to double",
    "NE": "{d}c = fcmp une double {a}, {b}\n {d} = uitofp i1 {d}c to double",
    "NOT": "{d}c = fcmp oeq double {a}, 0.0\n {d} = uitofp i1 {d}c to double",
    "AND": "{d}a = fcmp une double {a}, 0.0\n {d}b = fcmp une double {b}, 0.0\n"
    " {d}c = and i1 {d}a, {d}b\n {d} = uitofp i1 {d}c to double",
    "OR": "{d}a = fcmp une double {a}, 0.0\n {d}b = fcmp une double {b}, 0.0\n"
    " {d}c = or i1 {d}a, {d}b\n {d} = uitofp i1 {d}c to double",
    "IF_ELSE_ZERO": "{d}c = fcmp oeq double {a}, 0.0\n {d} = select i1 {d}c, double 0.0, double {b}",
    "SIGN": "{d}n = fcmp olt double {a}, 0.0\n {d}p = fcmp ogt double {a}, 0.0\n"
    " {d}s = select i1 {d}p, double 1.0, double {a}\n {d} = select i1 {d}n, double -1.0, double {d}s",
    # The other argument if one is NaN, as in C; of two zeros the first, as in CasADi.
    "FMIN": "{d}l = fcmp ole double {a}, {b}\n {d}m = select i1 {d}l, double {a}, double {b}\n"
    " {d}u = fcmp uno double {b}, 0.0\n {d} = select i1 {d}u, double {a}, double {d}m",
    "FMAX": "{d}l = fcmp oge double {a}, {b}\n {d}m = select i1 {d}l, double {a}, double {b}\n"
    " {d}u = fcmp uno double {b}, 0.0\n {d} = select i1 {d}u, double {a}, double {d}m",
}
# Intrinsics: one machine instruction, and for sine and cosine of the same angle one call of `sincos`.
for _name in ("SQRT", "SIN", "COS", "FLOOR", "CEIL", "FABS"):
    _TEMPLATES[_name] = f"{{d}} = call double @llvm.{_name.lower()}.f64(double {{a}})"
_TEMPLATES["COPYSIGN"] = "{d} = call double @llvm.copysign.f64(double {a}, double {b})"
# Private names: LLVM would rewrite calls of functions it knows, such as pow(2, x), in ways that change the last bits.
_UNARY = ("EXP", "LOG", "TAN", "ASIN", "ACOS", "ATAN", "ERF", "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH")
UNARY = tuple(name.lower() for name in (*_UNARY, "LOG1P", "EXPM1"))
BINARY = ("pow", "fmod", "remainder", "atan2", "hypot")
for _name in UNARY:
    _TEMPLATES[_name.upper()] = f"{{d}} = call double @dalembert_{_name}(double {{a}})"
for _name in BINARY:
    _TEMPLATES[_name.upper()] = f"{{d}} = call double @dalembert_{_name}(double {{a}}, double {{b}})"
_TEMPLATES["CONSTPOW"] = _TEMPLATES["POW"]  # CasADi itself turns small integer powers into products
_TEMPLATES["ERFINV"] = "{d} = call double @dalembert_erfinv(double {a}, i32 1)"

TEMPLATES = {getattr(casadi, f"OP_{name}"): text for name, text in _TEMPLATES.items() if hasattr(casadi, f"OP_{name}")}
ALIASES = {casadi.OP_ASSIGN, casadi.OP_LIFT, casadi.OP_PRINTME}  # the value of the first argument
_INPUT, _OUTPUT, _CONST = casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST

_DECLARATIONS = "\n".join(
    [f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "sin", "cos", "floor", "ceil", "fabs")]
    + ["declare double @llvm.copysign.f64(double, double)"]
    + [f"declare double @dalembert_{name}(double) #0" for name in UNARY]
    + [f"declare double @dalembert_{name}(double, double) #0" for name in BINARY]
    + ["declare double @dalembert_erfinv(double, i32) #0", "declare ptr @malloc(i64)", "declare void @free(ptr)"]
)
_ATTRIBUTES = "attributes #0 = { nounwind willreturn memory(none) }\nattributes #1 = { nounwind noinline }\n"


@dataclass(frozen=True)
class Tape:
    """Instructions of an SX function, `(operation, inputs, outputs, constant)` each, and the number of registers."""

    instructions: tuple[tuple, ...]
    registers: int
    vectors: int = 2  # arguments besides t and out

    @property
    def parameters(self) -> str:
        """Of the function that is emitted."""
        vectors = "".join(f"ptr noalias readonly %x{k}, " for k in range(1, self.vectors + 1))
        return f"double %t, {vectors}ptr noalias %out"

    @property
    def arguments(self) -> str:
        """The same as they are handed on."""
        return f"double %t, {''.join(f'ptr %x{k}, ' for k in range(1, self.vectors + 1))}ptr %out"

    def unknown(self) -> set[int]:
        """Operations that this file cannot emit."""
        known = TEMPLATES.keys() | ALIASES | {_INPUT, _OUTPUT, _CONST}
        return self.operations() - known

    def operations(self) -> set[int]:
        """All that occur."""
        return {instruction[0] for instruction in self.instructions}


def read_tape(function: casadi.Function, ones: int | None = None) -> Tape:
    """Read the tape of an SX function with the inputs t, any number of vectors, and one dense column as output.

    The input `ones`, which is the last if it is given, becomes the constant 1, of which CasADi shall know nothing: it
    would simplify x · (1/d) to x/d.
    """
    identity, constant = function.instruction_id, function.instruction_constant
    inputs, outputs = function.instruction_input, function.instruction_output
    instructions = []
    for k in range(function.n_instructions()):
        operation = identity(k)
        value = constant(k) if operation == _CONST else None
        if operation == _INPUT and ones is not None and inputs(k)[0] == ones:
            instructions.append((_CONST, (), tuple(outputs(k)), 1.0))
        else:
            instructions.append((operation, tuple(inputs(k)), tuple(outputs(k)), value))
    return Tape(tuple(instructions), function.sz_w(), function.n_in() - 1 - (ones is not None))


def literal(value: float) -> str:
    """Write a double exactly, also NaN and infinity."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def emit(tape: Tape, chunk: int = CHUNK) -> str:
    """Write the module that exports the tape as `port`."""
    if len(tape.instructions) <= 2 * chunk:
        body, bad = _straight(tape.instructions, 0, set())
        functions = [f"define i32 @port({tape.parameters}) #1 {{\nentry:\n{body}\n{_status(bad)}\n}}\n"]
    else:
        functions = _chunked(tape, chunk)
    return "\n".join([_DECLARATIONS, *functions, _ATTRIBUTES])


def _chunked(tape: Tape, chunk: int) -> list[str]:
    """Write one function for each chunk and the port that calls them; values that outlive a chunk go to memory."""
    spilled = _spilled(tape, chunk)
    functions, calls = [], [" %s0 = fadd double 0.0, 0.0"]
    for k, start in enumerate(range(0, len(tape.instructions), chunk)):
        body, bad = _straight(tape.instructions[start : start + chunk], start, spilled)
        functions.append(
            f"define internal double @chunk{k}({tape.parameters}, ptr noalias %w) #1 {{\nentry:\n{body}\n"
            f" ret double {bad}\n}}\n"
        )
        calls.append(f" %c{k} = call double @chunk{k}({tape.arguments}, ptr %w)")
        calls.append(f" %s{k + 1} = fadd double %s{k}, %c{k}")
    # A work array of the call, not of the port: several threads may be inside at once.
    if tape.registers <= STACK:
        before, after = f" %w = alloca double, i64 {tape.registers}", ""
    else:
        before = (
            f" %w = call ptr @malloc(i64 {8 * tape.registers})\n %null = icmp eq ptr %w, null\n"
            " br i1 %null, label %failed, label %start\nfailed:\n ret i32 2\nstart:"
        )
        after = " call void @free(ptr %w)"
    status = _status(f"%s{len(functions)}")
    port = "\n".join([f"define i32 @port({tape.parameters}) #1 {{\nentry:", before, *calls, after, status, "}\n"])
    return [*functions, port]


def _spilled(tape: Tape, chunk: int) -> set[int]:
    """Numbers of the instructions whose result is read in a later chunk than their own."""
    writer: dict[int, int] = {}  # register -> instruction that wrote it last
    spilled = set()
    for k, (operation, inputs, outputs, _) in enumerate(tape.instructions):
        if operation not in (_INPUT, _CONST):
            spilled.update(j for j in map(writer.__getitem__, inputs) if j // chunk != k // chunk)
        if operation != _OUTPUT:
            writer[outputs[0]] = k
    return spilled


def _straight(instructions: tuple, start: int, spilled: set[int]) -> tuple[str, str]:
    """Write straight-line code; return it and the name of a number that is NaN if some output is not finite.

    A register of the tape that is read but not written here comes from the work array `%w`, at its own number. A
    result in `spilled` is stored there at once: by then the register's former value was loaded, or is not needed.
    """
    values: dict[int, str] = {}  # register -> SSA name or literal
    lines: list[str] = []
    checked: set[str] = set()
    finite: set[str] = set()  # constants that need no check
    sums = ["0.0"] * 4  # four sums of 0*output: one alone would be a long chain of dependent additions

    def value(register: int, k: int) -> str:
        if register not in values:
            values[register] = name = f"%w{k}r{register}"
            lines.append(f" {name}p = getelementptr double, ptr %w, i64 {register}")
            lines.append(f" {name} = load double, ptr {name}p")
        return values[register]

    for k, (operation, inputs, outputs, constant) in enumerate(instructions, start):
        if operation == _OUTPUT:
            result = value(inputs[0], k)
            lines.append(f" %o{k} = getelementptr double, ptr %out, i64 {outputs[1]}")
            lines.append(f" store double {result}, ptr %o{k}")
            if result not in checked and result not in finite:
                checked.add(result)
                j = len(checked) % len(sums)
                lines.append(f" %z{k} = fmul double {result}, 0.0")
                lines.append(f" %s{k} = fadd double {sums[j]}, %z{k}")
                sums[j] = f"%s{k}"
            continue
        if operation == _CONST:
            result = literal(constant)
            if math.isfinite(constant):
                finite.add(result)
        elif operation == _INPUT:
            argument, position = inputs
            result = "%t"
            if argument:
                result = f"%v{k}"
                lines.append(f" %p{k} = getelementptr double, ptr %x{argument}, i64 {position}")
                lines.append(f" {result} = load double, ptr %p{k}")
        elif operation in ALIASES:
            result = value(inputs[0], k)
        else:
            a = value(inputs[0], k)
            b = value(inputs[-1], k)
            result = f"%v{k}"
            lines.append(" " + TEMPLATES[operation].format(d=result, a=a, b=b))
        values[outputs[0]] = result
        if k in spilled:
            lines.append(f" %q{k} = getelementptr double, ptr %w, i64 {outputs[0]}")
            lines.append(f" store double {result}, ptr %q{k}")
    lines += [f" %bad{j} = fadd double {a}, {b}" for j, (a, b) in enumerate((sums[:2], sums[2:]))]
    lines.append(" %bad = fadd double %bad0, %bad1")
    return "\n".join(lines), "%bad"


def _status(bad: str) -> str:
    return f" %nan = fcmp uno double {bad}, 0.0\n %status = zext i1 %nan to i32\n ret i32 %status"
