"""How contacts, and dry friction in joints, are added to a `Multibody`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.model import EquationsOfMotion
from dalembert.model.vocabulary import OTHERS, VOCABULARY
from dalembert.multibody.boundaries import Plane, Point
from dalembert.multibody.features import Feature
from dalembert.multibody.pairing import contacts_between
from dalembert.multibody.parts import Body, Frame, Joint
from dalembert.multibody.quantities import Number, Parameter, number
from dalembert.multibody.shapes import Shape


@dataclass(frozen=True, eq=False)
class Pair:
    """One contact: a feature of two frames. The normal force acts on the first body, and its opposite on the second."""

    name: str
    first: Frame
    second: Frame
    feature: Feature
    restitution: Number
    friction: Number

    @property
    def rough(self) -> bool:
        """Whether there is friction, or may be: parameters can be changed."""
        return isinstance(self.friction, Parameter) or self.friction > 0.0


@dataclass(frozen=True, eq=False)
class Brake:
    """Dry friction in a joint of one freedom."""

    name: str
    joint: Joint
    bound: Any  # the largest friction torque, or force: a number, a parameter, or a function of the namespace


def gaps_at(system: Any, poses: Any) -> dict[str, float]:
    """The gaps of all contacts in numbers."""
    touches = (
        (pair, pair.feature.touch(poses.motion(pair.first), poses.motion(pair.second))) for pair in system.contacts
    )
    return {pair.name: float(touch.gap) for pair, touch in touches}


class Contacting:
    """The methods of a `Multibody` that add contacts and dry friction."""

    planar: bool
    contacts: list[Pair]
    brakes: list[Brake]
    surfaces: list[tuple[Frame, tuple[Shape, ...]]]
    joints: list[Joint]
    ground: Body
    colliders: Any
    _names: dict[str, str]
    # of the other parts
    _new: Callable[[str, Any], str]
    _mine: Callable[[str, str, Any], None]
    _my_joint: Callable[..., Joint]
    _my_parameters: Callable[..., None]

    def contact(
        self, name: str, first: Any, second: Any, restitution: Any = 0.0, friction: Any = 0.0
    ) -> tuple[str, ...]:
        """Let two bodies touch, and not pass through each other.

        Parameters
        ----------
        name : str
            Its quantities are then called "name.gap" and so on. Where shapes can touch in several places, as the
            corners of a box on a plane, these are contacts of their own: "name.1", "name.2", ….
        first, second : Body, Frame, or a pair (Body or Frame, shape or shapes)
            A body alone has the shapes that it was given (those of the ground: ``mb.ground.shape = da.Plane()``), a
            frame alone is a point. Shapes sit on the frame.
        restitution : float or Parameter
            Velocity after an impact over that before, from 0 to 1.
        friction : float or Parameter
            Coulomb's coefficient.

        Returns
        -------
        tuple of str
            The names of the contacts.

        Notes
        -----
        Known pairs: spheres, capsules, boxes, plates, lines and points on a plane or in a hollow sphere; spheres,
        capsules and lines with each other; spheres and points with boxes; in planar systems all of them, where boxes
        and plates are polygons, and spheres discs. Polygons must be convex.

        Examples
        --------
        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> block = mb.body("block", mass=1.0, inertia=0.1, shape=da.Box((2, 1, 1)), position=(0, 2))
        >>> mb.contact("floor", block, (mb.ground, da.Plane()), friction=0.3)
        ('floor.1', 'floor.2', 'floor.3', 'floor.4')
        >>> mb.equations()
        EquationsOfMotion('multibody': 3 positions, 3 velocities, 4 contacts)
        """
        name = self._new("contact", name)
        where = f"contact '{name}'"
        if name in _RESERVED:
            raise ModelError(f"{where}: this name is reserved for a vector of the equations; choose another")
        a, shapes = self._shapes(where, "first", first)
        b, others = self._shapes(where, "second", second)
        if a.body is b.body:
            raise ModelError(f"{where}: both shapes are on '{a.body.name}'; a body does not touch itself")
        e = number(where, "restitution", restitution, least=0.0)
        if (e.value if isinstance(e, Parameter) else e) > 1.0:
            raise ModelError(
                f"{where}: restitution={shown(restitution)} must lie between 0 (no rebound) and 1 (elastic)"
            )
        mu = number(where, "friction", friction, least=0.0)
        self._my_parameters(where, e, mu, *a.at, *b.at)
        between = f"{where}, '{a.body.name}' and '{b.body.name}'"
        features = [
            feature
            for one in shapes
            for two in others
            for feature in contacts_between(one, two, planar=self.planar, where=between)
        ]
        names = (name,) if len(features) == 1 else tuple(f"{name}.{k + 1}" for k in range(len(features)))
        self.contacts += [Pair(one, a, b, feature, e, mu) for one, feature in zip(names, features, strict=True)]
        self.surfaces += [(frame, tuple(own)) for frame, own in ((a, shapes), (b, others))]
        self._names[name] = where
        return names

    def contacts_of_collide(self) -> tuple[str, ...]:
        """Turn what `collide` was told into contacts of every pair, for methods other than `MoreauJean`.

        The contacts of two bodies are called "ball1_ball2", those with the ground "ball1_ground". There are as many as
        pairs, each with a row of its own in the equations: for a few bodies.

        Examples
        --------
        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> balls = [mb.body(f"ball{k}", 1.0, 0.1, shape=da.Sphere(0.5), position=(0, 1.2 * k + 1)) for k in (0, 1)]
        >>> mb.collide(friction=0.3, planes=[((0, 0), (0, 1))])
        >>> mb.contacts_of_collide()
        ('ball0_ball1', 'ball0_ground', 'ball1_ground')
        """
        told = self.colliders
        if told is None:
            raise ModelError("contacts_of_collide: collide(...) has not been called")
        ground = list(told.fixed)
        for walls in told.ground:
            for point, axes in zip(walls.position, walls.rotation, strict=True):
                if not (self.planar and abs(axes[2, 2]) > 0):  # walls across the plane touch nothing in it
                    ground.append(Plane(axes[:, 2], position=point))
        apart = {frozenset((a.number, b.number)) for a, b in told.ignore}
        apart |= {frozenset((joint.first.body.number, joint.second.body.number)) for joint in self.joints}
        pairs = [
            (a, b, f"{a.name}_{b.name}")
            for a, b in combinations(told.bodies, 2)
            if frozenset((a.number, b.number)) not in apart
        ]
        if ground:
            pairs += [(body, (self.ground, ground), f"{body.name}_ground") for body in told.bodies]
        names: list[str] = []
        for a, b, name in pairs:
            names += self.contact(name, a, b, told.restitution, told.friction)
        self.colliders = None
        return tuple(names)

    def dry_friction(self, name: str, joint: Joint | str, bound: Any) -> Brake:
        """Coulomb's friction in a joint of one freedom, with sticking; `friction` is its smooth counterpart.

        Parameters
        ----------
        name : str
            Results have "name.friction", as it acts along the coordinate, and "name.sliding", its rate.
        joint : Joint or name of a joint
        bound : float, Parameter, or function of the namespace s
            The largest friction torque, or force, not negative: the coefficient of friction times the load of the
            bearing times its radius. Functions may read what those of `actuator` may.

        Examples
        --------
        A pendulum that stays where its weight does not overcome the friction any more:

        >>> import numpy as np
        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> arm = mb.body("arm", mass=1.0, inertia=0.0, com=(0, -1.0))
        >>> hinge = mb.revolute("hinge", mb.ground, arm, q0=1.0)
        >>> brake = mb.dry_friction("brake", hinge, 1.0)
        >>> sol = da.simulate(mb.equations(), (0, 8))
        >>> float(sol["hinge.speed"][-1]), bool(9.81 * abs(np.sin(sol["hinge.angle"][-1])) < 1.0)
        (0.0, True)
        """
        name = self._new("dry friction", name)
        where = f"dry friction '{name}'"
        if name in _RESERVED:
            raise ModelError(f"{where}: this name is reserved for a vector of the equations; choose another")
        joint = self._my_joint(where, joint)
        bound = bound if callable(bound) else number(where, "bound", bound, least=0.0)
        self._my_parameters(where, bound)
        brake = Brake(name, joint, bound)
        self.brakes.append(brake)
        self._names[name] = where
        return brake

    def _shapes(self, where: str, which: str, given: Any) -> tuple[Frame, Sequence[Shape]]:
        """The frame and the shapes on it."""
        if isinstance(given, tuple):
            if len(given) != 2:
                raise ModelError(f"{where}: {which}={shown(given)} must be a body, a frame, or a pair (body, shape)")
            on, shapes = given
            self._mine(where, which, on)
        else:
            self._mine(where, which, given)
            on, shapes = given, Point() if isinstance(given, Frame) else given.shape
        body = on.body if isinstance(on, Frame) else on
        frame = on if isinstance(on, Frame) else Frame(on)
        shapes = [shapes] if isinstance(shapes, Shape) else shapes
        if not shapes and isinstance(given, Body):
            how = (
                "mb.ground.shape = da.Plane()" if body.is_ground else f"mb.body('{body.name}', …, shape=da.Sphere(0.1))"
            )
            raise ModelError(
                f"{where}: '{body.name}' has no shape; give it one, {how}, or name it here, (body, da.Sphere(0.1))"
            )
        if not isinstance(shapes, Sequence) or not shapes or not all(isinstance(one, Shape) for one in shapes):
            raise ModelError(
                f"{where}: {which}: {shown(shapes)} on '{body.name}' must be a shape, such as da.Sphere(0.1), or a "
                "list of shapes"
            )
        return frame, shapes


_RESERVED = frozenset((*OTHERS, *(k for k in EquationsOfMotion.readable_kinds if VOCABULARY[k].reserved)))
