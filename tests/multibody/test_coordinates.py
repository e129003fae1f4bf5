"""Absolute, joint and mixed coordinates give the same motions, with several methods, of open and closed mechanisms."""

import numpy as np
import pytest
from builders import (
    PLANAR,
    bodies_of,
    inverse,
    load,
    pose,
    random_body,
    random_coordinates,
    random_joint,
    random_tree,
    start_from,
    times,
    world_poses,
)

import dalembert as da

METHODS = {
    "radau5": da.Radau5(), "geoms": da.Geoms(), "hem5": da.Hem5(), "mexx": da.Mexx(), "dassl": da.Dassl(),
}  # fmt: skip


def final(mb, model, poses, method, t_end=0.4, tolerance=1e-8):
    """Positions and velocities of all bodies at the end of a run from rest."""
    p0 = start_from(mb, model, poses)
    sol = da.simulate(model, (0, t_end), p0=p0, method=method, rtol=tolerance, atol=tolerance)
    quantities = ("position", "velocity", "angular_velocity")
    return np.concatenate([np.ravel(sol[f"{body.name}.{what}"][-1]) for body in mb.bodies for what in quantities])


def models(mb, rng):
    """In all coordinates; mixed ones for the bodies that the design chooses, and for some at random."""
    chosen = [body.name for body in mb.bodies if rng.random() < 0.5] or [mb.bodies[0].name]
    yield "joint", mb.equations("joint")
    yield "absolute", mb.equations("absolute")
    yield "mixed", mb.equations("mixed")
    yield f"mixed {chosen}", mb.equations("mixed", absolute=chosen)


def compare(mb, poses, seed, method, tolerance):
    rng = np.random.default_rng(seed)
    (_, first), *others = models(mb, rng)
    reference = final(mb, first, poses, da.Radau5(), tolerance=1e-10)
    assert np.isfinite(reference).all()
    scale = 1 + np.abs(reference).max()
    for name, model in [("joint", first), *others]:
        found = final(mb, model, poses, method)
        assert np.abs(found - reference).max() <= tolerance * scale, name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("planar", [True, False])
def test_open_mechanisms(planar, method):
    seed = 20 + list(METHODS).index(method)
    mb = random_tree(seed, planar=planar, bodies=3 if planar else 2)
    poses = world_poses(mb, random_coordinates(mb, np.random.default_rng(seed)))
    compare(mb, poses, seed, METHODS[method], 1e-4 if method == "dassl" else 1e-5)


def closed(seed, planar, closing):
    """A tree that one more joint closes where the tree's coordinates have certain values."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic") if planar else ("universal", "spherical", "cylindrical", "revolute")
    mb = da.Multibody(planar=planar)
    last = mb.ground
    for k in range(4 if planar else 2 + (closing != "spherical")):
        body = random_body(mb, rng, f"body {k}")
        kind = "revolute" if planar and k != 1 else kinds[int(rng.integers(len(kinds)))]
        kind = kind if planar or k else "spherical"
        random_joint(mb, rng, kind, f"joint {k}", *((last, body) if rng.random() < 0.5 else (body, last)))
        last = body
    poses = world_poses(mb, random_coordinates(mb, rng))
    start = times(poses[last.number], pose(last.frame(at=rng.uniform(-1, 1, 2 if planar else 3))))
    frame = times(inverse(poses[last.number]), start)
    dim = 2 if planar else 3
    if planar:
        angle = float(np.arctan2(start[0][1, 0], start[0][0, 0]))
        options = {"rotation": angle}
    else:
        options = {"rotation": start[0], "axis": "x" if closing == "universal" else "z"}
        if closing == "universal":
            options["second_axis"] = "y"
        if closing in ("spherical", "plane"):
            del options["axis"]
    getattr(mb, closing)("closing", mb.ground, last, at=start[1][:dim], to=frame[1][:dim], **options)
    load(mb, rng)
    return mb, poses


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("planar", "closing"), [(True, "revolute"), (True, "pin_in_slot"), (False, "spherical")])
def test_closed_mechanisms(planar, closing, method):
    seed = 40 + list(METHODS).index(method)
    mb, poses = closed(seed, planar, closing)
    compare(mb, poses, seed, METHODS[method], 1e-4 if method == "dassl" else 1e-5)


@pytest.mark.parametrize("closing", ["universal", "plane", "cylindrical", "revolute"])
def test_loops_closed_by_other_joints(closing):
    mb, poses = closed(57, False, closing)
    model = mb.equations("joint")
    if len(model.names("v")) <= len(model.names("lam")):
        pytest.skip("this one cannot move")
    compare(mb, poses, 57, da.Radau5(), 1e-5)


def test_massless_bodies_ride_on_joints_in_all_coordinates():
    # a pendulum on a massless rod that hangs on another: only the bob has mass
    for planar in (True, False):
        mb = da.Multibody(planar=planar)
        down, still = ((0, -1), {"inertia": 0.2}) if planar else ((0, 0, -1), {"inertia": (0.2, 0.2, 0.2)})
        rod = mb.body("rod")
        bob = mb.body("bob", 1.0, **still)
        axis = {} if planar else {"axis": "x"}
        mb.revolute("top", mb.ground, rod, **axis)
        mb.revolute("low", rod, bob, at=down, to=np.multiply(down, -0.5), **axis)
        one = np.eye(3)
        low = np.array([*np.multiply(down, 1.5), 0.0][:3])
        poses = {-1: (one, np.zeros(3)), 0: (one, np.zeros(3)), 1: (one, low)}
        turn = 0.4
        for number, R in ((0, turn), (1, turn)):
            c, s = np.cos(R), np.sin(R)
            Q = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) if planar else np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
            poses[number] = (Q, Q @ poses[number][1])
        results = [final(mb, mb.equations(name), poses, da.Radau5()) for name in ("joint", "absolute", "mixed")]
        for other in results[1:]:
            assert other == pytest.approx(results[0], abs=1e-6)


def test_all_planar_kinds_appear():
    assert {joint.kind.name for seed in range(8) for joint in random_tree(seed, planar=True, forces=False).joints} >= {
        kind.replace("_", " ").replace("plane", "planar") for kind in PLANAR
    }
    assert len(bodies_of(random_tree(0))) == 4
