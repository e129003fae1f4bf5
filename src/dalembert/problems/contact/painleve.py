"""A rod whose lower end slides on rough ground: Painlevé's paradox."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from ..arguments import check_finite, check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .checks import check_friction, check_restitution
from .problem import ImpactProblem

_SOURCE = "computed by us: DOP853 with modes of contacts found by trial, rtol 1e-12"
# t, p and v of the default rod
_TABLE = (
    (0.1, [0.0904633200783635, 0.41230982669253524, 0.969529508430086],
     [-1.5984283760598696, -0.17785675211974025, -0.628816192687333]),
    (0.3, [-0.16386348362867906, 0.31125621927845, 0.6719489533603241],
     [-1.0127708852173465, -0.9685417704346932, -2.4751584765299106]),
)  # fmt: skip


@checked
def painleve_rod(
    *,
    friction: float = 0.5,
    angle: float = 1.0,
    spin: float = 0.0,
    sliding: float = -2.0,
    e: float = 0.0,
    half: float = 0.5,
    m: float = 1.0,
    g: float = 9.81,
    t_end: float = 0.3,
) -> ImpactProblem:
    """A uniform rod of length 2 `half` falls over while its lower end slides on the ground, with friction.

    p = (x, z, th): the centre, and the angle of the rod to the ground; the lower end is on the left of the centre. If
    it slides to the left, the friction turns the rod into the ground, and with half length l the gap γ obeys

        γ'' = l th'² sin th - g + A λ,    A = (1 + 3 cos th (cos th - μ sin th))/m.

    If μ > (4 + tan² th)/(3 tan th), which is at least 4/3, A is negative. Then with γ'' < 0 for λ = 0 no force keeps
    the rod from penetrating the ground: no solution with finite forces exists. With γ'' > 0 there are two.
    ``painleve_rod(friction=2.0, angle=1.1)`` starts in such an inconsistent state, with ``spin=6.0`` in an
    indeterminate one.

    Parameters
    ----------
    friction, e : Coulomb's coefficient and restitution.
    angle, spin : of the rod, and its rate, at the start.
    sliding : velocity of the lower end at the start.
    half, m, g : half length l, mass, gravity.
    t_end : end time. There is a reference for the default values.
    """
    check_friction("painleve_rod", friction=friction)
    check_restitution("painleve_rod", e=e)
    check_positive("painleve_rod", half=half, m=m, g=g, t_end=t_end)
    check_finite("painleve_rod", angle=angle, spin=spin, sliding=sliding)
    model = EquationsOfMotion(
        name="painleve_rod",
        drawing=contacts.falling_rod(half),
        p=["x", "z", "th"],
        parameters={"m": m, "l": half, "g": g},
        mass=lambda s: [s.m, s.m, s.m * s.l**2 / 3],
        force=lambda s: [0, -s.m * s.g, 0],
        unilateral=lambda s: [s.z - s.l * np.sin(s.th), s.z + s.l * np.sin(s.th)],
        contacts=["tip", "end"],
        restitution=e,
        friction=friction,
        sliding=lambda s: [[s.x_dot + s.l * np.sin(s.th) * s.th_dot], [s.x_dot - s.l * np.sin(s.th) * s.th_dot]],
        outputs={"energy": lambda s: s.m * ((s.x_dot**2 + s.z_dot**2) / 2 + s.l**2 * s.th_dot**2 / 6 + s.g * s.z)},
    )
    default = (friction, angle, spin, sliding, half, m, g) == (0.5, 1.0, 0.0, -2.0, 0.5, 1.0, 9.81)
    references = tuple(
        Reference(t=t, p=p, v=v, source=_SOURCE, accuracy=1e-11) for t, p, v in (_TABLE if default else ())
    )
    return ImpactProblem(
        name="painleve_rod",
        title="Rod sliding on rough ground",
        model=model,
        p0=[half * np.cos(angle), half * np.sin(angle), angle],
        v0=[sliding - half * np.sin(angle) * spin, half * np.cos(angle) * spin, spin],
        t_end=t_end,
        reference=next((known for known in references if known.t == t_end), None),
        references=references,
    )
