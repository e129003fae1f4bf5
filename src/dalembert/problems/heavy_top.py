"""The heavy top: a spinning rigid body with one fixed point, in absolute coordinates with Euler parameters."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion

from .arguments import checked
from .drawings import spatial
from .problem import Problem, known_values

# t: positions, velocities, multipliers
_VALUES = {
    1.0: (
        [0.1733439640983859579, 0.6400885920705688371, -0.7484907911335814927,
         0.7329439806796638136, -0.278285719337612799, 0.5318246113341625858, -0.3201761427362492571],
        [0.5708253034254874845, -4.588728296334952611, -3.7919551547100421086,
         -0.8220781016827054687, 150.0, -5.9232913481173356867],
        [517.600739476900025, 396.84310148955428757, -404.5749251628847208],
    ),
    2.0: (
        [-0.1504168227456414952, -0.7241655916368958742, -0.6730222695604444943,
         0.1229471350415337937, -0.4910798925500273585, 0.3504300303436209661, -0.7879868875504856497],
        [-2.7491863125818891314, -3.2027186355748884037, 4.060523149756693858,
         0.1222332194973917792, 150.0, -5.8556245892054570117],
        [260.73521131108371, -613.6126989825971794, -309.71663139093934694],
    ),
}  # fmt: skip


@checked
def heavy_top(*, t_end: float = 1.0) -> Problem:
    """Heavy top: seven positions, six velocities, p' = Z(p) v, three constraints, the quaternion's norm an invariant.

    Positions are the centre of mass and the Euler parameters e0…e3 of the rotation R from body to space; velocities
    are that of the centre of mass and the angular velocity in the body frame. The constraints hold the tip in the
    origin, x - R(e) X0 = 0. |e|² = 1 follows from p' = Z v and is given as an invariant, not as a constraint: its row
    of G Z would be zero. The top spins at 150 rad/s and precesses slowly with a small nutation.

    Parameters
    ----------
    t_end : 1 and 2 have reference values.

    References
    ----------
    .. [1] M. Géradin, A. Cardona, "Flexible multibody dynamics", Wiley, 2001 (data).
    .. [2] O. Brüls, A. Cardona, M. Arnold, "Lie group generalized-α time integration of constrained flexible multibody
       systems", Mechanism and Machine Theory 48, 2012 (as a benchmark of constrained rotations).
    """
    if not t_end > 0:
        raise OptionError(f"heavy_top: t_end must be positive, not {t_end!r}")
    omega = np.array([0.0, 150.0, -4.61538])  # body frame
    centre = np.array([0.0, 1.0, 0.0])
    model = EquationsOfMotion(
        name="heavy_top",
        drawing=spatial.heavy_top(),
        p=["x", "y", "z", "e0", "e1", "e2", "e3"],
        v=["vx", "vy", "vz", "wx", "wy", "wz"],
        parameters={"m": 15.0, "J1": 0.234375, "J2": 0.46875, "J3": 0.234375, "g": 9.81, "X0": centre},
        kinematics=_kinematics,
        mass=lambda s: [s.m, s.m, s.m, s.J1, s.J2, s.J3],
        force=lambda s: [
            0,
            0,
            -s.m * s.g,
            (s.J2 - s.J3) * s.wy * s.wz,  # Euler: -ω × J ω
            (s.J3 - s.J1) * s.wz * s.wx,
            (s.J1 - s.J2) * s.wx * s.wy,
        ],
        holonomic=lambda s: np.array([s.x, s.y, s.z]) - _rotation(s) @ s.X0,
        invariant=lambda s: [s.e0**2 + s.e1**2 + s.e2**2 + s.e3**2 - 1],
    )
    source = "computed by us: rotation about the fixed point, 80-bit Gragg-Bulirsch-Stoer, two resolutions"
    references = known_values(((t, *values) for t, values in _VALUES.items()), source, 1e-14)
    return Problem(
        name="heavy_top",
        title="Heavy top in absolute coordinates",
        model=model,
        p0=[*centre, 1.0, 0.0, 0.0, 0.0],
        v0=[*np.cross(omega, centre), *omega],
        t_end=t_end,
        reference=next((known for known in references if known.t == t_end), None),
        references=references,
    )


def _kinematics(s):
    e0, e1, e2, e3 = 0.5 * s.e0, 0.5 * s.e1, 0.5 * s.e2, 0.5 * s.e3
    return [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, -e1, -e2, -e3],
        [0, 0, 0, e0, -e3, e2],
        [0, 0, 0, e3, e0, -e1],
        [0, 0, 0, -e2, e1, e0],
    ]


def _rotation(s):
    """R(e), the homogeneous form: a rotation times |e|², so that no division by the norm is needed."""
    e0, e1, e2, e3 = s.e0, s.e1, s.e2, s.e3
    return np.array(
        [
            [e0**2 + e1**2 - e2**2 - e3**2, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
            [2 * (e1 * e2 + e0 * e3), e0**2 - e1**2 + e2**2 - e3**2, 2 * (e2 * e3 - e0 * e1)],
            [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0**2 - e1**2 - e2**2 + e3**2],
        ]
    )
