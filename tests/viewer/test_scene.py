"""Scenes: what is drawn is where the model says it is."""

from __future__ import annotations

import numpy as np
import pytest
from still import EVERY, animated, still

import dalembert as da
from dalembert.draw import Arrow, Body, Columns, Dot, Link, Trace
from dalembert.viewer.sampling import marks, sampled


@pytest.mark.parametrize("name", EVERY)
def test_every_problem_has_a_drawing(name):
    assert EVERY[name]().model.drawing is not None
    scene = animated(name).scene
    low, high = (np.array(corner) for corner in scene.box)
    assert np.isfinite(low).all()
    assert (high >= low).all()
    assert (high - low).max() > 0
    assert scene.items or scene.bodies


@pytest.mark.parametrize("name", ["pendulum", "andrews", "ball_in_ellipse", "bricard", "pendulum_chain", "heavy_top"])
def test_problems_written_as_daes_look_the_same(name):
    problem = EVERY[name]()
    one, other = (still(p).animate().scene for p in (problem, da.problems.naive(problem)))
    assert len(one.items) == len(other.items)
    np.testing.assert_allclose(one.box, other.box, atol=1e-12)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("name", ["andrews_from_bodies", "six_axis_robot"])
def test_bodies_are_where_the_results_say(name, coordinates):
    problem = EVERY[name](coordinates=coordinates)
    sol = still(problem)
    scene = sol.animate().scene
    for number, body in enumerate(problem.multibody.bodies):
        for at in ((0.0, 0.0, 0.0), (0.3, -0.2, 0.1)):
            at = at[: scene.width]
            drawn = scene.values({"b": number, "at": list(at)}, len(sol.t))
            R = sol[f"{body.name}.orientation"]
            told = sol[f"{body.name}.position"] + np.einsum("nij,j->ni", R, at)
            np.testing.assert_allclose(drawn, told, atol=1e-9)


def test_two_ways_to_draw_andrews_agree(solved):
    """The common point of three chains, from angles and from bodies."""
    sol = solved("andrews")
    scene = sol.animate().scene
    trace = next(item for item in scene.items if item["kind"] == "trace")
    drawn = scene.values(trace["at"], len(scene.channels[0].values))
    s, view = sol.model.parameters, sampled(sol, 480)
    expected = [s["xb"] + s["ss"] * np.sin(view["gamma"]), s["yb"] - s["ss"] * np.cos(view["gamma"])]
    np.testing.assert_allclose(drawn, np.stack(expected, -1), atol=2e-6)


def test_parameters_of_bodies_count():
    mb = da.Multibody(planar=True)
    arm = mb.body("arm", 1.0, 0.1, com=(0.5, 0))
    mb.revolute("hinge", (mb.ground.frame((mb.parameter("place", 1.0), 0.0))), arm, q0=0.0)
    model = mb.equations()
    for place in (1.0, 3.0):
        scene = da.simulate(model.replace({"place": place}), (0, 0.1)).animate().scene
        assert scene.values({"b": 0, "at": [0.0, 0.0]}, 2)[0] == pytest.approx([place, 0.0])


def test_impacts_are_kept(solved):
    sol = solved("falling_block")
    view = sampled(sol, 50)
    hit = sol.impacts[0]
    rows = np.flatnonzero(np.abs(view.t - hit.t) < 1e-12)
    assert len(rows) == 2
    before, after = (view.v[k] for k in rows)
    np.testing.assert_allclose(before, hit.v_before, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(after, hit.v_after, rtol=1e-6, atol=1e-9)
    assert {mark.kind for mark in marks(sol)} == {"impact", "rest"}


def test_backwards_and_points_only():
    model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=[0, -1.0], drawing=[Dot(("x", "y"), 0.1)])
    back = da.simulate(model, (1, 0), p0=[0, 0], v0=[1, 0]).animate(frames=20)
    assert (np.diff(back.t) < 0).all()
    points = da.simulate(model, (0, 1), p0=[0, 0], v0=[1, 0], t_eval=np.linspace(0, 1, 7), dense_output=False)
    assert len(points.animate(frames=100).t) == 7


def test_values_that_are_no_numbers_are_held():
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=[0.0])
    sol = da.simulate(model, (0, 1), p0=[-0.5], v0=[1.0])
    scene = sol.animate(drawing=[Dot((lambda s: s.x, lambda s: np.sqrt(s.x)), 0.1)], frames=11).scene
    y = scene.values(scene.items[0]["at"], 11)[:, 1]
    assert np.isfinite(y).all()
    assert y[-1] == pytest.approx(np.sqrt(0.5), rel=1e-6)


def test_mixed_widths_are_spatial():
    model = da.EquationsOfMotion(p=["x", "y", "z"], mass=[1, 1, 1], force=[0, 0, -1.0])
    parts = [Link((0, 0), ("x", "y", "z")), Arrow(("x", "y", "z"), ("x_dot", "y_dot", "z_dot"), "velocity")]
    sol = da.simulate(model, (0, 1), p0=[1, 0, 0], v0=[0, 1, 0])
    scene = sol.animate(drawing=parts).scene
    assert not scene.planar
    assert scene.scales["velocity"] > 0
    assert sol.animate().scene.items  # columns, where there is no drawing


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([Body(("x", "y"), da.Box(), rotation=("x", "y"))], "Euler parameters"),
        ([Dot(lambda s: [s.x])], "two or three entries"),
        ([Dot(("x", "nothing"))], "there is no 'nothing'"),
        ([Trace(lambda s: s.unknown)], "there is no 'unknown'"),
        ([Dot(("x", "y"), 0.1, color="no colour")], "no colour that is known"),
        ([Columns(["x", "nowhere"])], "there is no 'nowhere'"),
    ],
)
def test_wrong_drawings_are_explained(parts, words):
    model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=[0, 0])
    sol = da.simulate(model, (0, 1), p0=[1, 0], v0=[0, 1])
    with pytest.raises(da.ModelError, match=words):
        sol.animate(drawing=parts)
