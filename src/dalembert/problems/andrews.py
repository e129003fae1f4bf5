"""Andrews' squeezing mechanism: seven bodies, six loop constraints, one degree of freedom."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .drawings import planar
from .problem import Problem, Reference

_PARAMETERS = {
    # masses in kg, moments of inertia in kg m²
    "m1": 0.04325, "m2": 0.00365, "m3": 0.02373, "m4": 0.00706, "m5": 0.07050, "m6": 0.00706, "m7": 0.05498,
    "I1": 2.194e-6, "I2": 4.410e-7, "I3": 5.255e-6, "I4": 5.667e-7, "I5": 1.169e-5, "I6": 5.667e-7, "I7": 1.912e-5,
    # fixed points A, B and the spring's anchor C, in m
    "xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072,
    # the spring: stiffness in N/m, free length; the driving torque in N m
    "c0": 4530.0, "l0": 0.07785, "torque": 0.033,
    # lengths and centre-of-mass offsets, in m; `uu` is u of the literature
    "d": 0.028, "da": 0.0115, "e": 0.02, "ea": 0.01421, "rr": 0.007, "ra": 0.00092, "ss": 0.035, "sa": 0.01874,
    "sb": 0.01043, "sc": 0.018, "sd": 0.02, "ta": 0.02308, "tb": 0.00916, "uu": 0.04, "ua": 0.01228, "ub": 0.00449,
    "zf": 0.02, "zt": 0.04, "fa": 0.01421,
}  # fmt: skip

_P0 = [
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
]

#: Accelerations at the start, published with the start values.
INITIAL_ACCELERATION = np.array([14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0])

_AT_START = Reference(
    t=0.0,
    p=_P0,
    v=np.zeros(7),
    lam=[98.5668703962410896057654982170, -6.12268834425566265503114393122, 0, 0, 0, 0],
    source="published: IVP test set",
    accuracy=1e-15,
)
_PUBLISHED = Reference(
    t=0.03,
    p=[15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
       0.5347301163226948, 1.048080741042263],
    v=[1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808,
       -19.29337464421385, 0.3231791658026955],
    lam=[199.1753333731910, -29.75531228015052, 23.06654119098399, 31.45271365475927, 22.64249232082739,
         11.61740700019673],
    source="published: IVP test set",
    accuracy=5e-8,
)  # fmt: skip
_OURS = Reference(
    t=0.03,
    p=[15.8107711951537028, -15.7563710584118348, 0.0408222401196449747, -0.534730116342080523, 0.524409965879954096,
       0.534730116342080799, 1.04808074104193838],
    v=[1139.92030225910593, -1424.37929517754005, 11.0329119106174688, 19.2933741050300937, 0.573569914829442144,
       -19.2933741050300916, 0.323179149249085714],
    lam=[199.175348104538528, -29.7553099749708004, 23.0665436116221887, 31.4527252757712426, 22.6424947863943798,
         11.6173923526102947],
    source="computed by us: index-1 form, 80-bit Gragg-Bulirsch-Stoer of order 18, 150 and 300 steps compared",
    accuracy=1e-13,
)  # fmt: skip


def andrews() -> Problem:
    """Andrews' squeezing mechanism on [0, 0.03] s: the standard test of methods for index-3 equations of motion.

    Seven angles, six constraints; a motor of constant torque drives the crank β through about 2.5 turns. Nothing is
    stiff, but the motion is fast and the constraint Jacobian varies strongly.

    The end values published in the IVP test set [1]_ lag behind ours by about 1e-12 s (10 digits of β and θ agree, 7
    of the velocities); two different integrators of ours agree to 11 digits and more. `reference` is ours,
    `references` holds both, and the start values with their multipliers.

    References
    ----------
    .. [1] F. Mazzia, C. Magherini, "Test set for initial value problem solvers", release 2.4, 2008, problem "andrews".
    .. [2] W. Schiehlen (ed.), "Multibody systems handbook", Springer, 1990.
    """
    model = EquationsOfMotion(
        name="andrews",
        drawing=planar.andrews(),
        p=["beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"],
        parameters=dict(_PARAMETERS),
        mass=_mass,
        force=_force,
        holonomic=_loops,
    )
    return Problem(
        name="andrews",
        title="Andrews' squeezing mechanism",
        model=model,
        p0=_P0,
        v0=np.zeros(7),
        t_end=0.03,
        reference=_OURS,
        references=(_OURS, _PUBLISHED, _AT_START),
    )


def _mass(s):
    cos_theta, sin_phi, sin_omega = np.cos(s.theta), np.sin(s.phi), np.sin(s.omega)
    e4, f6 = s.e - s.ea, s.zf - s.fa
    m21 = s.m2 * (s.da**2 - s.da * s.rr * cos_theta) + s.I2
    m11 = s.m1 * s.ra**2 + s.m2 * (s.rr**2 - 2 * s.da * s.rr * cos_theta + s.da**2) + s.I1 + s.I2
    m22 = s.m2 * s.da**2 + s.I2
    m33 = s.m3 * (s.sa**2 + s.sb**2) + s.I3
    m44 = s.m4 * e4**2 + s.I4
    m54 = s.m4 * (e4**2 + s.zt * e4 * sin_phi) + s.I4
    m55 = s.m4 * (s.zt**2 + 2 * s.zt * e4 * sin_phi + e4**2) + s.m5 * (s.ta**2 + s.tb**2) + s.I4 + s.I5
    m66 = s.m6 * f6**2 + s.I6
    m76 = s.m6 * (f6**2 - s.uu * f6 * sin_omega) + s.I6
    m77 = s.m6 * (f6**2 - 2 * s.uu * f6 * sin_omega + s.uu**2) + s.m7 * (s.ua**2 + s.ub**2) + s.I6 + s.I7
    return [
        [m11, m21, 0, 0, 0, 0, 0],
        [m21, m22, 0, 0, 0, 0, 0],
        [0, 0, m33, 0, 0, 0, 0],
        [0, 0, 0, m44, m54, 0, 0],
        [0, 0, 0, m54, m55, 0, 0],
        [0, 0, 0, 0, 0, m66, m76],
        [0, 0, 0, 0, 0, m76, m77],
    ]


def _force(s):
    sin_gamma, cos_gamma = np.sin(s.gamma), np.cos(s.gamma)
    spring_x = s.sd * cos_gamma + s.sc * sin_gamma + s.xb - s.xc
    spring_y = s.sd * sin_gamma - s.sc * cos_gamma + s.yb - s.yc
    length = np.sqrt(spring_x**2 + spring_y**2)
    pull = -s.c0 * (length - s.l0) / length
    coupling2 = s.m2 * s.da * s.rr * np.sin(s.theta)
    coupling4 = s.m4 * s.zt * (s.e - s.ea) * np.cos(s.phi)
    coupling6 = s.m6 * s.uu * (s.zf - s.fa) * np.cos(s.omega)
    return [
        s.torque - coupling2 * s.theta_dot * (s.theta_dot + 2 * s.beta_dot),
        coupling2 * s.beta_dot**2,
        pull * (spring_x * (s.sc * cos_gamma - s.sd * sin_gamma) + spring_y * (s.sd * cos_gamma + s.sc * sin_gamma)),
        coupling4 * s.delta_dot**2,
        -coupling4 * s.phi_dot * (s.phi_dot + 2 * s.delta_dot),
        -coupling6 * s.epsilon_dot**2,
        coupling6 * s.omega_dot * (s.omega_dot + 2 * s.epsilon_dot),
    ]


def _loops(s):
    # Three chains start at the point where crank and rod meet the others, and end at the fixed points B, A, A.
    X = s.rr * np.cos(s.beta) - s.d * np.cos(s.beta + s.theta)
    Y = s.rr * np.sin(s.beta) - s.d * np.sin(s.beta + s.theta)
    return [
        X - s.ss * np.sin(s.gamma) - s.xb,
        Y + s.ss * np.cos(s.gamma) - s.yb,
        X - s.e * np.sin(s.phi + s.delta) - s.zt * np.cos(s.delta) - s.xa,
        Y + s.e * np.cos(s.phi + s.delta) - s.zt * np.sin(s.delta) - s.ya,
        X - s.zf * np.cos(s.omega + s.epsilon) - s.uu * np.sin(s.epsilon) - s.xa,
        Y - s.zf * np.sin(s.omega + s.epsilon) + s.uu * np.cos(s.epsilon) - s.ya,
    ]
