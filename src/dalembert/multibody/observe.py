"""Results by name: motion of bodies and frames, forces in joints and elements, energy and momentum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.model.expression import to_sx, vector
from dalembert.model.namespace import Namespace
from dalembert.model.outputs import LazyOutputs
from dalembert.model.travel import carried
from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import Matrix, Scalar, Vector
from dalembert.multibody.parts import Frame, Joint
from dalembert.multibody.reacting import Reactions
from dalembert.multibody.scene import Scene, Symbols
from dalembert.multibody.touching import ContactResults
from dalembert.multibody.untraced import WithPython

if TYPE_CHECKING:
    from dalembert.multibody.equations import Expressions
    from dalembert.multibody.redundancy import Selection
    from dalembert.multibody.system import Multibody

#: of bodies and of frames that were given a name
OF_FRAMES = {
    "position": "origin of its frame in the world",
    "orientation": "rotation matrix of its frame",
    "velocity": "of the origin of its frame",
    "angular_velocity": "in axes of the world",
    "acceleration": "of the origin of its frame",
    "angular_acceleration": "in axes of the world",
}
OF_BODIES = {"com": "centre of mass in the world", "com_velocity": "of the centre of mass"}
OF_JOINTS = {
    "force": "on the second body, at the joint, in axes of the world",
    "torque": "on the second body, at the joint, in axes of the world",
}
OF_SYSTEMS = {
    "energy.kinetic": "of all bodies",
    "energy.potential": "of weights and springs",
    "energy.total": "kinetic and potential",
    "momentum.linear": "of all bodies",
    "momentum.angular": "of all bodies, about the origin of the world",
    "system.com": "centre of mass of all bodies",
}


class Observer(Reactions, ContactResults):
    """Makes expressions of results when they are asked for. It travels as the description that it belongs to."""

    def __init__(
        self,
        system: Multibody,
        own: set[int] | None,
        parts: Expressions | None = None,
        chosen: Selection | None = None,
    ):
        self.system, self.own, self.chosen = system, own, chosen
        if parts is not None:
            self.__dict__["parts"] = parts

    def __reduce__(self) -> tuple:
        return Observer, (self.system, self.own, None, self.chosen)

    @computed
    def parts(self) -> Expressions:
        from dalembert.multibody.equations import expressions

        return expressions(self.system, self.own, None if self.chosen is None else self.chosen.axes)

    @property
    def scene(self) -> Scene:
        return self.parts.scene

    # -- names -----------------------------------------------------------------------------------------------------

    @computed
    def _variables(self) -> frozenset[str]:
        """Names that models have anyway."""
        return frozenset((*self.parts.bones.names, *self.parts.bones.rates, *self.parts.states))

    @computed
    def _joints(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.system.joints}

    @computed
    def _frames(self) -> dict[str, Frame]:
        return {body.name: Frame(body) for body in self.system.bodies} | self.system.markers

    def _lines(self, head: str) -> dict[str, str]:
        """What there is about a body, a marker or a joint, by the second part of its name."""
        joint = self._joints.get(head)
        if joint is None:
            frame = self._frames.get(head)
            if frame is None:
                return {}
            lines = OF_FRAMES if head in self.system.markers else OF_FRAMES | OF_BODIES
            return lines | ({"angle": "of its frame in the world"} if self.system.planar else {})
        lines = dict(OF_JOINTS)
        if joint.kind.freedoms == 1:
            lines |= {joint.kind.coordinates[0]: "coordinate of the joint"}
            lines |= dict.fromkeys((joint.kind.rates[0], "speed"), "rate of the coordinate")
        if joint.drive is not None:
            lines["drive_force"] = "torque, or force, of the drive"
        return lines

    @computed
    def _not_unique(self) -> dict[str, tuple[str, ...]]:
        """Of joints in which redundant constraints act: forces and torques that cannot be told."""
        return self.system.redundancy().not_unique

    def description(self, name: str) -> str | None:
        """A line about a result; None if there is none of this name, or if it is a variable of the model."""
        head, _, part = name.partition(".")
        line = OF_SYSTEMS.get(name) or self._lines(head).get(part)
        if line is None and (contact := self.contact_of(name)) is not None:
            line = self.contact_line(*contact)
        if part in OF_JOINTS and self.chosen is not None and self.chosen.dependent:
            open_ = [what.removeprefix(f"{part} ") for what in self._not_unique.get(head, ()) if what.startswith(part)]
            line = f"{line}; not unique in {', '.join(open_)}: the smallest one" if open_ and line else line
        if line is None and name in self.scene.reports:
            line = self.scene.reports[name][1]
        return None if line is None or name in self._variables else line

    def names(self) -> Iterator[str]:
        """Of all results."""
        for head in (*self._frames, *self._joints):
            for part in self._lines(head):
                if f"{head}.{part}" not in self._variables:
                    yield f"{head}.{part}"
        yield from self._contact_names()
        yield from (name for name in self.scene.reports if name not in self._variables)
        yield from OF_SYSTEMS

    def __call__(self, name: str) -> Callable[[Namespace], Any]:
        """The result as a function of a model's namespace."""
        contact = self.contact_of(name)
        if contact is not None and contact[1] in ("sliding", "friction"):  # vectors also in the plane
            inner = self._transplanted(ca.vertcat(*map(ca.SX, self._along_tangents(*contact))))
            return lambda s: vector(ca.densify(ca.SX(inner(s))))
        return self._function(*self.value(name))

    def value(self, name: str) -> tuple[Any, int]:
        """The result as an expression in symbols of the description: scalar, vector or matrix, and its width."""
        head, _, part = name.partition(".")
        contact = self.contact_of(name)
        if contact is not None:
            return self._of_contact(*contact)
        if name in self.scene.reports:
            return self.scene.reports[name][0], self._width
        if name in OF_SYSTEMS:
            return getattr(self, f"_{head}_{part}")(), self._width
        joint = self._joints.get(head)
        if joint is not None:
            return self._of_joint(joint, part), 1 if self._flat(part) else self._width
        return self._of_frame(head, part), self._width

    @property
    def _width(self) -> int:
        return 2 if self.system.planar else 3

    def _flat(self, part: str) -> bool:
        """Whether a vector has but one component in planar systems."""
        return self.system.planar and part in ("torque", "angular_velocity", "angular_acceleration")

    # -- symbols and functions -------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Of the model's constraints in joints; those of contacts follow them."""
        return len(self.parts.rows if self.chosen is None else self.chosen.kept)

    @computed
    def model_lam(self) -> ca.SX:
        """Multipliers of the model, which may have left out redundant constraints."""
        return ca.SX.sym("lam", self.n_rows + len(self.system.contacts))

    @computed
    def lam(self) -> ca.SX:
        """Multipliers of all constraints in joints."""
        own = self.model_lam[: self.n_rows]
        if self.chosen is None or not self.chosen.dependent:
            return own
        from dalembert.multibody.redundancy import all_multipliers

        return all_multipliers(self, self.chosen, own)

    def _function(self, value: Any, width: int) -> Callable[[Namespace], Any]:
        """A function of the namespace that returns a scalar, a vector, or a matrix."""
        if not isinstance(value, tuple):
            expression, shape = ca.SX(value), "scalar"
        elif isinstance(value[0], tuple):
            expression, shape = al.sx_matrix([row[:width] for row in value[:width]]), "matrix"
        elif width == 1:
            expression, shape = ca.SX(value[2]), "scalar"
        else:
            expression, shape = ca.densify(ca.vertcat(*value[:width])), "vector"
        inner = self._transplanted(expression)
        if shape == "matrix":
            from dalembert.model.expression import matrix

            return lambda s: matrix(ca.densify(inner(s)))
        return inner

    def _transplanted(self, expression: ca.SX) -> Callable[[Namespace], Any]:
        mu, discrete = self.contact_symbols
        return transplant(self.parts.symbols, expression, a=self.parts.symbols.a, lam=self.model_lam, mu=mu, **discrete)

    # -- bodies and frames -----------------------------------------------------------------------------------------

    def _of_frame(self, name: str, part: str) -> Any:
        frame = self._frames[name]
        body = frame.body
        if part in OF_BODIES:
            motion = self.scene.motion(Frame(body, body.com))
            return motion.x if part == "com" else motion.v
        motion = self.scene.motion(frame)
        if part == "angle":
            return motion.angle
        if part in ("position", "orientation", "velocity"):
            return {"position": motion.x, "orientation": motion.R, "velocity": motion.v}[part]
        if part == "angular_velocity":
            return motion.w[2] if self.system.planar else motion.w
        turning, moving = self._acceleration(frame)
        if part == "angular_acceleration":
            return turning[2] if self.system.planar else turning
        return moving

    def _acceleration(self, frame: Frame) -> tuple[Vector, Vector]:
        scene, motion = self.scene, self.scene.motion(frame)
        if motion.link < 0:
            return al.ZERO, al.ZERO
        rate, tree = self._rates[motion.link], scene.tree
        turning, arm = tree.out(motion.link, rate.w), al.subtract(motion.x, tree.links[motion.link].x)
        moving = al.add(
            tree.out(motion.link, rate.v), al.cross(turning, arm), al.cross(motion.w, al.cross(motion.w, arm))
        )
        return turning, moving

    @computed
    def _rates(self) -> list:
        scene = self.scene
        return scene.tree.accelerations(scene.v, self.parts.symbols.a.elements(), scene.twists)

    # -- joints ----------------------------------------------------------------------------------------------------

    def _of_joint(self, joint: Joint, part: str) -> Any:
        if part == "drive_force":
            return -self._multipliers(joint, "drive")[0]
        if part in OF_JOINTS:
            torque, force = self._reaction(joint)
            return torque if part == "torque" else force
        return self.scene.coordinate(joint) if part in joint.kind.coordinates else self.scene.rate(joint)

    # -- the whole system ------------------------------------------------------------------------------------------

    def _bodies(self) -> list[tuple[Scalar, Matrix, Vector, Vector, Vector]]:
        """Mass, inertia in the link's axes, angular velocity there, centre of mass and its velocity in the world."""
        scene, found = self.scene, []
        for i, link in enumerate(scene.tree.links):
            twist = scene.twists[i]
            arm = scene.tree.out(i, link.com)
            v = scene.tree.out(i, al.add(twist.v, al.cross(twist.w, link.com)))
            found.append((link.mass, link.inertia, twist.w, al.add(link.x, arm), v))
        return found

    def _energy_kinetic(self) -> Scalar:
        parts = []
        for m, J, w, _, v in self._bodies():
            parts += [al.times(0.5, al.times(m, al.dot(v, v))), al.times(0.5, al.dot(w, al.turn(J, w)))]
        return al.total(parts)

    def _energy_potential(self) -> Scalar:
        if self.scene.without_potential:
            raise ModelError(
                f"'energy.potential' is not known: {', '.join(self.scene.without_potential)} has a force without one"
            )
        weights = [-al.times(m, al.dot(self._gravity, x)) for m, _, _, x, _ in self._bodies()]
        return al.total([*weights, self.scene.potential])

    def _energy_total(self) -> Scalar:
        return al.plus(self._energy_kinetic(), self._energy_potential())

    def _momentum_linear(self) -> Vector:
        return al.add(al.ZERO, *(al.scale(m, v) for m, _, _, _, v in self._bodies()))

    def _momentum_angular(self) -> Any:
        parts = [al.ZERO]
        for i, (m, J, w, x, v) in enumerate(self._bodies()):
            parts += [self.scene.tree.out(i, al.turn(J, w)), al.scale(m, al.cross(x, v))]
        L = al.add(*parts)
        return L[2] if self.system.planar else L

    def _system_com(self) -> Vector:
        bodies = self._bodies()
        total = al.total([m for m, *_ in bodies])
        return tuple(x / total for x in al.add(al.ZERO, *(al.scale(m, x) for m, _, _, x, _ in bodies)))


class Results(LazyOutputs):
    """All results of a system as outputs of its models; none is made, and no list of names, before it is asked for."""

    checked = True

    def __init__(self, observer: Observer):
        self._build = observer

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._build(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._build.description(name) is not None

    def __iter__(self) -> Iterator[str]:
        return self._build.names()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True

    def description(self, name: str) -> str:
        """The line about a result."""
        return self._build.description(name) or ""

    def __reduce__(self) -> tuple:
        return Results, (carried(self._build, "description of a Multibody"),)


def transplant(symbols: Symbols, expression: ca.SX, **more: ca.SX) -> Callable[[Namespace], Any]:
    """An expression in symbols of the description as a function of a model's namespace."""
    own = {"t": symbols.t, "p": symbols.p, "v": symbols.v, "r": symbols.r, **more}
    own |= symbols.inputs | {f"{name}_dot": symbol for name, symbol in symbols.input_rates.items()} | symbols.parameters
    used = {
        name: symbol for name, symbol in own.items() if symbol.numel() and ca.depends_on(ca.densify(expression), symbol)
    }
    inside = [one for one in symbols.untraced if ca.depends_on(ca.densify(expression), one.symbol)]
    if inside:
        return WithPython(own, expression, inside)
    function = ca.Function("f", list(used.values()), [expression])

    def evaluate(s: Namespace) -> Any:
        return function.call([to_sx(s[name])[0] for name in used])[0]

    return evaluate
