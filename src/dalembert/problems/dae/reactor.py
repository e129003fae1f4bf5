"""A batch reactor whose temperature is given: the cooling that this takes is an unknown."""

from __future__ import annotations

import numpy as np

from dalembert.draw import Columns
from dalembert.model import QuasiLinearDAE

from ..arguments import checked
from ..problem import Problem, Reference

#: A, B, T, (T_j,) cooling at the end, without and with a jacket
REACTOR: dict[bool, list[float]] = {
    False: [0.00800065285083762, 0.48165343122100657, 340.0, 23.336098447053626],
    True: [0.00800065285083762, 0.48165343122100657, 340.0, 339.06655606211785, 26.813639484325236],
}


@checked
def batch_reactor(*, jacket: bool = False) -> Problem:
    """Two reactions A → B → C in a stirred vessel that follows a given temperature, on [0, 1] h: index 2 or 3.

    Unknowns are the concentrations `A` and `B` (mol/l), the temperature `T` (K), and the `cooling` (K/h) that makes T
    follow 300 + 40 t² (3 - 2t) K. Both reactions give off heat, at rates after Arrhenius' law. T is given, so its
    derivative is, and from this the cooling: index 2. With ``jacket=True`` the heat goes through a jacket of
    temperature `T_j`, and the unknown `cooling` is that of the jacket: index 3.
    """
    model = QuasiLinearDAE(
        name="batch_reactor_jacket" if jacket else "batch_reactor",
        drawing=[
            Columns(
                ["A", "B", lambda s: s["T"] / 300, lambda s: s.cooling / 300], ["A", "B", "T/300", "cooling/300"]
            )
        ],
        x=["A", "B", "T", *(["T_j"] if jacket else []), "cooling"],
        parameters={
            "k_1": 4.0, "k_2": 0.6, "E_1": 5000.0, "E_2": 7000.0, "T_ref": 320.0,  # 1/h at T_ref, K
            "H_1": 30.0, "H_2": 20.0, "transfer": 25.0, "capacity": 0.5,  # K l/mol, 1/h, jacket by vessel
        },
        leading=[1.0] * (4 if jacket else 3) + [0.0],
        rhs=lambda s: _balances(s, jacket),
    )  # fmt: skip
    reference = Reference(
        t=1.0,
        x=REACTOR[jacket],
        source="computed by us: with the given temperature two differential equations are left, Taylor series of 30 "
        "digits (benchmarks/dae_references.py)",
        accuracy=1e-13,
    )
    return Problem(
        name="batch_reactor",
        title="Batch reactor on a given temperature profile",
        model=model,
        x0=reactor_state(0.0, 1.0, 0.0, jacket),
        t_end=1.0,
        reference=reference,
    )


def _rates(s):
    first = s.k_1 * np.exp(s.E_1 * (1 / s.T_ref - 1 / s.T)) * s.A
    second = s.k_2 * np.exp(s.E_2 * (1 / s.T_ref - 1 / s.T)) * s.B
    return first, second


def _balances(s, jacket: bool):
    first, second = _rates(s)
    heat = s.H_1 * first + s.H_2 * second
    follow = s.T - temperature(s.t)
    if not jacket:
        return [-first, first - second, heat - s.cooling, follow]
    flow = s.transfer * (s.T - s.T_j)
    return [-first, first - second, heat - flow, (flow - s.cooling) / s.capacity, follow]


def temperature(t):
    """The profile: from 300 K to 340 K, with slope 0 at both ends."""
    return 300 + 40 * t * t * (3 - 2 * t)


def reactor_state(t: float, A: float, B: float, jacket: bool) -> list[float]:
    """All unknowns at time t when the concentrations are known: the others follow from derivatives of the profile."""
    T, slope, bend = temperature(t), 240 * t * (1 - t), 240 * (1 - 2 * t)
    k_1, k_2 = (k * np.exp(E * (1 / 320.0 - 1 / T)) for k, E in ((4.0, 5000.0), (0.6, 7000.0)))
    first, second = k_1 * A, k_2 * B
    flow = 30.0 * first + 20.0 * second - slope
    if not jacket:
        return [A, B, T, flow]
    first_dot = first * (5000.0 / T**2 * slope - k_1)
    second_dot = second * 7000.0 / T**2 * slope + k_2 * (first - second)
    flow_dot = 30.0 * first_dot + 20.0 * second_dot - bend
    return [A, B, T, T - flow / 25.0, flow - 0.5 * (slope - flow_dot / 25.0)]
