"""Forces in joints that are fixed, coupled or driven in several coordinates, in different sets of coordinates."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da

TIGHT = {"rtol": 1e-9, "atol": 1e-9}


def arm_with_weld(cut: bool | None) -> da.Multibody:
    """Two links, a load that is welded to the first and hangs on a spring, and the second hinged to the load."""
    mb = da.Multibody()
    first = mb.body("first", 1.0, (0.1, 0.2, 0.25), com=(0.3, 0.1, 0.0))
    load = mb.body("load", 2.0, (0.3, 0.2, 0.4), com=(0.1, 0.0, 0.2))
    pin = mb.body("pin", 0.5, (0.01, 0.02, 0.02), com=(0.0, 0.1, 0.0))
    last = mb.body("last", 1.5, (0.2, 0.1, 0.2), com=(0.2, 0.2, 0.1))
    mb.revolute("shoulder", mb.ground, first, axis=(1, 2, 0), q0=0.3, v0=1.0)
    mb.fixed("weld", first, load, at=(0.5, 0.1, 0.2), rotation=(0.3, -0.2, 0.5), to=(0.1, 0.1, 0.0), cut=cut)
    mb.fixed("second_weld", pin, load, at=(0.1, 0.0, 0.0), to=(0.0, 0.3, 0.1), cut=cut)
    mb.universal("elbow", pin, last, at=(0.0, 0.2, 0.0), q0=(0.4, -0.2), v0=(0.5, 1.5))
    mb.spring("spring", load, mb.ground.frame(at=(1, 1, 1)), stiffness=20.0, length=0.3, damping=0.5)
    return mb


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_welds_transmit_what_cut_joints_transmit(coordinates):
    """The same weld as part of a rigid body, and as a constraint whose multipliers tell the force."""
    merged = da.simulate(arm_with_weld(None).equations(coordinates), (0, 0.5), **TIGHT).at(0.5)
    apart = da.simulate(arm_with_weld(True).equations(coordinates), (0, 0.5), **TIGHT).at(0.5)
    for name in ("weld", "second_weld", "shoulder", "elbow"):
        for part in ("force", "torque"):
            there = apart[f"{name}.{part}"]
            assert np.abs(there).max() > 1e-3
            assert merged[f"{name}.{part}"] == pytest.approx(there, abs=2e-5 * max(1, np.abs(there).max()))


def test_weld_to_the_ground_carries_the_weight():
    mb = da.Multibody()
    table = mb.body("table", 3.0, 1.0, com=(0, 0, 0.5))
    bob = mb.body("bob", 2.0, 0.1)
    mb.fixed("feet", mb.ground, table)
    mb.fixed("glue", table, bob, at=(1, 0, 1))
    drum = mb.body("drum", 1.0, 0.1)
    mb.revolute("spindle", table, drum, at=(0, 0, 1), q0=0.0, v0=3.0)
    state = da.simulate(mb.equations(), (0, 1)).at(1.0)
    assert state["feet.force"] == pytest.approx([0, 0, 6 * 9.81])
    assert state["feet.torque"] == pytest.approx([0, -2 * 9.81, 0], abs=1e-9)
    assert state["glue.force"] == pytest.approx([0, 0, 2 * 9.81])


def geared(cut: bool) -> da.Multibody:
    """Two wheels on a carrier that swings, in mesh."""
    mb = da.Multibody(planar=True)
    carrier, small, large = (mb.body(name, 1.0, 0.2, com=(0.1, 0)) for name in ("carrier", "small", "large"))
    mb.revolute("pivot", mb.ground, carrier, q0=0.4, v0=0.0)
    one = mb.revolute("one", carrier, small, at=(1, 0), q0=0.1, v0=4.0, cut=cut)
    two = mb.revolute("two", carrier, large, at=(3, 0))
    mb.gear("teeth", one, two, teeth=10, other_teeth=25)
    return mb


def test_gears_act_in_joints_that_are_cut():
    """The sum of what acts on the carrier must not depend on where the multiplier of the gear stands."""
    states = [da.simulate(geared(False).equations(kind), (0, 1), **TIGHT).at(1.0) for kind in ("joint", "absolute")]
    for name in ("pivot.force", "pivot.torque", "one.force", "one.torque", "two.torque"):
        assert states[0][name] == pytest.approx(states[1][name], rel=1e-5, abs=1e-5), name
    assert abs(states[0]["one.torque"]) > 1e-2


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_several_coordinates_of_a_joint_are_driven(coordinates):
    mb = da.Multibody()
    a, b, c = (mb.body(name, 1.0, (0.2, 0.3, 0.4), com=(0.1, 0.2, 0.3)) for name in "abc")
    mb.cylindrical("tube", mb.ground, a, axis="x", drive={"angle": lambda t: 2 * t, "distance": lambda t: 0.1 * t**2})
    mb.universal("cross", a, b, at=(1, 0, 0), drive={"angle2": lambda t: 0.3 * t}, v0=(0.7, 0.3), q0=(0.0, 0.0))
    angles = (lambda t: 0.3 * t, lambda t: 0.5 * np.sin(t), lambda t: t**2)
    mb.spherical("ball", b, c, at=(0, 0, 1), drive={"orientation": angles})
    sol = da.simulate(mb.equations(coordinates), (0, 2), **TIGHT)
    for t in (0.7, 2.0):
        state = sol.at(t)
        turned = state["b.orientation"].T @ state["c.orientation"]
        wanted = Rotation.from_euler("xyz", [f(t) for f in angles]).as_matrix()
        assert turned == pytest.approx(wanted, abs=1e-7)
        assert state["a.position"] == pytest.approx([0.1 * t**2, 0, 0], abs=1e-7)
        spun = Rotation.from_matrix(state["a.orientation"]).as_rotvec()
        assert np.exp(1j * spun[0]) == pytest.approx(np.exp(2j * t), abs=1e-7)
        assert state["cross.angle2"] == pytest.approx(0.3 * t, abs=1e-7)


def test_a_rolling_disc_is_driven():
    mb = da.Multibody(planar=True)
    disc = mb.body("disc", 1.0, 0.5)
    mb.rolling_disc("roll", mb.ground, disc, radius=0.5, drive={"angle": lambda t: -(t**2)})
    sol = da.simulate(mb.equations(), (0, 1))
    assert sol["disc.position"][-1] == pytest.approx([0.5, 0.5], abs=1e-6)


@pytest.mark.parametrize(
    ("drive", "words"),
    [
        (np.sin, "several coordinates"),
        ({"angel": np.sin}, "distance, angle"),
        ({"orientation": np.sin}, "distance, angle"),
    ],
)
def test_drives_that_do_not_fit_are_refused(drive, words):
    mb = da.Multibody()
    with pytest.raises(da.ModelError, match=words):
        mb.cylindrical("tube", mb.ground, mb.body("a", 1.0, 1.0), drive=drive)
    assert not mb.joints
    assert not mb.inputs


def test_orientations_need_three_functions():
    mb = da.Multibody()
    with pytest.raises(da.ModelError, match="roll, pitch, yaw"):
        mb.spherical("ball", mb.ground, mb.body("a", 1.0, 1.0), drive={"orientation": np.sin})
    with pytest.raises(da.ModelError, match="fixed"):
        mb.fixed("weld", mb.ground, mb.body("b", 1.0, 1.0), drive=np.sin)
