"""Andrews' squeezing mechanism from seven bodies and ten hinges."""

from __future__ import annotations

from types import SimpleNamespace

from dalembert.multibody.shapes import Line, Plate
from dalembert.multibody.system import Multibody

from ..andrews import _OURS, _P0, _PARAMETERS
from ..arguments import check_positive, checked
from .problem import BodiesProblem, problem_of

_ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
_AT_005 = (
    0.05,
    [33.82586776695422, -33.58343151746351, 0.11339507381265712, -0.4078528656017835, 0.5260604449169931,
     0.4078528656017912, 1.056902429434985],
    [1144.5355026537309, -1336.033722650978, -190.93706860431564, -334.31706087090345, 0.8758650829503033,
     334.31706087090373, -39.61728897837824],
)  # fmt: skip


@checked
def andrews_from_bodies(coordinates: str = "joint", *, t_end: float = 0.03) -> BodiesProblem:
    """Andrews' squeezing mechanism built from bodies: the same motion as `andrews`, in any coordinates.

    Joint coordinates are the seven angles of `andrews` with six loop constraints, absolute ones the 21 of seven bodies
    with twenty. The IFToMM benchmark A03 [1]_ runs it to 0.05 s and looks at the balance of energy: kinetic and
    potential energy minus the work of the motor, 0.033 N m times the angle β, is constant.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed".
    t_end : 0.03 and 0.05 have reference values.

    References
    ----------
    .. [1] M. González, D. Dopico, U. Lugrís, J. Cuadrado, "A benchmarking system for MBS simulation software: problem
       standardization and performance measurement", Multibody System Dynamics 16, 2006.
    """
    check_positive("andrews_from_bodies", t_end=t_end)
    rows = [(_OURS.t, _OURS.p, _OURS.v), _AT_005]
    known = [(t, dict(zip(_ANGLES, p, strict=True)), dict(zip(_ANGLES, v, strict=True))) for t, p, v in rows]
    return problem_of(
        andrews_system(),
        coordinates,
        title="Andrews' squeezing mechanism from bodies",
        t_end=t_end,
        known=known,
        source=(
            _OURS.source
            if t_end == _OURS.t
            else "computed by us: DOP853 on the index-1 form, hand-written and from bodies, rtol 2.3e-14 compared"
        ),
        accuracy=1e-12 if t_end == _OURS.t else 3e-11,
    )


def andrews_system() -> Multibody:
    """Seven bodies, joints named after the angles of the literature, a spring and a motor of constant torque."""
    s = SimpleNamespace(**_PARAMETERS)
    mb = Multibody(planar=True, gravity=(0, 0), name="andrews_from_bodies")

    def body(k, com, *points):
        shape = Plate([(0, 0), *points[:2]]) if len(points) > 1 else Line([(0, 0), *points])
        return mb.body(f"K{k}", getattr(s, f"m{k}"), getattr(s, f"I{k}"), com, shape=shape)

    K1 = body(1, (s.ra, 0), (s.rr, 0))
    K2 = body(2, (-s.da, 0), (-s.d, 0))
    K3 = body(3, (s.sb, -s.sa), (s.sd, -s.sc), (0, -s.ss), (0, 0))
    K4 = body(4, (0, -(s.e - s.ea)), (0, -s.e))
    K5 = body(5, (s.ta, s.tb), (s.ta, s.tb), (s.zt, 0), (0, 0))
    K6 = body(6, (s.zf - s.fa, 0), (s.zf, 0))
    K7 = body(7, (-s.ub, -s.ua), (-s.ub, -s.ua), (0, -s.uu), (0, 0))
    at = dict(zip(_ANGLES, _P0, strict=True))
    A, B = (s.xa, s.ya), (s.xb, s.yb)
    motor = mb.revolute("beta", mb.ground, K1, q0=at["beta"])
    mb.revolute("theta", K1, K2, at=(s.rr, 0), q0=at["theta"])
    mb.revolute("gamma", mb.ground, K3, at=B, q0=at["gamma"])
    mb.revolute("delta", mb.ground, K5, at=A, q0=at["delta"])
    mb.revolute("phi", K5, K4, at=(s.zt, 0), q0=at["phi"])
    mb.revolute("epsilon", mb.ground, K7, at=A, q0=at["epsilon"])
    mb.revolute("omega", K7, K6, at=(0, -s.uu), q0=at["omega"])
    mb.revolute("P3", K2, K3, at=(-s.d, 0), to=(0, -s.ss))
    mb.revolute("P4", K2, K4, at=(-s.d, 0), to=(0, -s.e))
    mb.revolute("P6", K2, K6, at=(-s.d, 0), to=(s.zf, 0))
    mb.spring("spring", K3.frame(at=(s.sd, -s.sc)), mb.ground.frame(at=(s.xc, s.yc)), stiffness=s.c0, length=s.l0)
    mb.actuator("motor", motor, s.torque)
    return mb
