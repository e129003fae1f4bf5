"""Tapes of CasADi as statements: what is used once stands where it is used, the rest gets a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import casadi as ca

from dalembert.errors import ModelError
from dalembert.export.languages import Language, Piece

LONGEST = 60  # characters of an expression that goes into another one

_OPERATIONS = {
    getattr(ca, name): name.removeprefix("OP_")
    for name in dir(ca)
    if name.startswith("OP_") and isinstance(getattr(ca, name), int)
}
_ALIASES = {ca.OP_ASSIGN, ca.OP_LIFT, ca.OP_PRINTME}


class Statements:
    """Statements that assign expressions to targets.

    Parameters
    ----------
    arguments : list of (SX, list of Piece)
        Columns of symbols and how each entry is written.
    temporary : callable
        How intermediate result number 1, 2, … is written.

    Examples
    --------
    >>> from dalembert.export.languages import c
    >>> x = ca.SX.sym("x", 2)
    >>> both = ca.sin(x[0]) * x[1]
    >>> of = Statements(c, [(x, [Piece("a"), Piece("b")])], lambda k: f"v{k}")
    >>> of.assign([("out[0]", both + x[0] * x[0]), ("out[1]", both / 2.5)])
    [('v1', 'sin(a) * b'), ('out[0]', 'v1 + a * a'), ('out[1]', 'v1 / 2.5')]
    >>> sorted(of.used)
    ['a', 'b']
    """

    def __init__(
        self, language: Language, arguments: Sequence[tuple[ca.SX, Sequence[Piece]]], temporary: Callable[[int], str]
    ):
        self.language, self.temporary = language, temporary
        self.symbols = [column for column, _ in arguments]
        self.pieces = [list(pieces) for _, pieces in arguments]
        self.used: set[str] = set()
        self.temporaries = 0

    def assign(self, targets: Sequence[tuple[str, ca.SX]]) -> list[tuple[str, str]]:
        """Pairs of what stands left and right of the assignments, in their order."""
        if not targets:
            return []
        column = ca.densify(ca.vertcat(*(value for _, value in targets)))
        function = ca.Function("statements", self.symbols, [column], {"cse": True})
        nodes, results = _graph(function)
        uses = _uses(nodes, results, self.language.repeats_squares)
        found: dict[int, Piece] = {}
        lines: list[tuple[str, str]] = []
        for (target, _), result in zip(targets, results, strict=True):
            piece = self._piece(result, nodes, uses, found, lines)
            lines.append((target, self.language.plain(piece).text))
        return lines

    def _piece(
        self, wanted: int, nodes: list, uses: Mapping[int, int], found: dict[int, Piece], lines: list[tuple[str, str]]
    ) -> Piece:
        """An expression for a node; statements that have to come before go to `lines`."""
        stack = [wanted]
        while stack:
            number = stack[-1]
            if number in found:
                stack.pop()
                continue
            operation, inputs, constant = nodes[number]
            missing = [i for i in inputs if i not in found] if operation != "INPUT" else []
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            found[number] = piece = self._written(operation, inputs, constant, nodes, found)
            trivial = operation in ("INPUT", "CONST")
            if not trivial and (uses.get(number, 0) > 1 or len(piece.text) > LONGEST) and number != wanted:
                found[number] = self._name(piece, lines)
        several = uses.get(wanted, 0) > 1 and nodes[wanted][0] not in ("INPUT", "CONST")
        if several and not isinstance(found[wanted], Named):
            found[wanted] = self._name(found[wanted], lines)
        return found[wanted]

    def _name(self, piece: Piece, lines: list[tuple[str, str]]) -> Piece:
        self.temporaries += 1
        name = self.temporary(self.temporaries)
        lines.append((name, self.language.plain(piece).text))
        return Named(name)

    def _written(
        self, operation: str, inputs: tuple, constant: float, nodes: list, found: Mapping[int, Piece]
    ) -> Piece:
        if operation == "CONST":
            return self.language.number(constant)
        if operation == "INPUT":
            piece = self.pieces[inputs[0]][inputs[1]]
            self.used.add(piece.text)
            return piece
        a, b = found[inputs[0]], found[inputs[-1]]
        exponent = nodes[inputs[-1]][2] if nodes[inputs[-1]][0] == "CONST" else None
        piece = self.language.apply(operation, a, b, exponent)
        if piece is None:
            raise ModelError(f"the operation {operation.lower()} cannot be translated to another language")
        return piece


class Named(Piece):
    """An intermediate result."""


def _graph(function: ca.Function) -> tuple[list[tuple[str, tuple, float | None]], list[int]]:
    """Nodes (operation, numbers of nodes, constant), each computed once, and those that are results."""
    nodes: list[tuple[str, tuple, float | None]] = []
    register: dict[int, int] = {}
    results = [0] * function.numel_out(0)
    for k in range(function.n_instructions()):
        identity, inputs, outputs = (
            function.instruction_id(k),
            tuple(function.instruction_input(k)),
            tuple(function.instruction_output(k)),
        )
        if identity == ca.OP_OUTPUT:
            results[outputs[1]] = register[inputs[0]]
            continue
        if identity in _ALIASES:
            register[outputs[0]] = register[inputs[0]]
            continue
        if identity == ca.OP_CONST:
            node = ("CONST", (), function.instruction_constant(k))
        elif identity == ca.OP_INPUT:
            node = ("INPUT", inputs, None)
        else:
            node = (_OPERATIONS[identity], tuple(register[i] for i in inputs), None)
        nodes.append(node)
        register[outputs[0]] = len(nodes) - 1
    return nodes, results


def _uses(nodes: list, results: Sequence[int], repeats_squares: bool) -> dict[int, int]:
    """How often each node is written; squares may be products."""
    count: dict[int, int] = {}
    for operation, inputs, _ in nodes:
        if operation != "INPUT":
            for i in inputs * 2 if operation == "SQ" and repeats_squares else inputs:
                count[i] = count.get(i, 0) + 1
    for i in results:
        count[i] = count.get(i, 0) + 1
    return count
