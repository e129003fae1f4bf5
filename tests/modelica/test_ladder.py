"""Models of the Modelica Standard Library, where MODELICAPATH names it, against public reference trajectories.

Values are those of the Modelica Association's reference results (another tool, tolerance 1e-6) at the start, after each
quarter of the time and at the end; they hold within 2e-3 of the largest value of a signal.
"""

import os

import numpy as np
import pytest

import dalembert as da
from dalembert.modelica.library import Library

FOUND = Library().top("Modelica") if os.environ.get("MODELICAPATH") else None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOUND is None, reason="MODELICAPATH names no directory with the Modelica library"),
]

# name: end, {signal: largest value, values at 0, 1/4, 1/2, 3/4 and 1 of the end}
LADDER = {
    "Blocks.Examples.CompareSincExpSine": (
        1, {
            "sinc.y": (1, 1, 0.127324, 3.898172e-17, -0.04244132, -3.898172e-17),
            "expSine1.y": (0.7886852, 0, 0.2865048, 5.026257e-17, -0.02351775, -8.251605e-18),
            "expSine2.y": (1, 1, 1.052602e-16, -0.082085, -2.304075e-17, 0.006737947),
        },
    ),
    "Thermal.HeatTransfer.Examples.TwoMasses": (
        1, {
            "mass1.T": (373.15, 373.15, 358.9761, 348.8204, 341.5436, 336.3296),
            "mass2.T": (309.9704, 273.15, 287.3239, 297.4796, 304.7564, 309.9704),
        },
    ),
    "Electrical.Analog.Examples.SeriesResonance": (
        1, {
            "capacitor1.v": (13.47706, 0, 1.32958, -7.333487, -1.091798, -0.01567449),
            "capacitor2.v": (13.48293, 0, 0.03770653, 4.908494, 0.3588858, -0.3269897),
            "cosineVoltage.phi": (628.3185, 0, 39.26991, 157.0796, 353.4292, 628.3185),
            "inductor1.i": (1.383001, 0, 0.003421153, 0.4590665, 0.03898741, -0.06598454),
            "inductor2.i": (1.381363, 0, -0.06648062, 0.7214291, 0.1482499, 0.002650955),
            "sineVoltage.phi": (628.3185, 0, 39.26991, 157.0796, 353.4292, 628.3185),
        },
    ),
    "Mechanics.Translational.Examples.Accelerate": (
        1, {
            "accelerate.s": (0.5, 0, 0.03125, 0.125, 0.28125, 0.5),
            "accelerate.v": (1, 0, 0.25, 0.5, 0.75, 1),
        },
    ),
    "Blocks.Examples.Modulation": (
        1, {
            "sine.y": (1, 0, -5.586123e-14, 1.964387e-15, -7.075962e-13, -6.781923e-13),
            "sinAM.y": (1.499753, 0, -5.586123e-14, 1.964387e-15, -7.075962e-13, -6.781923e-13),
            "cosAM.y": (1.5, 1, 1, 1, 1, 1),
            "sinFM.y": (1, 0, -0.2629746, -0.001038692, -0.2635263, -0.001106432),
            "cosFM.y": (1, 1, 0.9648028, 0.9999995, 0.9646522, 0.9999994),
        },
    ),
    "Mechanics.Rotational.Examples.First": (
        1, {
            "damper.phi_rel": (0.1648785, 0, -0.04517152, -0.09581282, -0.1390332, -0.1623282),
            "damper.w_rel": (0.4297898, 0, -0.1875817, -0.3720169, -0.1228104, 0.1122186),
            "inertia3.phi": (0.1657854, 0, 0.0436539, 0.09620012, 0.1412266, 0.16286),
            "inertia3.w": (0.5132652, 0, 0.2402011, 0.4719308, 0.1595173, -0.1383324),
        },
    ),
    "Mechanics.Rotational.Examples.RollingWheel": (
        5, {
            "inertia.phi": (21.03455, 0, 2.76199, 8.575249, 14.78765, 21.03455),
            "inertia.w": (4.999445, 0, 4.088771, 4.918375, 4.993247, 4.999445),
        },
    ),
    "Electrical.Analog.Examples.CauerLowPassAnalog": (
        60, {
            "C1.v": (0.5854871, 0, 0.5277215, 0.500649, 0.4975891, 0.4997081),
            "C3.v": (0.5898558, 0, 0.4677266, 0.4884033, 0.5015283, 0.5010999),
            "C5.v": (0.5865505, 0, 0.5324255, 0.5006304, 0.4975881, 0.4997079),
            "L1.i": (0.7092648, 0, 0.4724963, 0.5123007, 0.5037645, 0.4993689),
            "L2.i": (0.7137564, 0, 0.5503017, 0.4813286, 0.4942816, 0.5009587),
        },
    ),
    "Electrical.Analog.Examples.OvervoltageProtection": (
        0.4, {
            "CL.v": (5.557586, 0, 0.0006156157, -0.0006156267, 0.0006155031, -0.0006156776),
        },
    ),
    "Blocks.Examples.PID_Controller": (
        4, {
            "PI.I.y": (0.1861824, -0.1, -0.06999163, -0.1000085, 0.1643762, -0.1000042),
            "inertia1.phi": (1.836345, 0, 0.1219992, 1.000001, 1.720903, 1.836339),
            "inertia1.w": (1.022109, 0, 0.5000112, 0.9999885, 0.3901032, -8.734198e-06),
            "integrator.y": (1, 0, 0.5, 1, 0.07079633, 1.44329e-15),
            "spring.phi_rel": (0.001139743, 0.001, 0.0008000168, 0.0009999825, 0.001133333, 0.0009999651),
            "spring.w_rel": (0.00448927, 0, 3.56636e-07, -3.551421e-07, 4.430285e-10, 4.896051e-07),
        },
    ),
    "Blocks.Examples.InverseModel": (
        1, {
            "firstOrder1.y": (1.9998, 1, 1.571377, 0.4286237, 1.571376, 0.4286236),
            "firstOrder2.y": (1.9998, 1, 1.571377, 0.4286237, 1.571376, 0.4286236),
        },
    ),
    "Blocks.Examples.Filter": (
        0.9, {
            "Bessel.x[1]": (1.099998, 0.1, 0.9751842, 1.097051, 1.09993, 1.099998),
            "Bessel.x[2]": (1.22885, 0.104818, 1.037502, 1.168355, 1.15217, 1.153047),
            "Bessel.x[3]": (1.107539, 0.1, 0.551131, 1.106337, 1.099489, 1.100002),
            "Butterworth.x[1]": (1.099957, 0.1, 0.8921204, 1.087701, 1.099272, 1.099957),
            "Butterworth.x[2]": (0.8857157, 0.05773503, 0.6451262, 0.7427706, 0.6043652, 0.6408139),
            "Butterworth.x[3]": (1.181467, 0.1, 0.3772633, 1.166961, 1.10007, 1.094969),
            "ChebyshevI.x[1]": (1.095468, 0.1, 0.6696838, 1.00568, 1.079326, 1.095468),
            "ChebyshevI.x[2]": (0.6380073, 0.03065073, 0.3910385, 0.5088484, 0.2554397, 0.3721013),
            "ChebyshevI.x[3]": (1.189296, 0.1, 0.2751956, 1.128391, 1.07542, 1.071448),
            "CriticalDamping.x[1]": (1.1, 0.1, 1.054359, 1.099823, 1.099999, 1.1),
            "CriticalDamping.x[2]": (1.1, 0.1, 0.9134735, 1.098299, 1.09999, 1.1),
            "CriticalDamping.x[3]": (1.099999, 0.1, 0.6960099, 1.091715, 1.099921, 1.099999),
        },
    ),
    "Electrical.Analog.Examples.HeatingMOSInverter": (
        5, {
            "Capacitor1.v": (4.998389, 0, 0.07152827, 1.09026, 4.992826, 4.997582),
            "HeatCapacitor1.T": (299.9749, 293.15, 298.0567, 299.4621, 299.8654, 299.9749),
        },
    ),
    "Mechanics.Translational.Examples.ElastoGap": (
        5, {
            "elastoGap1.v_rel": (3.427153, 0, -0.5640926, 1.79059, -1.131288, 0.5375297),
            "elastoGap2.s_rel": (3.36179, 0, 3.34431, 1.316852, 1.867543, 2.707887),
            "springDamper1.v_rel": (5.774816, 0, 1.238275, 0.1997937, 0.003118703, -0.004193237),
            "springDamper2.s_rel": (2.653528, 0, 1.931525, 2.035988, 2.007418, 2.00035),
        },
    ),
    "Mechanics.Rotational.Examples.CoupledClutches": (
        1.5, {
            "J1.phi": (7.486092, 0, 3.186316, 5.138463, 6.390898, 7.486092),
            "J1.w": (10, 10, 6.480452, 3.880317, 3.251802, 3.247035),
            "clutch1.phi_rel": (3.378942, 0, -2.496107, -3.134937, -3.206946, -3.378942),
            "clutch1.w_rel": (10, -10, -2.86771, -0.6613409, -0.7309776, -0.783827),
            "clutch2.phi_rel": (1.396673, 0, -0.6902092, -1.396673, -1.396673, -1.396673),
            "clutch2.w_rel": (3.833674, 0, -3.612742, 6.189602e-16, 6.189602e-16, 6.189602e-16),
            "clutch3.phi_rel": (1.536726, 0, 1.649165e-16, -0.6068537, -1.534153, -1.536726),
            "clutch3.w_rel": (3.540042, 0, 9.078867e-16, -3.218976, -0.2708249, 7.973579e-12),
            "clutch1.mode": (2, -1, -1, -1, -1, 2),
            "clutch1.startBackward": (1, 0, 0, 0, 0, 0),
            "clutch1.startForward": (0, 0, 0, 0, 0, 0),
            "clutch2.mode": (2, 2, 2, 0, 0, 0),
            "clutch2.startBackward": (0, 0, 0, 0, 0, 0),
            "clutch2.startForward": (0, 0, 0, 0, 0, 0),
            "clutch3.mode": (2, 2, 2, 2, -1, 0),
            "clutch3.startBackward": (0, 0, 0, 0, 0, 0),
            "clutch3.startForward": (0, 0, 0, 0, 0, 0),
        },
    ),
    "Mechanics.Rotational.Examples.SimpleGearShift": (
        5, {
            "clutch.phi_rel": (9.515963, 0, -2.156493, -9.515963, -9.515963, -9.515963),
            "clutch.w_rel": (11.31409, 0, -5.732163, 3.026022e-14, 2.948431e-14, 3.026022e-14),
            "engine.phi": (29.07482, 0, 2.156493, 11.70208, 19.60236, 29.07482),
            "engine.w": (11.31409, 0, 5.732163, 5.568171, 7.009458, 8.09003),
            "load.phi": (23.36525, 0, 0.8625971, 5.992502, 13.89278, 23.36525),
            "load.w": (8.09003, 0, 2.292865, 5.568171, 7.009458, 8.09003),
            "brake.mode": (2, 0, 0, 2, 2, 2),
            "brake.startBackward": (0, 0, 0, 0, 0, 0),
            "brake.startForward": (1, 0, 0, 0, 0, 0),
            "clutch.mode": (2, 2, 2, 0, 0, 0),
            "clutch.startBackward": (0, 0, 0, 0, 0, 0),
            "clutch.startForward": (0, 0, 0, 0, 0, 0),
        },
    ),
    "Blocks.Examples.BooleanNetwork1": (
        10, {
            "and1.u[1]": (1, 1, 0, 0, 0, 1),
            "and1.u[2]": (1, 0, 1, 1, 1, 1),
            "and1.u[3]": (1, 1, 1, 0, 1, 1),
            "booleanTable.y": (1, 0, 1, 0, 1, 0),
            "changing.u": (1, 1, 1, 0, 1, 1),
            "nand1.u[1]": (0, 0, 0, 0, 0, 0),
            "nand1.u[2]": (1, 1, 1, 0, 1, 1),
            "onDelay.u": (1, 0, 1, 0, 1, 0),
            "or1.u[1]": (1, 0, 0, 0, 0, 1),
            "or1.u[2]": (1, 1, 1, 0, 1, 1),
            "or2.u[1]": (1, 1, 1, 1, 1, 1),
            "or2.u[2]": (1, 1, 1, 0, 1, 1),
            "rSFlipFlop.pre.u": (1, 0, 1, 1, 1, 0),
            "rising.u": (1, 1, 1, 0, 1, 1),
            "set1.y": (1, 0, 0, 1, 0, 0),
            "triggeredAdd.y": (40, 0, 8, 18, 28, 40),
            "xor1.u[1]": (1, 1, 1, 0, 1, 1),
            "xor1.u[2]": (1, 1, 1, 0, 1, 1),
        },
    ),
}  # fmt: skip


def near(sol: da.Solution, name: str, t: float, width: float) -> tuple[float, float]:
    """The least and the largest value of a signal around a time: it may be that of an event."""
    inside = (sol.t >= t - width) & (sol.t <= t + width)
    around = np.clip(np.linspace(t - width, t + width, 5), sol.t[0], sol.t[-1])
    values = np.concatenate([np.broadcast_to(sol[name], sol.t.shape)[inside], np.ravel(sol.at(around)[name])])
    return values.min(), values.max()


@pytest.mark.parametrize("name", LADDER)
def test_the_ladder(name):
    end, signals = LADDER[name]
    sol = da.simulate(da.modelica.load(f"Modelica.{name}"), (0, end), rtol=1e-6)
    assert sol.t[-1] == end
    for signal, (largest, *values) in signals.items():
        for t, value in zip(np.linspace(0, end, 5), values, strict=True):
            low, high = near(sol, signal, t, 1e-4 * end)
            error = max(low - value, value - high, 0.0)
            assert error <= 2e-3 * max(largest, 1e-12), f"{signal} at t = {t}: {low} … {high}, and not {value}"
