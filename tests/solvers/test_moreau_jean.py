"""Time stepping with contacts of a model, against exact solutions and published values."""

import numpy as np
import pytest

import dalembert as da

G = 9.81


def ball(restitution=0.0):
    return da.EquationsOfMotion(
        p=["z"], mass=[1.0], force=[-G], unilateral=lambda s: [s.z], contacts=["floor"], restitution=restitution
    )


def slider(friction=0.3):
    return da.EquationsOfMotion(
        p=["x", "z"], mass=[2.0, 2.0], force=[0.0, -2.0 * G], unilateral=lambda s: [s.z], contacts=["floor"],
        friction=friction, sliding=lambda s: [s.x_dot],
    )  # fmt: skip


def incline(angle, friction):
    """A block on a plane in space: gravity is turned."""
    down = G * np.sin(angle)
    return da.EquationsOfMotion(
        p=["x", "y", "z"], mass=np.ones(3), force=[0.8 * down, 0.6 * down, -G * np.cos(angle)],
        unilateral=lambda s: [s.z], friction=friction, sliding=lambda s: [[s.x_dot, s.y_dot]],
    )  # fmt: skip


def woodpecker():
    rO, rM, hM, lM, lG, hS, lS = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    mM, mS, JM, JS, c = 0.0003, 0.0045, 5e-9, 7e-7, 0.0056
    mass = [
        [mS + mM, mS * lM, mS * lG],
        [mS * lM, JM + mS * lM**2, mS * lM * lG],
        [mS * lG, mS * lM * lG, JS + mS * lG**2],
    ]
    return da.EquationsOfMotion(
        p=["y", "phiM", "phiS"], mass=np.array(mass),
        force=lambda s: [-(mS + mM) * G, c * (s.phiS - s.phiM) - mS * lM * G, c * (s.phiM - s.phiS) - mS * lG * G],
        unilateral=lambda s: [lM + lG - lS - rO - hS * s.phiS, rM - rO + hM * s.phiM, rM - rO - hM * s.phiM],
        sliding=lambda s: [s.y_dot + lM * s.phiM_dot + (lG - lS) * s.phiS_dot] + 2 * [s.y_dot + rM * s.phiM_dot],
        restitution=[0.5, 0.0, 0.0], friction=0.3,
    )  # fmt: skip


def orders(errors):
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


# -- smooth motion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "order"), [({}, 2), ({"implicit": False}, 2), ({"theta": 0.75}, 1)])
def test_order_without_contacts(options, order):
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=lambda s: [1 + 0.1 * s.x**2, 2.0],
        force=lambda s: [-(s.x**3) - 0.3 * s.y * s.x_dot, -s.y + 0.1 * s.x_dot * s.y_dot],
    )  # fmt: skip
    start = dict(p0=[1.0, 0.5], v0=[0.0, 1.0])
    exact = da.simulate(model, (0, 2), method=da.Radau5(), rtol=1e-11, atol=1e-11, **start).at(2.0)
    errors = []
    for h in (0.02, 0.01, 0.005):
        found = da.simulate(model, (0, 2), method=da.MoreauJean(h=h, **options), **start).at(2.0)
        errors.append(max(abs(found.p - exact.p).max(), abs(found.v - exact.v).max()))
    assert orders(errors) == pytest.approx([order, order], abs=0.05)


@pytest.mark.parametrize("projection", [True, False])
def test_order_with_joints(projection):
    problem = da.problems.pendulum()
    errors, drift = [], []
    for h in (4e-3, 2e-3, 1e-3):
        sol = problem.simulate(method=da.MoreauJean(h=h, projection=projection))
        errors.append(problem.error(sol))
        drift.append(sol.max_residual("position"))
    assert orders(errors) == pytest.approx([2, 2], abs=0.15)
    if projection:
        assert max(drift) < 1e-10
    else:
        assert orders(drift) == pytest.approx([2, 2], abs=0.15)


def test_nonholonomic_constraints():
    problem = da.problems.sleigh()
    errors = [problem.error(problem.simulate(method=da.MoreauJean(h=h))) for h in (2e-2, 1e-2, 5e-3)]
    assert orders(errors) == pytest.approx([2, 2], abs=0.2)


def test_energy_of_an_oscillator_is_kept():
    model = da.EquationsOfMotion(p=["x"], mass=[2.0], force=lambda s: [-8.0 * s.x])
    sol = da.simulate(model, (0, 50), p0=[1.0], method=da.MoreauJean(h=0.05))
    energy = sol.v[:, 0] ** 2 + 4.0 * sol.p[:, 0] ** 2
    assert energy == pytest.approx(np.full(len(energy), 4.0), rel=1e-10)


def test_stiff_forces_are_implicit():
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-1e8 * s.x - 1e5 * s.x_dot])
    sol = da.simulate(model, (0, 1), p0=[1.0], method=da.MoreauJean(h=0.01, theta=1.0))
    assert abs(sol.p[-1, 0]) < 1e-3


def test_force_elements_with_states():
    """r' = b: a force that lags behind."""
    model = da.EquationsOfMotion(
        p=["x"], r=["f"], mass=[1.0], force=lambda s: [s.f], dynamics=lambda s: [-2.0 * s.f - 5.0 * s.x]
    )
    start = dict(p0=[1.0], v0=[0.0], r0=[0.5])
    exact = da.simulate(model, (0, 1), method=da.Radau5(), rtol=1e-11, atol=1e-11, **start).at(1.0)
    errors = []
    for h in (0.02, 0.01, 0.005):
        found = da.simulate(model, (0, 1), method=da.MoreauJean(h=h), **start).at(1.0)
        errors.append(max(abs(found.p - exact.p).max(), abs(found.r - exact.r).max()))
    assert orders(errors) == pytest.approx([2, 2], abs=0.1)


# -- contacts ----------------------------------------------------------------------------------------------------------


def test_bouncing_ball_comes_to_rest():
    e, height = 0.5, 1.0
    first = np.sqrt(2 * height / G)
    bounces = first * np.cumsum([1, *(2 * e**k for k in range(1, 4))])
    zeno = first * (1 + e) / (1 - e)
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        sol = da.simulate(ball(e), (0, 2 * zeno), p0=[height], method=da.MoreauJean(h=h))
        hits = sol.t[1:][np.diff(sol.v[:, 0]) > 10 * G * h][:4]
        errors.append(np.abs(hits - bounces).max())
        late = sol.t > 1.1 * zeno
        assert abs(sol.v[late]).max() < 1e-12
        assert np.abs(sol.p[late]).max() <= h**2 * G
        assert sol.lam[-1] == pytest.approx([G])
        # before it is seen, an impact may be missed by half a step
        assert sol.p.min() >= -0.5 * h * np.sqrt(2 * G * height) - h**2 * G
    assert all(error < 10 * h for error, h in zip(errors, (2e-3, 1e-3, 5e-4), strict=True))


def test_elastic_ball_does_not_gain_energy():
    sol = da.simulate(ball(1.0), (0, 3), p0=[1.0], method=da.MoreauJean(h=1e-3, projection=False))
    energy = 0.5 * sol.v[:, 0] ** 2 + G * sol.p[:, 0]
    # v + v⁻ = 0 over an impact step, in which gravity is left out: energy is that of the step before, or less by O(h)
    assert energy.max() <= G * (1 + 1e-10)
    assert energy.min() > 0.97 * G


def test_sliding_to_rest():
    mu, speed = 0.3, 2.0
    exact, errors = speed**2 / (2 * mu * G), []
    for h in (4e-3, 2e-3, 1e-3):
        sol = da.simulate(slider(mu), (0, 1.5), p0=[0.0, 0.0], v0=[speed, 0.0], method=da.MoreauJean(h=h))
        errors.append(abs(sol.p[-1, 0] - exact))
        assert abs(sol.v[-1, 0]) < 1e-12
        sliding = sol.t[1:-1] < 0.9 * speed / (mu * G)
        assert sol["floor.friction"][1:-1][sliding] == pytest.approx(-mu * 2.0 * G, rel=1e-9)
    assert all(error <= 2 * h * speed for error, h in zip(errors, (4e-3, 2e-3, 1e-3), strict=True))


def test_critical_angle_of_an_incline():
    angle = np.radians(20.0)
    mu = np.tan(angle)
    at_rest = da.simulate(incline(angle - 1e-6, mu), (0, 0.5), p0=[0, 0, 0], method=da.MoreauJean(h=1e-3))
    assert np.abs(at_rest.v[-1]).max() < 1e-12
    steeper = np.radians(25.0)
    slides = da.simulate(incline(steeper, mu), (0, 0.5), p0=[0, 0, 0], method=da.MoreauJean(h=1e-3))
    speed = 0.5 * G * (np.sin(steeper) - mu * np.cos(steeper))
    assert slides.v[-1] == pytest.approx([0.8 * speed, 0.6 * speed, 0.0], rel=2e-3, abs=1e-9)


def test_friction_turns_with_the_velocity():
    """A disc on a table slides straight, whatever its direction: the cone is round."""
    model = incline(0.0, 0.2)
    for direction in (0.0, 0.4, 1.3, 2.9):
        v0 = [np.cos(direction), np.sin(direction), 0.0]
        sol = da.simulate(model, (0, 1), p0=[0, 0, 0], v0=v0, method=da.MoreauJean(h=1e-3))
        x, y = sol.p[-1, :2]
        assert np.arctan2(y, x) == pytest.approx(direction, abs=1e-9)
        assert np.hypot(x, y) == pytest.approx(1 / (2 * 0.2 * G), rel=5e-3)


def test_stack_of_balls_carries_its_weight():
    n = 6
    model = da.EquationsOfMotion(
        p=[f"z{i}" for i in range(n)], mass=np.ones(n), force=np.full(n, -G),
        unilateral=lambda s: [s.p[0] - 0.5, *(s.p[i + 1] - s.p[i] - 1.0 for i in range(n - 1))],
    )  # fmt: skip
    sol = da.simulate(model, (0, 2), p0=0.55 + 1.02 * np.arange(n), method=da.MoreauJean(h=1e-3))
    assert sol.lam[-1] == pytest.approx(G * np.arange(n, 0, -1), rel=1e-5)
    assert np.abs(sol.v[-1]).max() < 1e-8
    assert sol.p[-1] == pytest.approx(0.5 + np.arange(n), abs=n * 1e-6 * G)


def test_momentum_and_energy_of_a_chain_in_collision():
    """Ten equal balls in a row, no forces: impulses are internal, and impacts lose energy only."""
    n = 10
    model = da.EquationsOfMotion(
        p=[f"x{i}" for i in range(n)], mass=np.arange(1.0, n + 1), force=np.zeros(n),
        unilateral=lambda s: [s.p[i + 1] - s.p[i] - 1.0 for i in range(n - 1)], restitution=0.7,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    v0 = rng.normal(size=n)
    sol = da.simulate(model, (0, 3), p0=1.1 * np.arange(n), v0=v0, method=da.MoreauJean(h=1e-3))
    mass = np.arange(1.0, n + 1)
    assert sol.v @ mass == pytest.approx(np.full(len(sol.t), mass @ v0), rel=1e-13)
    energy = 0.5 * sol.v**2 @ mass
    assert np.diff(energy).max() <= 1e-13 * energy[0]


def test_woodpecker():
    """Reference of the same scheme at h = 2e-5, computed with Siconos."""
    sol = da.simulate(
        woodpecker(), (0, 0.29998), p0=[0, -0.1036, -0.2788], v0=[-0.3411, 4.8572e-15, -7.4583],
        method=da.MoreauJean(h=2e-5, projection=False),
    )  # fmt: skip
    last = sol.at(0.29998)
    assert last.p == pytest.approx([-0.04134818676833654, -0.1034684682717361, -0.3409339755504301], abs=1e-9)
    assert last.v[[0, 2]] == pytest.approx([-0.2601373307913771, -8.327555353239312], abs=1e-7)


def test_joints_and_contacts_together():
    """A pendulum that comes to rest on a stop: the rod holds, the stop carries."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 1.0], force=[0.0, -G], holonomic=lambda s: [s.x**2 + s.y**2 - 1.0], lam=["rod"],
        unilateral=lambda s: [s.x], contacts=["stop"], restitution=0.4,
    )  # fmt: skip
    sol = da.simulate(model, (0, 12), p0=[1.0, 0.0], method=da.MoreauJean(h=1e-3))
    assert np.hypot(*sol.p.T) == pytest.approx(np.ones(len(sol.t)), abs=1e-9)
    assert sol.p[:, 0].min() > -5e-3
    assert sol.p[-1] == pytest.approx([0.0, -1.0], abs=1e-4)  # bounces have all the same period
    assert abs(sol.v[-1]).max() < 1e-3
    assert sol["stop"].min() >= 0


def test_users_events_are_found():
    half_way = da.Event(lambda s: s.z - 0.5, name="half way")
    sol = da.simulate(ball(0.5), (0, 0.7), p0=[1.0], method=da.MoreauJean(h=1e-3), events=half_way)
    assert sol.events.named("half way").t == pytest.approx([np.sqrt(1 / G)], abs=1e-5)
    stop = da.Event(lambda s: s.z - 0.5, name="half way", terminal=True)
    sol = da.simulate(ball(0.5), (0, 1), p0=[1.0], method=da.MoreauJean(h=1e-3), events=stop)
    assert sol.t[-1] == pytest.approx(np.sqrt(1 / G), abs=1e-5)


def test_actions_of_events():
    """A kick at half height: contacts are not forced when the run goes on from there."""

    def kick(s):
        return {"z_dot": 0.0}

    stop = da.Event(lambda s: s.z - 0.5, name="half way", direction=-1, action=kick)
    sol = da.simulate(ball(0.0), (0, 1), p0=[1.0], method=da.MoreauJean(h=1e-3), events=stop)
    at = np.sqrt(1 / G)
    assert sol.events.t[0] == pytest.approx(at, abs=1e-5)
    assert sol.at(at + 0.1).v[0] == pytest.approx(-0.1 * G, abs=1e-3)
    assert sol.p[-1] == pytest.approx([0.0], abs=1e-5)


def test_few_points_without_dense_output():
    every = da.simulate(ball(0.5), (0, 1), p0=[1.0], method=da.MoreauJean(h=1e-3))
    some = da.simulate(
        ball(0.5), (0, 1), p0=[1.0], method=da.MoreauJean(h=1e-3), t_eval=[0.25, 1.0], dense_output=False
    )
    assert some.p == pytest.approx(np.array([every.at(t).p for t in (0.25, 1.0)]), abs=1e-14)


def test_statistics_count_contacts():
    sol = da.simulate(ball(), (0, 1), p0=[0.1], method=da.MoreauJean(h=1e-3))
    assert sol.stats.closed_contacts == 1
    assert 800 < sol.stats.contacts <= sol.stats.accepted == 1000
    assert sol.stats.contact_iterations >= sol.stats.contacts


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs its step size"), ({"h": 0.0}, "h=0"), ({"h": -1e-3}, "must be positive"),
        ({"h": np.nan}, "h=nan"), ({"h": np.inf}, "finite"), ({"h": "small"}, "h="),
        ({"h": 1e-3, "theta": 0.4}, "theta=0.4"), ({"h": 1e-3, "theta": 1.1}, "theta=1.1"),
        ({"h": 1e-3, "theta": np.nan}, "theta=nan"), ({"h": 1e-3, "tolerance": 0.0}, "tolerance"),
        ({"h": 1e-3, "iterations": 0}, "iterations"), ({"h": 1e-3, "step": 1.0}, "no option 'step'"),
    ],
)  # fmt: skip
def test_wrong_options(options, words):
    with pytest.raises(da.OptionError, match=words):
        da.MoreauJean(**options)


def test_penetrating_start_is_named():
    with pytest.raises(da.InconsistentInitialValues, match="'floor'"):
        da.simulate(ball(), (0, 1), p0=[-0.1], method=da.MoreauJean(h=1e-3))


def test_backwards_is_refused():
    with pytest.raises(da.OptionError, match="forwards in time"):
        da.simulate(ball(), (1, 0), p0=[1.0], method=da.MoreauJean(h=1e-3))


def test_functions_that_fail_are_named():
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-1.0 / np.sqrt(s.x)])
    with pytest.raises(da.FunctionFailed, match="x"):
        da.simulate(model, (0, 5), p0=[1.0], method=da.MoreauJean(h=1e-2))


def test_too_many_steps():
    with pytest.raises(da.TooManySteps, match="max_steps"):
        da.simulate(ball(), (0, 1), p0=[1.0], method=da.MoreauJean(h=1e-3), max_steps=100)


def test_redundant_constraints_are_named():
    model = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=np.ones(3), force=np.zeros(3), holonomic=lambda s: [s.x - s.y, 2 * s.x - 2 * s.y]
    )
    with pytest.raises(da.SingularMatrix, match="lam"):
        da.simulate(model, (0, 1), p0=[0, 0, 0], method=da.MoreauJean(h=1e-3))


def test_impulses_that_do_not_settle_are_told():
    n = 30
    model = da.EquationsOfMotion(
        p=[f"z{i}" for i in range(n)], mass=np.ones(n), force=np.full(n, -G),
        unilateral=lambda s: [s.p[0] - 0.5, *(s.p[i + 1] - s.p[i] - 1.0 for i in range(n - 1))],
    )  # fmt: skip
    with pytest.warns(da.ContactsNotSolved, match="iterations"):
        da.simulate(model, (0, 0.01), p0=0.5 + np.arange(n), method=da.MoreauJean(h=1e-3, iterations=3))
