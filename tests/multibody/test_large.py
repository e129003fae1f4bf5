"""Systems through kernels over flat arrays, against the same systems as graphs."""

import numpy as np
import pytest
from builders import PLANAR, SPATIAL, numbers, random_body, random_joint, random_state

import dalembert as da
from dalembert.model.native import NativeFunction

TIGHT = {"rtol": 1e-9, "atol": 1e-9}


def system(seed, *, planar=False, bodies=6, closed=False):
    """Random joints with all that may act on them, and without parameters, which only graphs take."""
    rng = np.random.default_rng(seed)
    dim = 2 if planar else 3
    mb = da.Multibody(planar=planar, gravity=rng.normal(size=dim) * 5)
    made = [mb.ground]
    kinds = PLANAR if planar else SPATIAL
    for k in range(bodies):
        body = random_body(mb, rng, f"b{k}")
        kind = "fixed" if k and rng.random() < 0.15 else kinds[int(rng.integers(len(kinds)))]
        ends = [made[int(rng.integers(len(made)))], body]
        if kind not in ("spherical", "free") and rng.random() < 0.4:  # these are run through in one direction only
            ends.reverse()
        own = {"damping": 0.3, "stiffness": 2.0, "rest": 0.1} if kind in ("revolute", "prismatic", "screw") else {}
        random_joint(mb, rng, kind, f"j{k}", *ends, **own)
        made.append(body)
    first, last = mb.bodies[0], mb.bodies[-1]
    mb.spring("spring", first.frame(at=rng.normal(size=dim)), mb.ground, 5.0, 0.4, 0.3)
    mb.spring("rubber", last, first.frame(at=rng.normal(size=dim)), lambda x: 3 * x + x**3)
    mb.force("push", last.frame(at=rng.normal(size=dim)), lambda s: np.sin(s.t) * s.velocity + s.gust, local=True)
    mb.input("gust", lambda t: 1 + t)
    mb.drag("drag", first, 0.2, linear=0.1)
    single = [joint for joint in mb.joints if joint.kind.freedoms == 1]
    if single:
        mb.actuator("motor", single[0], 2.0, time_constant=0.1)
        mb.friction("friction", single[-1], 0.3)
    if closed:
        mb.revolute("loop", first, last, cut=True) if planar else mb.spherical("loop", first, last, cut=True)
    return mb


def both(monkeypatch, mb, **options):
    """The model through kernels, and as a graph."""
    models = []
    for limit in (1, 10**9):
        monkeypatch.setattr("dalembert.multibody.large.LARGE", limit)
        models.append(mb.equations(**options))
    force = [model.graph.functions["force"].native for model in models]
    assert isinstance(force[0], NativeFunction)
    assert force[1] is None
    return models


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("formalism", ["explicit", "residual"])
@pytest.mark.parametrize("seed", range(6))
def test_accelerations_are_the_same(monkeypatch, seed, formalism, planar):
    mb = system(seed, planar=planar)
    kernels, graph = both(monkeypatch, mb, formalism=formalism)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        p, v = random_state(graph, rng)
        r = rng.normal(size=len(graph.names("r")))
        roles = ("mass", "force", "kinematics")
        for ours, theirs in zip(
            *(numbers(model, *roles, p=p, v=v, t=0.7, r=r) for model in (kernels, graph)), strict=True
        ):
            assert np.reshape(ours, np.shape(theirs)) == pytest.approx(theirs, abs=1e-10 * max(1, np.abs(theirs).max()))


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_loops_and_mixed_coordinates_are_the_same(monkeypatch, seed, planar):
    mb = system(seed, planar=planar, closed=True)
    options = {"known": False, "redundant": "keep"}
    for more in ({}, {"coordinates": "mixed", "absolute": ["b2"]}):
        kernels, graph = both(monkeypatch, mb, **options, **more)
        p, v = random_state(graph, np.random.default_rng(seed))
        for role in ("mass", "force", "holonomic"):
            ours, theirs = (numbers(model, role, p=p, v=v, t=0.3)[0] for model in (kernels, graph))
            assert ours == pytest.approx(theirs, abs=1e-10 * max(1, np.abs(theirs).max())), role


def hand(fingers=4):
    """A palm that floats, with fingers of three links, springs between their tips, and a driven joint."""
    mb = da.Multibody(gravity=(0, 0, -1))
    palm = mb.body("palm", 2.0, (0.3, 0.3, 0.5), position=(0, 0, 1))
    tips = []
    for k in range(fingers):
        turn = 2 * np.pi * k / fingers
        last, at = palm, (np.cos(turn), np.sin(turn), 0)
        for link in range(3):
            body = mb.body(f"f{k}{link}", 0.5, (0.02, 0.03, 0.03), com=(0.2, 0, 0))
            drive = {"drive": lambda t: 0.3 * np.sin(t)} if k == link == 0 else {"q0": 0.1 * link, "damping": 0.05}
            rotation = {"rotation": (0, 0, turn)} if link == 0 else {}
            mb.revolute(f"j{k}{link}", last, body, axis="y", at=at, **rotation, **drive)
            last, at = body, (0.4, 0, 0)
        tips.append(last)
    for k in range(fingers):
        mb.spring(f"s{k}", tips[k], tips[(k + 1) % fingers], 3.0, 0.2, 0.5)
    return mb


@pytest.mark.parametrize("method", [da.Hem5(), da.Mexx(), da.Radau5(), da.Geoms(), da.Dassl()], ids=str)
def test_runs_are_the_same(monkeypatch, method):
    """With a floating base, prescribed motion and forces of users, for every family of methods."""
    runs = [da.simulate(model, (0, 0.5), method=method, **TIGHT).at(0.5) for model in both(monkeypatch, hand())]
    for name in ("palm.position", "f12.orientation", "j00.torque", "j21.force", "energy.total", "s1.force"):
        scale = max(1.0, np.abs(runs[1][name]).max())
        assert runs[0][name] == pytest.approx(runs[1][name], abs=(1e-4 if "Dassl" in str(method) else 1e-6) * scale), (
            name
        )


def test_large_models_travel():
    import pickle

    model = hand().equations()
    twin = pickle.loads(pickle.dumps(model))
    runs = [da.simulate(one, (0, 0.1)) for one in (model, twin)]
    assert runs[0].p[-1].tolist() == runs[1].p[-1].tolist()
    assert runs[1]["palm.position"][-1] == pytest.approx(runs[0]["palm.position"][-1], abs=1e-14)


def test_parameters_keep_a_system_out_of_kernels(monkeypatch):
    """They would be numbers there, which nobody could change."""
    mb = hand()
    mb.body("load", mass=mb.parameter("m", 1.0), inertia=0.1)
    assert mb.equations().graph.functions["force"].native is None


def test_trees_too_large_for_jacobians_get_a_method_without():
    mb = da.Multibody(planar=True)
    last = mb.ground
    for k in range(2500):
        rod = mb.body(f"rod{k}", 1.0, 1 / 12, com=(0.5, 0))
        mb.revolute(f"hinge{k}", last, rod, at=(1, 0) if k else (0, 0))
        last = rod
    model = mb.equations()
    assert da.simulate(model, (0, 1e-3)).method.startswith("Hem5")
    with pytest.raises(da.ModelError, match="Hem5, Rkf45, Mexx"):
        da.simulate(model, (0, 1e-3), method="radau5")
