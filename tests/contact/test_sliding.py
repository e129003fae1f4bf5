"""Contacts that slide with Coulomb's friction, over every smooth method."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as da
from dalembert.model.contacts import CLOSED, OPEN, SLIDING

G, MU = 9.81, 0.3
RUNGE_KUTTA = [da.Hem5(), da.Hedop5(), da.Phem56(), da.Rkf45()]
METHODS = [*RUNGE_KUTTA, da.Mexx(), da.Geoms(), da.Radau5(), da.Odassl(), da.Dassl()]
every = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


def box(floor=lambda s: 0.0, **others):
    """A mass on a floor that may move."""
    given = dict(
        p=["x", "z"], mass=[2, 2], force=[0, -2 * G], unilateral=lambda s: [s.z], contacts=["floor"], friction=MU,
        sliding=lambda s: [[s.x_dot - floor(s)]],
    )  # fmt: skip
    return da.EquationsOfMotion(**(given | others))


def bowl():
    """A bead in the bowl z = (x² + y²)/4; its gap is a distance to first order, so that its force is the normal one."""

    def gap(s):
        return [(s.z - (s.x**2 + s.y**2) / 4) / np.sqrt(1 + (s.x**2 + s.y**2) / 4)]

    def sliding(s):
        a, b = s.x / 2, s.y / 2
        first = np.array([1, 0, a]) / np.sqrt(1 + a**2)
        normal = np.array([-a, -b, 1]) / np.sqrt(1 + a**2 + b**2)
        second = np.array([normal[(i + 1) % 3] * first[(i + 2) % 3] - normal[(i + 2) % 3] * first[(i + 1) % 3]
                           for i in range(3)])  # fmt: skip
        return [[sum(direction[i] * s.v[i] for i in range(3)) for direction in (first, second)]]

    return da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1, 1, 1], force=[0, 0, -G], unilateral=gap, contacts=["bowl"], friction=MU,
        sliding=sliding,
    )  # fmt: skip


BOWL = dict(p0=[1.0, 0.0, 0.25], v0=[0.5, 3.0, 0.25])


def in_bowl(t):
    """Position and velocity of the bead from Newton's law, as long as it slides."""

    def rates(_, y):
        p, v = y[:3], y[3:]
        gradient = np.array([-p[0] / 2, -p[1] / 2, 1.0])
        n = gradient / np.linalg.norm(gradient)
        N = ((v[0] ** 2 + v[1] ** 2) / 2) / np.linalg.norm(gradient) + G * n[2]
        return [*v, *(N * n - MU * N * v / np.linalg.norm(v) - [0, 0, G])]

    start = [*BOWL["p0"], *BOWL["v0"]]
    return solve_ivp(rates, (0, t), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


@every
def test_box_slides_to_rest(method):
    sol = da.simulate(box(), (0, 1.5), p0=[0, 0], v0=[3.0, 0], method=method, rtol=1e-9, atol=1e-9)
    stop = 3.0 / (MU * G)
    assert sol.p[-1, 0] == pytest.approx(3.0**2 / (2 * MU * G), abs=1e-8)
    np.testing.assert_array_equal(sol.v[-1], 0)
    slides = sol.t < stop - 1e-6
    np.testing.assert_allclose(sol["floor.normal"], 2 * G, rtol=1e-7)
    np.testing.assert_allclose(sol["floor.friction"][slides], -MU * 2 * G, rtol=1e-7)
    np.testing.assert_allclose(sol["floor.friction"][sol.t > stop + 1e-6], 0, atol=1e-7)
    inner = sol.at(0.5 * stop)
    assert inner.v[0] == pytest.approx(1.5, abs=1e-7)


@every
def test_bead_in_a_bowl(method):
    """The direction of friction follows the velocity."""
    t = 0.6
    sol = da.simulate(bowl(), (0, t), method=method, rtol=1e-9, atol=1e-9, **BOWL)
    np.testing.assert_allclose(np.concatenate([sol.p[-1], sol.v[-1]]), in_bowl(t), atol=1e-7)
    friction, sliding, normal = sol["bowl.friction"], sol["bowl.sliding"], sol["bowl.normal"]
    np.testing.assert_allclose(np.linalg.norm(friction, axis=1), MU * normal, rtol=1e-6)
    speed = np.linalg.norm(sliding, axis=1)
    np.testing.assert_allclose((friction * sliding).sum(axis=1), -MU * normal * speed, rtol=1e-6)
    inner = sol.at(0.41)
    np.testing.assert_allclose(np.concatenate([inner.p, inner.v]), in_bowl(0.41), atol=1e-7)


def test_bead_comes_to_rest_where_all_methods_say():
    ends = {}
    for method in METHODS:
        sol = da.simulate(bowl(), (0, 4), method=method, rtol=1e-8, atol=1e-8, **BOWL)
        assert np.abs(sol.v[-1]).max() < 1e-12
        energy = 0.5 * (sol.v**2).sum(axis=1) + G * sol.p[:, 2]
        assert (np.diff(energy) < 1e-7).all()
        # it sticks: the slope there is less than that of the cone, and friction holds the weight
        force = np.linalg.norm(sol["bowl.friction"][-1])
        assert force < MU * sol["bowl.normal"][-1]
        assert np.hypot(force, sol["bowl.normal"][-1]) == pytest.approx(G, rel=1e-9)
        ends[type(method).__name__] = sol.p[-1]
    for name, end in ends.items():
        np.testing.assert_allclose(end, ends["Geoms"], atol=3e-7, err_msg=name)


def shaken(t_end):
    """Velocity of a box on a floor with velocity 2 cos 5t: it accelerates by ±μ g until both are equal."""
    t, u, sign = 0.0, 0.0, 1.0
    while True:
        meet = brentq(lambda s, t, u, a: u + a * (s - t) - 2 * np.cos(5 * s), t + 1e-9, t + 0.75, (t, u, sign * MU * G))
        if meet >= t_end:
            return u + sign * MU * G * (t_end - t)
        t, u = meet, 2 * np.cos(5 * meet)
        assert 10 * abs(np.sin(5 * t)) > MU * G  # the floor is quicker: no sticking
        sign = -np.sign(np.sin(5 * t))


@every
def test_shaken_floor(method):
    """Sliding back and forth."""
    model = box(lambda s: 2 * np.cos(5 * s.t))
    sol = da.simulate(model, (0, 4), p0=[0, 0], v0=[0, 0], method=method, rtol=1e-9, atol=1e-9)
    assert sol.v[-1, 0] == pytest.approx(shaken(4.0), abs=1e-7)


@every
def test_block_on_two_corners(method):
    """Both slide; braking presses on the front: N = m (g ± 2 μ g h/w)/2, h the height of the center of mass."""
    m, inertia, width, height = 3.0, 0.4, 1.0, 0.5

    def corners(s):
        for side in (-0.5 * width, 0.5 * width):
            yield side * np.cos(s.phi) + height * np.sin(s.phi), side * np.sin(s.phi) - height * np.cos(s.phi)

    model = da.EquationsOfMotion(
        p=["x", "z", "phi"], mass=[m, m, inertia], force=[0, -m * G, 0], contacts=["back", "front"], friction=MU,
        unilateral=lambda s: [s.z + down for _, down in corners(s)],
        sliding=lambda s: [[s.x_dot - down * s.phi_dot] for _, down in corners(s)],
    )  # fmt: skip
    sol = da.simulate(model, (0, 1.2), p0=[0, height, 0], v0=[2.0, 0, 0], method=method, rtol=1e-9, atol=1e-9)
    assert sol.p[-1, 0] == pytest.approx(4.0 / (2 * MU * G), abs=1e-8)
    np.testing.assert_allclose(sol.p[-1, 1:], [height, 0], atol=1e-9)
    shift = 2 * MU * height / width
    inner = sol.at(0.3)
    np.testing.assert_allclose(inner.lam, [m * G * (1 - shift) / 2, m * G * (1 + shift) / 2], rtol=1e-7)


@every
@pytest.mark.parametrize("frequency", [2.0, 40.0])
def test_forces_that_move_while_the_box_sticks(method, frequency):
    """Nothing moves until friction reaches its bound; the forces of what is held alone tell when."""
    bound = MU * 2 * G
    model = box(force=lambda s: [1.3 * bound * np.sin(frequency * s.t), -2 * G])
    sol = da.simulate(model, (0, 4 / frequency), p0=[0, 0], method=method, rtol=1e-8, atol=1e-10)
    slips = np.arcsin(1 / 1.3) / frequency
    assert np.abs(sol.v[sol.t < slips]).max() < 1e-12
    assert np.linalg.norm(sol["floor.friction"], axis=1).max() < bound * (1 + 1e-6)
    if method in RUNGE_KUTTA:  # these control what polynomials of contact forces miss
        force = 1.3 * bound * np.sin(0.5 * np.arcsin(1 / 1.3))
        assert np.abs(sol.at(0.5 * slips).mu[0]) == pytest.approx(force, rel=1e-6)

    def speed(t):
        return 1.3 * MU * G * (np.cos(frequency * slips) - np.cos(frequency * t)) / frequency - MU * G * (t - slips)

    t = 1.2 / frequency
    assert sol.at(t).v[0] == pytest.approx(speed(t), abs=1e-7)


@pytest.mark.parametrize(
    "method",
    [da.Hem5(), *(pytest.param(one, marks=pytest.mark.slow) for one in (da.Phem56(), da.Rkf45()))],
    ids=lambda method: type(method).__name__,
)
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_a_jump_that_nobody_has_told_of(method):
    """The force on what sticks jumps: its multipliers do, too, and no step size makes that smooth."""
    bound = MU * 2 * G
    for after, way in ((0.5, 0.0), (2.0, 0.5 * MU * G * 0.5**2)):
        model = box(
            inputs={"push": lambda t, after=after: 0.1 * bound if t < 0.5 else after * bound},
            force=lambda s: [s.push, -2 * G],
        )
        sol = da.simulate(model, (0, 1), p0=[0, 0], method=method, rtol=1e-8, atol=1e-8)
        assert sol.p[-1, 0] == pytest.approx(way, abs=1e-3)
        assert sol.stats.rejected < 400


@pytest.mark.parametrize("method", [da.Hem5, da.Rkf45])
def test_errors_follow_the_tolerance(method):
    errors = []
    for tolerance in (1e-5, 1e-7, 1e-9):
        sol = da.simulate(bowl(), (0, 0.6), method=method(), rtol=tolerance, atol=tolerance, **BOWL)
        errors.append(np.abs(np.concatenate([sol.p[-1], sol.v[-1]]) - in_bowl(0.6)).max())
        assert errors[-1] < 20 * tolerance
    assert errors[2] < 1e-2 * errors[0]


def test_mexx_prepares_for_sliding_whatever_the_mode_is_at_the_start():
    """However small friction is: modes change during the run, and so does F."""
    model = box(friction=1e-4)
    for mode in (OPEN, CLOSED, SLIDING):
        own = model.with_discrete([mode if name == "floor_mode" else 0.0 for name in model.discrete_names])
        form = da.Mexx().formulate(own)
        assert da.Mexx().variety(form, own)
        assert not da.Mexx(discretization="standard").variety(form, own)


def test_models_without_sliding_have_symmetric_systems():
    """While a contact is open, friction is in no matrix."""
    from dalembert.model.restricted import restricted
    from dalembert.solvers.method import RunSpec, Tolerances

    free = restricted(box(), frozenset())
    form = da.Hem5().formulate(free)
    stepper = da.Hem5().stepper(form, RunSpec(model=free, tolerances=Tolerances(np.ones(form.n), np.ones(form.n))))
    assert stepper.state.frictional == 0
