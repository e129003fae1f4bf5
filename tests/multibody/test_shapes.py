"""Shapes: mass properties against integrals and against each other; what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import dblquad

from dalembert.errors import ModelError
from dalembert.multibody.placement import about, from_quaternion, from_rpy, rotation_matrix, turning
from dalembert.multibody.shapes import Box, Capsule, Cylinder, Line, Mesh, Plate, Sphere


def of_revolution(radius, half_length):
    """Mass, moments about an axis across and about z, of density 1, by integration over radius and z."""
    reach = max(half_length, 0) + radius

    def integral(f):
        def rim(z):
            beyond = max(abs(z) - half_length, 0.0)
            return math.sqrt(max(radius**2 - beyond**2, 0.0))

        return 2 * dblquad(lambda r, z: f(r, z) * 2 * math.pi * r, 0, reach, 0, rim, epsabs=1e-11, epsrel=1e-11)[0]

    return integral(lambda r, z: 1), integral(lambda r, z: r * r / 2 + z * z), integral(lambda r, z: r * r)


@pytest.mark.parametrize("shape", [Sphere(0.7), Capsule(0.7, 1.6), Capsule(0.3, 0.1)])
def test_round_shapes_against_integrals(shape):
    mass, across, along = of_revolution(shape.radius, getattr(shape, "length", 0.0) / 2)
    found = shape.mass_properties(2.0)
    assert found.mass == pytest.approx(2 * mass, rel=1e-8)
    np.testing.assert_allclose(found.inertia, 2 * np.diag([across, across, along]), rtol=1e-7, atol=1e-12)


def prism(corners, bottom, top):
    """A closed mesh over a convex polygon."""
    n = len(corners)
    vertices = [(x, y, z) for z in (bottom, top) for x, y in corners]
    sides = [face for i in range(n) for j in [(i + 1) % n] for face in ((i, j, n + j), (i, n + j, n + i))]
    caps = [face for i in range(1, n - 1) for face in ((0, i + 1, i), (n, n + i, n + i + 1))]
    return {"vertices": vertices, "faces": sides + caps}


PLACE = {"position": (0.3, -1.0, 2.0), "rotation": (0.4, -0.2, 0.9)}


def assert_alike(one, other, rtol=1e-12):
    for a, b in zip(one.mass_properties(3.0), other.mass_properties(3.0), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def test_boxes_and_plates_are_meshes():
    a, b, c = 0.5, 1.5, 0.25
    corners = [(-a / 2, -b / 2), (a / 2, -b / 2), (a / 2, b / 2), (-a / 2, b / 2)]
    mesh = Mesh(**prism(corners, -c / 2, c / 2), **PLACE)
    assert_alike(Box((a, b, c), **PLACE), mesh)
    assert_alike(Plate(corners, c, **PLACE), mesh)
    assert_alike(Plate(corners[::-1], c, **PLACE), mesh)
    assert_alike(Box((2 * a, b, c), **PLACE), Mesh(**prism(corners, -c / 2, c / 2), scale=(-2, 1, 1), **PLACE))


def test_a_plate_that_is_not_symmetric():
    corners = [(0.0, 0.0), (2.0, -0.5), (3.0, 1.0), (0.5, 2.0)]
    assert_alike(Plate(corners, 0.4, **PLACE), Mesh(**prism(corners, -0.2, 0.2), **PLACE))
    far = [(x + 1e6, y) for x, y in corners]  # does not lose digits far from the origin
    np.testing.assert_allclose(Plate(far).mass_properties(1.0).inertia, Plate(corners).mass_properties(1.0).inertia)


def test_a_cylinder_is_the_limit_of_prisms():
    angles = 2 * np.pi * np.arange(4000) / 4000
    corners = 0.4 * np.column_stack([np.cos(angles), np.sin(angles)])
    assert_alike(Cylinder(0.4, 1.2, **PLACE), Mesh(**prism(corners.tolist(), -0.6, 0.6), **PLACE), rtol=2e-6)


def test_a_line_is_a_thin_box():
    thin = Box((2.0, 1e-7, 1e-7), position=(1.0, 0, 0)).mass_properties(1e14)
    line = Line([(0, 0), (0.5, 0), (2, 0)]).mass_properties(1.0)
    for a, b in zip(line, thin, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_bent_line_is_its_parts():
    whole = Line([(0, 0, 0), (1, 0, 0), (1, 2, 1)], **PLACE).mass_properties(2.0)
    parts = [Line(p, **PLACE).mass_properties(2.0) for p in ([(0, 0, 0), (1, 0, 0)], [(1, 0, 0), (1, 2, 1)])]
    com = sum(part.mass * part.com for part in parts) / whole.mass
    offsets = [part.com - com for part in parts]
    steiner = [part.mass * (d @ d * np.eye(3) - np.outer(d, d)) for part, d in zip(parts, offsets, strict=True)]
    np.testing.assert_allclose(whole.com, com)
    np.testing.assert_allclose(whole.inertia, sum(p.inertia + s for p, s in zip(parts, steiner, strict=True)))


@given(st.floats(0, 10), st.floats(0, 10), st.tuples(*[st.floats(-10, 10)] * 3), st.sampled_from([Cylinder, Capsule]))
def test_inertias_are_those_of_bodies(radius, length, turn, kind):
    mass, com, inertia = kind(radius, length, rotation=turn, position=turn).mass_properties(7.0)
    moments = np.linalg.eigvalsh(inertia)
    assert mass >= 0
    least = np.finfo(float).tiny  # numbers below have few digits
    assert moments[0] >= -1e-12 * moments[2] - least
    assert moments[2] <= (moments[0] + moments[1]) * (1 + 1e-12) + least
    assert (inertia == inertia.T).all()
    np.testing.assert_allclose(com, turn)


def test_planar_places_and_colors():
    plate = Plate([(0, 0), (1, 0), (0, 1)], position=(1, 2), rotation=math.pi / 2, color=(1, 0, 0.5))
    assert plate.position.tolist() == [1, 2, 0]
    np.testing.assert_allclose(plate.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    assert plate.color == (1.0, 0.0, 0.5)
    np.testing.assert_allclose(plate.mass_properties(2.0).com, [1 - 1 / 3, 2 + 1 / 3, 0])
    for color in ("red", "tab:blue", "C3", "#1f77b4", "0.5", (0, 0, 0, 1), None):
        assert Box(color=color).color == color


def test_shapes_cannot_be_changed():
    box = Box((1, 2, 3))
    with pytest.raises(AttributeError):
        box.size = (1, 1, 1)
    with pytest.raises(ValueError, match="read-only"):
        box.size[0] = 5


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Box((1, -1, 1)), "size.*negative"),
        (lambda: Box((1, 1)), "size.*three"),
        (lambda: Box("large"), "size"),
        (lambda: Box((1, math.nan, 1)), "finite"),
        (lambda: Box(None), "size"),
        (lambda: Sphere(-1), "radius.*negative"),
        (lambda: Sphere("1"), "radius.*not a number"),
        (lambda: Sphere(math.inf), "finite"),
        (lambda: Sphere(True), "radius"),
        (lambda: Cylinder(1, 1j), "length"),
        (lambda: Capsule(1, math.nan), "length"),
        (lambda: Plate([(0, 0), (1, 1)]), "3 points"),
        (lambda: Plate([(0, 0, 0)] * 3), "2 numbers"),
        (lambda: Plate([(0, 0), (1, 0), (1, math.inf)]), "finite"),
        (lambda: Plate("abc"), "outline"),
        (lambda: Line([(0, 0)]), "2 points"),
        (lambda: Line([(0, 0), (1,)]), "different lengths"),
        (lambda: Mesh(), "file="),
        (lambda: Mesh("a.stl", vertices=[(0, 0, 0)], faces=[(0, 0, 0)]), "either"),
        (lambda: Mesh(""), "name of a file"),
        (lambda: Mesh(5), "name of a file"),
        (lambda: Mesh("a.stl", (1, 2)), "scale|three"),
        (lambda: Mesh("a.stl", "big"), "scale"),
        (lambda: Mesh(vertices=[(0, 0, 0)], faces=[(0, 0, 1)]), "whole numbers from 0 to 0"),
        (lambda: Mesh(vertices=[(0, 0, 0)], faces=[(0, 0, 0.5)]), "whole numbers"),
        (lambda: Box(color="no colour!"), "colour"),
        (lambda: Box(color=(1, 2, 3)), "colour"),
        (lambda: Box(color=5), "colour"),
        (lambda: Box(position=(1, 2, 3, 4)), "position.*three"),
        (lambda: Box(position=None), "position"),
        (lambda: Box(rotation=np.diag([1, 1, -1])), "reflection"),
        (lambda: Box(rotation=np.ones((3, 3))), "not orthogonal"),
        (lambda: Box(rotation=[1, 2]), "no rotation"),
        (lambda: Box(rotation="x"), "rotation"),
        (lambda: Box(rotation=[[1, 2], [3]]), "rotation"),
        (lambda: Box(rotation=math.nan), "finite"),
        (lambda: Box(rotation=np.full((3, 3), 1e200)), "not orthogonal"),
        (lambda: Box().mass_properties(-1), "density"),
        (lambda: Box().mass_properties("heavy"), "density"),
        (lambda: Box((1e200, 1e200, 1e200)).mass_properties(1.0), "too large"),
        (lambda: Sphere(1e200).mass_properties(1.0), "too large"),
        (lambda: Mesh("a.stl").mass_properties(1.0), "drawing only"),
        (lambda: Mesh(**prism([(0, 0), (0, 1), (1, 0)], 0, 1)).mass_properties(1.0), "counterclockwise"),
    ],
)
def test_what_is_refused(make, what):
    with pytest.raises(ModelError, match=what):
        make()


# -- rotations -------------------------------------------------------------------------------------------------------

angles = st.floats(-7, 7)
vectors = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: math.hypot(*v) > 1e-3).map(np.array)


@given(angles, angles, angles)
def test_roll_pitch_yaw_is_three_turns(roll, pitch, yaw):
    x, y, z = np.eye(3)
    np.testing.assert_allclose(
        from_rpy(roll, pitch, yaw), about(yaw * z) @ about(pitch * y) @ about(roll * x), atol=1e-14
    )


@given(vectors, angles)
def test_rotations_agree(axis, angle):
    axis = axis / np.linalg.norm(axis)
    matrix = about(angle * axis)
    np.testing.assert_allclose(
        from_quaternion(*(3 * math.sin(angle / 2) * axis), 3 * math.cos(angle / 2)), matrix, atol=1e-13
    )
    np.testing.assert_allclose(rotation_matrix(matrix, "R"), matrix)
    np.testing.assert_allclose(matrix @ axis, axis, atol=1e-14)
    assert np.trace(matrix) == pytest.approx(1 + 2 * math.cos(angle))


@given(vectors, vectors)
def test_the_shortest_turn(start, end):
    start, end = start / np.linalg.norm(start), end / np.linalg.norm(end)
    for a, b in ((start, end), (start, -start), (start, start)):
        matrix = turning(a, b)
        np.testing.assert_allclose(matrix @ a, b, atol=1e-13)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-13)
        assert np.linalg.det(matrix) == pytest.approx(1)
