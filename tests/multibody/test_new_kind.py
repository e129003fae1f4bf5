"""A kind of joint is data: what docs/extend/joint.md says about adding one, done here."""

import numpy as np
import pytest

import dalembert as da
from dalembert.multibody.kinds import KINDS, JointKind, Move

TILT = 0.4


@pytest.fixture
def gimbal(monkeypatch):
    """Three hinges in a row, as one joint."""
    moves = ((Move.REVOLUTE, "z"), (Move.REVOLUTE, "y"), (Move.REVOLUTE, "x"))
    monkeypatch.setitem(KINDS, "gimbal", JointKind("gimbal", moves, ("yaw", "pitch", "roll")))


def top(kind, q0):
    mb = da.Multibody(name="top")
    rotor = mb.body("rotor", mass=1.0, inertia=(0.02, 0.02, 0.01), com=(0, 0, 0.3))
    mb._joint(kind, "neck", mb.ground, rotor, {"q0": q0})
    return mb


def test_a_new_kind_moves_as_its_moves_say(gimbal):
    own = top("gimbal", (0.0, TILT, 0.0))
    ball = top("spherical", (np.cos(TILT / 2), 0.0, np.sin(TILT / 2), 0.0))
    ends = [da.simulate(mb.equations(), (0, 0.3), rtol=1e-9, atol=1e-9).at(0.3) for mb in (own, ball)]
    np.testing.assert_allclose(ends[0]["rotor.com"], ends[1]["rotor.com"], atol=1e-7)
    np.testing.assert_allclose(ends[0]["neck.force"], ends[1]["neck.force"], atol=1e-5)
    assert {"neck.yaw", "neck.pitch", "neck.roll"} <= set(own.equations().names("p"))


def test_a_kind_without_equations_holds_nothing_silently(gimbal):
    """In absolute coordinates, and where it closes a loop, it needs rows."""
    with pytest.raises(NotImplementedError, match=r"closure\.py has no equations of a gimbal joint"):
        top("gimbal", (0.0, TILT, 0.0)).equations("absolute")
