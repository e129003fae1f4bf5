"""Railway carriage and passenger car: physics of the force elements, equilibria, stability, references."""

import casadi as ca
import numpy as np
import pytest
from index1 import Index1, mixed_error
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import problems
from dalembert.errors import OptionError
from dalembert.problems.rigid_bodies import Body, join


@pytest.fixture(scope="module")
def carriage():
    return problems.railway_carriage()


def body(p, v):
    return Body(p[:3], v[:3], yaw=p[5], roll=p[3], pitch=p[4], rates=(v[3], v[4], v[5]))


def test_points_of_a_body_move_as_their_velocity_says():
    rng = np.random.default_rng(1)
    p, v, place, h = rng.normal(size=6), rng.normal(size=6), rng.normal(size=3), 1e-5
    ahead, behind = (body(p + step * v, v).point(place)[0] for step in (h, -h))
    assert body(p, v).point(place)[1] == pytest.approx((ahead - behind) / (2 * h), abs=1e-8)
    assert np.abs(body(p, v).rotation @ body(p, v).rotation.T - np.eye(3)).max() < 1e-14


def test_a_spring_has_a_potential_and_a_damper_takes_energy():
    rng = np.random.default_rng(2)
    p, v = rng.normal(size=12), rng.normal(size=12)
    place, seat, k, d = rng.normal(size=3), rng.normal(size=3), np.array([3.0, 5.0, 7.0]), np.array([0.4, 0.7, 0.2])

    def forces(p, v, stiffness, damping):
        upper, lower = body(p[:6], v[:6]), body(p[6:], v[6:])
        join(upper, place, lower, seat, stiffness, damping)
        return np.concatenate([upper.force, upper.turning(), lower.force, lower.turning()])

    def energy(p):
        upper, lower = body(p[:6], 0 * v[:6]), body(p[6:], 0 * v[6:])
        seen = lower.rotation.T @ (upper.point(place)[0] - lower.position) - seat
        return 0.5 * k @ seen**2

    h = 1e-6
    gradient = [(energy(p + h * e) - energy(p - h * e)) / (2 * h) for e in np.eye(12)]
    assert forces(p, 0 * v, k, 0 * d) == pytest.approx(-np.array(gradient), abs=1e-7)
    assert forces(p, v, 0 * k, d) @ v < 0


def test_carriage_has_the_dimensions_and_the_structure_of_the_source(carriage):
    """41 coordinates, 8 constraints; grouped differences need less than half of the evaluations of dense ones."""
    graph, hidden = carriage.model.graph, da.hidden_constraints(carriage.model)
    p, v, lam = (graph.symbol[kind] for kind in ("p", "v", "lam"))
    eta = ca.SX.sym("eta", 8)
    assert (p.numel(), v.numel(), lam.numel()) == (41, 41, 8)
    G = hidden.G
    residual = ca.vertcat(v - ca.mtimes(G.T, eta), graph.value("force") - ca.mtimes(G.T, lam), hidden.g_I, hidden.g)
    rates = ca.diagcat(ca.DM.eye(82), ca.DM(16, 16)).sparsity()  # p' and M v', M is diagonal
    pattern = ca.sparsify(ca.jacobian(residual, ca.vertcat(p, v, lam, eta))).sparsity() + rates
    assert pattern.shape == (98, 98)
    assert pattern.nnz() < 1620
    assert pattern.uni_coloring().size2() <= 46
    force = ca.sparsify(ca.jacobian(graph.value("force"), ca.vertcat(p, v))).sparsity()
    names = carriage.model.names("p")
    car, axles = names.index("car_y"), [i for i, name in enumerate(names) if "axle" in name]
    assert not any(force.has_nz(car, column) for i in axles for column in (i, 41 + i))


def test_carriage_starts_in_equilibrium_with_its_weight_on_the_wheels(carriage):
    oracle = Index1(carriage)
    assert max(oracle.residuals(0.0, oracle.y0).values()) == 0.0
    accelerations, loads = oracle.accelerations(0.0, oracle.y0)
    assert np.abs(accelerations).max() < 1e-12
    weight = (32000 + 2 * 2615 + 4 * 1813) * 9.81
    assert loads == pytest.approx(np.full(8, weight / 8), rel=1e-12)
    assert carriage.model.untraceable == {}


@pytest.mark.parametrize("speed", [5.0, 20.0, 60.0])
def test_carriage_is_stable(speed):
    """Beside 16 zeros of the constraints and those of four rotations, all eigenvalues lie well to the left."""
    oracle, h = Index1(problems.railway_carriage(speed=speed)), 1e-6
    columns = [(oracle.rhs(0.0, h * e) - oracle.rhs(0.0, -h * e)) / (2 * h) for e in np.eye(82)]
    growth = np.sort(np.linalg.eigvals(np.array(columns).T).real)[::-1]
    assert np.abs(growth[:20]).max() < 0.01
    assert growth[20] < -0.35


def test_carriage_references_are_consistent(carriage):
    oracle = Index1(carriage)
    assert {reference.t for reference in carriage.references} == {8.0, 15.0}
    for reference in carriage.references:
        y = np.concatenate([reference.p, reference.v])
        residuals = oracle.residuals(reference.t, y)
        assert max(residuals.values()) < 1e-14
        _, loads = oracle.accelerations(reference.t, y)
        assert loads == pytest.approx(reference.lam, rel=1e-11)
    assert problems.railway_carriage(speed=25.0).reference is None
    assert problems.railway_carriage(t_end=8.0).reference.t == 8.0


@pytest.mark.parametrize(
    ("method", "tolerance", "allowed"),
    [
        (da.Radau5(), 1e-6, 1e-5),
        (da.Radau5(), 1e-11, 1e-9),
        (da.Radau5(formulation="index2"), 1e-9, 1e-7),
        (da.Geoms(), 1e-8, 1e-6),
        (da.Hem5(), 1e-6, 1e-6),
    ],
)
@pytest.mark.parametrize("t_end", [8.0, 15.0])
def test_carriage_reaches_its_references(method, tolerance, allowed, t_end):
    problem = problems.railway_carriage(t_end=t_end)
    sol = problem.simulate(method=method, rtol=tolerance, atol=tolerance)
    assert problem.error(sol) < allowed
    assert sol.lam[-1] == pytest.approx(problem.reference.lam, rel=10 * allowed)


def test_carriage_moves_as_the_index_1_form_says(carriage):
    """In the middle of the curve; the index-1 form and its integration share nothing with the method."""
    sol = carriage.simulate(method=da.Radau5(), rtol=1e-12, atol=1e-13, t_eval=[0.0, 7.98, 8.0])
    y = np.concatenate([sol.p[1], sol.v[1]])
    run = solve_ivp(Index1(carriage).rhs, (7.98, 8.0), y, method="DOP853", rtol=1e-11, atol=1e-14)
    reference = next(known for known in carriage.references if known.t == 8.0)
    assert mixed_error(run.y[:, -1], np.concatenate([reference.p, reference.v])) < 2e-10


def test_carriage_stays_on_the_rails_and_comes_to_rest_beside(carriage):
    times = np.linspace(0, 15, 301)
    sol = carriage.simulate(rtol=1e-7, atol=1e-9, t_eval=times)
    for axle in ("front1", "front2", "rear1", "rear2"):
        line = np.array([float(carriage.model.inputs[f"line_{axle}"].sx(t)[0]) for t in times])
        aside = np.abs(sol[f"{axle}_axle_y"] - line)
        assert 1e-3 < aside.max() < 6e-3
    assert sol.lam.min() > 40e3
    assert sol.lam.max() < 70e3
    assert np.abs(sol["car_roll"]).max() < 0.02
    late = problems.railway_carriage(t_end=40.0).simulate(rtol=1e-7, atol=1e-9)
    for name in carriage.model.names("p"):
        if not name.endswith("axle_pitch"):  # the way was longer: the wheels have turned more
            assert late[name][-1] == pytest.approx(3.0 if name.endswith("_y") else 0.0, abs=1e-4), name


def test_car_is_stable_and_starts_in_equilibrium():
    problem = problems.passenger_car(amplitude=0.0)
    oracle, h = Index1(problem), 1e-6
    assert np.abs(oracle.rhs(0.0, oracle.y0)[1:]).max() < 1e-11
    columns = [(oracle.rhs(0.0, oracle.y0 + h * e) - oracle.rhs(0.0, oracle.y0 - h * e)) / (2 * h) for e in np.eye(32)]
    growth = np.sort(np.linalg.eigvals(np.array(columns).T).real)[::-1]
    # neutral: place and heading on the road, four rotations, position and velocity of the steering wheel
    assert np.abs(growth[:9]).max() < 1e-5
    assert growth[9] < -1.0


def test_car_leans_outwards_and_keeps_its_wheels_on_the_road():
    problem = problems.passenger_car()
    times = np.linspace(0, 5, 201)
    sol = problem.simulate(rtol=1e-8, atol=1e-8, t_eval=times)
    across = np.gradient(sol["y_dot"], times)
    assert np.corrcoef(across, sol["roll"])[0, 1] > 0.9  # to the left, the left side rises
    assert 3.5 < np.abs(across).max() < 4.5
    assert np.abs(sol["x_dot"] / 25 - 1).max() < 0.02
    light = 1460 * 9.81 * 1.2 / 2.6 / 2  # on a rear wheel, the lighter axle; tyres of 2e5 N/m
    assert 2e5 * max(np.abs(sol[f"{wheel}_z"]).max() for wheel in ("rear_left", "rear_right")) < 0.5 * light


def test_car_is_the_same_to_the_left_and_to_the_right():
    left, right = (problems.passenger_car(amplitude=a).simulate(rtol=1e-9, atol=1e-9) for a in (0.5, -0.5))
    for name, sign in (("x", 1), ("y", -1), ("yaw", -1), ("roll", -1), ("pitch", 1), ("steer", -1)):
        assert left[name][-1] == pytest.approx(sign * right[name][-1], abs=1e-8)
    assert left["front_left_z"][-1] == pytest.approx(right["front_right_z"][-1], abs=1e-8)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (problems.railway_carriage, {"speed": 0.0}),
        (problems.railway_carriage, {"t_end": -1.0}),
        (problems.passenger_car, {"speed": -3.0}),
        (problems.passenger_car, {"amplitude": np.nan}),
        (problems.passenger_car, {"frequency": 0.0}),
    ],
)
def test_bad_arguments(make, options):
    with pytest.raises(OptionError, match=f"{make.__name__}: {next(iter(options))} must be"):
        make(**options)
