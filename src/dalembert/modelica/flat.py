"""The flat model: scalar variables and equations, nothing left to look up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.modelica import tree
from dalembert.modelica.source import Source
from dalembert.modelica.values import EnumType

if TYPE_CHECKING:
    from dalembert.modelica.flat_functions import FlatFunction, FlatRecord


class Origin(NamedTuple):
    """Where something of the flat model comes from: the text, the place in it, and the component."""

    source: Source
    at: int
    component: str

    def __str__(self) -> str:
        line, _ = self.source.place(self.at)
        inside = f" of {self.component}" if self.component else ""
        return f"{self.source.path or 'text'}:{line}{inside}"


@dataclass(slots=True)
class FlatVariable:
    """A scalar.

    Attributes
    ----------
    type : str or EnumType
        Real, Integer, Boolean, String or an enumeration.
    variability : str
        constant, parameter, discrete or continuous.
    causality : str
        input, output, or empty; inputs and outputs of the model itself only.
    attributes : dict
        Expressions by name: start, fixed, unit, displayUnit, quantity, min, max, nominal, stateSelect.
    binding : expression or None
        The value of a constant or parameter. Bindings of others are equations.
    structural : bool
        Whether sizes or the choice of equations depend on the value: another one needs another flat model.
    """

    name: str
    type: str | EnumType
    variability: str
    causality: str
    attributes: dict[str, tree.Expression]
    binding: tree.Expression | None
    origin: Origin
    comment: str | None = None
    structural: bool = False
    final: bool = False
    protected: bool = False

    @property
    def is_unknown(self) -> bool:
        return self.variability in ("discrete", "continuous") and self.causality != "input"


@dataclass(slots=True)
class FlatEquation:
    """left = right.

    `left` is an `Array`, or a `Tuple` of scalars and arrays, where `right` is a call of a function with such results.
    """

    left: tree.Expression
    right: tree.Expression
    origin: Origin

    @property
    def size(self) -> int:
        return _size(self.left)


def _size(left: tree.Expression) -> int:
    """The number of scalars on a left side."""
    if isinstance(left, tree.Tuple | tree.Array):
        return sum(_size(item) for item in left.items if item is not None)
    return 1


@dataclass(slots=True)
class FlatWhen:
    """when, elsewhen: conditions and what is done, `Equation` or `CallStatement` (reinit, assert, terminate)."""

    branches: list[tuple[tree.Expression, list[tree.Statement]]]
    origin: Origin


@dataclass(slots=True)
class FlatAlgorithm:
    """Statements on scalars. `targets` are the variables that it determines.

    Loops with a range are unrolled; if `break` leaves them, the statements of all turns stand in a loop of one turn.
    """

    statements: list[tree.Statement]
    targets: list[str]
    origin: Origin


@dataclass(slots=True)
class FlatAssert:
    condition: tree.Expression
    message: tree.Expression
    level: str  # error or warning
    origin: Origin


@dataclass
class FlatModel:
    """A model without structure.

    Attributes
    ----------
    variables : dict
        `FlatVariable` by name, constants and parameters included.
    equations, initial_equations : list of FlatEquation
    whens : list of FlatWhen
    algorithms, initial_algorithms : list of FlatAlgorithm
    asserts : list of FlatAssert
    terminations : list
        Pairs of condition and message; the simulation ends there.
    functions : dict
        `FlatFunction` by name, all that are called.
    records, enumerations : dict
        Types by name that functions and variables use.
    externals : dict
        Constructor and destructor, `FlatFunction`, of classes of external objects by name.
    notes : list of str
        What is worth knowing, as that there are more equations than unknowns.
    experiment : dict
        StartTime, StopTime, Tolerance, Interval as far as given.
    """

    name: str
    comment: str | None = None
    variables: dict[str, FlatVariable] = field(default_factory=dict)
    equations: list[FlatEquation] = field(default_factory=list)
    initial_equations: list[FlatEquation] = field(default_factory=list)
    whens: list[FlatWhen] = field(default_factory=list)
    algorithms: list[FlatAlgorithm] = field(default_factory=list)
    initial_algorithms: list[FlatAlgorithm] = field(default_factory=list)
    asserts: list[FlatAssert] = field(default_factory=list)
    terminations: list[tuple[tree.Expression, tree.Expression]] = field(default_factory=list)
    functions: dict[str, FlatFunction] = field(default_factory=dict)
    records: dict[str, FlatRecord] = field(default_factory=dict)
    enumerations: dict[str, EnumType] = field(default_factory=dict)
    externals: dict[str, list[FlatFunction]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    experiment: dict[str, float] = field(default_factory=dict)

    def unknowns(self) -> list[str]:
        """Names of the scalars that equations determine."""
        return [name for name, variable in self.variables.items() if variable.is_unknown]

    def equation_count(self) -> int:
        """The number of scalar equations, those in when-clauses and algorithms included."""
        count = sum(equation.size for equation in self.equations)
        count += sum(len(assigned(when)) for when in self.whens)
        return count + sum(len(algorithm.targets) for algorithm in self.algorithms)

    def to_modelica(self) -> str:
        """The flat model as Modelica text."""
        from dalembert.modelica.parser import room_for_depth
        from dalembert.modelica.print_flat import flat_text

        try:
            with room_for_depth():
                return flat_text(self)
        except RecursionError:
            origin = next(iter(self.variables.values())).origin
            raise origin.source.error(f"`{self.name}` is nested too deeply", origin.at) from None


def assigned(when: FlatWhen) -> list[str]:
    """The variables that a when-clause determines."""
    found: dict[str, None] = {}
    for _, body in when.branches:
        for one in body:
            for name in _targets(one):
                found[name] = None
    return list(found)


def _targets(node: tree.Statement) -> Iterator[str]:
    if isinstance(node, tree.Equation):
        yield from names_in(node.left)
    elif isinstance(node, tree.Assignment):
        yield from names_in(node.target)
    elif isinstance(node, tree.If | tree.When):
        for _, body in node.branches:
            for one in body:
                yield from _targets(one)
        for one in getattr(node, "otherwise", None) or ():
            yield from _targets(one)
    elif isinstance(node, tree.For | tree.While):
        for one in node.body:
            yield from _targets(one)


def targets(statements: list[tree.Statement]) -> list[str]:
    """The variables that statements assign to."""
    return list(dict.fromkeys(name for one in statements for name in _targets(one)))


def names_in(node: Any) -> Iterator[str]:
    """All names of scalars in an expression, from left to right."""
    waiting = [node]  # sums may be long
    while waiting:
        one = waiting.pop()
        if isinstance(one, tree.Ref):
            if len(one.names) == 1:
                yield one.names[0]
        elif isinstance(one, tree.Call):  # the function is no scalar
            waiting += reversed((*one.args, *one.named))
        elif isinstance(one, tuple):
            waiting += [child for child in reversed(one) if isinstance(child, tuple)]
