"""What can be asked of a `Multibody` before anything moves: assembly, redundancy, equilibrium, linearization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.multibody.assembly import Assembly
    from dalembert.multibody.equilibrium import Equilibrium
    from dalembert.multibody.inverse import JointForces
    from dalembert.multibody.linearization import Linearization
    from dalembert.multibody.redundancy import Redundancy


class Analysing:
    """The methods of a `Multibody` that find out about it."""

    def assemble(
        self,
        known: Mapping[str, Any] | None = None,
        coordinates: str = "joint",
        *,
        absolute: Sequence[str] | None = None,
        t: float = 0.0,
    ) -> Assembly:
        """Find positions and velocities in which all loops are closed.

        Joints' `q0` and `v0` hold, and so does what is `known`. The rest is free. The search begins where bodies are
        said to be about (`position` and `orientation` of `Multibody.body`), or at coordinates zero, and stays near.

        Parameters
        ----------
        known : mapping of str to values, optional
            "motor.angle", "slide.distance" and other coordinates, also of joints where loops are cut; rates
            "motor.angle_dot"; of bodies "crank.position", "crank.com", "crank.orientation" (a matrix or rotation
            vector), "crank.angle" (planar systems), "crank.velocity", "crank.angular_velocity".
        coordinates, absolute
            As in `equations`. All sets of coordinates describe the same configuration.
        t : float
            At which drives are taken.

        Raises
        ------
        CannotAssemble
            Names the joint that cannot be closed with its gap, or the known values that contradict each other.

        Examples
        --------
        >>> import numpy as np
        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> crank, rod = mb.body("crank", 1.0, 0.1), mb.body("rod", 1.0, 0.1)
        >>> slider = mb.body("slider", 1.0, 0.1)
        >>> joints = (mb.revolute("motor", mb.ground, crank), mb.revolute("pin", crank, rod, at=(3, 0)),
        ...           mb.revolute("wrist", rod, slider, at=(5, 0)), mb.prismatic("slide", mb.ground, slider))
        >>> assembly = mb.assemble({"motor.angle": np.pi / 2, "motor.speed": 1.0, "slider.angle": 0.0})
        >>> abs(round(assembly["slide.distance"], 9)), [float(abs(x).round(9)) for x in assembly["rod.position"]]
        (4.0, [0.0, 3.0])
        """
        from dalembert.multibody.assembly import assemble

        return assemble(self, known, coordinates, absolute, t)

    def redundancy(self, known: Mapping[str, Any] | None = None) -> Redundancy:
        """Find constraints that depend on others, and reactions that are therefore not unique.

        Constraints count as redundant if others imply them in all positions that the system can move to from the
        assembled one. Equations of motion leave them out, unless `redundant="keep"`.

        Parameters
        ----------
        known : mapping of str to values, optional
            As in `assemble`.

        Examples
        --------
        A door with two hinges:

        >>> import dalembert as da
        >>> mb = da.Multibody(gravity=(0, 0, -9.81))
        >>> door = mb.body("door", mass=20.0, inertia=(6.7, 8.2, 1.6), com=(0.5, 0, 1))
        >>> hinges = [mb.revolute(name, mb.ground, door, at=(0, 0, z), to=(0, 0, z))
        ...           for name, z in (("lower", 0.3), ("upper", 1.7))]
        >>> print(mb.redundancy())
        multibody: 1 freedom in joints, 5 constraints of rank 0, 1 degree of freedom; 5 constraints redundant
          loop lower, upper: upper.x, upper.y, upper.z, upper.tilt1, upper.tilt2
          not unique in joint lower: force x, force y, force z, torque x, torque y
          not unique in joint upper: force x, force y, force z, torque x, torque y
        """
        from dalembert.multibody.redundancy import redundancy

        return redundancy(self, known)

    def equilibrium(
        self,
        guess: Mapping[str, Any] | None = None,
        known: Mapping[str, Any] | None = None,
        *,
        t: float = 0.0,
        stable: bool = True,
    ) -> Equilibrium:
        """Find a position in which the system stays at rest.

        Parameters
        ----------
        guess : mapping of str to values, optional
            Where the search begins, by names as in `assemble`. Joints' `q0` are guesses, too.
        known : mapping of str to values, optional
            What is held in place; the forces that this takes are in `holding`.
        t : float
            At which inputs and drives are taken.
        stable : bool
            Whether to go on until a position is found that is not unstable. If not, the one that is found first may be
            any, near the guess.

        Examples
        --------
        A pendulum that is held by a spring:

        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> arm = mb.body("arm", mass=1.0, inertia=0.0, com=(1, 0))
        >>> joint = mb.revolute("joint", mb.ground, arm, stiffness=9.81, q0=0.0)
        >>> rest = mb.equilibrium()
        >>> round(rest["joint.angle"], 6), rest.stability          # angle = -cos(angle)
        (-0.739085, 'stable')
        """
        from dalembert.multibody.equilibrium import equilibrium

        return equilibrium(self, guess, known, t, stable)

    def linearize(
        self,
        p: Any = None,
        v: Any = None,
        t: float = 0.0,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] = (),
        r: Any = None,
    ) -> Linearization:
        """Linearize about a state: x' = A x + B u, y = C x + D u, in independent coordinates.

        Parameters
        ----------
        p, v, r : vectors, optional
            The state in coordinates of the joints, such as that of `equilibrium` or `assemble`. Default: the assembled
            system. Without v at rest.
        t : float
        inputs : sequence of str, optional
            Names of inputs that forces read, and of joints, in which then a force is applied. Default: all inputs.
        outputs : sequence of str
            Names of coordinates, rates and results, such as "crank.position" or "pin.force".

        Examples
        --------
        >>> import numpy as np
        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> arm = mb.body("arm", mass=1.0, inertia=0.0, com=(0, -2.0))
        >>> joint = mb.revolute("joint", mb.ground, arm)
        >>> linear = mb.linearize(inputs=["joint"], outputs=["arm.com"])
        >>> linear.states, linear.outputs
        (('joint.angle', 'joint.angle_dot'), ('arm.com[0]', 'arm.com[1]'))
        >>> bool(np.isclose(linear.modes[0].frequency, np.sqrt(9.81 / 2) / (2 * np.pi)))
        True
        """
        from dalembert.multibody.linearization import linearize

        return linearize(self, p, v, t, inputs, outputs, r)

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, t: Any = 0.0, *, actuators: Sequence[str] | None = None
    ) -> JointForces:
        """Forces in the joints that a motion needs, besides those of gravity and of all force elements.

        Parameters
        ----------
        q, v, a : vectors, arrays (N, n), or mappings of names to values
            Coordinates of the joints along the tree, their rates, and the rates of these, at one or at N times.
        t : float or array (N,)
        actuators : sequence of str, optional
            Joints in which forces act. Where several sets of forces cause the motion, the least one is taken. Default:
            all joints.

        Examples
        --------
        >>> import dalembert as da
        >>> mb = da.Multibody(planar=True)
        >>> arm = mb.body("arm", mass=2.0, inertia=0.5, com=(1.0, 0))
        >>> joint = mb.revolute("joint", mb.ground, arm)
        >>> forces = mb.inverse_dynamics([0.0], [0.0], [3.0])
        >>> round(float(forces["joint"]), 9)                      # 2 · 9.81 · 1 + (0.5 + 2) · 3
        27.12
        """
        from dalembert.multibody.inverse import inverse_dynamics

        return inverse_dynamics(self, q, v, a, t, actuators)
