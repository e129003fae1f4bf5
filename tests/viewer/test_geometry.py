"""Surfaces enclose the volume of their shapes, with normals outwards; outlines are those of the shapes."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.viewer import geometry
from dalembert.viewer.geometry import hull, outline, quaternion, steady, surface, triangles, turned

SHAPES = [
    da.Box((1, 2, 3)), da.Sphere(0.7), da.Cylinder(0.4, 2.0), da.Capsule(0.3, 1.0),
    da.Plate([(0, 0), (2, 0), (2, 2), (1, 0.5), (0, 2)], 0.2),
    da.Plate([(0, 2), (1, 0.5), (2, 2), (2, 0), (0, 0)], 0.2),  # the other way round
    da.Mesh(vertices=[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], faces=[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_volume_and_normals(shape):
    _, factors, solid = surface(shape)
    corners = (solid.vertices * factors)[solid.faces]
    volume = np.linalg.det(corners).sum() / 6
    assert volume == pytest.approx(shape.mass_properties(1.0).mass, rel=0.03)  # round ones are polyhedra
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = np.einsum("nki,ni->nk", (solid.normals / factors)[solid.faces], outward)
    assert (along[np.linalg.norm(outward, axis=1) > 1e-12] > 0).all()


def test_closed_helpers():
    assert np.linalg.norm(geometry.helix(5).vertices[:, :2], axis=1).max() < 1.2
    cone = geometry.cone()
    assert np.linalg.det(cone.vertices[cone.faces]).sum() / 6 == pytest.approx(np.pi / 3, rel=0.03)


def test_triangles_cover_any_polygon():
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = rng.integers(3, 12)
        angle = np.sort(rng.uniform(0, 2 * np.pi, n))
        star = rng.uniform(0.2, 1.0, n)[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
        if np.diff(angle, append=angle[0] + 2 * np.pi).max() > 3.0:
            continue  # the origin lies outside: it may cross itself
        parts = star[triangles(star)]
        first, second = parts[:, 1] - parts[:, 0], parts[:, 2] - parts[:, 0]
        areas = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / 2
        assert areas.min() > -1e-12
        assert areas.sum() == pytest.approx(geometry._area(star))


def test_quaternions_are_rotations():
    rng = np.random.default_rng(0)
    q = rng.normal(size=(200, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    R = np.stack([turned(q, np.tile(axis, (200, 1))) for axis in np.eye(3)], -1)
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.tile(np.eye(3), (200, 1, 1)), atol=1e-12)
    back = quaternion(R)
    assert np.abs(np.abs((back * q).sum(axis=1)) - 1).max() < 1e-12


def test_signs_do_not_jump():
    angle = np.linspace(0, 20, 300)
    R = np.stack([[[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]] for a in angle])
    assert np.abs(np.diff(steady(quaternion(R)), axis=0)).max() < 0.1


def test_outlines():
    square = outline(da.Box((2, 1, 5), position=(1, 0)))["polygon"]
    assert sorted(map(tuple, square)) == [(0, -0.5), (0, 0.5), (2, -0.5), (2, 0.5)]
    assert outline(da.Sphere(0.5, position=(0, 2))) == {"circle": 0.5, "at": [0, 2]}
    lying = outline(da.Cylinder(0.5, 3.0, rotation=(0, np.pi / 2, 0)))["polygon"]
    assert np.ptp(lying, axis=0) == pytest.approx([3.0, 1.0])
    assert outline(da.Plane((0, 2)))["half"] == [0, 1]
    assert outline(da.Point()) is None
    assert len(hull(np.array([(0.0, 0.0), (1.0, 1.0)]))) == 2
