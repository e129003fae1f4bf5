"""Drawings as data: checked when they are given, traced when they are wanted, and pickled with their models."""

from __future__ import annotations

import pickle

import pytest

import dalembert as da
from dalembert.draw import Arrow, Body, Dot, Drawing, Fixed, Link, On, Path, Pin, Trace


def model(drawing, **more):
    return da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], parameters={"L": 2.0}, drawing=drawing, **more
    )


def test_the_same_place_is_one_entry():
    points = {"O": (0, 0), "A": ("x", "y")}
    sketch = model(Drawing([Pin("O"), Link("O", "A"), Dot("A"), Trace(("x", "y")), Link((0, 0), "A")], points)).drawing
    _, spans = sketch.traced
    assert len(spans) == 2
    assert [part.noun for part in sketch.layout.parts] == ["pin", "link", "dot", "trace", "link"]
    assert repr(sketch) == "Drawing(1 pin, 2 links, 1 dot, 1 trace)"


def test_nothing_is_traced_before_it_is_wanted():
    def never(s):
        raise AssertionError("somebody looked")

    made = model([Dot(never)])
    assert "traced" not in made.drawing.__dict__
    with pytest.raises(da.ModelError, match="somebody looked"):
        made.drawing.traced  # noqa: B018 - that is what is tried


def test_outputs_can_be_places():
    made = model([Dot("tip"), Dot(("x", "height"))], outputs={"tip": lambda s: [s.x, s.L], "height": lambda s: s.y})
    assert [span.shape for span in made.drawing.traced[1]] == [(2,), (2,)]


def test_pickled_models_take_their_drawing_along():
    made = model([Link((0, 0), lambda s: [s.x * s.L, s.y]), Dot(("x", "y"), 0.1)])
    twin = pickle.loads(pickle.dumps(made))
    sol = da.simulate(twin, (0, 1), p0=[1, 0], v0=[0, 0])
    scene = sol.animate(frames=5).scene
    tip = scene.values(scene.items[0]["b"], 5)
    assert tip[0] == pytest.approx([2.0, 0.0])
    other = da.simulate(twin.replace({"L": 5.0}), (0, 1), p0=[1, 0], v0=[0, 0]).animate(frames=5).scene
    assert other.values(other.items[0]["b"], 5)[0] == pytest.approx([5.0, 0.0])


def test_systems_of_bodies_are_pickled_too():
    mb = da.Multibody(planar=True)
    mb.revolute("hinge", mb.ground, mb.body("arm", 1.0, 0.1, com=(0, -1)), q0=1.0)
    twin = pickle.loads(pickle.dumps(mb.equations()))
    assert repr(twin.drawing) == "Drawing(1 body, 1 link, 1 dot, 1 pin, 1 arrow)"


def test_python_functions_are_called():
    def place(s):
        return [float(s.x), 1.0]  # cannot be traced

    made = model([Dot(place, 0.1), Trace(("x", "y"))])
    sol = da.simulate(made, (0, 1), p0=[1, 0], v0=[0, 0])
    with pytest.warns(da.UntraceableWarning):
        scene = sol.animate(frames=5).scene
    assert scene.values(scene.items[0]["at"], 5)[-1] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    ("drawing", "words"),
    [
        (3, "list of parts"),
        ("x", "list of parts"),
        ([3], "part 1, 3, is none"),
        ([Dot(3)], "dot 1, at: 3 is no place"),
        ([Dot((1, 2, 3, 4))], "is no place"),
        ([Dot((1, None))], "None is neither a number nor a name nor a function"),
        ([Body(("x", "y"), "box")], "must be a shape"),
        ([Fixed(3)], "must be a shape"),
        ([Link(On("block"), (0, 0)), Body(("x", "y"), da.Box(), name="blok")], "did you mean 'blok'"),
        ([Arrow((0, 0), ("x", "y"), "pull")], "must be one of force, contact, velocity"),
        ([Path([(0, 0), 5])], "point 2: 5 is no place"),
    ],
)
def test_faults_are_told_with_the_model(drawing, words):
    with pytest.raises(da.ModelError, match=words):
        model(drawing)


def test_all_faults_at_once():
    with pytest.raises(da.ModelError) as caught:
        model([Dot(3), Link((0, 0), 4)])
    assert "dot 1" in str(caught.value)
    assert "link 2" in str(caught.value)


@pytest.mark.parametrize("kind", [da.QuasiLinearDAE, da.ImplicitDAE])
def test_daes_have_drawings(kind):
    given = {"rhs": [1.0]} if kind is da.QuasiLinearDAE else {"residual": lambda s: [s.z_dot - 1 + 0 * s.z]}
    made = kind(x=["z"], drawing=[Dot(("z", 0.0), 0.1)], **given)
    assert repr(made.drawing) == "Drawing(1 dot)"
