"""The rocking block beyond its first impact, and a four-bar linkage that hits a stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.model import EquationsOfMotion

from ..arguments import check_finite, check_positive, checked
from ..drawings import planar
from ..four_bar_linkage import _force, _mass, four_bar_linkage
from ..problem import Reference
from ..rocking_block import ROCKING_BLOCK_FLAT, rocking_block
from .checks import check_friction, check_restitution
from .problem import ImpactProblem, KnownImpact

_SOURCE = "computed by us: DOP853 from impact to impact, rtol 1e-12"

# of the default block by e: impacts of corner B as time and rate of its gap before; when it lies flat
_BLOCK: dict[float, dict[str, Any]] = {
    0.0: {"impacts": ((ROCKING_BLOCK_FLAT, -4.13076009337988),), "rest": ROCKING_BLOCK_FLAT},
    0.5: {
        "impacts": (
            (ROCKING_BLOCK_FLAT, -4.13076009337988),
            (0.891566969269494, -2.06538004668994),
            (1.041296183295173, -1.03269002334497),
            (1.115933228004560, -0.51634501167248),
            (1.153224868103251, -0.25817250583625),
            (1.171867374452614, -0.12908625291813),
        ),
        "rest": 1.190508937425,
    },
}
# of the default linkage: impacts as time and rate before; when it rests; t, p, v
_STOP: dict[str, Any] = {
    "impacts": (
        (0.910394120146946, -2.70730254891924),
        (1.641086563914262, -1.35365127445962),
        (1.989702071225858, -0.67682563722982),
        (2.161983247746572, -0.33841281861491),
        (2.247872259816306, -0.16920640930746),
    ),
    "rest": 2.33368951800,
    "references": (
        (1.5, [2.3518896976485193, 0.2752383420295106, 1.1166246008246796],
         [0.7679314808601603, 0.24313962486615093, 0.45049975509348644]),
        (3.0, [2.5, 0.3218520419076844, 1.1995726846356853], [0.0, 0.0, 0.0]),
    ),
}  # fmt: skip


@checked
def falling_block(
    *,
    e: float = 0.5,
    friction: float = 0.0,
    L: float = 1.0,
    H: float = 0.5,
    m: float = 1.0,
    g: float = 9.81,
    th0: float = np.pi / 3,
    th_dot0: float = 0.0,
    height: float = 0.0,
    t_end: float = 1.5,
) -> ImpactProblem:
    """The block of `rocking_block` with its lower corners A and B as contacts: it rocks until it lies on the ground.

    When B hits the ground, A is closed, and by Newton's law it stays so if the block is wide enough (2 L² > H²
    without friction): the block turns back with e times its rate, still on A, and falls again. These impacts
    accumulate for e < 1; in the end the block lies flat, and both corners carry half of its weight.

    Parameters
    ----------
    e, friction : restitution and Coulomb's coefficient of both corners.
    L, H, m, g : width, height, mass, gravity.
    th0, th_dot0 : angle and rate at the start.
    height : of the lower corner above the ground at the start.
    t_end : end time. There are references without friction for e = 0 and 0.5 and the default data.
    """
    check_restitution("falling_block", e=e)
    check_friction("falling_block", friction=friction)
    check_positive("falling_block", L=L, H=H, m=m, g=g, t_end=t_end)
    check_finite("falling_block", th0=th0, th_dot0=th_dot0)
    if height != 0:
        check_positive("falling_block", height=height)
    standing = rocking_block(L=L, H=H, m=m, g=g, th0=th0, th_dot0=th_dot0)
    # A is the lower one for angles between 0 and π/2: for others it is lifted until B touches
    p0 = standing.p0.copy()
    p0[1] += height + max(-L * np.sin(th0), 0.0)
    model = EquationsOfMotion(
        name="falling_block",
        drawing=planar.rocking_block(L, H, contacts=True),
        p=["x", "z", "th"],
        parameters={"m": m, "L": L, "H": H, "g": g},
        mass=lambda s: [s.m, s.m, s.m * (s.L**2 + s.H**2) / 12],
        force=lambda s: [0, -s.m * s.g, 0],
        unilateral=lambda s: [s.z - _arm(s, side)[1] for side in (1, -1)],
        contacts=["A", "B"],
        restitution=e,
        friction=friction,
        sliding=lambda s: [[s.x_dot + _arm(s, side)[1] * s.th_dot] for side in (1, -1)],
        outputs={
            "energy": lambda s: s.m * ((s.x_dot**2 + s.z_dot**2) / 2 + (s.L**2 + s.H**2) / 24 * s.th_dot**2 + s.g * s.z)
        },
    )
    default = (L, H, m, g, th0, th_dot0, height, friction) == (1.0, 0.5, 1.0, 9.81, np.pi / 3, 0.0, 0.0, 0.0)
    known = _BLOCK.get(e) if default else None
    reference = None
    if known and t_end > known["rest"]:
        p = [standing.p0[0], H / 2, 0.0]
        reference = Reference(
            t=t_end, p=p, v=np.zeros(3), lam=[m * g / 2] * 2, source="exact: it rests", accuracy=1e-12
        )
    return ImpactProblem(
        name="falling_block",
        title="Block falling on its corners",
        model=model,
        p0=p0,
        v0=standing.v0,
        t_end=t_end,
        reference=reference,
        impacts=tuple(KnownImpact(t, "B", rate, -e * rate) for t, rate in known["impacts"]) if known else (),
        rest=known["rest"] if known else None,
    )


def _arm(s, side):
    """From corner A (side 1) or B (-1) to the centre."""
    return (
        side * s.L / 2 * np.cos(s.th) - s.H / 2 * np.sin(s.th),
        side * s.L / 2 * np.sin(s.th) + s.H / 2 * np.cos(s.th),
    )


@checked
def four_bar_stop(
    *, stop: float = 2.5, e: float = 0.5, g: float = 0.0, torque: float = 6.0, m: float = 1.0, t_end: float = 3.0
) -> ImpactProblem:
    """The linkage of `four_bar_linkage` with a stop for its crank: the torque presses it there until it rests.

    The loop leaves one degree of freedom, so that an impact multiplies all velocities by -e. The first one comes from
    `four_bar_linkage`; the impacts accumulate, and then the stop carries what the torque exerts.

    Parameters
    ----------
    stop : largest angle of the crank; the gap is stop - phi1.
    e : restitution.
    g, torque, m : gravity, torque on the crank, mass of each bar.
    t_end : end time. There is a reference for the default values, and after all is at rest.
    """
    check_restitution("four_bar_stop", e=e)
    check_positive("four_bar_stop", m=m, t_end=t_end)
    check_finite("four_bar_stop", g=g, torque=torque)
    free = four_bar_linkage(m=m, g=g, torque=torque)
    check_positive("four_bar_stop", **{"stop - π/2": stop - float(free.p0[0])})
    data = {name: float(value) for name, value in free.model.graph.parameters.items()}
    model = EquationsOfMotion(
        name="four_bar_stop",
        drawing=planar.four_bar_linkage(stop=True),
        p=["phi1", "phi2", "phi3"],
        parameters={**data, "stop": stop},
        mass=_mass,
        force=_force,
        holonomic=lambda s: [
            s.l1 * np.cos(s.phi1) + s.l2 * np.cos(s.phi2) - s.l3 * np.cos(s.phi3) - s.d1,
            s.l1 * np.sin(s.phi1) + s.l2 * np.sin(s.phi2) - s.l3 * np.sin(s.phi3),
        ],
        lam=["loop_x", "loop_y"],
        unilateral=lambda s: [s.stop - s.phi1],
        contacts=["crank_stop"],
        restitution=e,
        outputs={"energy": _energy},
    )
    default = (stop, e, g, torque, m) == (2.5, 0.5, 0.0, 6.0, 1.0)
    known: dict[str, Any] = _STOP if default else {}
    references = tuple(
        Reference(t=t, p=p, v=v, source=_SOURCE, accuracy=1e-11) for t, p, v in known.get("references", ())
    )
    reference = next((r for r in references if r.t == t_end), None)
    if known and t_end > known["rest"]:
        reference = replace(reference or references[-1], t=t_end)
    return ImpactProblem(
        name="four_bar_stop",
        title="Four-bar linkage with a stop",
        model=model,
        p0=free.p0,
        v0=free.v0,
        t_end=t_end,
        reference=reference,
        references=references,
        impacts=tuple(KnownImpact(t, "crank_stop", rate, -e * rate) for t, rate in known.get("impacts", ())),
        rest=known.get("rest"),
    )


def _energy(s):
    """With that of the constant torque, which has the potential -torque phi1."""
    M, v = _mass(s), s.v
    kinetic = sum(v[i] * M[i][j] * v[j] for i in range(3) for j in range(3)) / 2
    heights = 1.5 * s.l1 * np.sin(s.phi1) + s.l2 / 2 * np.sin(s.phi2) + s.l3 / 2 * np.sin(s.phi3)
    return kinetic + s.m * s.g * heights - s.torque * s.phi1
