"""Problems with redundant constraints or singular positions, against equations derived here by hand."""

import casadi as ca
import numpy as np
import pytest
from index1 import Index1, mixed_error
from scipy.integrate import solve_ivp

from dalembert import problems
from dalembert.errors import OptionError

G = 9.81
CHAINS = [1, 2, 5, 40]


def dop853(rhs, y0, t_end, rtol=1e-13, **options):
    return solve_ivp(rhs, (0, t_end), y0, method="DOP853", rtol=rtol, atol=1e-14, **options)


def matrices(problem, p, v):
    """M, G, f and -dG/dt v at a point."""
    oracle = Index1(problem)
    M, K, f, gamma = (np.array(x) for x in oracle._first(0.0, np.concatenate([p, v]), problem.model.theta(0.0)))
    return M, K, f.ravel(), gamma.ravel()


def test_registry_is_apart_from_the_catalogue():
    singular = problems.catalogue_singular()
    assert set(singular) == {"four_bar_chain", "bricard"}
    assert not set(singular) & set(problems.catalogue())
    for name, function in singular.items():
        assert getattr(problems, name) is function
        assert function().name == name


@pytest.mark.parametrize(
    "problem", [problems.bricard(), *map(problems.four_bar_chain, CHAINS)], ids=lambda problem: problem.model.name
)
def test_start_and_references_are_consistent(problem):
    oracle = Index1(problem)
    assert max(oracle.residuals(0.0, oracle.y0).values()) == 0.0
    assert problem.model.untraceable == {}
    assert problem.reference.t == problem.t_end
    for reference in problem.references:
        residuals = oracle.residuals(reference.t, np.concatenate([reference.p, reference.v]))
        assert max(residuals.values()) < 1e-13


# --- the pendulum of the benchmark library


def test_iftomm_pendulum():
    problem = problems.iftomm_pendulum()
    assert problem.p0.tolist() == [-1, 0]
    assert problem.v0.tolist() == [0, 0]
    run = dop853(lambda t, y: [y[1], -G * np.sin(y[0])], [-np.pi / 2, 0.0], 10.0)
    angle, rate = run.y[:, -1]
    reference = problem.reference
    assert mixed_error([np.sin(angle), -np.cos(angle)], reference.p) < 1e-11
    assert mixed_error(rate * np.array([np.cos(angle), np.sin(angle)]), reference.v) < 1e-11
    np.testing.assert_allclose(reference.p, [-0.27508746257611686, -0.96141920509912506], rtol=0, atol=1e-14)
    assert np.linalg.norm(reference.v) == pytest.approx(4.343160692864683, abs=1e-13)
    assert 0.5 * reference.v @ reference.v + G * reference.p[1] == pytest.approx(0.0, abs=1e-13)


# --- the chain of four-bar linkages


def parallelogram(n, theta, rate):
    along, across = np.array([np.sin(theta), np.cos(theta)]), np.array([np.cos(theta), -np.sin(theta)])
    pins = np.array([[i, 0.0] for i in range(n + 1)])
    return (pins + along).ravel(), np.tile(rate * across, n + 1), np.tile(across, n + 1), np.tile(-along, n + 1)


def reduced_chain(n):
    factor = G * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    return lambda t, y: [y[1], factor * np.sin(y[0])]


@pytest.mark.parametrize("n", CHAINS)
def test_chain_reduces_to_one_degree_of_freedom(n):
    """Mass and force of the model, taken along the parallelogram, are those of the equation of θ."""
    problem, theta, rate = problems.four_bar_chain(n), 0.8, 2.3
    p, v, tangent, bend = parallelogram(n, theta, rate)
    M, K, f, gamma = matrices(problem, p, v)
    assert tangent @ M @ tangent == pytest.approx((n + 1) / 3 + n, rel=1e-14)
    assert tangent @ M @ bend == pytest.approx(0.0, abs=1e-13)
    assert tangent @ f == pytest.approx(G * ((n + 1) / 2 + n) * np.sin(theta), rel=1e-13)
    np.testing.assert_allclose(K @ tangent, 0, atol=1e-14)
    np.testing.assert_allclose(K @ bend * rate**2, gamma, atol=1e-12)


@pytest.mark.parametrize("n", CHAINS)
def test_chain_reaches_its_reference(n):
    problem = problems.four_bar_chain(n)
    ends = [dop853(reduced_chain(n), [0.0, 1.0], 10.0, rtol).y[:, -1] for rtol in (1e-12, 1e-13)]
    p, v, *_ = parallelogram(n, *ends[1])
    reference = problem.reference
    assert np.abs(ends[0] - ends[1]).max() < 2e-9
    assert mixed_error(p, reference.p) < 2e-10
    assert mixed_error(v, reference.v) < 2e-10
    # multipliers: all of the equations of motion, not only those along the motion
    M, K, f, gamma = matrices(problem, reference.p, reference.v)
    acceleration = np.linalg.solve(M, f - K.T @ reference.lam)
    np.testing.assert_allclose(K @ acceleration, gamma, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "x", "y"),
    [
        (1, 0.4783850577593991, 0.8781501787920654),
        (2, 0.32845811153973853, 0.9445185381789755),
        (40, 0.18051222668577602, 0.9835727405824863),
    ],
)
def test_chain_against_known_values(n, x, y):
    np.testing.assert_allclose(problems.four_bar_chain(n).reference.p[:2], [x, y], rtol=0, atol=2e-10)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_chain_is_singular_when_stretched_and_only_then(n):
    problem = problems.four_bar_chain(n)
    times = problems.four_bar_singular_times(n)
    assert len(times) == 10
    run = dop853(reduced_chain(n), [0.0, 1.0], 10.0, dense_output=True)
    np.testing.assert_allclose(np.cos(run.sol(times)[0]), 0, atol=1e-8)
    assert np.sum(np.diff(np.sign(np.cos(run.sol(np.linspace(0, 10, 1000))[0]))) != 0) == 10
    for theta, rank in [(0.0, 2 * n + 1), (1.2, 2 * n + 1), (np.pi / 2, n + 1), (2.0, 2 * n + 1), (-np.pi / 2, n + 1)]:
        p, v, *_ = parallelogram(n, theta, 1.0)
        assert np.linalg.matrix_rank(matrices(problem, p, v)[1], tol=1e-9) == rank


def test_multipliers_of_the_chain_are_unbounded_at_singular_positions_from_two_loops_on():
    largest = {}
    for n in (1, 2):
        t = problems.four_bar_singular_times(n)[0]
        largest[n] = [np.abs(problems.four_bar_chain(n, t_end=t - gap).reference.lam).max() for gap in (1e-4, 1e-6)]
    assert largest[1][1] < 1.1 * largest[1][0]
    assert largest[2][1] > 80 * largest[2][0]


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_chain_needs_a_number_of_loops(n):
    with pytest.raises(OptionError, match="four_bar_chain: n must be"):
        problems.four_bar_chain(n)
    with pytest.raises(OptionError, match=r"four_bar_[a-z_]*: n must be"):
        problems.four_bar_singular_times(n)


@pytest.mark.parametrize("make", [problems.four_bar_chain, problems.bricard])
def test_end_time_must_be_positive(make):
    with pytest.raises(OptionError, match="t_end"):
        make(t_end=0.0)


# --- Bricard's mechanism

POTENTIAL_AT_START = -3 * G


def symmetric(q1, rate=0.0):
    """Angles and rates on the one-parameter family of closed positions."""
    sine = np.sin(q1)
    q2 = -np.arcsin(sine / (1 + sine))
    slope = -np.cos(q1) / ((1 + sine) ** 2 * np.cos(q2))
    return np.array([q1, q2, q1, q2, q1]), rate * np.array([1, slope, 1, slope, 1])


def reduced_bricard():
    """Mass belonging to q1, from the paths of the joints alone (not from the model's chain of rotations)."""
    q = ca.SX.sym("q")
    s, c = ca.sin(q), ca.cos(q)
    cos2, slope = ca.sqrt(1 + 2 * s) / (1 + s), -c / ((1 + s) * ca.sqrt(1 + 2 * s))
    joints = ca.horzcat(
        ca.vertcat(0, 0, 0),
        ca.vertcat(c, 0, -s),
        ca.vertcat(c / (1 + s), -cos2, -s / (1 + s)),
        ca.vertcat(c, -cos2 * (1 + s), 1 - s),
        ca.vertcat(0, -cos2, 1 / (1 + s)),
        ca.vertcat(0, 0, 1),
    )
    moves = ca.reshape(ca.jacobian(joints, q), 3, 6)
    rods, turns = joints[:, 1:] - joints[:, :-1], moves[:, 1:] - moves[:, :-1]
    # A joint does not turn its two rods about themselves, since it is perpendicular to both.
    spins = [0, rods[1, 1], rods[1, 2] + slope * (s * rods[0, 2] + c * rods[2, 2]), slope * rods[0, 3], 0]
    mass = sum(
        (ca.sumsqr(moves[:, k]) + ca.dot(moves[:, k], moves[:, k + 1]) + ca.sumsqr(moves[:, k + 1])) / 3
        + 0.1**2 / 12 * (ca.sumsqr(turns[:, k]) + 2 * spins[k] ** 2)
        for k in range(5)
    )
    return ca.Function("reduced", [q], [mass, rods])


def bricard_by_energy(t_end, **options):
    """q1 and its rate: q1 = π sin²(φ/2), where the conservation of energy gives φ' as a smooth function of φ."""
    reduced = reduced_bricard()

    def rate(t, phi):
        near, far = sorted((np.sin(phi[0] / 2) ** 2, np.cos(phi[0] / 2) ** 2))
        s, mass = np.sin(np.pi * near), float(reduced(np.pi * np.sin(phi[0] / 2) ** 2)[0])
        # the fall of the potential energy over s, and s over 4 q1 (π - q1)/π² = sin²φ
        fall = 2 * G * (3 + 2 * s + s**2) / ((1 + s) * ((3 + s) * np.sqrt(1 + 2 * s) + 3 * (1 + s)))
        return [2 / np.pi * np.sqrt(2 * fall / mass * np.pi * np.sinc(near) / (4 * far))]

    run = dop853(rate, [0.0], t_end, **options)
    return [
        (t, np.pi * np.sin(phi / 2) ** 2, np.pi / 2 * np.sin(phi) * rate(t, [phi])[0])
        for t, phi in zip(run.t, run.y[0], strict=True)
    ]


def bricard_energy(problem, p, v):
    """Kinetic energy by the model's mass, potential energy by P3, P4 and P5: the rods' centres are between them."""
    potential = -G * (np.cos(p[1]) * (3 + np.sin(p[0])))
    return 0.5 * v @ matrices(problem, p, v)[0] @ v + potential


def test_bricard_mass_against_the_paths_of_its_joints():
    reduced, problem = reduced_bricard(), problems.bricard()
    for q1 in (0.0, 0.4, 1.3, 2.6, np.pi):
        p, tangent = symmetric(q1, 1.0)
        mass, rods = (np.array(x) for x in reduced(q1))
        np.testing.assert_allclose(np.sum(rods**2, axis=0), 1, atol=1e-14)
        M, K, *_ = matrices(problem, p, tangent)
        assert tangent @ M @ tangent == pytest.approx(float(mass[0, 0]), rel=1e-13)
        np.testing.assert_allclose(K @ tangent, 0, atol=1e-14)
        np.testing.assert_allclose(problems.bricard_point(p), rods[:, 0] + rods[:, 1], atol=1e-14)


def test_bricard_force_follows_from_kinetic_and_potential_energy():
    """Lagrange's equations of the open chain at arbitrary angles and rates; nothing is closed here."""
    problem = problems.bricard()
    graph = problem.model.graph
    q, v, M = graph.symbol["p"], graph.symbol["v"], graph.value("mass")
    momentum_rate = ca.jtimes(ca.mtimes(M, v), q, v)
    kinetic = ca.gradient(ca.mtimes([v.T, M, v]) / 2, q)
    inertial = ca.Function("inertial", [q, v, graph.theta], [momentum_rate - kinetic, graph.value("force")])
    generator = np.random.default_rng(1)
    for _ in range(5):
        angles, rates = generator.uniform(-2, 2, 5), generator.uniform(-3, 3, 5)
        moving, force = (np.array(x).ravel() for x in inertial(angles, rates, problem.model.theta(0.0)))
        _, weight = (np.array(x).ravel() for x in inertial(angles, np.zeros(5), problem.model.theta(0.0)))
        np.testing.assert_allclose(force, weight - moving, atol=1e-12)
        np.testing.assert_allclose(weight, -potential_gradient(angles), atol=1e-7)


def potential_gradient(angles, step=1e-5):
    def potential(q):
        # The rods are fixed in frames that turn one after the other; only heights matter.
        rotation, start, height = np.eye(3), np.zeros(3), 0.0
        for axis, rod, angle in zip("yzxyz", np.array([[1, 0, 0], [0, -1, 0], [0, 0, 1], [-1, 0, 0], [0, 1, 0]]), q,
                                    strict=True):  # fmt: skip
            i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
            turn = np.eye(3)
            turn[i, i] = turn[j, j] = np.cos(angle)
            turn[j, i], turn[i, j] = np.sin(angle), -np.sin(angle)
            rotation = rotation @ turn
            height += (start + rotation @ rod / 2)[1]
            start = start + rotation @ rod
        return G * height

    shifts = step * np.eye(5)
    return np.array([(potential(angles + shift) - potential(angles - shift)) / (2 * step) for shift in shifts])


def test_bricard_references_by_conservation_of_energy():
    problem = problems.bricard()
    known = {reference.t: reference for reference in problem.references}
    for t, q1, rate in bricard_by_energy(10.0, t_eval=sorted(known)):
        p, v = symmetric(q1, rate)
        assert mixed_error(p, known[t].p) < 1e-11
        assert mixed_error(v, known[t].v) < 1e-11
        assert bricard_energy(problem, known[t].p, known[t].v) == pytest.approx(POTENTIAL_AT_START, abs=1e-13)


def test_bricard_redundant_constraints_lead_to_the_same_motion():
    """All five constraints, least squares for the multipliers: rank 4 all the way, energy conserved."""
    problem = problems.bricard()
    oracle = Index1(problem)
    theta = problem.model.theta(0.0)

    def rhs(t, y):
        M, K, f, gamma = (np.array(x) for x in oracle._first(t, y, theta))
        matrix = np.block([[M, K.T], [K, np.zeros((5, 5))]])
        solution = np.linalg.lstsq(matrix, np.concatenate([f, gamma]).ravel(), rcond=1e-9)[0]
        return np.concatenate([y[5:], solution[:5]])

    run = dop853(rhs, oracle.y0, 5.0, rtol=1e-12, t_eval=np.linspace(0, 5, 51))
    for reference in problem.references:
        if reference.t <= 5.0:
            (index,) = np.flatnonzero(np.isclose(run.t, reference.t))
            assert mixed_error(run.y[:, index], np.concatenate([reference.p, reference.v])) < 1e-9
    for y in run.y.T:
        singular_values = np.linalg.svd(np.array(oracle._first(0.0, y, theta)[1]), compute_uv=False)
        assert singular_values[3] > 1.0
        assert singular_values[4] < 1e-10
        assert bricard_energy(problem, y[:5], y[5:]) == pytest.approx(POTENTIAL_AT_START, abs=1e-8)


@pytest.mark.parametrize(
    ("t", "point"),
    [
        (1.0, [0.2744813192646275, -0.8867079387346727, -0.46233000268737495]),
        (2.0, [-0.7781353730332895, -0.9803526834432563, -0.19725267061717183]),
        (5.0, [0.9999327423021245, -0.9999999977383531, -6.725543607653693e-05]),
        (10.0, [0.999730987303835, -0.9999999638258172, -0.0002689765122495545]),
    ],
)
def test_bricard_point_against_known_values(t, point):
    problem = problems.bricard(t_end=t)
    np.testing.assert_allclose(problems.bricard_point(problem.reference.p), point, rtol=0, atol=2e-14)
    both = problems.bricard_point(np.array([problem.p0, problem.reference.p]))
    np.testing.assert_allclose(both, [[1, -1, 0], point], rtol=0, atol=2e-14)


def test_bricard_without_a_reference():
    assert problems.bricard(t_end=3.0).reference is None
    assert len(problems.bricard(t_end=3.0).references) == 4
