"""The words of the package: which vectors there are, what functions of a model may read, what equations are called.

A new kind of vector is one entry of `VOCABULARY`. Everything that lists kinds (start values, restarts, what users see,
messages, tables) asks here or asks the model, whose answers come from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a vector is in the equations."""

    DIFFERENTIAL = "differential"  # its derivative occurs
    CONTACT = "contact"  # follows from the positions
    AUXILIARY = "auxiliary"  # determined by an equation of its own, without a derivative; may jump
    MULTIPLIER = "multiplier"  # of a constraint; may jump
    UNKNOWN = "unknown"  # of a DAE: components may be differential or not
    RATE = "rate"  # the derivative of another vector


#: levels of constraints: as often as a constraint on positions was differentiated
LEVELS = ("position", "velocity", "acceleration")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of vector.

    `noun` names a component in messages, `counted` where components are counted or listed (multipliers stand for their
    constraints). A kind that has one component for each of another (`of`) takes its `component` names from those.
    """

    symbol: str
    noun: str
    role: Role
    counted: str = ""
    visible: bool = True  # False: it belongs to a formulation, and users do not see it in results
    reserved: bool = True  # whether no variable or parameter may have its symbol as name
    start: str | None = None  # of the argument symbol + "0": "needed", "zero" or "computed" if not given; None: no such
    rate: str | None = None  # under which name consistent initial values hold its derivative
    of: str | None = None
    component: str = "{}"
    equation: str | None = None  # what the equation of a component is called
    level: str | None = None  # of this equation, if it is a constraint, as the user gives it

    @property
    def title(self) -> str:
        """Heading of a table: "positions p"."""
        comma = "," if self.role is Role.MULTIPLIER else ""
        return f"{plural(self.counted)}{comma} {self.symbol}"

    @property
    def sentence(self) -> str:
        """What one component is: "is a velocity"."""
        return f"is {'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    def count(self, number: int) -> str:
        """ "2 velocities"."""
        return f"{number} {self.counted if number == 1 else plural(self.counted)}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "counted", self.counted or self.noun)


def plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


#: in the order in which they stand in states
VOCABULARY: dict[str, Kind] = {
    kind.symbol: kind
    for kind in (
        Kind(
            symbol="p", noun="position", role=Role.DIFFERENTIAL, start="needed", rate="p_dot",
            equation="kinematic equation of '{}'",
        ),
        Kind(
            symbol="v", noun="velocity", role=Role.DIFFERENTIAL, start="zero", rate="a",
            equation="equation of motion of '{}'",
        ),
        Kind(
            symbol="r", noun="dynamic force variable", role=Role.DIFFERENTIAL, start="zero", rate="r_dot",
            equation="dynamic equation of '{}'",
        ),
        Kind(
            symbol="w", noun="auxiliary variable", role=Role.AUXILIARY, start="computed",
            equation="auxiliary equation of '{}'",
        ),
        Kind(
            symbol="s", noun="contact-point coordinate", role=Role.CONTACT, start="computed",
            equation="contact-point equation of '{}'", level="position",
        ),
        Kind(
            symbol="lam", noun="multiplier", role=Role.MULTIPLIER, counted="holonomic constraint", start="computed",
            equation="holonomic constraint '{}'", level="position",
        ),
        Kind(
            symbol="mu", noun="multiplier", role=Role.MULTIPLIER, counted="nonholonomic constraint", start="computed",
            equation="nonholonomic constraint '{}'", level="velocity",
        ),
        Kind(symbol="x", noun="state", role=Role.UNKNOWN, counted="unknown", start="needed", rate="x_dot",
             reserved=False),
        Kind(
            symbol="a", noun="acceleration", role=Role.RATE, visible=False, of="v", component="{}'",
            equation="equation of motion of '{}' (for its derivative)",
        ),
        Kind(symbol="dx", noun="derivative", role=Role.RATE, visible=False, start="computed", of="x",
             component="{}_dot"),
        # the multipliers of Gear, Gupta and Leimkuhler, by which positions satisfy their constraints
        Kind(
            symbol="eta", noun="multiplier", role=Role.MULTIPLIER, visible=False, reserved=False, of="lam",
            component="eta of {}", equation="holonomic constraint '{}'", level="position",
        ),
        # derivatives in hidden constraints of a DAE that no equation gives by a safe division
        Kind(symbol="y", noun="derivative", role=Role.AUXILIARY, visible=False, reserved=False),
        # multipliers by which a DAE satisfies the constraints that it hides, as η
        Kind(
            symbol="kappa", noun="multiplier", role=Role.MULTIPLIER, visible=False, reserved=False,
            component="kappa of {}",
        ),
    )
}  # fmt: skip

#: unknowns of equations of motion
MECHANICAL = ("p", "v", "r", "w", "s", "lam", "mu")
#: what users see of results, in this order
VISIBLE = tuple(symbol for symbol, kind in VOCABULARY.items() if kind.visible)
#: kinds of results that may be settled when somebody looks at them
SETTLED = ("w", "lam", "mu")
#: names of the namespace that are no vectors of unknowns: inputs and the time
OTHERS = ("u", "t")


def select(kinds: Iterable[str], *roles: Role) -> tuple[str, ...]:
    """Those of the kinds that have one of the roles, in their order.

    >>> select(MECHANICAL, Role.DIFFERENTIAL, Role.MULTIPLIER)
    ('p', 'v', 'r', 'lam', 'mu')
    """
    return tuple(kind for kind in kinds if VOCABULARY[kind].role in roles)


# -- functions of a model ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FunctionRole:
    """What a function of a model may read besides t, parameters and inputs, and whose equations its rows are.

    Functions that are differentiated twice in time must not contain rates of inputs.
    """

    reads: tuple[str, ...]
    rows: str | None = None
    input_rates: bool = True


FUNCTIONS: dict[str, FunctionRole] = {
    "mass": FunctionRole(("p", "s")),
    "kinematics": FunctionRole(("p",), input_rates=False),
    "force": FunctionRole(MECHANICAL, rows="v"),
    "dynamics": FunctionRole(MECHANICAL, rows="r"),
    "auxiliary": FunctionRole(MECHANICAL, rows="w"),
    "contact_points": FunctionRole(("p", "s"), rows="s", input_rates=False),
    "nonholonomic": FunctionRole(("p", "v", "s"), rows="mu"),
    "holonomic": FunctionRole(("p", "s"), rows="lam", input_rates=False),
    "unilateral": FunctionRole(("p", "s"), rows="lam", input_rates=False),
    "sliding": FunctionRole(("p", "v", "s"), rows="mu"),
    "bound": FunctionRole(("p", "v", "s")),
    "edges": FunctionRole(("p", "s"), input_rates=False),
    "invariant": FunctionRole(("p", "v", "s")),
    "velocity_constraints": FunctionRole(("p", "v", "s"), rows="lam"),
    "acceleration_constraints": FunctionRole((*MECHANICAL, "a"), rows="lam"),
    "leading": FunctionRole(("x",)),
    "rhs": FunctionRole(("x",)),
    "constraints": FunctionRole(("x",)),
    "residual": FunctionRole(("x", "dx")),
}

#: what residuals of results can be asked for, and the function that reads as much as they do
RESIDUALS = {
    "position": "holonomic",
    "velocity": "velocity_constraints",
    "acceleration": "force",
    "invariant": "invariant",
    "constraints": "constraints",
}


# -- names of equations --------------------------------------------------------------------------------------------

_AT_LEVEL = {
    **{level: f" on {level} level" for level in LEVELS},
    "baumgarte": " (Baumgarte)",
}


def equation_name(kind: str, variable: str, level: str | None = None) -> str:
    """The equation of one component: that which determines it, or of a multiplier its constraint.

    Parameters
    ----------
    kind : str
        Of the vector.
    variable : str
        Name of the component; for kinds of a formulation of that to which it belongs.
    level : {"position", "velocity", "acceleration", "baumgarte"}, optional
        Of a constraint: on which level it stands. Default: that on which it is given.

    Examples
    --------
    >>> equation_name("v", "x_dot")
    "equation of motion of 'x_dot'"
    >>> equation_name("lam", "rod"), equation_name("lam", "rod", "velocity")
    ("holonomic constraint 'rod'", "holonomic constraint 'rod' on velocity level")
    """
    word = VOCABULARY[kind]
    return word.equation.format(variable) + ("" if level in (None, word.level) else _AT_LEVEL[level])


def equation_names(kind: str, variables: Iterable[str], level: str | None = None) -> tuple[str, ...]:
    """`equation_name` of each component."""
    return tuple(equation_name(kind, variable, level) for variable in variables)


def constraint_name(variable: str, level: str | None = None) -> str:
    """A constraint of which only its multiplier is known, be it holonomic or not."""
    return f"constraint '{variable}'" + (_AT_LEVEL[level] if level else "")


def numbered(what: str, count: int) -> tuple[str, ...]:
    """Names of equations that have none: "equation 1", "invariant 2"."""
    return tuple(f"{what} {i + 1}" for i in range(count))
