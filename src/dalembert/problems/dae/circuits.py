"""Electric circuits of index 2: a current or a voltage that only derivatives of the equations determine."""

from __future__ import annotations

import numpy as np

from dalembert.draw import Columns
from dalembert.model import QuasiLinearDAE

from ..arguments import check_positive, checked
from ..problem import Problem, Reference


@checked
def miller_integrator(
    *, R: float = 1e4, C: float = 1e-7, C_load: float = 2e-8, R_load: float = 2e3, t_end: float = 0.02
) -> Problem:
    """Integrator with an ideal operational amplifier: index 2, with an exact solution.

    The amplifier keeps its inverting input at 0 V, whatever current that takes. Unknowns are the voltages `u_in` of
    this input and `u_out` of the output, and the current `i_out` out of the amplifier. The input voltage
    0.5 sin(100π t) V goes through `R` to the inverting input, `C` leads from there to the output, and the output feeds
    `C_load` and `R_load`. From 0 = u_in follows u_in' = 0, and only then the current is known.
    """
    check_positive("miller_integrator", R=R, C=C, C_load=C_load, R_load=R_load, t_end=t_end)
    model = QuasiLinearDAE(
        name="miller_integrator",
        drawing=[Columns(["u_in", "u_out", lambda s: 1e3 * s.i_out], ["u_in", "u_out", "1000 i_out"])],
        x=["u_in", "u_out", "i_out"],
        parameters={"R": R, "C": C, "C_load": C_load, "R_load": R_load, "amplitude": 0.5, "omega": 100 * np.pi},
        leading=lambda s: [[s.C, -s.C, 0], [-s.C, s.C + s.C_load, 0], [0, 0, 0]],
        rhs=lambda s: [(s.amplitude * np.sin(s.omega * s.t) - s.u_in) / s.R, s.i_out - s.u_out / s.R_load, s.u_in],
    )

    def exact(t: float) -> list[float]:
        omega, gain = 100 * np.pi, -0.5 / (R * C)
        out, rate = gain * (1 - np.cos(omega * t)) / omega, gain * np.sin(omega * t)
        return [0.0, out, (C + C_load) * rate + out / R_load]

    return Problem(
        name="miller_integrator",
        title="Miller integrator with an ideal operational amplifier",
        model=model,
        x0=exact(0.0),
        t_end=t_end,
        reference=Reference(t=t_end, x=exact(t_end), source="exact", accuracy=1e-14),
    )


@checked
def bridge_rectifier(*, node: bool = False) -> Problem:
    """Bridge of four diodes behind a filter capacitor, on [0, 0.044] s: a loop of a source and a capacitor, index 2.

    The source of 5 sin(100π t) V and the filter capacitor of 1 µF lie between nodes a and b, of voltages `u_a` and
    `u_b`. Two diodes lead to the output `u_plus`, which feeds 10 µF and 1 kΩ, two come from ground; each is shunted by
    100 kΩ, without which the voltages would hardly be determined while no diode conducts. The current `i` of the source
    charges the filter capacitor, so it depends on the derivative of the voltage.

    The second equation is the balance of currents at a and b together. That at b alone, with ``node=True``, has the
    derivatives of the first equation, with opposite signs: the equations are as good, but which equations must be
    differentiated cannot be seen from where the unknowns occur. The sum of the two, without derivatives, tells it.
    """
    model = QuasiLinearDAE(
        name="bridge_rectifier",
        drawing=[Columns(["u_a", "u_b", "u_plus", lambda s: 1e3 * s.i], ["u_a", "u_b", "u_plus", "1000 i"])],
        x=["u_a", "u_b", "u_plus", "i"],
        parameters={
            "C_filter": 1e-6, "C": 1e-5, "R": 1e3, "R_shunt": 1e5, "I_s": 1e-8, "U_T": 0.05,
            "amplitude": 5.0, "omega": 100 * np.pi,
        },
        leading=lambda s: [
            [s.C_filter, -s.C_filter, 0, 0],
            [-s.C_filter, s.C_filter, 0, 0] if node else [0, 0, 0, 0],
            [0, 0, s.C, 0],
            [0, 0, 0, 0],
        ],
        rhs=_at_node_b if node else _at_both_nodes,
    )  # fmt: skip
    reference = Reference(
        t=0.044,
        x=BRIDGE_RECTIFIER,
        source="computed by us: the equation u_a + u_b = u_plus leaves one differential equation, Taylor series of "
        "30 digits (benchmarks/dae_references.py)",
        accuracy=1e-13,
    )
    return Problem(
        name="bridge_rectifier",
        title="Bridge rectifier with a filter capacitor across the source",
        model=model,
        x0=[0.0, 0.0, 0.0, 1e-6 * 5 * 100 * np.pi],
        t_end=0.044,
        reference=reference,
    )


BRIDGE_RECTIFIER = [4.071354956592868, -0.6839276248828987, 3.38742733170997, 0.009253023556127992]


def _diode(s, u):
    return s.I_s * (np.exp(u / s.U_T) - 1) + u / s.R_shunt


def _into(s, u):
    """Current that the diodes give to node a or b, whose voltage is u."""
    return _diode(s, -u) - _diode(s, u - s.u_plus)


def _output(s):
    return _diode(s, s.u_a - s.u_plus) + _diode(s, s.u_b - s.u_plus) - s.u_plus / s.R


def _source(s):
    return s.u_a - s.u_b - s.amplitude * np.sin(s.omega * s.t)


def _at_both_nodes(s):
    return [s.i + _into(s, s.u_a), _into(s, s.u_a) + _into(s, s.u_b), _output(s), _source(s)]


def _at_node_b(s):
    return [s.i + _into(s, s.u_a), -s.i + _into(s, s.u_b), _output(s), _source(s)]


@checked
def current_transformer() -> Problem:
    """Current transformer with a core that saturates, on [0, 0.1] s: a cut set of a source and an inductance, index 2.

    The primary current `i_1` is given, that of a fault: 1 - cos(100π t) with the constant part decaying in 0.05 s. It
    flows through the winding and nothing else, so that the voltage `u_1` is found by differentiating the current. The
    secondary current `i_2` flows through a burden. The flux ψ(i_1 + i_2) = ψ_s tanh(·/i_s) saturates: E depends on x.
    """
    model = QuasiLinearDAE(
        name="current_transformer",
        drawing=[Columns(["i_1", "i_2", "u_1"])],
        x=["i_1", "i_2", "u_1"],
        parameters={
            "L_1": 1e-3, "L_2": 2e-3, "R": 2.0, "flux": 0.02, "i_s": 0.2, "decay": 0.05, "omega": 100 * np.pi,
        },
        leading=_inductances,
        rhs=lambda s: [s.u_1, -s.R * s.i_2, s.i_1 - np.exp(-s.t / s.decay) + np.cos(s.omega * s.t)],
    )  # fmt: skip
    reference = Reference(
        t=0.1,
        x=CURRENT_TRANSFORMER,
        source="computed by us: with the given current one differential equation is left, Taylor series of 30 digits "
        "(benchmarks/dae_references.py)",
        accuracy=1e-13,
    )
    # at t = 0: i_1' = -1/decay, ψ' = flux/i_s, and i_2' follows
    slope, rate = 0.02 / 0.2, -1 / 0.05
    secondary = -slope * rate / (2e-3 + slope)
    return Problem(
        name="current_transformer",
        title="Current transformer with a saturating core",
        model=model,
        x0=[0.0, 0.0, (1e-3 + slope) * rate + slope * secondary],
        t_end=0.1,
        reference=reference,
    )


CURRENT_TRANSFORMER = [-0.8646647167633873, 0.9746990977588589, -1.9067011230312247]


def _inductances(s):
    main = s.flux / s.i_s * (1 - np.tanh((s.i_1 + s.i_2) / s.i_s) ** 2)
    return [[s.L_1 + main, main, 0], [main, s.L_2 + main, 0], [0, 0, 0]]
