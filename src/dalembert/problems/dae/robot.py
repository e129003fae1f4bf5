"""A robot with elastic joints whose hand follows a given path: the torques of its motors are unknowns, index 5."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np

from dalembert.model import QuasiLinearDAE

from ..arguments import checked
from ..drawings import planar
from ..problem import Problem, Reference

#: lengths, masses at elbow and hand, springs in the joints, inertias of the motors; path; mass and spring of the load
_DATA = {
    "l_1": 1.0, "l_2": 0.8, "m_1": 3.0, "m_2": 1.0, "k_1": 400.0, "k_2": 200.0, "J_1": 0.5, "J_2": 0.2, "g": 9.81,
    "x_c": 0.9, "y_c": 0.5, "radius": 0.3, "omega": 2.0, "m_3": 0.5, "k_3": 50.0, "d_3": 1.0,
}  # fmt: skip


@checked
def elastic_robot(*, load: bool = True, t_end: float = 2.0) -> Problem:
    """Two links, two motors behind springs, and a hand on a given circle: index 5, with an exact solution.

    Link angles `q_1`, `q_2` (the second relative to the first), motor angles `th_1`, `th_2`, their rates, and the
    torques `tau_1`, `tau_2`:

        M(q) q'' + c(q, q') + K (q − th) = force of the load
        J th'' + K (th − q) = tau
        0 = hand(q) − path(t)

    The path differentiated twice gives q'', so the springs' torques and th; twice more, th'' and so tau. With
    ``load=True`` a mass on a spring and a damper hangs below the hand, at height `z`: two degrees of freedom that the
    path leaves. Without it nothing is left to integrate.

    The circle and so the motion of the load are known functions of time; all else is computed from their derivatives.
    """
    names = ["q_1", "q_2", "w_1", "w_2", "th_1", "th_2", "om_1", "om_2", *(["z", "v_z"] if load else [])]
    model = QuasiLinearDAE(
        name="elastic_robot" if load else "elastic_robot_bare",
        drawing=planar.elastic_robot(load=load),
        x=[*names, "tau_1", "tau_2"],
        parameters=dict(_DATA),
        leading=lambda s: _leading(s, load),
        rhs=lambda s: _rhs(s, load),
    )
    return Problem(
        name="elastic_robot",
        title="Robot with elastic joints on a given path",
        model=model,
        x0=exact_robot(0.0, load),
        t_end=t_end,
        reference=Reference(
            t=t_end, x=exact_robot(t_end, load), source="exact: derivatives of the path", accuracy=1e-12
        ),
    )


def _mass(s, cosine):
    """Point masses at elbow and hand, in the angles q_1 and q_2."""
    hand = s.m_2 * s.l_2**2
    mixed = hand + s.m_2 * s.l_1 * s.l_2 * cosine
    return [[(s.m_1 + s.m_2) * s.l_1**2 + 2 * mixed - hand, mixed], [mixed, hand]]


def _leading(s, load: bool):
    n = 12 if load else 10
    E = np.zeros((n, n), dtype=object)
    E[0, 0] = E[1, 1] = E[4, 4] = E[5, 5] = 1.0
    E[2:4, 2:4] = _mass(s, np.cos(s.q_2))
    E[6, 6], E[7, 7] = s.J_1, s.J_2
    if load:
        E[8, 8], E[9, 9] = 1.0, s.m_3
    return E


def _rhs(s, load: bool):
    first, both = s.q_1, s.q_1 + s.q_2
    turn = s.m_2 * s.l_1 * s.l_2 * np.sin(s.q_2)
    x = s.l_1 * np.cos(first) + s.l_2 * np.cos(both)
    y = s.l_1 * np.sin(first) + s.l_2 * np.sin(both)
    y_1, y_2 = x, s.l_2 * np.cos(both)  # of y by q_1 and q_2
    pull = _pull(s, y, y_1 * s.w_1 + y_2 * s.w_2) if load else 0.0
    spring_1, spring_2 = s.k_1 * (s.th_1 - s.q_1), s.k_2 * (s.th_2 - s.q_2)
    rows = [
        s.w_1,
        s.w_2,
        spring_1
        + turn * s.w_2 * (2 * s.w_1 + s.w_2)
        - s.m_1 * s.g * s.l_1 * np.cos(first)
        - (s.m_2 * s.g + pull) * y_1,
        spring_2 - turn * s.w_1**2 - (s.m_2 * s.g + pull) * y_2,
        s.om_1,
        s.om_2,
        s.tau_1 - spring_1,
        s.tau_2 - spring_2,
        *([s.v_z, pull - s.m_3 * s.g] if load else []),
        x - s.x_c - s.radius * np.cos(s.omega * s.t),
        y - s.y_c - s.radius * np.sin(s.omega * s.t),
    ]
    return rows


def _pull(s, y, y_dot):
    """Of the load on the hand, downwards; the spring's length is part of z."""
    return s.k_3 * (y - s.z) + s.d_3 * (y_dot - s.v_z)


# -- the exact solution --------------------------------------------------------------------------------------------


def exact_robot(t: float, load: bool) -> np.ndarray:
    """Unknowns at time t, by differentiating what is known as functions of time."""
    d, time = SimpleNamespace(**_DATA), ca.SX.sym("t")

    def rate(expression: ca.SX) -> ca.SX:
        return ca.jacobian(expression, time)

    x, y = d.x_c + d.radius * ca.cos(d.omega * time), d.y_c + d.radius * ca.sin(d.omega * time)
    q_2 = -ca.acos((x**2 + y**2 - d.l_1**2 - d.l_2**2) / (2 * d.l_1 * d.l_2))  # the elbow is above
    q_1 = ca.atan2(y, x) - ca.atan2(d.l_2 * ca.sin(q_2), d.l_1 + d.l_2 * ca.cos(q_2))
    w_1, w_2 = rate(q_1), rate(q_2)
    z = _hanging(d, time)
    pull = d.m_3 * (rate(rate(z)) + d.g) if load else 0.0
    mass = _mass(d, ca.cos(q_2))
    turn = d.m_2 * d.l_1 * d.l_2 * ca.sin(q_2)
    lever = d.l_2 * ca.cos(q_1 + q_2)
    weight = d.m_2 * d.g + pull
    torque_1 = mass[0][0] * rate(w_1) + mass[0][1] * rate(w_2) - turn * w_2 * (2 * w_1 + w_2)
    torque_1 += d.m_1 * d.g * d.l_1 * ca.cos(q_1) + weight * x
    torque_2 = mass[1][0] * rate(w_1) + mass[1][1] * rate(w_2) + turn * w_1**2 + weight * lever
    th_1, th_2 = q_1 + torque_1 / d.k_1, q_2 + torque_2 / d.k_2
    om_1, om_2 = rate(th_1), rate(th_2)
    tau_1, tau_2 = d.J_1 * rate(om_1) + torque_1, d.J_2 * rate(om_2) + torque_2
    below = (z, rate(z)) if load else ()
    unknowns = ca.vertcat(q_1, q_2, w_1, w_2, th_1, th_2, om_1, om_2, *below, tau_1, tau_2)
    return np.array(ca.Function("exact", [time], [unknowns])(t)).ravel()


def _hanging(d: SimpleNamespace, time: ca.SX) -> ca.SX:
    """Height of the load: what the circle makes of it, and an oscillation of 5 cm that dies out."""
    answer = d.radius * (d.k_3 + 1j * d.d_3 * d.omega) / (d.k_3 - d.m_3 * d.omega**2 + 1j * d.d_3 * d.omega)
    decay = d.d_3 / (2 * d.m_3)
    own = np.sqrt(d.k_3 / d.m_3 - decay**2)
    forced = answer.real * ca.sin(d.omega * time) + answer.imag * ca.cos(d.omega * time)
    return d.y_c - d.m_3 * d.g / d.k_3 + forced + 0.05 * ca.exp(-decay * time) * ca.cos(own * time)
