"""Problems from bodies: their values in every set of coordinates, and against what was not made from bodies."""

import pickle

import numpy as np
import pytest
from index1 import Index1, mixed_error

import dalembert as da
from dalembert import problems
from dalembert.errors import OptionError
from dalembert.problems.bodies.problem import euler_parameters

COORDINATES = ("joint", "absolute", "mixed")
# name, options, tolerance of the residuals at the start
VARIANTS = [
    ("andrews_from_bodies", {}, 1e-15),
    ("andrews_from_bodies", {"t_end": 0.05}, 1e-15),
    ("truck_from_bodies", {}, 1e-14),
    ("truck_from_bodies", {"version": "unconstrained", "springs": "linear"}, 1e-14),
    ("truck_from_bodies", {"springs": "linear"}, 1e-14),
    ("truck_from_bodies", {"version": "unconstrained"}, 1e-14),
    ("six_axis_robot", {}, 1e-14),
    ("six_axis_robot", {"drive": "motion"}, 1e-14),
    ("spatial_slider_crank", {}, 1e-14),
    ("spatial_slider_crank", {"drive": "none"}, 1e-14),
    ("spatial_slider_crank", {"drive": "none", "energy": True, "t_end": 5.0}, 1e-13),
    ("stewart_platform", {}, 1e-14),
    ("stewart_platform", {"drive": "springs"}, 1e-14),
    ("chain_of_bodies", {}, 1e-14),
    ("chain_of_bodies", {"N": 6, "planar": False, "angle": 1.0}, 1e-14),
    ("pendulum_from_bodies", {}, 1e-15),
    ("pendulum_from_bodies", {"energy": True}, 1e-14),
    ("four_bars_from_bodies", {}, 1e-15),
    ("four_bars_from_bodies", {"n": 5, "energy": True}, 1e-13),
    ("bricard_from_bodies", {}, 1e-15),
]


def make(name, options, coordinates="joint"):
    return problems.catalogue_multibody()[name](coordinates=coordinates, **options)


def test_catalogue_holds_every_function_by_its_name():
    catalogue = problems.catalogue_multibody()
    assert {name for name, _, _ in VARIANTS} == set(catalogue)
    for name, function in catalogue.items():
        problem = function()
        assert getattr(problems, name) is function
        assert problem.name == problem.multibody.name == name
        assert all(body.shape is not None for body in problem.multibody.bodies)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("name", "options", "tolerance"), VARIANTS)
def test_start_and_references_are_consistent(name, options, tolerance, coordinates, monkeypatch):
    # the oracle reads graphs: larger systems would leave their forces and loops to kernels
    monkeypatch.setattr("dalembert.multibody.equations.suits_kernels", lambda system: False)
    problem = make(name, options, coordinates)
    oracle = Index1(problem)
    residuals = oracle.residuals(0.0, oracle.y0)
    assert max(residuals.values()) <= tolerance, residuals
    assert problem.model.untraceable == {}
    for reference in problem.references:
        residuals = oracle.residuals(reference.t, np.concatenate([reference.p, reference.v]))
        scale = 1 + np.max(np.abs(reference.p)) + np.max(np.abs(reference.v))
        assert max(residuals.values()) <= 20 * reference.accuracy * scale, (reference.source, residuals)


# -- motion against the references, with methods of every family -----------------------------------------------------

METHODS = {"hem5": da.Hem5(), "radau5": da.Radau5(), "geoms": da.Geoms()}
# largest error with rtol = atol = 1e-8
RUNS = [
    ("andrews_from_bodies", {}, {"hem5": 2e-8, "radau5": 5e-5, "geoms": 2e-6}),
    ("truck_from_bodies", {"t_end": 3.0}, {"hem5": 1e-9, "radau5": 1e-5, "geoms": 1e-5}),
    ("six_axis_robot", {}, {"hem5": 1e-8, "radau5": 1e-5, "geoms": 1e-5}),
    ("six_axis_robot", {"drive": "motion"}, {"hem5": 1e-12, "radau5": 1e-7, "geoms": 1e-12}),
    ("spatial_slider_crank", {}, {"hem5": 1e-12, "radau5": 1e-7, "geoms": 1e-12}),
    ("spatial_slider_crank", {"drive": "none"}, {"hem5": 1e-7, "radau5": 1e-5, "geoms": 1e-5}),
    ("stewart_platform", {}, {"hem5": 1e-12, "radau5": 1e-9, "geoms": 1e-12}),
    ("stewart_platform", {"drive": "springs", "t_end": 0.5}, {"hem5": 1e-7, "radau5": 1e-5, "geoms": 1e-5}),
    ("chain_of_bodies", {}, {"hem5": 1e-8, "radau5": 1e-5, "geoms": 1e-5}),
    ("pendulum_from_bodies", {}, {"hem5": 1e-7, "radau5": 1e-5, "geoms": 1e-5}),
    ("four_bars_from_bodies", {}, {"hem5": 1e-9, "radau5": 1e-6, "geoms": 1e-7}),
]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("name", "options", "most"), RUNS)
def test_methods_reach_the_reference(name, options, most, coordinates):
    problem = make(name, options, coordinates)
    for method, largest in most.items():
        solution = problem.simulate(method=METHODS[method], rtol=1e-8, atol=1e-8)
        assert problem.error(solution) < largest, method


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("method", [da.Mexx(), da.Dassl(), da.Phem56(), da.Odassl()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(("name", "options"), [(name, options) for name, options, _ in RUNS])
def test_all_methods_run_in_all_coordinates(name, options, method, coordinates):
    problem = make(name, options, coordinates)
    assert problem.error(problem.simulate(method=method, rtol=1e-8, atol=1e-8)) < 1e-3


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("method", [da.Hem5(), da.Radau5(), da.Geoms()], ids=lambda method: type(method).__name__)
def test_bricard_without_its_redundant_constraint(coordinates, method):
    problem = problems.bricard_from_bodies(coordinates, t_end=1.0)
    assert len(problem.model.names("p")) - len(problem.model.names("lam")) == {"joint": 1, "absolute": 6}[coordinates]
    solution = problem.simulate(method=method, rtol=1e-8, atol=1e-8)
    assert problem.error(solution) < 1e-6
    published = [0.2744813192646275, -0.8867079387346727, -0.46233000268737495]
    assert np.abs(solution["rod3.position"][-1] - published).max() < 1e-6


# -- against equations written by hand ---------------------------------------------------------------------------------


def accelerations(problem, t, p, v):
    return Index1(problem).accelerations(t, np.concatenate([p, v]))[0]


def test_andrews_has_the_accelerations_of_the_equations_by_hand():
    by_hand, problem = problems.andrews(), problems.andrews_from_bodies()
    names = [name.split(".")[0] for name in problem.model.names("p")]
    order = [by_hand.model.names("p").index(name) for name in names]
    random = np.random.default_rng(4)
    reference = by_hand.reference
    for _ in range(5):  # constraints hold nowhere near these states: the equations themselves agree
        p, v = reference.p + random.normal(0, 0.1, 7), random.normal(0, 100, 7)
        known = accelerations(by_hand, 0.0, p, v)[order]
        found = accelerations(problem, 0.0, p[order], v[order])
        assert np.abs(found - known).max() < 1e-9 * np.abs(known).max()


@pytest.mark.parametrize("springs", ["pneumatic", "linear"])
def test_truck_has_the_accelerations_of_the_equations_by_hand(springs):
    options = {"version": "unconstrained", "springs": springs}
    by_hand, problem = problems.truck(**options), problems.truck_from_bodies(**options)
    named = dict(zip(
        ("rear_guide.distance", "chassis_guide.distance", "chassis_guide.angle", "front_guide.distance",
         "cabin_guide.distance", "cabin_guide.angle", "loose.x", "loose.y", "loose.angle"), range(9), strict=True,
    ))  # fmt: skip
    order = [named[name] for name in problem.model.names("p")]
    random = np.random.default_rng(5)
    for t in (0.0, 0.3, 1.7):
        p, v = by_hand.p0 + random.normal(0, 0.03, 9), random.normal(0, 0.5, 9)
        known = accelerations(by_hand, t, p, v)[order]
        found = accelerations(problem, t, p[order], v[order])
        assert np.abs(found - known).max() < 1e-10 * np.abs(known).max()


def test_chain_from_bodies_is_the_pendulum_chain():
    by_hand, problem = problems.pendulum_chain(6, "joint", angle=0.7), problems.chain_of_bodies(6, angle=0.7)
    random = np.random.default_rng(6)
    p, v = random.normal(0, 1, 6), random.normal(0, 2, 6)
    known = accelerations(by_hand, 0.0, p, v)
    found = accelerations(problem, 0.0, np.diff(p, prepend=0), np.diff(v, prepend=0))
    assert np.abs(np.cumsum(found) - known).max() < 1e-10 * np.abs(known).max()


def test_andrews_balances_its_energy():
    """Benchmark A03: kinetic and potential energy grow by the work of the motor."""
    problem = problems.andrews_from_bodies("absolute", t_end=0.05)
    solution = problem.simulate(method=da.Hem5(), rtol=1e-10, atol=1e-10, t_eval=np.linspace(0, 0.05, 101))
    assert problem.error(solution) < 1e-6
    work = 0.033 * (solution["K1.angle"] - solution["K1.angle"][0])
    balance = solution["energy.total"] - solution["energy.total"][0] - work
    assert np.abs(balance).max() < 1e-9 * solution["energy.total"].max()


# -- against closed forms and other packages ---------------------------------------------------------------------------


def test_platform_follows_its_path():
    from dalembert.problems.bodies.stewart import PlatformPath

    problem = problems.stewart_platform("mixed")
    solution = problem.simulate(method=da.Hem5(), rtol=1e-8, atol=1e-8, t_eval=[0.0, 0.3, 0.8, 1.0])
    for k, t in enumerate(solution.t):
        x, R = PlatformPath()(t)
        assert np.abs(solution["platform.position"][k] - x).max() < 1e-8
        assert np.abs(solution["platform.orientation"][k] - R).max() < 1e-8


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_slider_follows_the_crank(coordinates):
    problem = problems.spatial_slider_crank(coordinates)
    solution = problem.simulate(method=da.Radau5(), rtol=1e-9, atol=1e-9, t_eval=np.linspace(0, 1, 7))
    y, z = 0.10 - 0.08 * np.sin(6 * solution.t), 0.12 + 0.08 * np.cos(6 * solution.t)
    assert np.abs(solution["slider.position"][:, 0] - np.sqrt(0.09 - y**2 - z**2)).max() < 1e-8
    pin = solution["crank.position"] + solution["crank.orientation"] @ [0, 0, 0.08]
    assert np.abs(pin[:, 1:] - np.stack([y, z], axis=1)).max() < 1e-8


def test_robot_has_the_accelerations_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    from dalembert.problems.bodies.robot import AXES, Path

    kinds = {(1, 0, 0): pin.JointModelRX, (0, 1, 0): pin.JointModelRY, (0, 0, 1): pin.JointModelRZ}
    model, joint = pin.Model(), 0
    for axis in AXES:
        kind = kinds[tuple(int(x) for x in axis.axis)]()
        joint = model.addJoint(joint, kind, pin.SE3(np.eye(3), np.array(axis.at)), axis.link)
        inertia = pin.Inertia(axis.mass, np.array(axis.com), np.diag(axis.inertia))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    problem, data = problems.six_axis_robot(), model.createData()
    random = np.random.default_rng(7)
    for t in (0.0, 0.4):
        q, v = random.normal(0, 1, 6), random.normal(0, 2, 6)
        path = np.array([Path(axis.home, axis.swing, axis.frequency)(t) for axis in AXES])
        tau = np.array([a.stiffness for a in AXES]) * (path - q) - np.array([a.damping for a in AXES]) * v
        assert mixed_error(accelerations(problem, t, q, v), pin.aba(model, data, q, v, tau)) < 1e-11


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_chains_of_many_bodies():
    chain = problems.chain_system(20_000)
    assert len(chain.bodies) == len(chain.joints) == 20_000
    with pytest.raises(OptionError, match="N must be"):
        problems.chain_system(0)


def test_error_takes_euler_parameters_for_the_rotation():
    problem = problems.six_axis_robot("absolute", drive="motion")
    p = np.array(problem.reference.p)
    at = problem.model.names("p").index("forearm.e0")
    p[at : at + 4] *= -1.5
    good = type("Solution", (), {"t": np.array([1.0]), "p": p[None], "v": problem.reference.v[None]})
    assert problem.error(good) < 1e-15
    p[at] += 0.1
    assert problem.error(good) > 0.01


def test_euler_parameters_of_every_rotation():
    from dalembert.multibody.algebra import rotation_vector

    for axis in np.vstack([np.eye(3), np.random.default_rng(8).normal(size=(5, 3))]):
        for angle in (0.0, 1e-8, 1.0, 3.0, np.pi, 4.0, 6.0):
            unit = axis / np.linalg.norm(axis)
            e = euler_parameters(rotation_vector(angle * unit))
            known = np.array([np.cos(angle / 2), *(np.sin(angle / 2) * unit)])
            assert min(np.abs(e - known).max(), np.abs(e + known).max()) < 1e-15


@pytest.mark.parametrize("name", problems.catalogue_multibody())
def test_problems_travel(name):
    problem = problems.catalogue_multibody()[name]()
    there = pickle.loads(pickle.dumps(problem))
    assert there.model.names("p") == problem.model.names("p")
    assert len(there.multibody.joints) == len(problem.multibody.joints)


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, {"coordinates": "polar"}) for name in problems.catalogue_multibody()]
    + [(name, {"t_end": -1.0}) for name in problems.catalogue_multibody()]
    + [
        ("truck_from_bodies", {"version": "half"}),
        ("truck_from_bodies", {"springs": "steel"}),
        ("six_axis_robot", {"drive": "hand"}),
        ("spatial_slider_crank", {"drive": None}),
        ("stewart_platform", {"drive": "wind"}),
        ("four_bars_from_bodies", {"n": 0}),
        ("chain_of_bodies", {"N": 2.5}),
        ("chain_of_bodies", {"m": -1.0}),
    ],
)
def test_unknown_options_are_refused(name, options):
    with pytest.raises(OptionError, match=name):
        problems.catalogue_multibody()[name](**options)
