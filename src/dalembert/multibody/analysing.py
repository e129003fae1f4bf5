"""What can be asked of a `Multibody` before anything moves: assembly, redundancy, equilibrium, linearization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.multibody.assembly import Assembly


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
