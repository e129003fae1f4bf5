"""The syntax tree: what Modelica text says, before anything is looked up.

Nodes are tuples with named fields, so they are lean, cannot be changed, and are quickly written to and read from the
cache. `at` is the place: the number of the node's token (see `source`). Lists within nodes are plain tuples.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

FORMAT = 1  # raise when nodes get other fields: trees are kept on disk

# -- expressions ---------------------------------------------------------------------------------------------------


class Literal(NamedTuple):
    """A number, truth value or string; the type of `value` tells which (int: Integer, float: Real)."""

    at: int
    value: float | int | bool | str


class Ref(NamedTuple):
    """A dotted name with subscripts, as in `a.b[2].c`. `subs` has an entry for each name, or is None if there are none.

    `rooted` is true if the name begins with a dot.
    """

    at: int
    names: tuple[str, ...]
    subs: tuple[tuple[Expression, ...] | None, ...] | None = None
    rooted: bool = False


class Unary(NamedTuple):
    """`op` is one of - + .- .+ not."""

    at: int
    op: str
    operand: Expression


class Binary(NamedTuple):
    """`op` is one of + - * / ^, these with a dot, a relation, `and`, `or`."""

    at: int
    op: str
    left: Expression
    right: Expression


class IfExpression(NamedTuple):
    """Pairs of condition and value, and the value otherwise."""

    at: int
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


class Range(NamedTuple):
    """`start : step : stop`; the step may be None."""

    at: int
    start: Expression
    step: Expression | None
    stop: Expression


class Named(NamedTuple):
    """An argument by name."""

    at: int
    name: str
    value: Expression


class Iterator(NamedTuple):
    """`name in range`; the range may be None."""

    at: int
    name: str
    range: Expression | None


class Call(NamedTuple):
    """A function call; with iterators it is a reduction such as `sum(x[i] for i in 1:n)`."""

    at: int
    function: Ref
    args: tuple[Expression, ...]
    named: tuple[Named, ...] = ()
    iterators: tuple[Iterator, ...] = ()


class Partial(NamedTuple):
    """A function as an argument, some of its inputs bound: `function f(a = 1)`."""

    at: int
    function: Ref
    named: tuple[Named, ...]


class Array(NamedTuple):
    """`{a, b}`, or with iterators `{f(i) for i in 1:n}`."""

    at: int
    items: tuple[Expression, ...]
    iterators: tuple[Iterator, ...] = ()


class Matrix(NamedTuple):
    """`[a, b; c, d]`, by rows."""

    at: int
    rows: tuple[tuple[Expression, ...], ...]


class Tuple(NamedTuple):
    """`(a, , b)`; what is left out is None."""

    at: int
    items: tuple[Expression | None, ...]


class Index(NamedTuple):
    """Subscripts behind parentheses: `(a + b)[2]`."""

    at: int
    base: Expression
    subs: tuple[Expression, ...]


class Field(NamedTuple):
    """A field of what stands in parentheses: `(f(x)).re`."""

    at: int
    base: Expression
    name: str


class End(NamedTuple):
    """`end` as a subscript."""

    at: int


class Colon(NamedTuple):
    """`:` as a subscript or dimension."""

    at: int


Expression: TypeAlias = (
    Literal
    | Ref
    | Unary
    | Binary
    | IfExpression
    | Range
    | Call
    | Partial
    | Array
    | Matrix
    | Tuple
    | Index
    | Field
    | End
    | Colon
)

# -- equations and statements --------------------------------------------------------------------------------------


class Equation(NamedTuple):
    at: int
    left: Expression
    right: Expression
    comment: Comment | None = None


class Connect(NamedTuple):
    at: int
    left: Ref
    right: Ref
    comment: Comment | None = None


class Assignment(NamedTuple):
    """`target := value`; the target is a `Ref` or a `Tuple` of them."""

    at: int
    target: Ref | Tuple
    value: Expression
    comment: Comment | None = None


class CallStatement(NamedTuple):
    """A call in place of an equation or statement: assert, terminate, reinit, functions without results."""

    at: int
    call: Call
    comment: Comment | None = None


class If(NamedTuple):
    at: int
    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...] | None
    comment: Comment | None = None


class For(NamedTuple):
    at: int
    iterators: tuple[Iterator, ...]
    body: tuple[Statement, ...]
    comment: Comment | None = None


class While(NamedTuple):
    at: int
    condition: Expression
    body: tuple[Statement, ...]
    comment: Comment | None = None


class When(NamedTuple):
    at: int
    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    comment: Comment | None = None


class Break(NamedTuple):
    at: int
    comment: Comment | None = None


class Return(NamedTuple):
    at: int
    comment: Comment | None = None


Statement: TypeAlias = Equation | Connect | Assignment | CallStatement | If | For | While | When | Break | Return

# -- declarations --------------------------------------------------------------------------------------------------


class Annotation(NamedTuple):
    """Tokens from `at` (behind the word annotation) to before `stop`; `parser.parse_annotation` reads them."""

    at: int
    stop: int


class Comment(NamedTuple):
    """A description and an annotation; either may be None, but not both."""

    text: str | None
    annotation: Annotation | None


class Modifier(NamedTuple):
    """`name(args) = value`. Names with dots are nested: the inner ones stand in `args`.

    `prefixes` are of each, final. `args` is None where there are no parentheses.
    """

    at: int
    name: str
    prefixes: tuple[str, ...]
    args: tuple[Modifier | Redeclaration, ...] | None
    value: Expression | None
    comment: str | None = None


class Redeclaration(NamedTuple):
    """`redeclare` or `replaceable` in a modification; the element's own prefixes say which."""

    at: int
    prefixes: tuple[str, ...]
    element: Component | ClassDef


class Modification(NamedTuple):
    """What stands behind a declared name: `(args) = value`."""

    at: int
    args: tuple[Modifier | Redeclaration, ...]
    value: Expression | None


class Constraint(NamedTuple):
    """`constrainedby name(args)`."""

    at: int
    type: Ref
    args: tuple[Modifier | Redeclaration, ...]
    comment: Comment | None


class Component(NamedTuple):
    """One declared name. `dims` are all its dimensions, those of the name before those behind the type.

    `prefixes` are of: protected, redeclare, final, inner, outer, replaceable, flow, stream, discrete, parameter,
    constant, input, output.
    """

    at: int
    name: str
    type: Ref
    prefixes: tuple[str, ...]
    dims: tuple[Expression, ...]
    modification: Modification | None
    condition: Expression | None
    constraint: Constraint | None
    comment: Comment | None


class Extends(NamedTuple):
    at: int
    type: Ref
    args: tuple[Modifier | Redeclaration, ...]
    prefixes: tuple[str, ...]
    annotation: Annotation | None


class Import(NamedTuple):
    """`path` is what is imported. `names` are those by which it is known: one for the first three forms.

    | text | path | names |
    |---|---|---|
    | `import A.B;` | A, B | ("B", None) |
    | `import C = A.B;` | A, B | ("C", None) |
    | `import A.{B, C};` | A | ("B", "B"), ("C", "C") |
    | `import A.*;` | A | () |
    """

    at: int
    path: tuple[str, ...]
    names: tuple[tuple[str, str | None], ...]
    prefixes: tuple[str, ...]
    comment: Comment | None


class Short(NamedTuple):
    """The right side of `type A = prefixes B[dims](args)`."""

    at: int
    type: Ref
    prefixes: tuple[str, ...]
    dims: tuple[Expression, ...]
    args: tuple[Modifier | Redeclaration, ...]


class Enumeration(NamedTuple):
    """Names with comments; `literals` is None for `enumeration(:)`."""

    at: int
    literals: tuple[tuple[int, str, Comment | None], ...] | None


class Derivative(NamedTuple):
    """`der(function, names)`: a partial derivative of a function."""

    at: int
    function: Ref
    names: tuple[str, ...]


class External(NamedTuple):
    at: int
    language: str | None
    result: Ref | None
    function: str | None
    args: tuple[Expression, ...]
    annotation: Annotation | None


class Section(NamedTuple):
    """`kind` is equation or algorithm."""

    at: int
    kind: str
    initial: bool
    items: tuple[Statement, ...]


class ClassDef(NamedTuple):
    """A class. `kind` is class, model, block, type, connector, expandable connector, record, operator record, package,
    function, operator function or operator.

    `prefixes` are of: protected, redeclare, final, inner, outer, replaceable, encapsulated, partial, pure, impure,
    extends (for `model extends A`, with its `args`). `short` is set if the class is defined by `=`.
    """

    at: int
    kind: str
    name: str
    prefixes: tuple[str, ...]
    elements: tuple[Element, ...]
    sections: tuple[Section, ...]
    external: External | None
    short: Short | Enumeration | Derivative | None
    args: tuple[Modifier | Redeclaration, ...]
    constraint: Constraint | None
    comment: str | None
    annotation: Annotation | None


Element: TypeAlias = Component | ClassDef | Extends | Import


class File(NamedTuple):
    """A stored definition. `within` is None if the file has no such clause, () for `within;`."""

    within: tuple[str, ...] | None
    classes: tuple[ClassDef, ...]
