"""What collisions are told, and what is wrong with it."""

import numpy as np
import pytest

import dalembert as da
from dalembert.model.collisions import Collisions, Shapes, container

ONE = dict(p_at=[0], v_at=[0], mass=[1.0], inertia=[1.0], shapes=[Shapes("sphere", [0], [[0.5]])])


def test_bounds_hold_the_shapes():
    shapes = [Shapes("box", [0], [[1, 2, 3]]), Shapes("capsule", [0], [[0.5, 2.0]]), Shapes("sphere", [0], [[0.7]])]
    data = Collisions(**{**ONE, "shapes": shapes})
    assert data.bounds() == pytest.approx([np.sqrt(1 + 4 + 9) / 2, 1.5, 0.7])


def test_walls_of_a_container_point_inwards():
    walls = container((0, 0, 0), (1, 2, 3), open_top=False)
    inside = np.array([0.5, 1.0, 1.5])
    assert ((inside - walls.position) * walls.rotation[:, :, 2]).sum(axis=1).min() > 0
    assert np.linalg.det(walls.rotation) == pytest.approx(np.ones(6))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"friction": -0.1}, "friction=-0.1"), ({"restitution": 1.5}, "restitution=1.5"),
        ({"friction": np.nan}, "friction=nan"), ({"restitution": "soft"}, "restitution='soft'"),
        ({"mass": [0.0]}, "must be positive"), ({"mass": [np.nan]}, "mass"), ({"inertia": [-1.0]}, "inertia"),
        ({"inertia": [1.0, 2.0]}, r"shape \(2,\)"), ({"p_at": [0, 1]}, "p_at= has 2"), ({"v_at": [0.5]}, "whole"),
        ({"shapes": [Shapes("sphere", [1], [[0.5]])]}, "no body 1"),
        ({"shapes": [Shapes("sphere", [0], [[-0.5]])]}, "positive"),
        ({"shapes": [Shapes("sphere", [0], [[0.5, 1.0]])]}, "size has the shape"),
        ({"shapes": [Shapes("half-space", [0])]}, "belong to the ground"),
        ({"shapes": [Shapes("torus", [0], [[0.5]])]}, "must be Shapes"), ({"shapes": ["ball"]}, "must be Shapes"),
    ],
)  # fmt: skip
def test_faults_are_named(change, words):
    with pytest.raises(da.ModelError, match=words):
        Collisions(**{**ONE, **change})


def test_collisions_must_fit_the_model():
    with pytest.raises(da.ModelError, match="do not fit"):
        da.EquationsOfMotion(p=["x", "y", "angle"], mass=np.ones(3), force=np.zeros(3), collisions=Collisions(**ONE))
    with pytest.raises(da.ModelError, match="must be Collisions"):
        da.EquationsOfMotion(p=["x"], mass=[1.0], force=[0.0], collisions="all")
