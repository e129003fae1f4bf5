"""Contacts of a system as expressions: gaps and sliding velocities for its equations, forces and points for results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.model.contacts import SLIDING, Contact, Traced, direction
from dalembert.model.expression import scalar
from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import Scalar, Vector
from dalembert.multibody.contacting import Pair
from dalembert.multibody.features import Touch, tangents
from dalembert.multibody.parts import Frame, Joint
from dalembert.multibody.quantities import Number, Parameter
from dalembert.multibody.readings import Motion
from dalembert.multibody.scene import Scene

if TYPE_CHECKING:
    from dalembert.multibody.equations import Expressions
    from dalembert.multibody.system import Multibody

OF_CONTACTS = {
    "gap": "signed distance",
    "normal": "normal force, not negative",
    "sliding": "velocity of the first body relative to the second along the tangents, at the point",
    "point": "where the bodies touch or are nearest, in the middle between them",
    "direction": "unit vector from the second body to the first",
    "force": "on the first body, at the point, in axes of the world",
    "friction": "friction force on the first body along the tangents",
}
OF_BRAKES = {
    "friction": "friction torque, or force, along the coordinate of the joint",
    "sliding": "rate of the coordinate of the joint",
}
#: derivatives up to this part of the largest count as none
NONE = 1e-12


class Touching:
    """All contacts at the state of a scene."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.pairs: list[Pair] = scene.system.contacts

    @computed
    def touches(self) -> list[Touch]:
        return [pair.feature.touch(*self._motions(pair)) for pair in self.pairs]

    @computed
    def tangents(self) -> list[tuple[Vector, ...]]:
        return [tangents(touch, self.scene.planar) for touch in self.touches]

    @computed
    def sliding(self) -> list[tuple[Scalar, ...]]:
        """Velocities of the first body's nearest point relative to the second's, along the tangents."""
        found = []
        for pair, touch, sides in zip(self.pairs, self.touches, self.tangents, strict=True):
            A, B = self._motions(pair)
            velocity = al.subtract(_velocity(A, touch.first), _velocity(B, touch.second))
            found.append(tuple(al.dot(side, velocity) for side in sides))
        return found

    def _motions(self, pair: Pair) -> tuple[Motion, Motion]:
        A, B = self.scene.motion(pair.first), self.scene.motion(pair.second)
        if A.link == B.link:
            raise ModelError(
                f"contact '{pair.name}': '{pair.first.body.name}' and '{pair.second.body.name}' are fixed to each other"
            )
        return A, B

    # -- for equations of motion -----------------------------------------------------------------------------------

    @computed
    def rough(self) -> list[tuple[int, ...]]:
        """Of each contact with friction the tangents along which the system can slide at all."""
        symbols = self.scene.symbols
        rates = [ca.densify(ca.vertcat(ca.SX(0, 1), *map(ca.SX, one))) for one in self.sliding]
        gaps = ca.densify(ca.vertcat(ca.SX(0, 1), *(ca.SX(touch.gap) for touch in self.touches)))
        by = [ca.jacobian(gaps, symbols.p), *(ca.jacobian(one, symbols.v) for one in rates)]
        parameters = ca.vertcat(*symbols.parameters.values())
        values = np.array([parameter.value for parameter in self.scene.system.parameters.values()])
        function = ca.Function("by", [symbols.p, symbols.v, parameters], [ca.densify(one) for one in by])
        rng = np.random.default_rng(0)
        sizes = [np.zeros(one.shape[0]) for one in by]
        for _ in range(3):
            found = function.call([rng.uniform(0.2, 1.2, x.numel()) for x in (symbols.p, symbols.v)] + [values])
            with np.errstate(all="ignore"):
                sizes = [
                    np.fmax(size, np.abs(one.full()).max(axis=1, initial=0.0))
                    for size, one in zip(sizes, found, strict=True)
                ]
        for pair, size in zip(self.pairs, sizes[0], strict=True):
            if size <= NONE:
                raise ModelError(
                    f"contact '{pair.name}': the gap between '{pair.first.body.name}' and '{pair.second.body.name}' "
                    "does not change however the system moves; leave the contact out"
                )
        most = max((one.max(initial=0.0) for one in sizes[1:]), default=0.0)
        return [
            tuple(int(k) for k in np.flatnonzero(one > NONE * most)) if pair.rough else ()
            for pair, one in zip(self.pairs, sizes[1:], strict=True)
        ]

    @computed
    def rates(self) -> list[ca.SX]:
        """Of the joints in which there is dry friction."""
        found = [ca.SX(self.scene.rate(brake.joint)) for brake in self.scene.system.brakes]
        for brake, rate in zip(self.scene.system.brakes, found, strict=True):
            if not ca.depends_on(rate, self.scene.symbols.v):
                raise ModelError(f"dry friction '{brake.name}': joint '{brake.joint.name}' does not move")
        return found

    @computed
    def bounds(self) -> list[Scalar]:
        """The largest dry friction in joints."""
        scene, found = self.scene, []
        for brake in scene.system.brakes:
            if not callable(brake.bound):
                found.append(scene.value(brake.bound))
                continue
            where, known = f"dry friction '{brake.name}'", len(scene.symbols.untraced)
            found += scene.call(where, brake.bound, 1)
            if len(scene.symbols.untraced) > known:
                reason = scene.symbols.untraced.pop().reason
                raise ModelError(f"{where}: its bound cannot be traced ({reason}); write it with NumPy's functions")
        return found

    def traced(self, first: int) -> Traced:
        """Contacts as a model has them whose constraints of joints are `first` in number."""
        contacts, stick = [], 0
        for i, (pair, rough) in enumerate(zip(self.pairs, self.rough, strict=True)):
            places = tuple(range(stick, stick + len(rough)))
            mu = _given(pair.friction) if rough else 0.0
            contacts.append(Contact(pair.name, i, first + i, places, _given(pair.restitution), mu))
            stick += len(rough)
        gaps = ca.densify(ca.vertcat(ca.SX(0, 1), *(ca.SX(touch.gap) for touch in self.touches)))
        sliding = tuple(
            ca.densify(ca.vertcat(ca.SX(0, 1), *(ca.SX(one[k]) for k in rough)))
            for one, rough in zip(self.sliding, self.rough, strict=True)
        )
        brakes = enumerate(self.scene.system.brakes)
        dry = tuple(Contact(brake.name, len(contacts) + k, -1, (stick + k,), 0.0, 1.0) for k, brake in brakes)
        bounds = ca.vertcat(ca.SX(0, 1), *map(ca.SX, self.bounds))
        return Traced(tuple(contacts), gaps, (*sliding, *self.rates), dry, bounds)


def contact_arguments(parts: Expressions, first: int, impact: str) -> dict[str, Any]:
    """Arguments of `EquationsOfMotion` for the contacts of a system."""
    from dalembert.multibody.observe import transplant

    if not has_contacts(parts.scene.system):
        return {}
    traced = parts.touching.traced(first)
    symbols, count = parts.symbols, len(traced.contacts)
    found: dict[str, Any] = {}
    if traced.dry:
        found["dry_friction"] = {
            element.name: (_number(transplant(symbols, velocity)), _number(transplant(symbols, bound)))
            for element, velocity, bound in zip(
                traced.dry, traced.sliding[count:], ca.vertsplit(traced.bounds), strict=True
            )
        }
    if not count:
        return found
    lengths = [velocity.numel() for velocity in traced.sliding[:count]]
    column = transplant(symbols, ca.vertcat(ca.SX(0, 1), *traced.sliding[:count]))

    def sliding(s: Any) -> list[list[Any]]:
        entries = iter(ca.vertsplit(ca.SX(column(s))) if sum(lengths) else ())
        return [[scalar(next(entries)) for _ in range(length)] for length in lengths]

    return found | {
        "unilateral": transplant(symbols, traced.gaps),
        "contacts": [contact.name for contact in traced.contacts],
        "restitution": [contact.restitution for contact in traced.contacts],
        "friction": [contact.friction for contact in traced.contacts],
        "sliding": sliding if sum(lengths) else None,
        "impact": impact,
    }


def _number(function: Callable) -> Callable:
    """A function that returns a single symbol."""
    return lambda s: scalar(ca.SX(function(s)))


def has_contacts(system: Multibody) -> bool:
    """Whether there are contacts, or dry friction in joints."""
    return bool(system.contacts or system.brakes)


class ContactResults:
    """The part of an `Observer` that knows about contacts."""

    system: Multibody
    parts: Expressions
    model_lam: ca.SX
    n_rows: int
    _width: int

    @computed
    def _contacts(self) -> dict[str, int]:
        """Numbers of contacts, then of dry friction in joints."""
        return {one.name: k for k, one in enumerate((*self.system.contacts, *self.system.brakes))}

    def contact_of(self, name: str) -> tuple[int, str] | None:
        """Number of the contact, and what of it, that a name of a result asks for."""
        head, _, part = name.rpartition(".")
        number = self._contacts.get(head)
        if number is None or part not in OF_CONTACTS:
            return None
        if number >= len(self.system.contacts):
            return (number, part) if part in OF_BRAKES else None
        if part == "friction" and not self.parts.touching.rough[number]:
            return None
        return number, part

    def _contact_names(self) -> list[str]:
        every = [f"{name}.{part}" for name in self._contacts for part in OF_CONTACTS]
        return [name for name in every if self.contact_of(name) is not None]

    def _of_contact(self, number: int, part: str) -> tuple[Any, int]:
        """A result as an expression, and its width."""
        if part in ("sliding", "friction"):
            entries = self._along_tangents(number, part)
            return (entries[0], 1) if len(entries) == 1 else (entries, 2)
        touch = self.parts.touching.touches[number]
        if part == "gap":
            return touch.gap, 1
        if part == "normal":
            return self.contact_forces[number][0], 1
        if part == "direction":
            return touch.normal, self._width
        if part == "point":
            return al.scale(0.5, al.add(touch.first, touch.second)), self._width
        return self._contact_force(number), self._width

    def _along_tangents(self, number: int, part: str) -> tuple[Scalar, ...]:
        if part == "friction":
            return self.contact_forces[number][1]
        count, touching = len(self.system.contacts), self.parts.touching
        return touching.sliding[number] if number < count else (touching.rates[number - count],)

    def contact_line(self, number: int, part: str) -> str:
        """The description of a result."""
        return (OF_CONTACTS if number < len(self.system.contacts) else OF_BRAKES)[part]

    @computed
    def contact_symbols(self) -> tuple[ca.SX, dict[str, ca.SX]]:
        """Multipliers μ and discrete variables of the model."""
        if not has_contacts(self.system):
            return ca.SX(0, 1), {}
        traced = self.parts.touching.traced(self.n_rows)
        return ca.SX.sym("mu", traced.stick_rows.numel()), {name: ca.SX.sym(name) for name in traced.discrete()}

    @computed
    def contact_forces(self) -> list[tuple[Scalar, tuple[Scalar, ...]]]:
        """Of each contact the normal force, and the friction along all tangents; as in `model.contacts`."""
        if not has_contacts(self.system):
            return []
        touching = self.parts.touching
        traced = touching.traced(self.n_rows)
        mu, discrete = self.contact_symbols
        found = []
        for contact, rough, sides in zip(traced.contacts, touching.rough, touching.tangents, strict=True):
            normal = self.model_lam[contact.normal] + discrete[contact.load]
            friction: list[Scalar] = [0.0] * len(sides)
            if rough:
                size = self.parts.scene.value(touching.pairs[contact.number].friction) * normal
                slides = discrete[contact.mode] == SLIDING
                way = ca.vertsplit(direction(traced, contact, discrete))
                for k, place, d, grip in zip(rough, contact.stick, way, contact.grips, strict=True):
                    friction[k] = mu[place] + discrete[grip] + ca.if_else(slides, -size * d, 0)
            found.append((normal, tuple(friction)))
        for element, bound in zip(traced.dry, touching.bounds, strict=True):
            slides = discrete[element.mode] == SLIDING
            sliding = ca.if_else(slides, -bound * direction(traced, element, discrete), 0)
            found.append((bound, (mu[element.stick[0]] + discrete[element.grips[0]] + sliding,)))
        return found

    @computed
    def without_contacts(self) -> list[tuple[Scalar, tuple[Scalar, ...]]]:
        """The same if nothing touches."""
        touching = self.parts.touching
        return [(0.0, (0.0,) * len(sides)) for sides in touching.tangents] + [(0.0, (0.0,))] * len(self.system.brakes)

    def _brakes_in(self, joint: Joint) -> tuple[Vector, Vector]:
        """Torque and force of dry friction in a cut joint, on the second body at its frame."""
        torque, force = al.ZERO, al.ZERO
        for k, brake in enumerate(self.system.brakes):
            if brake.joint is joint:
                friction = self.contact_forces[len(self.system.contacts) + k][1][0]
                n, f = self.parts.scene.wrench_in(joint, friction)
                torque, force = al.add(torque, n), al.add(force, f)
        return torque, force

    def _contact_force(self, number: int) -> Vector:
        normal, friction = self.contact_forces[number]
        touching = self.parts.touching
        sides = [al.scale(f, side) for f, side in zip(friction, touching.tangents[number], strict=True)]
        return al.add(al.scale(normal, touching.touches[number].normal), *sides)

    def _acting_in_contacts(self) -> list[tuple[Frame, Vector, Vector]]:
        """Frame, torque and force on both bodies of every contact."""
        scene, found = self.parts.scene, []
        for number, pair in enumerate(self.system.contacts):
            force, touch = self._contact_force(number), self.parts.touching.touches[number]
            for frame, point, push in (
                (pair.first, touch.first, force),
                (pair.second, touch.second, al.negative(force)),
            ):
                arm = al.subtract(point, scene.motion(frame).x)
                found.append((frame, al.cross(arm, push), push))
        return found


def _velocity(motion: Motion, x: Vector) -> Vector:
    """Of the point of a body that is at x."""
    return al.add(motion.v, al.cross(motion.w, al.subtract(x, motion.x)))


def _given(value: Number) -> float | str:
    """As `EquationsOfMotion` takes it: a number, or the name of a parameter."""
    return value.name if isinstance(value, Parameter) else value
