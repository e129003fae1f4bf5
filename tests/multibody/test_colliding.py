"""`Multibody.collide`: which bodies collide, and what is wrong with them."""

import numpy as np
import pytest

import dalembert as da


def system(n=3, **body):
    mb = da.Multibody()
    given = dict(mass=1.0, inertia=0.1, shape=da.Sphere(0.4)) | body
    for i in range(n):
        mb.body(f"b{i}", position=(float(i), 0.0, 1.0), **given)
    return mb


def test_all_bodies_with_a_shape_collide():
    mb = system()
    mb.body("ghost", mass=1.0, inertia=0.1)
    mb.collide(friction=0.3, inside=((-1, -1, 0), (5, 1, 3)), ground=da.Box((1, 1, 1), position=(9, 0, 0)))
    data = mb.equations("absolute").collisions
    assert data.names == ("b0", "b1", "b2")
    assert len(data.shape_body) == 3 + 1 + 5
    assert data.friction == 0.3


def test_shapes_stand_relative_to_the_centre_of_mass():
    mb = system(1, com=(0.1, 0.2, 0.3), shape=[da.Sphere(0.4, position=(1, 0, 0)), da.Box((1, 1, 1))])
    mb.collide()
    data = mb.equations("absolute").collisions
    assert data.shape_position[0] == pytest.approx([0.9, -0.2, -0.3])
    assert data.shape_position[1] == pytest.approx([-0.1, -0.2, -0.3])


def test_many_free_bodies_take_the_same_way_in_both_sets_of_coordinates():
    ends = []
    for n in (8, 24):  # expressions, and kernels
        mb = system(n, inertia=(0.1, 0.12, 0.15))
        mb.collide(planes=[((0, 0, 0), (0, 0, 1))])
        model = mb.equations("absolute")
        v0 = np.zeros((n, 6))
        v0[:, 3:] = [3.0, 0.1, 0.2]
        sol = da.simulate(model, (0, 1), v0=v0.ravel(), method=da.MoreauJean(h=1e-3))
        ends.append(sol.p[-1].reshape(n, 7)[0])
        exact = da.simulate(
            system(1, inertia=(0.1, 0.12, 0.15)).equations("joint"), (0, 0.3), v0=v0[0], rtol=1e-10, atol=1e-10
        ).at(0.3)  # in free fall
        assert sol.at(0.3).p[:7] == pytest.approx(exact.p, abs=1e-5)
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(planes=[((0, 0, 0), (0, 0, 0))]), "normal of a plane is undefined"), (dict(planes=[1.0]), "pairs"),
        (dict(planes=[((0, 0), (0, 0, 1))]), "3 finite numbers"), (dict(inside=((0, 0, 0), (-1, 1, 1))), "lower one"),
        (dict(inside=3), "two corners"), (dict(ground=da.Cylinder(1, 1)), "the ground has a Cylinder"),
        (dict(ignore=[("b0", "b1")]), "pairs of bodies"), (dict(bodies=["b0"]), "is not a body"),
    ],
)  # fmt: skip
def test_faults_are_named(given, words):
    with pytest.raises(da.ModelError, match=words):
        system().collide(**given)


def test_faults_of_bodies_are_named():
    with pytest.raises(da.ModelError, match="no body has a shape"):
        system(shape=None).collide()
    with pytest.raises(da.ModelError, match="'b0' has a Mesh"):
        system(shape=da.Mesh("a.stl")).collide()
    mb = system(2)
    mb.collide(restitution=2.0)
    with pytest.raises(da.ModelError, match="restitution=2"):
        mb.equations("absolute")
    mb = system(1)
    mb.body("top", mass=1.0, inertia=0.1, shape=da.Sphere(0.1))
    mb.fixed("weld", mb.bodies[0], mb.bodies[1], at=(0, 0, 0.5))
    mb.collide()
    with pytest.raises(da.ModelError, match="coordinates of its own"):
        mb.equations("absolute")
