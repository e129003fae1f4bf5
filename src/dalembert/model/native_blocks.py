"""Native functions in a graph: blocks of external symbols for their quantities, with patterns, and their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.model.functions import ModelFunction
from dalembert.model.native import APPLIED, NativeFunction, Pattern
from dalembert.model.vocabulary import FUNCTIONS

if TYPE_CHECKING:
    from dalembert.model.graph import Graph

#: quantities that are no derivatives by a vector
PLAIN = ("value", "first", "second", "rate", "with a")
#: entries of a derivative by differences for which no pattern is known, at most
MOST_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class NativeBlock:
    """A quantity of a native function in a graph: what its code is given, and what becomes of the result.

    A quantity that is not given is the difference of `parent` by the vector `kind`.
    """

    function: NativeFunction
    role: str
    what: str
    shape: tuple[int, int]
    pattern: Pattern | None
    kinds: tuple[str, ...]  # arguments
    arguments: tuple[ca.SX, ...]
    parent: str | None = None
    kind: str | None = None

    @property
    def size(self) -> int:
        return self.shape[0] if self.pattern is None else len(self.pattern[0])

    @property
    def given(self) -> str:
        """The quantity whose code is called."""
        return self.what if self.parent is None else self.parent

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.role} (native function {self.function.recipe})"

    @property
    def place(self) -> slice:
        """Of the vector `kind` among the arguments."""
        ends = np.cumsum([0, *(argument.numel() for argument in self.arguments)])
        k = self.kinds.index(self.kind)
        return slice(int(ends[k]), int(ends[k + 1]))

    @computed
    def _places(self) -> tuple[ca.Sparsity, np.ndarray]:
        return sparsity(self.pattern, self.shape)

    def matrix(self, symbol: ca.SX) -> ca.SX:
        """The symbols in their places."""
        pattern, order = self._places
        return ca.SX(pattern, symbol if (np.diff(order) == 1).all() else symbol[order.tolist()])


def derivative_of(what: str) -> tuple[str, str] | None:
    """The quantity and the vector whose derivative a quantity is; None if it is none.

    >>> derivative_of("by p"), derivative_of("with a by v"), derivative_of("with a")
    (('value', 'p'), ('with a', 'v'), None)
    """
    if " by " in what:
        return tuple(what.rsplit(" by ", 1))
    return ("value", what[3:]) if what.startswith("by ") else None


def derivative(what: str, kind: str) -> str:
    """The name of the derivative of a quantity by a vector."""
    return f"by {kind}" if what == "value" else f"{what} by {kind}"


def native_function(
    graph: Graph, role: str, native: NativeFunction, shape: tuple[int, int], applied: ca.SX | None, faults: list[str]
) -> ModelFunction:
    """The function for a role, with everything checked that its patterns tell."""
    where = f"{role}=: the native function '{native.recipe}'"
    known = FUNCTIONS[role].reads
    for kind in native.reads:
        if kind not in known:
            faults.append(f"{where} reads {shown(kind)}; it may read {', '.join(known)}")
    needed = {"holonomic": ("by p",), "nonholonomic": ("by p", "by v")}.get(role, ())
    if missing := [what for what in needed if what not in native.gives]:
        faults.append(f"{where} must give {' and '.join(map(repr, missing))}: constraints act along their derivatives")
    if native.moves and role in ("holonomic", "nonholonomic") and not {"first", "second"} <= native.gives.keys():
        faults.append(f"{where} moves with time: it must give 'first' and 'second', its derivatives along the motion")
    function = ModelFunction(
        role, shape, 2 if role in ("mass", "kinematics") else 1, None, native=native, applied=applied
    )
    if faults:
        return function
    trial = graph.branch()
    trial.functions[role] = function
    kinds = native.arguments("first", applied is not None)
    for what, pattern in native.gives.items():
        of = derivative_of(what)
        if what not in PLAIN and (of is None or of[0] not in native.gives or of[1] not in (*kinds, "a")):
            faults.append(
                f"{where} gives {shown(what)}, which is no quantity, or a derivative of one that is not given"
            )
            continue
        matrix = of is not None or (what == "value" and role in ("mass", "kinematics"))
        if matrix != (pattern is not None):
            faults.append(f"{where}: '{what}' {'needs rows and columns of its nonzeros' if matrix else 'is a vector'}")
        elif pattern is not None and (wrong := faulty_pattern(pattern, _shape(trial, role, what))):
            faults.append(f"{where}: the pattern of '{what}' {wrong}")
    return function


def lacks_derivatives(graph: Graph) -> bool:
    """Whether implicit methods are out of the question: forces are too many for Jacobians by differences."""
    function = graph.functions.get("force")
    native = None if function is None else function.native
    return native is not None and "by p" not in native.gives and graph.size("p") * graph.size("v") > MOST_ENTRIES


def native_block(graph: Graph, role: str, what: str) -> NativeBlock:
    """Set up a quantity."""
    function = graph.functions[role]
    native, applied = function.native, function.applied
    kinds = native.arguments(what, applied is not None)
    arguments = tuple(applied if kind == APPLIED else graph.argument(kind) for kind in kinds)
    shape, pattern = _shape(graph, role, what), native.gives.get(what)
    if what in native.gives:
        return NativeBlock(native, role, what, shape, pattern, kinds, arguments)
    parent, kind = derivative_of(what) or ("", "")
    if parent not in native.gives:
        raise ModelError(f"{role} is a native function that does not give '{what}', which is needed here")
    pattern = _known_pattern(graph, role, parent, kind)
    if pattern is None:
        if shape[0] * shape[1] > MOST_ENTRIES:
            raise ModelError(
                f"{role} is a native function of {shape[0]} values that does not give its derivative '{what}', which "
                "implicit methods need: take one that does without (Hem5, Rkf45, Mexx), other coordinates, or let its "
                "recipe give it"
            )
        pattern = tuple(index.ravel() for index in np.indices(shape))
    return NativeBlock(native, role, what, shape, pattern, kinds, arguments, parent, kind)


def _shape(graph: Graph, role: str, what: str) -> tuple[int, int]:
    function, of = graph.functions[role], derivative_of(what)
    if of is not None:
        argument = function.applied if of[1] == APPLIED else graph.argument(of[1])
        return native_block(graph, role, of[0]).size, argument.numel()
    if what != "value" and role == "kinematics":
        return graph.size("p"), 1
    if function.chosen is not None:
        return function.native.rows, 1
    return function.shape if what == "value" else (function.shape[0], 1)


def _known_pattern(graph: Graph, role: str, parent: str, kind: str) -> Pattern | None:
    """Where a derivative may have nonzeros: a row of a function depends on nothing but what its Jacobian shows."""
    gives = graph.functions[role].native.gives
    own = gives.get(f"by {kind}")
    of = derivative_of(parent)
    if of is not None and of[0] == "value" and gives.get("value") is None and own is not None:
        return row_pattern(native_block(graph, role, parent).pattern[0], own)
    if parent in ("first", "second") and kind in ("p", "v") and role == "holonomic" and _plain(graph):
        return gives.get("by p")
    return None


def _plain(graph: Graph) -> bool:
    Z = graph.functions["kinematics"]
    return Z.traced and Z.sx.is_square() and Z.sx.is_eye()


def sparsity(pattern: Pattern, shape: tuple[int, int]) -> tuple[ca.Sparsity, np.ndarray]:
    """CasADi's pattern, and for each of its nonzeros the place in the given order."""
    rows, columns = pattern
    order = np.lexsort((rows, columns))
    starts = np.searchsorted(columns[order], np.arange(shape[1] + 1))
    return ca.Sparsity(*shape, starts.tolist(), rows[order].tolist()), order


def faulty_pattern(pattern: Pattern, shape: tuple[int, int]) -> str:
    """What is wrong with a pattern for a matrix of this shape; empty if nothing is."""
    rows, columns = pattern
    if len(rows) and (rows.min() < 0 or rows.max() >= shape[0] or columns.min() < 0 or columns.max() >= shape[1]):
        return f"has entries outside of {shape[0]}×{shape[1]}"
    if (np.diff(np.sort(rows + columns * shape[0])) == 0).any():
        return "has an entry twice"
    return ""


def row_pattern(entries: np.ndarray, of: Pattern) -> Pattern:
    """Pattern of derivatives of values that depend on what row `entries[k]` of the pattern `of` depends on."""
    order = np.argsort(of[0], kind="stable")
    rows, columns = of[0][order], of[1][order]
    start, stop = np.searchsorted(rows, entries), np.searchsorted(rows, entries, side="right")
    count = stop - start
    which = np.repeat(np.arange(len(entries)), count)
    inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return which, columns[np.repeat(start, count) + inside]
