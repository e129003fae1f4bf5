"""Invariants have to hold where a motion begins; methods that impose them must not compute another motion."""

import warnings

import numpy as np
import pytest

import dalembert as da

METHODS = [
    da.Radau5(), da.Geoms(), da.Geoms(invariants="impose"), da.Geoms(invariants="ignore"),
    da.Odassl(level="acceleration"), da.Dassl(), da.Hem5(), da.Mexx(),
]  # fmt: skip
G = 9.81


def pendulum(shift=0.0, traced=True):
    def energy(s):
        if not traced:
            float(s.x)
        return [0.5 * (s.x_dot**2 + s.y_dot**2) + G * s.y - shift]

    return da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -G], holonomic=lambda s: [s.x**2 + s.y**2 - 1], invariant=energy
    )


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("speed", [0.0, 2.0, 4.0])
def test_an_energy_whose_start_value_was_not_subtracted(method, speed):
    """4 m/s: the energy is only 2 % of its terms, and yet it is not zero."""
    v0 = [0.8 * speed, 0.6 * speed]
    energy = 0.5 * speed**2 - G * 0.8
    with pytest.raises(da.InconsistentInitialValues, match=r"invariant 1 is .*Subtract its start value"):
        da.simulate(pendulum(), (0, 1), p0=[0.6, -0.8], v0=v0, method=method)
    if speed == 0 and method == da.Geoms(invariants="impose"):
        return  # at rest no velocity changes the energy: it cannot be imposed on them
    sol = da.simulate(pendulum(energy), (0, 1), p0=[0.6, -0.8], v0=v0, method=method)  # the remedy
    reference = da.simulate(
        da.problems.pendulum(g=G).model, (0, 1), p0=[0.6, -0.8], v0=v0, rtol=1e-10, atol=1e-10, method=da.Radau5()
    )
    np.testing.assert_allclose(sol.p[-1], reference.p[-1], atol=1e-4)
    assert sol.max_residual("invariant") < 1e-3


@pytest.mark.parametrize("traced", [True, False], ids=["traced", "python"])
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_a_rounded_start_value_is_corrected(traced):
    speed = 2.0
    energy = 0.5 * speed**2 - G * 0.8
    start = da.consistent_initial_values(pendulum(energy + 1e-4, traced), p0=[0.6, -0.8], v0=[1.6, 1.2])
    assert 0 < start.correction < 1e-4
    x, y, u, v = *start.p, *start.v
    assert abs(0.5 * (u**2 + v**2) + G * y - energy - 1e-4) < 1e-12
    assert abs(x**2 + y**2 - 1) < 1e-14
    assert abs(x * u + y * v) < 1e-14
    with pytest.raises(da.InconsistentInitialValues, match="invariant 1"):
        da.consistent_initial_values(pendulum(energy + 1e-4, traced), p0=[0.6, -0.8], v0=[1.6, 1.2], mode="check")
    trusted = da.consistent_initial_values(pendulum(energy + 1e-4, traced), p0=[0.6, -0.8], v0=[1.6, 1.2], mode="trust")
    assert trusted.p.tolist() == [0.6, -0.8]


def test_in_equilibrium_rounding_is_no_violation():
    """No direction changes the energy of a pendulum that hangs at rest; cos and its constants leave rounding."""
    model = da.EquationsOfMotion(
        p=["phi"], mass=[1.0], force=lambda s: [-G * np.sin(s.phi)],
        invariant=lambda s: [0.5 * s.phi_dot**2 - G * np.cos(s.phi) / 3 * 3 + G * (1 + 1e-15)],
    )  # fmt: skip
    assert da.consistent_initial_values(model, p0=[0.0]).correction == 0.0
    with pytest.raises(da.InconsistentInitialValues, match=r"invariant 1 is 0\.1"):
        da.consistent_initial_values(pendulum(-G - 0.1), p0=[0, -1])


def top(**more):
    def kinematics(s):
        q0, q1, q2, q3 = s.q0, s.q1, s.q2, s.q3
        return np.array([[-q1, -q2, -q3], [q0, -q3, q2], [q3, q0, -q1], [-q2, q1, q0]]) / 2

    return da.EquationsOfMotion(
        p=["q0", "q1", "q2", "q3"], v=["wx", "wy", "wz"], kinematics=kinematics, mass=[1, 2, 3],
        force=lambda s: [-s.wy * s.wz, 2 * s.wx * s.wz, -s.wx * s.wy], **more,
    )  # fmt: skip


def norm(s):
    return [s.q0**2 + s.q1**2 + s.q2**2 + s.q3**2 - 1]


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms(), da.Hem5()], ids=str)
def test_the_norm_of_a_quaternion_is_corrected_as_constraints_are(method):
    model = top(invariant=norm)
    exact = np.array([0.8, 0.6, 0, 0])
    reference = da.simulate(model, (0, 1), p0=exact, v0=[1, 2, 3], method=method)
    with pytest.warns(da.InitialValuesCorrected, match=r"'q0' changed from 1.6 to 0.8 to satisfy invariant 1"):
        sol = da.simulate(model, (0, 1), p0=2 * exact, v0=[1, 2, 3], method=method)
    np.testing.assert_allclose(sol.p[-1], reference.p[-1], atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        da.simulate(model, (0, 1), p0=1.0001 * exact, v0=[1, 2, 3], method=method)


def test_a_constraint_that_the_kinematics_keep_is_an_invariant():
    with pytest.raises(da.ModelError, match=r"'lam1' restrains no velocity: .*quaternion.*invariant="):
        top(holonomic=norm)
    with pytest.raises(da.ModelError, match="'norm' restrains no velocity"):
        top(holonomic=lambda s: [s.q1, *norm(s)], lam=["plane", "norm"])
    assert top(holonomic=lambda s: [s.q1 - 0.1 * s.q2]).names("lam") == ("lam1",)


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms(), da.Hem5()], ids=str)
def test_an_action_that_changes_what_is_conserved(method):
    """It is told; with a discrete variable for the energy both go together."""
    floor = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -0.5 * s.y_dot})
    ball = {"p": ["y"], "mass": [1.0], "force": [-G]}
    model = da.EquationsOfMotion(**ball, invariant=lambda s: [0.5 * s.y_dot**2 + G * (s.y - 1)])
    with pytest.raises(da.InconsistentInitialValues, match=r"after an event at t = 0.45.*discrete variable") as caught:
        da.simulate(model, (0, 1), p0=[1.0], events=floor, method=method)
    assert caught.value.solution.t[-1] == pytest.approx(np.sqrt(2 / G), abs=1e-6)
    model = da.EquationsOfMotion(**ball, discrete={"E0": G}, invariant=lambda s: [0.5 * s.y_dot**2 + G * s.y - s.E0])
    both = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -0.5 * s.y_dot, "E0": 0.125 * s.y_dot**2})
    sol = da.simulate(model, (0, 0.8), p0=[1.0], events=both, method=method)
    plain = da.simulate(da.EquationsOfMotion(**ball), (0, 0.8), p0=[1.0], events=floor, method=method)
    np.testing.assert_allclose(sol.p[-1], plain.p[-1], atol=1e-6)
