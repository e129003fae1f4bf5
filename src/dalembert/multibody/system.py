"""`Multibody`: a mechanical system described by bodies, joints and force elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, reals, shown
from dalembert.errors import ModelError
from dalembert.multibody.analysing import Analysing
from dalembert.multibody.colliding import Colliding
from dalembert.multibody.contacting import Brake, Contacting, Pair
from dalembert.multibody.joining import Joining
from dalembert.multibody.loading import Loading
from dalembert.multibody.parts import Body, Frame, placed
from dalembert.multibody.quantities import Number, Parameter, name_of, number, value_of, values_of, vector
from dalembert.multibody.shapes import Shape

if TYPE_CHECKING:
    from dalembert.model import EquationsOfMotion
    from dalembert.multibody.elements import Element
    from dalembert.multibody.parts import Joint

#: by how much moments of inertia may violate the triangle inequality: data are rounded
ROUNDED = 1e-9


class Multibody(Joining, Loading, Contacting, Colliding, Analysing):
    """Bodies, joints and forces, from which equations of motion follow in several sets of coordinates.

    Parameters
    ----------
    gravity : vector, optional
        Its acceleration. Default: 9.81 downwards, along z, or along y in planar systems.
    planar : bool
        Whether everything moves in the plane x, y. Vectors then have two components, rotations are angles.
    name : str
        Of the models that are made of it.

    Examples
    --------
    A double pendulum:

    >>> import numpy as np
    >>> import dalembert as da
    >>> mb = da.Multibody(planar=True)
    >>> upper = mb.body("upper", mass=1.0, inertia=1 / 12, com=(0, -0.5))
    >>> lower = mb.body("lower", mass=1.0, inertia=1 / 12, com=(0, -0.5))
    >>> shoulder = mb.revolute("shoulder", mb.ground, upper, q0=np.pi / 2)
    >>> elbow = mb.revolute("elbow", upper, lower, at=(0, -1), q0=0.0)
    >>> mb
    Multibody('multibody': 2 bodies, 2 joints, planar)
    >>> mb.equations("joint")
    EquationsOfMotion('multibody': 2 positions, 2 velocities)
    >>> mb.equations("absolute")
    EquationsOfMotion('multibody': 6 positions, 6 velocities, 4 holonomic constraints)
    """

    def __init__(self, *, gravity: Any = None, planar: bool = False, name: str = "multibody"):
        if not isinstance(planar, bool | np.bool_):
            raise ModelError(f"Multibody: planar={shown(planar)} must be True or False")
        self.planar = bool(planar)
        self.name = name_of("Multibody", name)
        if gravity is None:
            gravity = (0.0, -9.81) if planar else (0.0, 0.0, -9.81)
        self.gravity = vector("Multibody", "gravity", gravity, self.planar)
        self.ground = Body(self, -1, "ground", 0.0, (0.0, 0.0, 0.0), (0.0,) * 6, None)
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.elements: list[Element] = []
        self.contacts: list[Pair] = []
        self.surfaces: list[tuple[Frame, tuple[Shape, ...]]] = []  # what was said to touch, for drawing
        self.brakes: list[Brake] = []
        self.parameters: dict[str, Parameter] = {}
        self.inputs: dict[str, Any] = {}
        self.markers: dict[str, Frame] = {}  # frames with names
        self._names: dict[str, str] = {"ground": "the ground"}  # what each name belongs to
        self._names |= dict.fromkeys(("energy", "momentum", "system"), "results of the whole system")

    def __repr__(self) -> str:
        counts = [(len(self.bodies), "body", "bodies"), (len(self.joints), "joint", "joints")]
        counts.append((len(self.elements), "force element", "force elements"))
        counts.append((len(self.contacts), "contact", "contacts"))
        counts.append((len(self.brakes), "element of dry friction", "elements of dry friction"))
        parts = [f"{n} {one if n == 1 else many}" for n, one, many in counts if n]
        return f"Multibody({self.name!r}: {', '.join([*parts, 'planar' if self.planar else 'spatial'])})"

    # -- bodies ----------------------------------------------------------------------------------------------------

    def body(
        self,
        name: str,
        mass: Any = 0.0,
        inertia: Any = 0.0,
        com: Any = None,
        shape: Any = None,
        *,
        position: Any = None,
        orientation: Any = None,
    ) -> Body:
        """Add a rigid body.

        Parameters
        ----------
        name : str
            Its quantities are then called "name.position" and so on.
        mass : float
        inertia : 3 principal moments, a 3×3 matrix, or one number
            About the centre of mass, in axes of the body. One number is the moment about z in planar systems, that of
            a ball in spatial ones.
        com : vector
            Centre of mass in the body's frame. Default: its origin.
        shape : a shape or a sequence of shapes, optional
            For drawing, for contacts, and for `collide`.
        position, orientation : vector and rotation, optional
            Where the body is about at the start. Of bodies that no joint holds it is where they start; for others it
            helps to find the right one of several ways to assemble the system.
        """
        name = self._new("body", name)
        where = f"body '{name}'"
        mass = number(where, "mass", mass, least=0.0)
        centre = (0.0, 0.0, 0.0) if com is None else vector(where, "com", com, self.planar)
        moments = _inertia(where, inertia, self.planar)
        self._my_parameters(where, mass, *centre, *moments)
        _check_shapes(where, shape)
        body = Body(self, len(self.bodies), name, mass, centre, moments, shape)
        if position is not None:
            body.position = values_of(vector(where, "position", position, self.planar))
        if orientation is not None:
            body.orientation = placed(where, self.ground, None, orientation).rotation
        self.bodies.append(body)
        self._names[name] = where
        return body

    def marker(self, name: str, on: Body | Frame, at: Any = None, rotation: Any = None) -> Frame:
        """A frame with a name, so that results have "name.position", "name.velocity" and so on.

        Parameters
        ----------
        name : str
        on : Body or Frame
        at, rotation : vector, rotation
            Relative to it.
        """
        name = self._new("marker", name)
        self._mine(f"marker '{name}'", "on", on)
        self.markers[name] = placed(f"marker '{name}'", on, at, rotation)
        self._names[name] = f"marker '{name}'"
        return self.markers[name]

    def parameter(self, name: str, value: float) -> Parameter:
        """A number that stays a parameter of the models: `model.replace({name: …})` changes it at no cost.

        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> bob = mb.body("bob", mass=mb.parameter("m", 2.0), inertia=0.1, position=(1, 0))
        >>> mb.equations("joint").parameters
        {'m': 2.0}
        """
        name = self._new("parameter", name)
        self.parameters[name] = Parameter(name, value_of(number(f"parameter '{name}'", "value", value)))
        self._names[name] = f"parameter '{name}'"
        return self.parameters[name]

    def input(self, name: str, function: Any) -> str:
        """A function of time, or an `Input`, that force elements may read as `s.name`."""
        name = self._new("input", name)
        self._names[name] = f"input '{name}'"
        self.inputs[name] = function
        return name

    def _new(self, what: str, name: Any) -> str:
        name = name_of(what, name)
        if name in self._names:
            raise ModelError(
                f"{what} '{name}': this name belongs to {self._names[name]} already; bodies, joints, elements, "
                "parameters and inputs share one set of names"
            )
        return name

    # -- what becomes of it ----------------------------------------------------------------------------------------

    def equations(
        self,
        coordinates: str = "joint",
        *,
        formalism: str = "auto",
        absolute: Sequence[str] | None = None,
        known: Mapping[str, Any] | bool | None = None,
        redundant: str = "drop",
        invariant: str | None = None,
        impact: str = "newton",
    ) -> EquationsOfMotion:
        """The equations of motion.

        Parameters
        ----------
        coordinates : {"joint", "absolute", "mixed"}
            "joint": coordinates of the joints along a spanning tree; loops become constraints. "absolute": the centre
            of mass and the orientation of every body; joints become constraints. "mixed": bodies named in `absolute`
            have coordinates of their own, all others those of their joints; by default bodies with three joints and
            more.
        formalism : {"auto", "residual", "explicit"}
            "residual": M(p) v' = f, with the mass matrix of composite bodies. "explicit": v' = f, by articulated
            bodies; for systems without loops.
        absolute : sequence of names, optional
            For mixed coordinates.
        known : mapping of str to values, or False
            What is known of the start, see `assemble`: the model has the assembled positions and velocities as its
            start values. False leaves that out.
        redundant : {"drop", "keep"}
            What becomes of constraints that others imply wherever the system moves, see `redundancy`. Only `Geoms`
            with `algebraic="svd"` integrates models that keep them.
        invariant : "energy", optional
            Lets the total energy be an invariant, which `Geoms` and `Odassl` keep; for systems without damping and
            drives. Its value at the start is the parameter "energy.start" of the model.
        impact : {"newton", "poisson", "sequential"}
            The law of impacts in contacts, see `EquationsOfMotion`.
        """
        from dalembert.multibody.equations import equations

        return equations(self, coordinates, formalism, absolute, known, redundant, invariant, impact)

    @classmethod
    def from_urdf(
        cls, source: Any, *, fixed_base: bool = True, gravity: Any = None, name: str | None = None, **options: Any
    ) -> Multibody:
        """A robot from a URDF file, or from its text. Meshes are named for drawing only; nothing is fetched.

        Parameters
        ----------
        source : path, str or bytes
            A file; text counts as the description itself if it contains ``<``.
        fixed_base : bool
            Whether the root link is fixed to the ground, or moves freely.
        gravity, name
            Of the system. By default it is called like the robot.
        **options
            check_inertia="warn" ("error", "ignore"): what to do about inertias that no body has; massless="error"
            ("lock", "keep"): about joints that move links without mass; mimic, loops, damping=True, friction=False:
            what to take over; see `read_urdf` and `build` in `dalembert.multibody.urdf`.

        Examples
        --------
        >>> import dalembert as da
        >>> da.Multibody.from_urdf('''
        ... <robot name="pendulum">
        ...   <link name="base"/>
        ...   <link name="rod">
        ...     <inertial> <origin xyz="0 0 -1"/> <mass value="2"/> <inertia ixx="0.1" iyy="0.1" izz="0"/> </inertial>
        ...   </link>
        ...   <joint name="hinge" type="continuous">
        ...     <parent link="base"/> <child link="rod"/> <axis xyz="0 1 0"/>
        ...   </joint>
        ... </robot>''')
        Multibody('pendulum': 2 bodies, 2 joints, spatial)
        """
        from dalembert.multibody.urdf import load

        return load(cls, source, fixed_base=fixed_base, gravity=gravity, name=name, **options)


def _check_shapes(where: str, given: Any) -> None:
    if given is None or isinstance(given, Shape):
        return
    if not (isinstance(given, Sequence) and all(isinstance(one, Shape) for one in given)):
        raise ModelError(f"{where}: shape={shown(given)} must be a shape, such as da.Box(...), or a sequence of shapes")


def _inertia(where: str, given: Any, planar: bool) -> tuple[Number, ...]:
    """(xx, xy, xz, yy, yz, zz), checked: no moment is negative, none larger than the sum of the two others."""
    if isinstance(given, Parameter) or (type(given) is float and given >= 0.0 and math.isfinite(given)):
        return (0.0, 0.0, 0.0, 0.0, 0.0, given) if planar else (given, 0.0, 0.0, given, 0.0, given)
    if type(given) is tuple and len(given) == 3 and not planar and all(type(x) is float for x in given):
        a, b, c = given  # the usual case, of which large systems have many
        if 0 <= a <= b + c and 0 <= b <= a + c and 0 <= c <= a + b and a + b + c < math.inf:
            return (a, 0.0, 0.0, b, 0.0, c)
    if isinstance(given, tuple | list) and len(given) == 3 and any(isinstance(x, Parameter) for x in given):
        a, b, c = vector(where, "inertia", given, False)
        _check_moments(where, sorted(values_of((a, b, c))))
        return (a, 0.0, 0.0, b, 0.0, c)
    try:
        entries = reals(given)
    except NoNumber as reason:
        raise ModelError(f"{where}: inertia={shown(given)} {reason}") from None
    if not np.isfinite(entries).all():
        raise ModelError(f"{where}: inertia={shown(given)} must be finite")
    if entries.ndim == 0:
        if entries < 0:
            raise ModelError(f"{where}: inertia={float(entries):g} must not be negative")
        return _inertia(where, float(entries), planar)
    if planar:
        raise ModelError(f"{where}: inertia={shown(given)} must be one number in a planar system, the moment about z")
    if entries.shape == (3,):
        a, b, c = entries.tolist()
        if a >= 0 and b >= 0 and c >= 0 and a <= b + c and b <= a + c and c <= a + b:
            return (a, 0.0, 0.0, b, 0.0, c)
        _check_moments(where, sorted((a, b, c)))
        return (a, 0.0, 0.0, b, 0.0, c)
    if entries.shape != (3, 3):
        raise ModelError(f"{where}: inertia={shown(given)} must be three moments or a 3×3 matrix")
    if np.abs(entries - entries.T).max() > ROUNDED * np.abs(entries).max():
        raise ModelError(f"{where}: the inertia matrix is not symmetric")
    _check_moments(where, np.linalg.eigvalsh(entries).tolist())
    J = (entries + entries.T) / 2
    return tuple(J[i, k] for i in range(3) for k in range(i, 3))


def _check_moments(where: str, principal: Sequence[float]) -> None:
    """`principal` moments in ascending order."""
    small, middle, large = principal
    if small < -ROUNDED * abs(large):
        raise ModelError(f"{where}: inertia has the negative principal moment {small:g}")
    if large > small + middle + ROUNDED * large:
        raise ModelError(
            f"{where}: the principal moments of inertia {small:g}, {middle:g}, {large:g} violate the triangle "
            f"inequality: no body has them (the largest is at most the sum of the two others). Are they "
            "about the centre of mass?"
        )
