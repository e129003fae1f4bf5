"""The woodpecker toy: a bird on a spring hacks its way down a pole."""

from __future__ import annotations

from dalembert.model import EquationsOfMotion

from ..arguments import check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .checks import check_friction, check_restitution
from .problem import ImpactProblem

_DATA = {
    "rO": 0.0025, "rM": 0.0031, "hM": 0.0058, "lM": 0.010, "lG": 0.015, "hS": 0.02, "lS": 0.0201,
    "mM": 0.0003, "mS": 0.0045, "JM": 5e-9, "JS": 7e-7, "c": 0.0056, "g": 9.81,
}  # fmt: skip
#: The limit cycle of the default toy, at an impact of the beak and before it: started with y = 0 and else with these
#: values it has them again after one period, t, only lower. A perturbation is multiplied by -0.8392 in a period.
WOODPECKER_CYCLE = Reference(
    t=0.1459760651433,
    p=[-0.0194453792846, 0.0894038527464, 0.12],
    v=[-0.1355017900945, -2.1574557694866, 16.9111773683007],
    source="computed by us: Newton's method on the return map, with Mexx and Geoms at rtol 1e-11",
    accuracy=1e-9,
)

_REFERENCES = (
    (0.1, [-0.007059330344219476, 0.020724769036237635, 0.007528876814498469],
     [-0.07435248123539122, -4.262692784817177, -5.851828628745751]),
    (0.3, [-0.04132741608337413, -0.10344827586206894, -0.34237385510867424],
     [-0.2591849226033642, 0.0, -8.342824143726897]),
)  # fmt: skip


@checked
def woodpecker(*, friction: float = 0.3, e: float = 0.5, t_end: float = 0.3) -> ImpactProblem:
    """A sleeve that jams on a pole by friction, and a bird on a spring whose beak hits the pole: it goes down in steps.

    p = (y, phiM, phiS): the height of the sleeve, the angles of sleeve and bird, all small, so that everything but
    contacts is linear. Contacts: the beak, and the lower and upper edge of the sleeve, with friction. From the start
    given here the motion becomes periodic: the beak hits the pole, both edges of the sleeve jam and slide, in turn.

    Data and start are those of a public Siconos example after [1]_, but for the angle of the sleeve, which is rounded
    to -0.1036 there and would penetrate the pole by 0.9 μm.

    Parameters
    ----------
    friction : Coulomb's coefficient of all contacts.
    e : restitution of the beak; the sleeve has none.
    t_end : end time. There are references at 0.1 and 0.3; `WOODPECKER_CYCLE` is the limit cycle.

    References
    ----------
    .. [1] F. Pfeiffer, C. Glocker, "Multibody dynamics with unilateral contacts", Wiley, 1996.
    """
    check_friction("woodpecker", friction=friction)
    check_restitution("woodpecker", e=e)
    check_positive("woodpecker", t_end=t_end)

    def mass(s):
        return [
            [s.mS + s.mM, s.mS * s.lM, s.mS * s.lG],
            [s.mS * s.lM, s.JM + s.mS * s.lM**2, s.mS * s.lM * s.lG],
            [s.mS * s.lG, s.mS * s.lM * s.lG, s.JS + s.mS * s.lG**2],
        ]

    def force(s):
        twist = s.c * (s.phiM - s.phiS)
        return [-(s.mS + s.mM) * s.g, -s.mS * s.lM * s.g - twist, -s.mS * s.lG * s.g + twist]

    def energy(s):
        M, v = mass(s), s.v
        kinetic = sum(v[i] * M[i][j] * v[j] for i in range(3) for j in range(3)) / 2
        weight = s.g * ((s.mS + s.mM) * s.y + s.mS * s.lM * s.phiM + s.mS * s.lG * s.phiS)
        return kinetic + weight + s.c * (s.phiM - s.phiS) ** 2 / 2

    model = EquationsOfMotion(
        name="woodpecker",
        drawing=contacts.woodpecker(),
        p=["y", "phiM", "phiS"],
        parameters=_DATA,
        mass=mass,
        force=force,
        unilateral=lambda s: [
            s.lM + s.lG - s.lS - s.rO - s.hS * s.phiS,
            s.rM - s.rO + s.hM * s.phiM,
            s.rM - s.rO - s.hM * s.phiM,
        ],
        contacts=["beak", "lower", "upper"],
        restitution={"beak": e},
        friction=friction,
        sliding=lambda s: [
            [s.y_dot + s.lM * s.phiM_dot + (s.lG - s.lS) * s.phiS_dot],
            [s.y_dot + s.rM * s.phiM_dot],
            [s.y_dot + s.rM * s.phiM_dot],
        ],
        outputs={"energy": energy},
    )
    known = _REFERENCES if (friction, e) == (0.3, 0.5) else ()
    references = tuple(
        Reference(t=t, p=p, v=v, source="computed by us: DOP853 with modes of contacts found by trial", accuracy=1e-9)
        for t, p, v in known
    )
    return ImpactProblem(
        name="woodpecker",
        title="Woodpecker toy",
        model=model,
        p0=[0.0, -(_DATA["rM"] - _DATA["rO"]) / _DATA["hM"], -0.2788],
        v0=[-0.3411, 0.0, -7.4583],
        t_end=t_end,
        reference=next((known for known in references if known.t == t_end), None),
        references=references,
    )
