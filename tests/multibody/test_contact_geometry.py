"""Gaps of all pairs of shapes against distances found by other means, at random poses."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import dalembert as da
from dalembert.errors import ModelError
from dalembert.multibody.features import tangents
from dalembert.multibody.pairing import contacts_between
from dalembert.multibody.placement import about
from dalembert.multibody.scene import Motion

ALONG_X = (0.0, math.pi / 2, 0.0)
TRIANGLE = da.Plate([(0.0, -0.3), (1.1, 0.2), (-0.2, 0.7)], position=(0.1, 0.2), rotation=0.4)
PENTAGON = da.Plate([(math.cos(a), 0.7 * math.sin(a)) for a in 2 * np.pi * np.arange(5) / 5][::-1])  # clockwise

#: corners in the body's frame, and radius
PLANAR = {
    "point": (da.Point(position=(0.2, -0.1)), [(0.2, -0.1, 0)], 0.0),
    "disc": (da.Sphere(0.3, position=(0.1, 0.0)), [(0.1, 0, 0)], 0.3),
    "wheel": (da.Cylinder(0.4, 0.1), [(0, 0, 0)], 0.4),
    "capsule": (da.Capsule(0.2, 1.0, rotation=ALONG_X), [(-0.5, 0, 0), (0.5, 0, 0)], 0.2),
    "capsule across": (da.Capsule(0.2, 1.0), [(0, 0, 0)], 0.2),
    "box": (da.Box((1.0, 0.6, 0.1), position=(0, 0.1)), [(x, y, 0) for x in (-0.5, 0.5) for y in (-0.2, 0.4)], 0.0),
    "triangle": (TRIANGLE, [TRIANGLE.position + TRIANGLE.rotation @ (*x, 0.0) for x in TRIANGLE.outline], 0.0),
    "pentagon": (PENTAGON, [(*x, 0.0) for x in PENTAGON.outline], 0.0),
    "segment": (da.Line([(-1, 0.1), (0.5, 0.2)]), [(-1, 0.1, 0), (0.5, 0.2, 0)], 0.0),
}  # fmt: skip
SPATIAL = {
    "point": (da.Point(position=(0.2, -0.1, 0.3)), [(0.2, -0.1, 0.3)], 0.0),
    "ball": (da.Sphere(0.3, position=(0.1, 0.0, -0.2)), [(0.1, 0, -0.2)], 0.3),
    "capsule": (da.Capsule(0.2, 1.4), [(0, 0, -0.7), (0, 0, 0.7)], 0.2),
    "turned capsule": (da.Capsule(0.1, 0.8, rotation=ALONG_X), [(-0.4, 0, 0), (0.4, 0, 0)], 0.1),
    "wire": (da.Line([(0, 0, 0), (0.5, 0.4, -1)]), [(0, 0, 0), (0.5, 0.4, -1)], 0.0),
    "box": (
        da.Box((1.0, 0.6, 0.4), rotation=(0.3, 0.2, -0.5)),
        [about(np.array([0.3, 0.2, -0.5])) @ x for x in itertools.product((-0.5, 0.5), (-0.3, 0.3), (-0.2, 0.2))],
        0.0,
    ),
    "plate": (
        da.Plate([(0, 0), (1, 0), (0, 1)], 0.2),
        [(*x, z) for x in ((0, 0), (1, 0), (0, 1)) for z in (-0.1, 0.1)],
        0.0,
    ),
}  # fmt: skip


def refused(a, b, planar):
    """Pairs of which contacts are not known, or undefined."""
    thin = SHAPES[planar][a][2] == SHAPES[planar][b][2] == 0.0
    if planar:
        polygons = {"box", "triangle", "pentagon"}
        return thin and not ({a, b} <= polygons | {"point"} and {a, b} & polygons)
    if thin and {a, b} != {"point", "box"}:
        return True
    return "plate" in (a, b) or ("box" in (a, b) and not {"ball", "point"} & {a, b})


SHAPES = {True: PLANAR, False: SPATIAL}
PAIRS = {
    planar: [(a, b) for a, b in itertools.product(SHAPES[planar], repeat=2) if not refused(a, b, planar)]
    for planar in (True, False)
}

EVERY_PAIR = st.sampled_from([(planar, *pair) for planar, pairs in PAIRS.items() for pair in pairs])
coordinate = st.floats(-2.5, 2.5)
poses = st.tuples(*[coordinate] * 6)
velocities = st.tuples(*[st.floats(-2, 2)] * 6)


def motion(pose, velocity=(0,) * 6, planar=False, after=0.0):
    """A body at a pose, having moved with a velocity for some time; it turns about its origin."""
    x, turn = np.array(pose[:3]), np.array(pose[3:])
    v, w = np.array(velocity[:3], float), np.array(velocity[3:], float)
    if planar:
        x, turn, v, w = x * (1, 1, 0), turn * (0, 0, 1), v * (1, 1, 0), w * (0, 0, 1)
    R = about(w * after) @ about(turn)
    return Motion(tuple((x + after * v).tolist()), tuple(map(tuple, R.tolist())), float(turn[2]), tuple(v), tuple(w), 0)


def in_world(corners, at):
    return np.array(at.x) + np.array(corners, float) @ np.array(at.R).T


def hull_distance(A, B):
    """Of the convex hulls of two sets of points, as a problem of least squares with weights that add to one."""
    weight = 1e4
    M = np.vstack([
        np.hstack([A.T, -B.T]),
        weight * np.hstack([np.ones(len(A)), np.zeros(len(B))]),
        weight * np.hstack([np.zeros(len(A)), np.ones(len(B))]),
    ])  # fmt: skip
    alpha, _ = nnls(M, np.array([0, 0, 0, weight, weight]))
    a, b = alpha[: len(A)], alpha[len(A) :]
    return float(np.linalg.norm(a / a.sum() @ A - b / b.sum() @ B))


def touches(planar, a, b, A, B):
    return [
        feature.touch(A, B) for feature in contacts_between(SHAPES[planar][a][0], SHAPES[planar][b][0], planar=planar)
    ]


# -- distances -----------------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(EVERY_PAIR, poses, poses)
def test_the_smallest_gap_is_the_distance_of_the_shapes(pair, pose, other):
    planar, a, b = pair
    A, B = (motion(one, planar=planar) for one in (pose, other))
    distance = hull_distance(in_world(SHAPES[planar][a][1], A), in_world(SHAPES[planar][b][1], B))
    assume(distance > 1e-6)  # hulls that overlap have no distance
    expected = distance - SHAPES[planar][a][2] - SHAPES[planar][b][2]
    assert min(touch.gap for touch in touches(planar, a, b, A, B)) == pytest.approx(expected, abs=3e-7)


@pytest.mark.parametrize("planar", [True, False])
@settings(max_examples=10, deadline=None)
@given(pose=poses, other=poses)
def test_planes_and_cavities(planar, pose, other):
    A, B = motion(pose, planar=planar), motion(other, planar=planar)
    plane = da.Plane((3, -4), position=(0.5, 0.2)) if planar else da.Plane((2, -1, 2), position=(0, 0.3, 0.1))
    cavity = da.HollowSphere(3.0, position=(0.5, 0.0))
    normal = np.array(B.R) @ (np.array([0.6, -0.8, 0]) if planar else np.array([2, -1, 2]) / 3)
    for shape, corners, radius in SHAPES[planar].values():
        x = in_world(corners, A)
        heights = (x - in_world([plane.position], B)) @ normal - radius
        gaps = [f.touch(A, B).gap for f in contacts_between(shape, plane, planar=planar)]
        assert sorted(gaps) == pytest.approx(sorted(heights), abs=1e-12)
        depths = 3.0 - np.linalg.norm(x - in_world([cavity.position], B), axis=1) - radius
        gaps = [f.touch(A, B).gap for f in contacts_between(shape, cavity, planar=planar)]
        assert sorted(gaps) == pytest.approx(sorted(depths), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.floats(-0.6, 0.6), st.floats(-0.4, 0.5))
def test_inside_of_a_polygon_the_gap_is_the_distance_to_its_boundary(x, y):
    box = PLANAR["box"][0]
    (feature,) = contacts_between(da.Point(), box, planar=True)
    gap = feature.touch(motion((x, y, 0, 0, 0, 0), planar=True), motion((0,) * 6, planar=True)).gap
    inside = min(0.5 - abs(x), 0.3 - abs(y - 0.1))
    outside = math.hypot(max(abs(x) - 0.5, 0), max(abs(y - 0.1) - 0.3, 0))
    assert gap == pytest.approx(-inside if inside > 0 else outside, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.tuples(st.floats(-0.7, 0.7), st.floats(-0.5, 0.5), st.floats(-0.4, 0.4)))
def test_inside_of_a_box_the_gap_is_the_distance_to_its_boundary(x):
    (feature,) = contacts_between(da.Point(), da.Box((1.0, 0.6, 0.4)))
    gap = feature.touch(motion((*x, 0, 0, 0)), motion((0,) * 6)).gap
    beyond = np.abs(x) - (0.5, 0.3, 0.2)
    expected = beyond.max() if beyond.max() < 0 else np.linalg.norm(np.maximum(beyond, 0))
    assert gap == pytest.approx(expected, abs=1e-7)


def test_crossing_capsules_touch_in_their_middle():
    A, B = motion((0, 0, 0.5, 0, 0, 0)), motion((0, 0, 0, 0, 0, 0))
    log, across = da.Capsule(0.2, 2.0, rotation=ALONG_X), da.Capsule(0.2, 2.0, rotation=(math.pi / 2, 0, 0))
    touched = [f.touch(A, B) for f in contacts_between(log, across)]
    nearest = min(touched, key=lambda touch: touch.gap)
    assert nearest.gap == pytest.approx(0.1)
    assert nearest.first == pytest.approx((0, 0, 0.3))
    assert sum(touch.gap < 0.2 for touch in touched) == 1


def test_parallel_capsules_touch_at_their_ends():
    A, B = motion((0.3, 0, 0.4, 0, 0, 0)), motion((0, 0, 0, 0, 0, 0))
    log = da.Capsule(0.2, 2.0, rotation=ALONG_X)
    gaps = sorted(f.touch(A, B).gap for f in contacts_between(log, log))
    assert gaps[:2] == pytest.approx([0, 0], abs=1e-12)
    assert gaps[2] > 0.05


def test_corners_on_corners_have_the_normal_of_the_edge_between_them():
    """Two equal boxes, one upon the other: rounding errors must not turn the normals to the side."""
    box = da.Box((1.0, 1.0, 1.0))
    features = contacts_between(box, box, planar=True)
    rng = np.random.default_rng(5)
    for size in (0.0, 1e-16, 1e-12, 1e-9):
        for _ in range(20):
            dx, dy, turn = size * rng.standard_normal(3)
            A, B = motion((dx, 1.0 + dy, 0, 0, 0, turn), planar=True), motion((0,) * 6, planar=True)
            closed = [touch for touch in (f.touch(A, B) for f in features) if abs(touch.gap) < 1e-7]
            assert len(closed) == 4
            for touch in closed:
                assert touch.normal == pytest.approx((0, 1, 0), abs=1e-7)


# -- derivatives ---------------------------------------------------------------------------------------------------


OTHERS = {
    True: {"plane": da.Plane((1, 2)), "cavity": da.HollowSphere(4.0)},
    False: {"plane": da.Plane((1, 2, -2)), "cavity": da.HollowSphere(4.0)},
}
WITH_OTHERS = [(planar, *pair) for planar in OTHERS for pair in itertools.product(SHAPES[planar], OTHERS[planar])]


@settings(max_examples=300, deadline=None)
@given(EVERY_PAIR | st.sampled_from(WITH_OTHERS), poses, poses, velocities, velocities)
def test_rates_of_gaps_are_velocities_of_the_nearest_points(pair, pose, other, u, w):
    """The gradient of a gap by differences, along random velocities of both bodies; tangents are perpendicular."""
    planar, a, b = pair
    second = OTHERS[planar][b] if b in OTHERS[planar] else SHAPES[planar][b][0]
    A, B = motion(pose, u, planar), motion(other, w, planar)
    h = 1e-6
    for feature in contacts_between(SHAPES[planar][a][0], second, planar=planar):
        now = feature.touch(A, B)
        ahead, behind = (feature.touch(motion(pose, u, planar, s), motion(other, w, planar, s)) for s in (h, -h))
        turned = max(np.abs(np.subtract(one.normal, now.normal)).max() for one in (ahead, behind))
        if turned > 1e-4 or np.linalg.norm(now.normal) < 0.999:
            continue  # a kink, or centres that coincide: the direction changes at once
        apart = np.dot(now.normal, np.subtract(now.first, now.second))
        if now.gap > apart + 1e-12:
            continue  # capsules whose lines cross beyond their ends
        assert now.gap == pytest.approx(apart, abs=1e-9)
        speed = np.dot(now.normal, velocity_at(A, now.first) - velocity_at(B, now.second))
        assert (ahead.gap - behind.gap) / (2 * h) == pytest.approx(speed, abs=2e-4)
        sides = np.array([now.normal, *tangents(now, planar)])
        assert sides @ sides.T == pytest.approx(np.eye(len(sides)), abs=1e-9)


def velocity_at(body, x):
    return np.array(body.v) + np.cross(body.w, np.subtract(x, body.x))


def test_tangents_are_smooth_on_the_sphere_but_for_one_point():
    from dalembert.multibody.features import POLE, Touch

    rng = np.random.default_rng(1)
    for _ in range(100):
        n = rng.standard_normal(3)
        n /= np.linalg.norm(n)
        near = n + 1e-6 * rng.standard_normal(3)
        near /= np.linalg.norm(near)
        if n @ POLE < -0.9:
            continue
        one, two = (np.array(tangents(Touch(0.0, (), (), tuple(x)), False)) for x in (n, near))
        assert np.abs(one - two).max() < 1e-4


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
def test_pairs_without_contacts_are_refused_in_words(planar):
    for a, b in itertools.product(SHAPES[planar], repeat=2):
        if refused(a, b, planar):
            with pytest.raises(ModelError, match=r"no normals where they touch|are not known"):
                contacts_between(SHAPES[planar][a][0], SHAPES[planar][b][0], planar=planar)


@pytest.mark.parametrize(
    ("shape", "planar", "message"),
    [
        (da.Plate([(0, 0), (2, 0), (0.5, 0.5), (0, 2)]), True, r"not convex at \(0.5, 0.5\)"),
        (da.Plate([(0, 0), (1, 1), (1, 0), (0, 1)]), True, "not convex|no area"),
        (da.Plate([(math.cos(a), math.sin(a)) for a in 4 * np.pi * np.arange(5) / 5]), True, "crosses itself"),
        (da.Plate([(0, 0), (1, 0), (2, 0)]), True, "no area"),
        (da.Box((1, 0, 1)), True, "size zero"),
        (da.Box((1, 1, 0)), False, "size zero"),
        (da.Box((1, 1, 1), rotation=(0.3, 0, 0)), True, "out of the plane"),
        (da.Sphere(0.0), True, "radius zero.*da.Point"),
        (da.Capsule(0.0, 1.0), False, "radius zero.*da.Line"),
        (da.Capsule(0.1, 1.0, rotation=(0.5, 0, 0)), True, "neither along the plane nor across"),
        (da.Cylinder(0.1, 1.0), False, "only in planar systems"),
        (da.Cylinder(0.0, 1.0), True, "radius zero"),
        (da.Line([(1, 1), (1, 1)]), True, "length zero"),
        (da.Plane((0, 0, 1)), True, "does not lie in the plane"),
        (da.HollowSphere(0.0), False, "radius zero"),
        (da.Mesh("part.stl"), False, "a Mesh has no contacts; shapes that have are Box, Capsule"),
    ],
)
def test_shapes_without_normals_are_refused(shape, planar, message):
    with pytest.raises(ModelError, match=f"(?s)contact 'c': .*({message})"):
        contacts_between(da.Sphere(0.1), shape, planar=planar, where="contact 'c'")


def test_a_normal_must_have_a_direction():
    with pytest.raises(ModelError, match="Plane: normal is the zero vector"):
        da.Plane((0, 0, 0))


def test_what_does_not_fit_into_a_cavity():
    with pytest.raises(ModelError, match=r"reaches 0.9 .* does not fit into the HollowSphere of radius 0.8"):
        contacts_between(da.Capsule(0.4, 1.0), da.HollowSphere(0.8))


def test_corners_on_straight_edges_are_left_out():
    square = da.Plate([(0, 0), (0.5, 0), (1, 0), (1, 1), (1, 1), (0, 1)])
    assert len(contacts_between(square, da.Plane(), planar=True)) == 4


def test_points_of_a_line_come_once():
    assert len(contacts_between(da.Line([(0, 0, 0), (1, 0, 0), (1, 1, 0)]), da.Plane())) == 3
