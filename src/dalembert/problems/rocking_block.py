"""A block that rocks on its corner without friction."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_finite, check_positive, checked
from .drawings import planar
from .problem import Problem, Reference

# by (L, H, m, g, th0, th_dot0): t, angle, rate, contact force
_TABLE = {
    (1.0, 0.5, 1.0, 9.81, np.pi / 3, 0.0): (
        (0.1, 1.0309410024367927, -0.3383031823542865, 9.579625236991905),
        (0.2, 0.9741321190144661, -0.8389369974999294, 8.947870286771709),
        (0.3, 0.8529020151682881, -1.6388773114016193, 7.023805280873704),
        (0.5, 0.3326425926677028, -3.477863605681069, 2.017174372890498),
    ),
}

#: Time at which the default block falls flat, θ = 0: an event, where its second corner meets the ground.
ROCKING_BLOCK_FLAT = 0.5874779745739747


@checked
def rocking_block(
    *,
    L: float = 1.0,
    H: float = 0.5,
    m: float = 1.0,
    g: float = 9.81,
    th0: float = np.pi / 3,
    th_dot0: float = 0.0,
    t_end: float = 0.5,
) -> Problem:
    """A uniform block of width L and height H falls from rest while its lower corner slides on smooth ground.

    p = (x, z, th): the centre and the angle. The corner stays on the ground as long as the multiplier, minus the
    contact force, does not change its sign:

        z - L/2 sin th - H/2 cos th = 0.

    Nothing acts along the ground, so x stays where it is. One equation remains, with Y = L/2 sin th + H/2 cos th:

        (I + m Y'²) th'' - m Y' Y th'² = -m g Y',   I = m (L² + H²)/12.

    With the defaults the block stays in contact until it lies flat at t = 0.5874779745739747
    (`problems.ROCKING_BLOCK_FLAT`), where the event th = 0 is the impact of the other corner. Only as far as that the
    motion has a meaning.

    An experiment of a comparison of half-explicit Runge-Kutta methods in event-driven simulation, which runs to
    t = 0.5 and prints no data; the dimensions and the start are those of a public Siconos example.

    Parameters
    ----------
    L, H, m, g : width, height, mass, gravity.
    th0, th_dot0 : angle and rate at the start.
    t_end : end time. References exist for the default values at t = 0.1, 0.2, 0.3 and 0.5.
    """
    check_positive("rocking_block", L=L, H=H, m=m, t_end=t_end)
    check_finite("rocking_block", g=g, th0=th0, th_dot0=th_dot0)

    x0 = L / 2 * np.cos(th0) - H / 2 * np.sin(th0)  # the corner starts at the origin

    def state(th, rate):
        z, slope = L / 2 * np.sin(th) + H / 2 * np.cos(th), L / 2 * np.cos(th) - H / 2 * np.sin(th)
        return np.array([x0, z, th]), np.array([0.0, slope * rate, rate])

    model = EquationsOfMotion(
        name="rocking_block",
        drawing=planar.rocking_block(L, H),
        p=["x", "z", "th"],
        parameters={"m": m, "L": L, "H": H, "g": g},
        mass=lambda s: [s.m, s.m, s.m * (s.L**2 + s.H**2) / 12],
        force=lambda s: [0, -s.m * s.g, 0],
        holonomic=lambda s: [s.z - s.L / 2 * np.sin(s.th) - s.H / 2 * np.cos(s.th)],
        lam=["corner"],
    )
    references = []
    for t, th, rate, force in _TABLE.get((L, H, m, g, th0, th_dot0), ()):
        p, v = state(th, rate)
        references.append(
            Reference(
                t=t,
                p=p,
                v=v,
                lam=[-force],
                source="computed by us: DOP853 on the equation for the angle, rtol 2.3e-14",
                accuracy=1e-12,
            )
        )
    p0, v0 = state(th0, th_dot0)
    return Problem(
        name="rocking_block",
        title="Block rocking on its corner",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=next((known for known in references if known.t == t_end), None),
        references=tuple(references),
    )
