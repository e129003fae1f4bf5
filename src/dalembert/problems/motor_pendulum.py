"""A pendulum driven by an electric motor with a saturating iron core."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .drawings import planar
from .problem import Problem, Reference

_REFERENCE = Reference(
    t=5.0,
    p=[-0.33120550712863804113, 0.37457030321110841597],
    v=[-2.4478016883739535856, -2.164414510702162094],
    r=[0.473322779762974596],
    w=[1.0788383716871136963],
    lam=[14.003777210486967937],
    source="computed by us: reduced equations, 80-bit Gragg-Bulirsch-Stoer of order 18, 500 and 1000 steps compared",
    accuracy=1e-14,
)


def motor_pendulum() -> Problem:
    """Pendulum on a motor shaft: a dynamic force element (flux linkage) and an auxiliary equation (current).

    The motor's torque is k·current on the pendulum (x, y). The flux linkage follows
    ``flux' = U(t) - resistance·current - k·ω``; the current is given implicitly by the saturating core,
    ``0 = leakage·current + inductance·knee·tanh(current/knee) - flux``, whose derivative by the current is never below
    `leakage`. The voltage U is a sine that drives the core far into saturation and the pendulum over wide angles.
    So every kind of variable but the contact points and nonholonomic multipliers occurs.

    The reference comes from the reduced equations in angle, rate and current, where the auxiliary equation is
    differentiated: (leakage + inductance / cosh²(current/knee)) current' = flux'.
    """
    model = EquationsOfMotion(
        name="motor_pendulum",
        drawing=planar.motor_pendulum(),
        p=["x", "y"],
        r=["flux"],
        w=["current"],
        parameters={
            "m": 1.0, "L": 0.5, "g": 9.81,
            "k": 1.2, "resistance": 2.0, "leakage": 0.05, "inductance": 0.6, "knee": 0.8,
        },
        inputs={"voltage": voltage},
        mass=lambda s: [s.m, s.m],
        force=lambda s: [
            -s.k * s.current * s.y / s.L**2,
            s.k * s.current * s.x / s.L**2 - s.m * s.g,
        ],
        dynamics=lambda s: [s.voltage - s.resistance * s.current - s.k * (s.x * s.y_dot - s.y * s.x_dot) / s.L**2],
        auxiliary=lambda s: [
            s.leakage * s.current + s.inductance * s.knee * np.tanh(s.current / s.knee) - s.flux
        ],
        holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2],
    )  # fmt: skip
    return Problem(
        name="motor_pendulum",
        title="Pendulum driven by a motor with saturating core",
        model=model,
        p0=[0.0, -0.5],
        v0=[0.0, 0.0],
        r0=[0.0],
        w0=[0.0],
        t_end=5.0,
        reference=_REFERENCE,
    )


def voltage(t):
    """Voltage at the motor's terminals."""
    return 12.0 * np.sin(3.0 * t)
