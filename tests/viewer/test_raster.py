"""Pixels of our own: triangles and balls cover what they should, and what is nearer hides what is behind."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.viewer import raster
from dalembert.viewer.geometry import composed, towards, turned

SIZE = 64
AXES, UP = np.eye(3), np.array([0.0, 1.0, 0.0])
EYE = np.array([0.0, 0.0, 1.0])


def canvas():
    return np.zeros((SIZE, SIZE, 3), np.float32), np.zeros((SIZE, SIZE), np.float32)


def triangle(image, depth, corners, tint, near):
    corners = np.column_stack([corners, np.full(3, near)])[None]
    normals = np.tile(EYE, (1, 3, 1))
    raster.fill_triangles(image, depth, corners, normals, np.array([tint], float), EYE, UP, EYE)


def test_triangles_cover_their_area_once():
    rng = np.random.default_rng(2)
    for _ in range(30):
        corners = rng.uniform(-20, SIZE + 20, (4, 2))
        covered = []
        for part in (corners[[0, 1, 2]], corners[[0, 2, 3]]):
            image, depth = canvas()
            triangle(image, depth, part, (1, 1, 1), 1.0)
            inside = inside_of(part)
            assert (image[..., 0] > 0).sum() == pytest.approx(inside.sum(), abs=3)  # pixels on an edge are rounded
            covered.append(depth > 0)
        assert (covered[0] | covered[1]).sum() >= max(one.sum() for one in covered)


def inside_of(corners):
    y, x = np.mgrid[:SIZE, :SIZE] + 0.5

    def side(p, q):
        return (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])

    sides = np.array([side(corners[k], corners[(k + 1) % 3]) for k in range(3)])
    return (sides >= 0).all(axis=0) | (sides <= 0).all(axis=0)


def test_what_is_nearer_is_seen_whatever_comes_first():
    pictures = []
    near, far = ((0, 0, 1), 2.0), ((1, 0, 0), 1.0)
    for order in ((near, far), (far, near)):
        image, depth = canvas()
        for tint, at in order:
            triangle(image, depth, np.array([(5, 5), (60, 10), (20, 60)]), tint, at)
        pictures.append(image)
    np.testing.assert_array_equal(*pictures)
    seen = pictures[0].max(axis=2) > 0
    assert (pictures[0][seen][:, 2] > pictures[0][seen][:, 0]).all()  # blue over red


def test_balls_are_round_and_stand_out():
    image, depth = canvas()
    balls = np.array([[32.0, 30.0, 0.1, 20.0, 2.0]])
    raster.fill_balls(image, depth, balls, np.array([[1.0, 1.0, 1.0, 1.0]]), AXES, EYE, UP)
    assert (depth > 0).sum() == pytest.approx(np.pi * 20**2, rel=0.01)
    assert depth[30, 32] == pytest.approx(1 / (10 - 2), rel=1e-2)  # its front
    row = np.flatnonzero(depth[30])
    assert (row[0], row[-1]) == (12, 51)
    hidden, behind = canvas()
    behind[:] = 1.0  # everything is covered already
    raster.fill_balls(hidden, behind, balls, np.array([[1.0, 1.0, 1.0, 1.0]]), AXES, EYE, UP)
    assert not hidden.any()


def test_clear_balls_do_not_hide():
    image, depth = canvas()
    ball, tint = np.array([[32.0, 30.0, 0.1, 20.0, 2.0]]), np.array([[1.0, 0.0, 0.0, 0.2]])
    raster.fill_balls(image, depth, ball, tint, AXES, EYE, UP)
    assert not depth.any()
    assert 0.1 < image[30, 32, 0] < 0.5


def test_flat_things_are_laid_on_once():
    image, depth = canvas()
    image[:] = 1.0
    corners = np.array([[(0, 0, 1), (60, 0, 1), (0, 60, 1)], [(0, 0, 1), (60, 0, 1), (0, 60, 1)]], float)
    raster.fill_flat(image, depth, np.zeros_like(depth), corners, np.zeros(3), 0.25)
    assert set(np.unique(image)) == {np.float32(0.75), np.float32(1.0)}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_numbers_that_are_none_draw_nothing_wrong(bad):
    image, depth = canvas()
    corners = np.array([[(0, 0, 1), (bad, 5, 1), (9, bad, 1)]], float)
    normals = np.tile(EYE, (1, 3, 1))
    raster.fill_triangles(image, depth, corners, normals, np.ones((1, 3)), EYE, UP, EYE)
    raster.fill_flat(image, depth, np.zeros_like(depth), corners, np.zeros(3), 0.5)
    raster.fill_balls(image, depth, np.array([[bad, 1.0, 1.0, 3.0, 1.0]]), np.ones((1, 4)), AXES, EYE, UP)
    assert not image.any()


def test_rotations_agree():
    rng = np.random.default_rng(1)
    p, q = (one / np.linalg.norm(one) for one in rng.normal(size=(2, 4)))
    v = rng.normal(size=3)
    np.testing.assert_allclose(turned(composed(p, q), v), turned(p, turned(q, v)), atol=1e-12)
    for direction in (v, -EYE, EYE):
        found = turned(towards(direction), EYE)
        np.testing.assert_allclose(found, direction / np.linalg.norm(direction), atol=1e-12)
