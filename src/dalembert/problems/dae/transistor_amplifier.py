"""An electric circuit of two transistors, eight node voltages: a stiff DAE of index 1 with a singular matrix E."""

from __future__ import annotations

import numpy as np

from dalembert.draw import Columns
from dalembert.model import QuasiLinearDAE

from ..problem import Problem, Reference

_PARAMETERS = {
    "U_b": 6.0, "U_F": 0.026, "alpha": 0.99, "beta": 1e-6,  # supply (V), temperature voltage (V), transistors
    "R0": 1000.0, **{f"R{k}": 9000.0 for k in range(1, 10)},  # Ω
    **{f"C{k}": k * 1e-6 for k in range(1, 6)},  # F
}  # fmt: skip


def transistor_amplifier() -> Problem:
    """Two-stage transistor amplifier [1]_ on [0, 0.2] s: E x' = f(x, t) with eight unknowns and E of rank five.

    Node voltages U1 … U8; the input voltage `U_e` is 0.1 sin(200π t), and U8 is what comes out. The currents balance
    at every node. C1, C3 and C5 join two nodes each, so that E has three pairs of rows that are opposites: their sums
    are the algebraic equations, and no row of E is zero. The exponential functions of the transistors make it stiff.
    The start is exactly consistent: U2 = U3 and U5 = U6 switch both transistors off.

    References
    ----------
    .. [1] F. Mazzia, C. Magherini, "Test set for initial value problem solvers", release 2.4, 2008, problem
       "Transistor amplifier".
    """
    model = QuasiLinearDAE(
        name="transistor_amplifier",
        drawing=[Columns([f"U{k}" for k in range(1, 9)])],
        x=[f"U{k}" for k in range(1, 9)],
        parameters=dict(_PARAMETERS),
        inputs={"U_e": lambda t: 0.1 * np.sin(200 * np.pi * t)},
        leading=_capacitors,
        rhs=_currents,
    )
    reference = Reference(
        t=0.2,
        x=[-0.5562145012262709e-2, 3.006522471903042, 2.849958788608128, 2.926422536206241,
           2.704617865010554, 2.761837778393145, 4.770927631616772, 1.236995868091548],
        source="published: Test set for IVP solvers",
        accuracy=4e-11,
    )  # fmt: skip
    return Problem(
        name="transistor_amplifier",
        title="Two-stage transistor amplifier",
        model=model,
        x0=[0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0],
        t_end=0.2,
        reference=reference,
    )


def _capacitors(s):
    return [
        [-s.C1, s.C1, 0, 0, 0, 0, 0, 0],
        [s.C1, -s.C1, 0, 0, 0, 0, 0, 0],
        [0, 0, -s.C2, 0, 0, 0, 0, 0],
        [0, 0, 0, -s.C3, s.C3, 0, 0, 0],
        [0, 0, 0, s.C3, -s.C3, 0, 0, 0],
        [0, 0, 0, 0, 0, -s.C4, 0, 0],
        [0, 0, 0, 0, 0, 0, -s.C5, s.C5],
        [0, 0, 0, 0, 0, 0, s.C5, -s.C5],
    ]


def _currents(s):
    def through(base, emitter):
        return s.beta * (np.exp((base - emitter) / s.U_F) - 1)

    first, second = through(s.U2, s.U3), through(s.U5, s.U6)
    return [
        (s.U1 - s.U_e) / s.R0,
        s.U2 / s.R1 + (s.U2 - s.U_b) / s.R2 + (1 - s.alpha) * first,
        s.U3 / s.R3 - first,
        (s.U4 - s.U_b) / s.R4 + s.alpha * first,
        s.U5 / s.R5 + (s.U5 - s.U_b) / s.R6 + (1 - s.alpha) * second,
        s.U6 / s.R7 - second,
        (s.U7 - s.U_b) / s.R8 + s.alpha * second,
        s.U8 / s.R9,
    ]
