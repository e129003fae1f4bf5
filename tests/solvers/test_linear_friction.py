"""Forces that are linear in the multipliers, f + F λ, in half-explicit Runge-Kutta methods: friction of what slides."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from steps import fixed_steps, orders, stepper_of

import dalembert as da
from dalembert.linalg.saddle.compiled import Compiled
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.sparse import Sparse

G, MU = 9.81, 0.3
RUNGE_KUTTA = [da.Hem5(), da.Hedop5(), da.Phem56(), da.Rkf45()]
every = pytest.mark.parametrize("method", RUNGE_KUTTA, ids=lambda method: type(method).__name__)


# -- problems ----------------------------------------------------------------------------------------------------------


def track(size=lambda s: MU * s.lam1, **others):
    """A bead slides to the right on z = 0.2 sin x; F depends on positions."""

    def forces(s):
        return [size(s), 0.2 * np.cos(s.x) * size(s) - G]  # the force on the bead is −λ, upwards

    return da.EquationsOfMotion(
        p=["x", "z"], mass=[1, 1], force=forces, holonomic=lambda s: [s.z - 0.2 * np.sin(s.x)], **others
    )


TRACK = dict(p0=[0.0, 0.0], v0=[4.0, 0.8])


def on_track(t):
    """(x, z, x', z') of the bead from its one equation of motion."""

    def rates(_, y):
        x, u = y
        slope, bend = 0.2 * np.cos(x), -0.2 * np.sin(x)
        # a (1, slope) + u² (0, bend) = (0, −g) + N ((−slope, 1) − μ (1, slope)), a and N are unknown
        return [u, np.linalg.solve([[1, slope + MU], [slope, MU * slope - 1]], [0, -G - u**2 * bend])[0]]

    x, u = solve_ivp(rates, (0, t), [0.0, 4.0], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return np.array([x, 0.2 * np.sin(x), u, 0.2 * np.cos(x) * u])


def bowl(**others):
    """A bead slides around in the bowl z = (x² + y²)/4; F depends on velocities, which give friction its direction."""

    def forces(s):
        x_dot, y_dot, z_dot = s.v
        normal = -s.lam1 * np.sqrt(1 + (s.x**2 + s.y**2) / 4)
        part = -MU * normal / np.sqrt(x_dot**2 + y_dot**2 + z_dot**2)
        return [part * x_dot, part * y_dot, part * z_dot - G]

    return da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1, 1, 1], force=forces, holonomic=lambda s: [s.z - (s.x**2 + s.y**2) / 4], **others
    )


BOWL = dict(p0=[1.0, 0.0, 0.25], v0=[0.5, 3.0, 0.25])


def in_bowl(t):
    """Position and velocity of the bead in Cartesian coordinates, from Newton's law."""

    def rates(_, y):
        p, v = y[:3], y[3:]
        gradient = np.array([-p[0] / 2, -p[1] / 2, 1.0])
        n = gradient / np.linalg.norm(gradient)
        # n·a is what keeps the bead on the surface
        N = ((v[0] ** 2 + v[1] ** 2) / 2) / np.linalg.norm(gradient) + G * n[2]
        return [*v, *(N * n - MU * N * v / np.linalg.norm(v) - [0, 0, G])]

    start = [*BOWL["p0"], *BOWL["v0"]]
    return solve_ivp(rates, (0, t), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


def end(sol):
    return np.concatenate([sol.p[-1], sol.v[-1]])


PROBLEMS = {"track": (track, TRACK, 0.8, on_track), "bowl": (bowl, BOWL, 0.6, in_bowl)}
both = pytest.mark.parametrize("which", PROBLEMS)


# -- order -------------------------------------------------------------------------------------------------------------


@every
@both
def test_order_five(which, method):
    model, start, t, exact = PROBLEMS[which]
    model = model()
    errors = [np.linalg.norm(end(fixed_steps(model, t, n, method, **start)) - exact(t)) for n in (16, 32, 64)]
    order = orders(np.array(errors))
    assert errors[-1] < 1e-10
    assert (order > 4.6).all(), order


@both
def test_the_other_order_of_rkf45(which):
    model, start, t, exact = PROBLEMS[which]
    method, model = da.Rkf45(extrapolate=False), model()
    errors = [np.linalg.norm(end(fixed_steps(model, t, n, method, **start)) - exact(t)) for n in (32, 64, 128)]
    order = orders(np.array(errors))
    assert (order > 3.7).all(), order
    assert (order < 4.3).all(), order


@every
def test_dense_output_has_the_order_of_the_method(method):
    """p, v and multipliers, without the first five steps, as without friction."""
    model, t, errors = bowl(), 0.6, []
    fine = da.simulate(model, (0, t), method=da.Rkf45(), rtol=1e-12, atol=1e-12, max_step=t / 2000, **BOWL)
    for steps in (48, 96):
        sol = fixed_steps(model, t, steps, method, **BOWL)
        inner = ((np.arange(5, steps)[:, None] + [0.13, 0.37, 0.5, 0.71, 0.9]) * t / steps).ravel()
        true, got = fine.at(inner), sol.at(inner)
        errors.append([np.abs(getattr(got, k) - getattr(true, k)).max() for k in ("p", "v", "lam")])
    order = orders(np.array(errors))[0]
    assert (order > 4.7).all(), order


# -- what holds at every point -----------------------------------------------------------------------------------------


@every
@both
def test_multipliers_and_accelerations_include_friction(which, method):
    """The residual on acceleration level is that of the forces with the multipliers of the result."""
    model, start, t, _ = PROBLEMS[which]
    sol = da.simulate(model(), (0, t), method=method, rtol=1e-6, atol=1e-6, **start)
    for level in ("position", "velocity", "acceleration"):
        assert sol.max_residual(level) < 1e-12
    smooth = da.simulate(model(), (0, t), method=da.Geoms(), rtol=1e-9, atol=1e-9, **start)
    np.testing.assert_allclose(sol.lam[-1], smooth.lam[-1], rtol=1e-4)


@every
def test_positions_are_projected_along_the_normal(method):
    """Not along what friction makes of it: for masses of 1 the way is a multiple of the constraint's gradient."""
    model = track()
    stepper = stepper_of(method, model, max_steps=3)
    form = stepper.form
    values = da.consistent_initial_values(model, **TRACK)
    stepper.start(0.0, *form.start(values), 0.5, 0.1)
    stepper.advance()
    state = stepper.state
    way = state.x[:2] - state.raw
    slope = 0.2 * np.cos(state.raw[0])
    assert np.linalg.norm(way) > 1e-9
    assert abs(way[0] + slope * way[1]) < 1e-3 * np.linalg.norm(way)


@every
def test_other_linear_solvers(method):
    t, exact = 0.6, in_bowl(0.6)
    for solver in (Dense(), Sparse(), Compiled()):
        chosen = type(method)(linear_solver=solver)
        sol = da.simulate(bowl(), (0, t), method=chosen, rtol=1e-8, atol=1e-8, **BOWL)
        np.testing.assert_allclose(end(sol), exact, atol=1e-7)


@every
def test_a_run_goes_on_from_a_snapshot(method):
    stepper = stepper_of(method, bowl(), tolerance=1e-6, max_steps=7)
    stepper.start(0.0, *stepper.form.start(da.consistent_initial_values(bowl(), **BOWL)), 2.0, None)
    stepper.advance()
    middle, ends = stepper.snapshot(), []
    for _ in range(2):
        stepper.restore(middle)
        stepper.state.set(max_steps=30)
        stepper.advance()
        ends.append((stepper.t, *stepper.x))
    assert ends[0] == ends[1]


# -- other models ------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("friction", [0.25, 1.0])
def test_cable_drum(method, friction):
    drum = da.problems.cable_drum(friction=friction)
    sol = drum.simulate(method=method, rtol=1e-8, atol=1e-8)
    assert drum.error(sol) < 1e-8
    np.testing.assert_allclose(sol.lam[-1], drum.reference.lam, rtol=1e-8)


def random_model(seed):
    """Masses, forces, constraints of both kinds and friction by chance, with their numbers for a check of our own."""
    rng = np.random.default_rng(seed)
    n, k = 5, 2
    root = rng.normal(size=(n, n))
    M, A, b = root @ root.T + n * np.eye(n), rng.normal(size=(k, n, n)), rng.normal(size=(k, n))
    H, B, D = rng.normal(size=n), 0.3 * rng.normal(size=(n, k + 1)), 0.3 * rng.normal(size=n)

    def numbers(p, v):
        """f, F, C and what C v' must be the negative of; expressions or numbers."""
        f = [np.sin(p[i]) - v[i] for i in range(n)]
        turn = np.cos(sum(D[j] * v[j] for j in range(n)))
        F = [[B[i, j] * turn * (1 + 0.1 * p[i]) for j in range(k + 1)] for i in range(n)]
        return f, F

    def force(s):
        f, F = numbers(s.p, s.v)
        multipliers = [*s.lam, *s.mu]
        return [f[i] + sum(F[i][j] * multipliers[j] for j in range(k + 1)) for i in range(n)]

    def holonomic(s):
        p = s.p
        return [sum(b[c, i] * p[i] for i in range(n)) + 0.05 * sum(A[c, i, j] * p[i] * p[j] for i in range(n)
                for j in range(n)) for c in range(k)]  # fmt: skip

    model = da.EquationsOfMotion(
        p=[f"q{i}" for i in range(n)], mass=M, force=force, holonomic=holonomic,
        nonholonomic=lambda s: [sum(H[i] * (1 + 0.2 * s.p[0]) * s.v[i] for i in range(n))],
    )  # fmt: skip

    def rates(_, y):
        p, v = y[:n], y[n:]
        f, F = numbers(p, v)
        S = 0.05 * (A + A.transpose(0, 2, 1))
        C = np.vstack([b + S @ p, H * (1 + 0.2 * p[0])])
        gamma = np.append([v @ S[c] @ v for c in range(k)], 0.2 * v[0] * (H @ v))
        K = np.block([[M, C.T - np.array(F)], [C, np.zeros((k + 1, k + 1))]])
        return np.concatenate([v, np.linalg.solve(K, np.concatenate([f, -gamma]))[:n]])

    with warnings.catch_warnings():  # these values are corrected, which is meant
        warnings.simplefilter("ignore", da.errors.InitialValuesCorrected)
        start = da.consistent_initial_values(model, p0=0.1 * rng.normal(size=n), v0=rng.normal(size=n))
    return model, start, rates


@pytest.mark.parametrize("seed", range(4))
def test_random_models(seed):
    model, start, rates = random_model(seed)
    exact = solve_ivp(rates, (0, 1), [*start.p, *start.v], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    for method in RUNGE_KUTTA:
        sol = da.simulate(model, (0, 1), p0=start.p, v0=start.v, method=method, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(end(sol), exact, atol=3e-8, err_msg=type(method).__name__)
        assert sol.max_residual("acceleration") < 1e-11


@every
def test_kinematics_of_their_own(method):
    """Velocities in the frame of the bead: dense output takes an inner point, with its friction."""
    turned = da.EquationsOfMotion(
        p=["x", "z"], v=["up", "ahead"], kinematics=[[0, 1], [1, 0]], mass=[1, 1],
        force=lambda s: [0.2 * np.cos(s.x) * MU * s.lam1 - G, MU * s.lam1],
        holonomic=lambda s: [s.z - 0.2 * np.sin(s.x)],
    )  # fmt: skip
    sol = da.simulate(turned, (0, 0.8), p0=[0, 0], v0=[0.8, 4.0], method=method, rtol=1e-9, atol=1e-9)
    x, z, x_dot, z_dot = on_track(0.8)
    np.testing.assert_allclose(end(sol), [x, z, z_dot, x_dot], atol=1e-8)
    inner = 0.5 * (sol.t[5] + sol.t[6])
    np.testing.assert_allclose(sol.at(inner).p, on_track(inner)[:2], atol=1e-8)


def test_dynamics_that_read_multipliers():
    """The work of friction, in Rkf45 alone: r' is evaluated once more when the multipliers are known."""
    model = track(r=["work"], dynamics=lambda s: [MU * s.lam1 * (s.x_dot + 0.2 * np.cos(s.x) * s.z_dot)])
    sol = da.simulate(model, (0, 0.8), r0=[0.0], method=da.Rkf45(), rtol=1e-9, atol=1e-9, **TRACK)
    energy = 0.5 * (sol.v**2).sum(axis=1) + G * sol.p[:, 1] - sol.r[:, 0]
    np.testing.assert_allclose(energy, energy[0], atol=1e-7)


@every
def test_profiles_and_events(method):
    sol = da.simulate(
        bowl(), (0, 0.6), method=method, rtol=1e-8, atol=1e-8, profile=True,
        events=da.Event(lambda s: s.y - 0.5, name="passes"), **BOWL,
    )  # fmt: skip
    assert [event.name for event in sol.events] == ["passes"]
    np.testing.assert_allclose(end(sol), in_bowl(0.6), atol=1e-7)
    assert "friction" in str(sol.profile)


# -- what is refused, what fails ---------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    "size",
    [
        lambda s: -MU * np.abs(s.lam1),
        lambda s: 0.01 * s.lam1**2,
        lambda s: MU * s.lam1 + np.sign(s.lam1),  # its derivative is that of the first term
        lambda s: np.minimum(MU * s.lam1, 0),
        lambda s: s.x_dot / (1 + s.lam1),
    ],
)
def test_other_friction_is_refused(method, size):
    words = f"depend on the multipliers .* in another way than linearly.*{type(method).__name__}.*take Mexx, Geoms"
    with pytest.raises(da.ModelError, match=words):
        da.simulate(track(size), (0, 1), method=method, **TRACK)


@every
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_friction_in_python_is_refused(method):
    with pytest.raises(da.ModelError, match=r"depend on the multipliers .* in a way that cannot be traced"):
        da.simulate(track(lambda s: MU * float(s.lam1)), (0, 1), method=method, **TRACK)


@pytest.mark.parametrize("method", [*RUNGE_KUTTA, da.Mexx()], ids=lambda method: type(method).__name__)
def test_friction_that_leaves_forces_open_is_named(method):
    """The drum's friction grows to the one coefficient at which accelerations are not determined."""
    drum = da.problems.cable_drum(friction=1.0)

    def force(s):
        bearing = (0.9 + 0.2 * s.t) * s.lam[1]
        return [-10 - s.y1_dot, -bearing, -1, -bearing]

    growing = da.EquationsOfMotion(
        p=["y1", "x2", "y2", "alpha2"], mass=[10, 1, 1, 1], force=force,
        holonomic=lambda s: [s.x2, s.y2 - 1, s.y1 - s.y2 - s.alpha2],
    )  # fmt: skip
    with pytest.raises(da.SingularMatrix, match=r"'lam2'.* are not determined: with the friction") as caught:
        da.simulate(growing, (0, 2), p0=drum.p0, v0=drum.v0, method=method)
    assert caught.value.solution.t[-1] == pytest.approx(1.0, abs=1e-4)


def test_models_without_friction_have_symmetric_systems():
    stepper = stepper_of(da.Rkf45(), da.problems.pendulum().model)
    assert stepper.state.frictional == 0
    assert stepper.saddle.pattern.symmetric
    assert stepper_of(da.Rkf45(), track()).state.frictional == 1
