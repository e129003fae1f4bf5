"""Contacts of a model: unilateral constraints, gap ≥ 0, with restitution and Coulomb's friction.

They are rows of the model like its other constraints, of which only some are in force at a time:

    holonomic       −gap = 0          of a closed contact; its multiplier, named as the contact, is the normal force
    nonholonomic    −sliding = 0      of a contact that sticks; the multipliers are the friction force
    force           − μ λ Wᵀ d        of a contact that slides: W = ∂ sliding/∂v, d the direction of sliding

What mode a contact is in are discrete variables, so that nothing is compiled when it changes. Rows that depend on
others (a table on four legs) cannot be in force together with these: they have constant forces instead, which are
discrete variables, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.model.edges import MOST, Edge, EdgeFinder
from dalembert.model.expression import scalar, vector
from dalembert.model.functions import ModelFunction, describe
from dalembert.model.namespace import explain_unknown

if TYPE_CHECKING:
    from dalembert.model.base import Model

#: values of the discrete variable "<contact>_mode"; a contact that is closed and does not slide sticks
OPEN, CLOSED, SLIDING = 0.0, 1.0, 2.0
#: discrete variables of all contacts together: by how much gaps, forces and speeds may fall below zero before that is
#: an event
SLACKS = ("contact_gap_slack", "contact_force_slack", "contact_speed_slack")
IMPACTS = ("newton", "poisson", "sequential")
#: keeps the direction of a vector that vanishes finite
TINY = 1e-300


@dataclass(frozen=True)
class Contact:
    """A contact of a model.

    Restitution and friction are numbers, or names of the model's parameters; `model.contact_values()` has the numbers.

    An element of dry friction (in a joint, say) is a contact that is always closed, and whose normal force is given:
    the largest friction force, `bound`.
    """

    name: str
    number: int  # among all contacts, then elements of dry friction
    normal: int  # of its row in the holonomic constraints, and of its multiplier in λ; −1: dry friction, see below
    stick: tuple[int, ...]  # of its rows in the nonholonomic constraints, and of their multipliers in μ
    restitution: float | str
    friction: float | str

    @property
    def dry(self) -> bool:
        """Whether it is an element of dry friction."""
        return self.normal < 0

    @property
    def dim(self) -> int:
        """Components of its force: 1 without friction, 2 in the plane, 3 in space."""
        return 1 + len(self.stick)

    @property
    def mode(self) -> str:
        """Name of the discrete variable that says whether it is open, closed or sliding."""
        return f"{self.name}_mode"

    @property
    def slips(self) -> tuple[str, ...]:
        """Names of the discrete variables that hold the direction of sliding at the last event: in the plane a sign, in
        space a vector, so small that it can be added to the velocity, which then has a direction from the start."""
        return numbered(f"{self.name}_slip", len(self.stick))

    @property
    def implied(self) -> str:
        """Name of the discrete variable that is 1 while a closed contact has no normal row of its own, as others imply
        it."""
        return f"{self.name}_implied"

    @property
    def load(self) -> str:
        """Name of the discrete variable with the normal force of such a contact."""
        return f"{self.name}_load"

    @property
    def grips(self) -> tuple[str, ...]:
        """Names of the discrete variables with friction forces that no row in force has."""
        return numbered(f"{self.name}_grip", len(self.stick))

    @property
    def discrete(self) -> tuple[str, ...]:
        """All its discrete variables."""
        return (self.mode, self.implied, self.load, *self.slips, *self.grips)

    @property
    def stick_names(self) -> tuple[str, ...]:
        return numbered(f"{self.name}_stick", len(self.stick))


def numbered(name: str, count: int) -> tuple[str, ...]:
    """The name itself for one, name1, name2 for more."""
    return (name,) if count == 1 else tuple(f"{name}{i + 1}" for i in range(count))


@dataclass(frozen=True)
class Traced:
    """What a user gave, traced: a column of gaps, and of every contact the sliding velocities."""

    contacts: tuple[Contact, ...]
    gaps: ca.SX
    sliding: tuple[ca.SX, ...]  # also of dry friction
    dry: tuple[Contact, ...] = ()
    bounds: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    edges: tuple[Edge, ...] = ()
    switching: ca.SX | None = None  # functions of the edges
    symbols: Mapping[str, ca.SX] = field(default_factory=dict)  # for their discrete variables, until there are any

    @property
    def every(self) -> tuple[Contact, ...]:
        return (*self.contacts, *self.dry)

    @property
    def stick_rows(self) -> ca.SX:
        return ca.vertcat(ca.SX(0, 1), *self.sliding)

    def discrete(self) -> dict[str, float]:
        """Start values of the discrete variables."""
        names = [name for contact in self.every for name in contact.discrete]
        return dict.fromkeys((*names, *SLACKS, *self.symbols), 0.0)

    def in_symbols_of(self, discrete: Mapping[str, ca.SX]) -> Traced:
        """The same with a model's symbols for the discrete variables of edges."""
        if not self.edges:
            return self
        old = ca.vertcat(*self.symbols.values())
        new = ca.vertcat(*(discrete[name] for name in self.symbols))
        gaps, switching = (ca.substitute(column, old, new) for column in (self.gaps, self.switching))
        sliding = tuple(ca.substitute(column, old, new) if column.numel() else column for column in self.sliding)
        return replace(self, gaps=gaps, switching=switching, sliding=sliding)


def trace_contacts(
    model: Model,
    unilateral: Any,
    names: Any,
    restitution: Any,
    friction: Any,
    sliding: Any,
    first: tuple[int, int],
    faults: list[str],
) -> Traced | None:
    """Contacts from the arguments of a model; their rows begin at `first` in λ and μ. None: there are faults."""
    found = len(faults)
    function = model._trace("unilateral", unilateral, faults)
    if function is None:
        return None
    where = describe("unilateral", unilateral)
    if not function.traced:
        faults.append(f"{where}: gaps must be traceable, since their derivatives are the normals: {function.reason}")
        return None
    gaps = ca.densify(ca.vec(function.sx))
    count = gaps.numel()
    if min(function.shape) > 1 or not count:
        faults.append(f"{where}: returned a {function.shape[0]}×{function.shape[1]} matrix; return a list of gaps")
        return None
    names = _names(names, count, faults)
    e = _values(model, "restitution", restitution, names, faults)
    mu = _values(model, "friction", friction, names, faults)
    if len(faults) > found:
        return None
    for name, value in e.items():
        if not isinstance(value, str) and not 0 <= value <= 1:
            faults.append(f"restitution={value:g} of contact '{name}' must lie between 0 (no rebound) and 1 (elastic)")
    for name, value in mu.items():
        if not isinstance(value, str) and value < 0:
            faults.append(f"friction={value:g} of contact '{name}' must not be negative")
    rows = _sliding(model, sliding, names, faults)
    contacts, stick = [], first[1]
    for i, name in enumerate(names):
        velocity = rows[i] if mu[name] != 0 else ca.SX(0, 1)
        if mu[name] != 0 and not velocity.numel() and len(faults) == found:
            faults.append(
                f"contact '{name}' has friction, but sliding= gives no tangential velocity of it: in the plane one, in "
                "space two numbers, e.g. sliding=lambda s: [[s.x_dot, s.y_dot]]"
            )
        rows[i] = velocity
        places = tuple(range(stick, stick + velocity.numel()))
        contacts.append(Contact(name, i, first[0] + i, places, e[name], mu[name]))
        stick += velocity.numel()
    return Traced(tuple(contacts), gaps, tuple(rows)) if len(faults) == found else None


NOTHING = Traced((), ca.SX(0, 1), ())


def trace_dry_friction(model: Model, given: Any, traced: Traced, first: int, faults: list[str]) -> Traced:
    """Elements of dry friction, behind the contacts; their rows begin at `first` in μ."""
    from dalembert.model.base import wrong_name

    if not isinstance(given, Mapping):
        faults.append(
            f"dry_friction={shown(given)}: give a mapping of names to pairs of a velocity and the largest force, "
            "e.g. {'brake': (lambda s: s.phi_dot, 2.0)}"
        )
        return traced
    found, elements, rows, bounds = len(faults), [], [], []
    taken = {contact.name for contact in traced.contacts}
    for name, pair in given.items():
        wrong = wrong_name(name) or ("a contact has this name" if name in taken else "")
        if wrong or not (isinstance(pair, list | tuple) and len(pair) == 2):
            faults.append(f"dry_friction {shown(name)}: {wrong or 'give a pair of a velocity and the largest force'}")
            continue
        velocity, bound = pair
        velocities = _sliding(model, _one(velocity), [name], faults, "dry_friction")[0]
        if not velocities.numel() and len(faults) == found:
            faults.append(f"dry_friction '{name}': give one sliding velocity, or two in space")
        bounds.append(_bound(model, name, bound, faults))
        stick = tuple(range(first, first + velocities.numel()))
        elements.append(Contact(name, len(traced.contacts) + len(elements), -1, stick, 0.0, 1.0))
        rows.append(velocities)
        first += velocities.numel()
    if len(faults) > found:
        return traced
    return replace(traced, dry=tuple(elements), bounds=ca.vertcat(*bounds), sliding=(*traced.sliding, *rows))


def _one(velocity: Any) -> Any:
    """The function of a single element as that of a list of contacts."""
    if callable(velocity):

        def of_one(s: Any) -> list[Any]:
            return [velocity(s)]

        described: Any = of_one
        described.__wrapped__ = velocity
        return of_one
    return [velocity]


def _bound(model: Model, name: str, given: Any, faults: list[str]) -> ca.SX:
    if isinstance(given, str):
        if given not in model.graph.parameters or model.graph.parameters[given].ndim:
            faults.append(f"dry_friction '{name}': {given!r} is not the name of a parameter that is one number")
            return ca.SX(0)
        return model.graph.parameter_symbols[model.graph.theta_places()[given]]
    if not callable(given):
        try:
            number = real(given)
        except NoNumber:
            number = np.nan
        if not 0 <= number < np.inf:
            faults.append(f"dry_friction '{name}': the largest force {shown(given)} must be a number ≥ 0")
        return ca.SX(number)
    function = model._trace("bound", given, faults)
    if function is None:
        return ca.SX(0)
    if not function.traced or function.shape != (1, 1):
        faults.append(f"{describe('dry_friction', given)}: the largest force of '{name}' must be one traceable number")
        return ca.SX(0)
    return function.sx


def with_edges(model: Model, traced: Traced, given: Any, faults: list[str]) -> Traced:
    """Gaps and sliding velocities in smooth pieces, and the edges between them; `given` are those of the user."""
    graph = model.graph
    finder = EdgeFinder(ca.vertcat(graph.symbol["p"], graph.symbol.get("s", ca.SX(0, 1)), graph.time))
    pieces = [finder.pieces(gap, i) for i, gap in enumerate(ca.vertsplit(traced.gaps))]
    # directions along a surface may be chosen case by case: only where gaps have edges, they have some, too
    sliding = [finder.pieces(part, i, known=True) if part.numel() else part for i, part in enumerate(traced.sliding)]
    if len(finder.edges) > MOST:
        finder, pieces, sliding = EdgeFinder(ca.SX(0, 1)), ca.vertsplit(traced.gaps), traced.sliding
    if given is not None:
        function = model._trace("edges", given, faults)
        if function is None:
            return traced
        where = describe("edges", given)
        if not function.traced:
            faults.append(f"{where}: switching functions must be traceable: {function.reason}")
            return traced
        for k, one in enumerate(ca.vertsplit(ca.densify(ca.vec(function.sx)))):
            if not ca.depends_on(one, ca.vertcat(graph.symbol["p"], graph.symbol.get("s", ca.SX(0, 1)), graph.time)):
                faults.append(f"{where}: function {k + 1} depends neither on positions nor on time: it has no roots")
            finder.user(one, range(len(traced.contacts)))
    if not finder.edges:
        return traced
    return replace(
        traced, gaps=ca.vertcat(*pieces), sliding=tuple(sliding), edges=finder.edges, switching=finder.functions,
        symbols=finder.symbols,
    )  # fmt: skip


def _names(given: Any, count: int, faults: list[str]) -> tuple[str, ...]:
    from dalembert.model.base import check_names

    if given is None:
        return tuple(f"contact{i + 1}" for i in range(count))
    found = len(faults)
    names = check_names("contacts", given, frozenset(), faults)
    if len(faults) == found and len(names) != count:
        faults.append(f"contacts= gives {len(names)} names, but unilateral= has {count} gaps")
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.append(f"contacts: the name '{name}' is given twice")
    return names


def _values(
    model: Model, what: str, given: Any, names: Sequence[str], faults: list[str]
) -> dict[str, float | str]:
    """A number or the name of a parameter for each contact, from one for all, a sequence, or a mapping of names."""
    example = f"give a number, a list of one for each contact, or a mapping, e.g. {what}={{'{names[0]}': 0.5}}"
    if given is None:
        given = 0.0
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                faults.append(f"{what}: {explain_unknown(name, names)}")
        each = [given.get(name, 0.0) for name in names]
    elif isinstance(given, str) or np.ndim(given) == 0:
        each = [given] * len(names)
    else:
        each = list(given)
        if len(each) != len(names):
            faults.append(f"{what}= has {len(each)} values for {len(names)} contacts; {example}")
            return {}
    values: dict[str, float | str] = {}
    for name, value in zip(names, each, strict=True):
        if isinstance(value, str):
            if value not in model.graph.parameters or model.graph.parameters[value].ndim:
                faults.append(f"{what}={value!r} of contact '{name}' is not the name of a parameter that is one number")
            values[name] = value
            continue
        try:
            number = real(value)
        except NoNumber:
            number = np.nan
        if not np.isfinite(number):
            faults.append(f"{what}={shown(value)} of contact '{name}' must be a finite number; {example}")
        values[name] = number
    return values


def _sliding(
    model: Model, given: Any, names: Sequence[str], faults: list[str], argument: str = "sliding"
) -> list[ca.SX]:
    """The tangential velocities of each contact, as columns."""
    nothing = [ca.SX(0, 1) for _ in names]
    if given is None:
        return nothing
    lengths: list[int] = []

    def flat(s: Any) -> list[Any]:
        value = given(s) if callable(given) else given
        lengths.clear()
        entries: list[Any] = []
        for part in value:
            group = [] if part is None else list(part) if np.ndim(part) or isinstance(part, list | tuple) else [part]
            lengths.append(len(group))
            entries.extend(group)
        return entries

    described: Any = flat
    described.__wrapped__ = given  # messages name the user's function
    function = model._trace("sliding", flat, faults)
    if function is None:
        return nothing
    where = describe(argument, given)
    if not function.traced:
        faults.append(f"{where}: sliding velocities must be traceable: {function.reason}")
        return nothing
    if len(lengths) != len(names) or any(n > 2 for n in lengths):
        faults.append(
            f"{where}: give for each of the {len(names)} contacts one velocity (plane), two (space), or [] without "
            f"friction; got {lengths}"
        )
        return nothing
    rows, velocities = ca.densify(ca.vec(function.sx)), model.graph.symbol["v"]
    columns, begin = [], 0
    for name, n in zip(names, lengths, strict=True):
        part = rows[begin : begin + n]
        W = ca.jacobian(part, velocities)
        for i in range(n):
            if not W[i, :].nnz():
                faults.append(f"{where}: velocity {i + 1} of contact '{name}' depends on no velocity")
        if ca.depends_on(W, velocities):
            faults.append(f"{where}: the velocities of contact '{name}' are not linear in v")
        columns.append(part)
        begin += n
    return columns


# -- what they do to the equations ---------------------------------------------------------------------------------


def direction(traced: Traced, contact: Contact, discrete: Mapping[str, ca.SX]) -> ca.SX:
    """The direction in which a contact slides: in the plane a sign, in space that of its velocity.

    Where the velocity vanishes and turns round, the direction stays, so that steps across that place are smooth: the
    event there decides what follows.
    """
    slips = ca.vertcat(*(discrete[name] for name in contact.slips))
    if contact.dim == 2:
        return slips
    moved = traced.sliding[contact.number] + slips
    return ca.sign(ca.dot(moved, slips)) * moved / ca.sqrt(ca.sumsqr(moved) + TINY)


def normal_force(model: Model, contact: Contact) -> ca.SX:
    """The multiplier of a contact, or the constant force that stands for it; of dry friction its bound."""
    if contact.dry:
        return model.graph.functions["bound"].sx[contact.number - len(model.contacts)]
    return model.graph.symbol["lam"][contact.normal] + _discrete(model)[contact.load]


def friction_force(model: Model, traced: Traced, contact: Contact, *, multipliers: bool = True) -> ca.SX:
    """The friction of a contact that sticks or slides; without `multipliers` what of it is no force of a constraint."""
    discrete = _discrete(model)
    size = friction_of(model, contact) * normal_force(model, contact)
    slides = discrete[contact.mode] == SLIDING
    held = ca.vertcat(*(discrete[name] for name in contact.grips))
    if multipliers:
        held += model.graph.symbol["mu"][list(contact.stick)]
    parts = ca.vertsplit(direction(traced, contact, discrete))
    return held + ca.vertcat(*(ca.if_else(slides, -size * part, 0) for part in parts))


def contact_forces(model: Model, traced: Traced) -> ca.SX:
    """What is added to the forces: friction of contacts that slide, and constant forces of rows that are implied."""
    graph, discrete = model.graph, _discrete(model)
    total, normals = ca.SX.zeros(graph.size("v")), _normals(model, traced)
    for contact in traced.every:
        if contact.dry:
            W = ca.jacobian(traced.sliding[contact.number], graph.symbol["v"])
            total += ca.mtimes(W.T, friction_force(model, traced, contact, multipliers=False))
            continue
        push = ca.densify(normals[contact.number, :].T) * discrete[contact.load]
        # a normal may be undefined while the contact is open
        total += ca.vertcat(*(ca.if_else(discrete[contact.implied], part, 0) for part in ca.vertsplit(push)))
        if contact.stick:
            W = ca.jacobian(traced.sliding[contact.number], graph.symbol["v"])
            total += ca.mtimes(W.T, friction_force(model, traced, contact, multipliers=False))
    return total


def _normals(model: Model, traced: Traced) -> ca.SX:
    """Gradients of the gaps by the velocities."""
    from dalembert.model.kinematics import jacobian, solve

    graph = model.graph
    G = ca.jacobian(traced.gaps, graph.symbol["p"])
    if graph.size("s"):
        c_s, c_p = (jacobian(graph, "contact_points", kind) for kind in ("s", "p"))
        G -= ca.mtimes(ca.jacobian(traced.gaps, graph.symbol["s"]), solve(c_s, c_p))
    return ca.mtimes(G, graph.value("kinematics"))


def _discrete(model: Model) -> dict[str, ca.SX]:
    """Symbols of the discrete variables."""
    return dict(zip(model.graph.discrete, ca.vertsplit(model.graph.discrete_symbols), strict=True))


def friction_of(model: Model, contact: Contact) -> ca.SX:
    if isinstance(contact.friction, str):
        return model.graph.parameter_symbols[model.graph.theta_places()[contact.friction]]
    return ca.SX(contact.friction)


def with_rows(function: ModelFunction | None, role: str, rows: ca.SX) -> ModelFunction:
    """A function with more rows at its end."""
    if function is None:
        return ModelFunction(role, (rows.numel(), 1), 1, ca.densify(rows))
    sx = ca.densify(ca.vertcat(function.sx, rows))
    return replace(function, shape=sx.shape, sx=sx)


def contact_outputs(model: Model, traced: Traced) -> dict[str, Any]:
    """Outputs by name: gap, normal force, friction force, sliding velocity of each contact."""
    outputs: dict[str, Any] = {}
    for contact in traced.contacts:
        gap, velocity = traced.gaps[contact.number], traced.sliding[contact.number]
        outputs[f"{contact.name}.gap"] = lambda s, gap=gap: scalar(gap)
        normal = normal_force(model, contact)
        outputs[f"{contact.name}.normal"] = lambda s, normal=normal: scalar(normal)
        if contact.stick:
            force = friction_force(model, traced, contact)
            outputs[f"{contact.name}.sliding"] = lambda s, velocity=velocity: vector(velocity)
            outputs[f"{contact.name}.friction"] = lambda s, force=force: vector(force)
    for element in traced.dry:
        velocity, force = traced.sliding[element.number], friction_force(model, traced, element)
        outputs[f"{element.name}.sliding"] = lambda s, velocity=velocity: vector(velocity)
        outputs[f"{element.name}.friction"] = lambda s, force=force: vector(force)
    return outputs
