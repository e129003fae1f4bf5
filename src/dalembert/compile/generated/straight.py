"""Nodes of a graph as straight code: arguments before results, each once, depth first, so that few wait at once."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence

from dalembert.compile.generated import elementary
from dalembert.compile.generated.code import Code
from dalembert.compile.generated.graph import Graph
from dalembert.compile.generated.values import Real

#: functions of the C library, which vectors of members call one by one, and GPUs cannot
LIBRARY = {"ERF": ("erf", 1), "FMOD": ("fmod", 2), "REMAINDER": ("remainder", 2)}

Source = Callable[[], Real]


def _truth(code: Code, condition) -> Real:
    return code.select(condition, 1.0, 0.0)


def _sign(code: Code, a: Real) -> Real:
    return code.select(a < 0.0, -1.0, code.select(a > 0.0, 1.0, a))


def _least(code: Code, a: Real, b: Real) -> Real:
    """The other argument if one is NaN, as in C."""
    return code.select(b.differs(b), a, code.select(a <= b, a, b))


def _largest(code: Code, a: Real, b: Real) -> Real:
    return code.select(b.differs(b), a, code.select(a >= b, a, b))


def reciprocal(code: Code, a: Real) -> Real:
    """1/a. A GPU's own guess and two of Newton's steps take a fifth of the time of a division there."""
    if not code.target.gpu:
        return 1.0 / a
    code.declare("double @llvm.nvvm.rcp.approx.ftz.d(double)")
    y = Real(code, code.write(f"call double @llvm.nvvm.rcp.approx.ftz.d(double {a.text})"))
    for _ in range(2):
        y = code.fma(y, code.fma(-a, y, 1.0), y)
    return y


_SIMPLE: dict[str, Callable[..., Real]] = {
    "ADD": lambda code, a, b: a + b,
    "SUB": lambda code, a, b: a - b,
    "MUL": lambda code, a, b: a * b,
    "DIV": lambda code, a, b: a / b,
    "NEG": lambda code, a: -a,
    "INV": reciprocal,
    "SQRT": lambda code, a: code.sqrt(a),
    "FABS": lambda code, a: code.abs(a),
    "FLOOR": lambda code, a: code.intrinsic("floor", a),
    "CEIL": lambda code, a: code.intrinsic("ceil", a),
    "COPYSIGN": lambda code, a, b: code.copysign(a, b),
    "LT": lambda code, a, b: _truth(code, a < b),
    "LE": lambda code, a, b: _truth(code, a <= b),
    "EQ": lambda code, a, b: _truth(code, a.equals(b)),
    "NE": lambda code, a, b: _truth(code, a.differs(b)),
    "NOT": lambda code, a: _truth(code, a.equals(0.0)),
    "AND": lambda code, a, b: _truth(code, a.differs(0.0) & b.differs(0.0)),
    "OR": lambda code, a, b: _truth(code, a.differs(0.0) | b.differs(0.0)),
    "IF_ELSE_ZERO": lambda code, a, b: code.select(a.equals(0.0), 0.0, b),
    "SIGN": _sign,
    "FMIN": _least,
    "FMAX": _largest,
    **elementary.UNARY,
    **elementary.BINARY,
}
_UNARY = frozenset(
    ("NEG", "INV", "SQRT", "FABS", "FLOOR", "CEIL", "NOT", "SIGN", "SIN", "COS", *elementary.UNARY)
)
#: what can be written for every target
KNOWN = frozenset((*_SIMPLE, "SIN", "COS"))
#: besides, for this processor
ON_HOST = frozenset(LIBRARY)


def arguments_of(name: str) -> int:
    """How many numbers an operation takes."""
    if name in LIBRARY:
        return LIBRARY[name][1]
    return 1 if name in _UNARY else 2


def written(code: Code, name: str, given: Sequence[Real]) -> Real:
    """An operation on numbers; of sine and cosine, the one that is asked for."""
    if name in ("SIN", "COS"):
        return elementary.sincos(code, given[0])[name == "COS"]
    return _library(code, name, given) if name in LIBRARY else _SIMPLE[name](code, *given)


def unknown(graph: Graph, roots: Iterable[int], *, gpu: bool) -> set[str]:
    """Operations that cannot be written, by CasADi's names."""
    used = {graph.keys[node][0] for node in graph.needed(roots, frozenset())}
    return used - KNOWN - (frozenset() if gpu else ON_HOST)


class Straight:
    """Numbers of nodes; what is needed for one and not there yet is written when it is asked for.

    `known` nodes have their values from elsewhere, each fetched once, when it is first needed.
    """

    def __init__(self, code: Code, graph: Graph, known: Mapping[int, Source]):
        self._code, self._graph, self._known = code, graph, known
        self._values: dict[int, Real] = {}
        self._there = ChainMap(self._values, known)

    def __getitem__(self, root: int) -> Real:
        code, graph, values = self._code, self._graph, self._values
        for node in graph.needed([root], self._there):
            if node in values:
                continue
            name, *arguments = graph.keys[node]
            given = [self._fetched(argument) for argument in arguments]
            if name in ("SIN", "COS"):  # both, as one costs little more than the other; LLVM drops what nobody reads
                pair = elementary.sincos(code, given[0])
                for which, number in zip(("SIN", "COS"), pair, strict=True):
                    other = graph.find(which, arguments[0])
                    if other is not None and other not in self._known:
                        values[other] = number
            else:
                values[node] = written(code, name, given)
        return self._fetched(root)

    def _fetched(self, node: int) -> Real:
        if node not in self._values:
            constant = self._graph.value(node)
            self._values[node] = self._code.real(constant) if constant is not None else self._known[node]()
        return self._values[node]

    def forget(self) -> None:
        """Known nodes are fetched again."""
        for node in self._known:
            self._values.pop(node, None)


def _library(code: Code, name: str, given: Sequence[Real]) -> Real:
    """Member by member."""
    function, count = LIBRARY[name]
    full = f"@dalembert_{function}"
    code.declare(f"double {full}({', '.join(['double'] * count)}) nounwind willreturn memory(none)")
    width, of = code.target.width, code.target.real
    if width == 1:
        given_text = ", ".join(f"double {a.text}" for a in given)
        return Real(code, code.write(f"call double {full}({given_text})"))
    result = "poison"
    for lane in range(width):
        parts = [code.write(f"extractelement {of} {a.text}, i64 {lane}") for a in given]
        one = code.write(f"call double {full}({', '.join(f'double {part}' for part in parts)})")
        result = code.write(f"insertelement {of} {result}, double {one}, i64 {lane}")
    return Real(code, result)
