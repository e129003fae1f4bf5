"""Edges of surfaces: found as events, and passed by every smooth method with its own accuracy."""

import numpy as np
import pytest
from surfaces import G, along, around_corner, error, flying, point

import dalembert as da
from dalembert.errors import ContactError

METHODS = [da.Hem5(), da.Mexx(), da.Rkf45(), da.Geoms(), da.Radau5(), da.Dassl()]
REMEDIES = [da.Hem5(), da.Hem5(stages="complementarity")]
LAST = 0.25  # how long the motion goes on behind the edge


def rising(power):
    """The plane z = 0, and for x > 0 the surface z = x^power, as two contacts."""
    return lambda s: [s.z, s.z - np.maximum(s.x, 0) ** power]


def on_power(power, t=LAST, v=1.0):
    return along(
        lambda x: x**power,
        lambda x: power * x ** (power - 1),
        lambda x: power * (power - 1) * x ** (power - 2),
        t,
        0,
        v,
    )


def falling(s):
    return [s.z + np.maximum(s.x, 0) ** 2]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("power", [2, 3, 4])
def test_from_a_plane_onto_a_curve_that_rises(method, power):
    """From power 3 on accelerations are the same on both: the step across the edge tells them apart."""
    model = point(rising(power), contacts=["flat", "curve"])
    for tol in (1e-6, 1e-9):
        sol = da.simulate(model, (0, 1 + LAST), p0=[-1, 0], v0=[1, 0], method=method, rtol=tol, atol=tol)
        assert error(sol, on_power(power)) < 20 * tol
        assert len(sol.impacts) == 0
        assert sol["flat"][-1] == 0
        assert sol["curve"][-1] > 1


@pytest.mark.parametrize("method", REMEDIES, ids=repr)
def test_the_order_of_the_method_is_kept_behind_the_edge(method):
    """An undeclared jump costs steps; here a tenth of the tolerance costs what it does on smooth problems."""
    model = point(rising(2))
    errors, steps = [], []
    for tol in (1e-6, 1e-8, 1e-10, 1e-12):
        sol = da.simulate(model, (0, 1 + LAST), p0=[-1, 0], v0=[1, 0], method=method, rtol=tol, atol=tol)
        errors.append(error(sol, on_power(2)))
        steps.append(sol.stats.accepted)
    assert (np.array(errors) < [1e-6, 1e-8, 1e-10, 1e-12]).all(), errors
    assert (np.diff(np.log(steps)) < np.log(3.5)).all(), steps  # 100^(1/4) = 3.2


@pytest.mark.parametrize("method", [*METHODS, REMEDIES[1]], ids=repr)
def test_from_a_plane_onto_a_curve_that_falls(method):
    """Slow bodies follow the curve, fast ones leave it at the edge."""
    model, tol = point(falling, contacts=["ground"]), 1e-8
    slow = da.simulate(model, (0, 1 + LAST), p0=[-1, 0], v0=[1, 0], method=method, rtol=tol, atol=tol)
    assert error(slow, along(lambda x: -(x**2), lambda x: -2 * x, lambda x: -2.0, LAST, 0, 1)) < 20 * tol
    assert slow["ground"][-1] > 1
    fast = da.simulate(model, (0, 1 + LAST), p0=[-3, 0], v0=[3, 0], method=method, rtol=tol, atol=tol)
    assert error(fast, flying([0, 0, 3, 0], LAST)) < 20 * tol
    assert fast["ground"][-1] == 0


@pytest.mark.parametrize("method", [*METHODS, REMEDIES[1]], ids=repr)
@pytest.mark.parametrize("v", [0.5, 1.5, 3.0])
def test_a_ball_turns_round_a_corner_or_leaves_it(method, v):
    r, t, tol = 0.5, 0.3, 1e-8
    model = point(lambda s: [np.where(s.x < 0, s.z, np.sqrt(s.x**2 + s.z**2)) - r])
    sol = da.simulate(model, (0, 1 + t), p0=[-v, r], v0=[v, 0], method=method, rtol=tol, atol=tol)
    assert error(sol, around_corner(r, v, t)) < 100 * tol
    assert len(sol.impacts) == 0


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_an_impact_where_the_normal_jumps(method, e):
    """A plane with a ramp behind it, as one gap and as two."""
    tol, v = 1e-8, 2.0
    n = np.array([-0.5, 1]) / np.sqrt(1.25)
    before = np.array([v, 0])
    after = before - (1 + e) * n * (n @ before)
    if e:
        exact = flying([0, 0, *after], 0.05)
    else:
        exact = along(lambda x: 0.5 * x, lambda x: 0.5, lambda x: 0.0, 0.05, 0, after[0])
    for gaps in (lambda s: [s.z - np.maximum(0, 0.5 * s.x)], lambda s: [s.z, s.z - 0.5 * s.x]):
        sol = da.simulate(
            point(gaps, restitution=e), (0, 0.55), p0=[-1, 0], v0=[v, 0], method=method, rtol=tol, atol=tol
        )
        assert error(sol, exact) < 20 * tol
        assert sol.impacts.t == pytest.approx([0.5], abs=10 * tol)
        assert sol.impacts[0].v_after == pytest.approx(after, abs=10 * tol)


def test_a_body_leaves_where_the_ground_bends_away():
    sol = da.simulate(point(lambda s: [s.z + np.maximum(0, 0.5 * s.x)]), (0, 0.6), p0=[-1, 0], v0=[2, 0])
    assert error(sol, flying([0, 0, 2, 0], 0.1)) < 1e-5
    assert sol["contact1"][-1] == 0


def test_a_valley_of_two_gaps_holds_a_body():
    sol = da.simulate(point(lambda s: [s.z - s.x, s.z + s.x]), (0, 2), p0=[-1, 1], v0=[1, -1])
    assert error(sol, np.zeros(4)) < 1e-7
    assert sol.lam[-1] == pytest.approx([G / 2, G / 2])


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_valley_of_one_gap_is_named(e):
    with pytest.raises(ContactError, match=r"'ground' is held by an edge from two sides.*as two gaps"):
        da.simulate(
            point(lambda s: [s.z - np.abs(s.x)], contacts=["ground"], restitution=e), (0, 2), p0=[-1, 1], v0=[1, -1]
        )


def test_kinks_are_named_where_stages_are_complementarity_problems():
    model = point(lambda s: [s.z - np.maximum(0, 0.5 * s.x)], contacts=["ramp"])
    with pytest.raises(da.SimulationError, match=r"'ramp'.*Hem5\(\)"):
        da.simulate(model, (0, 1), p0=[-1, 0], v0=[2, 0], method=da.Hem5(stages="complementarity"))


def test_edges_of_floors_and_periodic_surfaces():
    """Humps that come again and again, by np.mod."""
    tol = 1e-9

    def gap(s):
        u = np.mod(s.x, 1.0)
        return [s.z - 0.2 * np.maximum(u - 0.5, 0) ** 2 * (1 - u) ** 2]

    def hump(u):
        return (u > 0.5) * 0.2 * (u - 0.5) ** 2 * (1 - u) ** 2

    model = point(gap)
    sol = da.simulate(model, (0, 4), p0=[-1.75, 0], v0=[1, 0], rtol=tol, atol=tol)
    energy = 0.5 * (sol.v**2).sum(axis=1) + G * sol.p[:, 1]
    assert np.ptp(energy) < 1e-7
    assert sol.p[-1, 0] > 2
    assert sol.p[:, 1] == pytest.approx(hump(np.mod(sol.p[:, 0], 1.0)), abs=1e-8)
    assert len(sol.impacts) == 0


def test_edges_that_stand_in_no_gap():
    """|x| by logarithms is not recognized; edges= says where it has its edge."""

    def gap(s):
        return [s.z - np.exp(0.5 * np.log(s.x**2 + 1e-200)) * s.x / 2 - s.x**2 / 2]  # max(x, 0)²

    tol = 1e-9
    given = {"p0": [-1, 0], "v0": [1, 0], "rtol": tol, "atol": tol, "method": "radau5"}
    plain = da.simulate(point(gap), (0, 1 + LAST), **given)
    told = da.simulate(point(gap, edges=lambda s: [s.x]), (0, 1 + LAST), **given)
    assert error(told, on_power(2)) < 10 * tol
    assert not point(gap).edges
    assert told.stats.error_rejections < plain.stats.error_rejections


def terrain(rng, pieces):
    """Parabolas with continuous slopes, one after the other: knots, and polynomials of each piece."""
    knots = np.cumsum(rng.uniform(0.2, 0.6, pieces))
    bends = rng.uniform(-0.8, 0.8, pieces)
    return knots, bends


def height(x, knots, bends, maximum):
    return sum(b * maximum(x - k, 0) ** 2 for k, b in zip(knots, bends, strict=True))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("method", [da.Hem5(), da.Geoms(), da.Hem5(stages="complementarity")], ids=repr)
def test_random_surfaces_of_many_pieces(seed, method):
    """Against SciPy with small steps over the same ground; the normal force is held positive by a strong weight."""
    rng, tol, strong = np.random.default_rng(seed), 1e-8, 200.0
    knots, bends = terrain(rng, 6)
    model = da.EquationsOfMotion(
        p=["x", "z"],
        mass=[1, 1],
        force=[0, -strong],
        unilateral=lambda s: [s.z - height(s.x, knots, bends, np.maximum)],
    )
    v, t_end = rng.uniform(0.5, 1.5), 0.6
    sol = da.simulate(model, (0, t_end), p0=[0, 0], v0=[v, 0], method=method, rtol=tol, atol=tol)

    def slope(x):
        return sum(2 * b * max(x - k, 0) for k, b in zip(knots, bends, strict=True))

    def bend(x):
        return sum(2 * b * (x > k) for k, b in zip(knots, bends, strict=True))

    from scipy.integrate import solve_ivp

    def rates(_, y):
        return [y[1], -slope(y[0]) * (bend(y[0]) * y[1] ** 2 + strong) / (1 + slope(y[0]) ** 2)]

    # each piece for itself: its end is an event
    t, y = 0.0, np.array([0.0, v])
    while t < t_end:
        events = [lambda _, y, k=k: y[0] - k for k in knots if abs(y[0] - k) > 1e-9]
        for event in events:
            event.terminal = True
        found = solve_ivp(rates, (t, t_end), y, events=events, rtol=1e-12, atol=1e-13, method="DOP853")
        t, y = found.t[-1], found.y[:, -1]
        y = y + 1e-12 * np.array([y[1], 0])
    exact = np.array([y[0], height(y[0], knots, bends, np.maximum), y[1], slope(y[0]) * y[1]])
    assert (sol["contact1"] >= 0).all()
    assert error(sol, exact) < 1e3 * tol
    assert np.abs(sol["contact1.gap"]).max() < 10 * tol


@pytest.mark.parametrize("method", REMEDIES, ids=repr)
def test_several_bodies_over_edges_at_the_same_time(method):
    """Four bodies that do not know of each other: two pairs arrive together."""
    tol, starts, speeds = 1e-8, [-1.0, -2.0, -0.5, -1.5], [1.0, 2.0, 1.0, 3.0]
    names = [f"{axis}{i}" for i in range(4) for axis in "xz"]

    def gaps(s):
        return [
            gap for i in range(4)
            for gap in (s.p[2 * i + 1], s.p[2 * i + 1] - np.maximum(s.p[2 * i], 0) ** 2)
        ]  # fmt: skip

    model = da.EquationsOfMotion(p=names, mass=np.ones(8), force=[0, -G] * 4, unilateral=gaps)
    sol = da.simulate(
        model, (0, 1.2), p0=[x for start in starts for x in (start, 0)], v0=[v for speed in speeds for v in (speed, 0)],
        method=method, rtol=tol, atol=tol,
    )  # fmt: skip
    for i, (start, v) in enumerate(zip(starts, speeds, strict=True)):
        exact = on_power(2, 1.2 + start / v, v)
        found = np.concatenate([sol.p[-1, 2 * i : 2 * i + 2], sol.v[-1, 2 * i : 2 * i + 2]])
        assert found == pytest.approx(exact, abs=50 * tol)


def test_a_body_that_rests_at_an_edge_stays():
    for gaps in (rising(2), falling):
        sol = da.simulate(point(gaps), (0, 1), p0=[0, 0], v0=[0, 0], method=da.Hem5())
        assert np.abs(sol.p[-1]).max() < 1e-9
        assert sol.lam[-1].sum() == pytest.approx(G)


def test_bad_edges():
    with pytest.raises(da.ModelError, match="edges= is given, but there are no contacts"):
        da.EquationsOfMotion(p=["x"], mass=[1], force=[0], edges=lambda s: [s.x])
    with pytest.raises(da.ModelError, match="depends neither on positions nor on time"):
        point(lambda s: [s.z], edges=lambda s: [1.0])
    with pytest.raises(da.OptionError, match="has no contacts"):
        da.simulate(da.problems.pendulum().model, (0, 1), p0=[1, 0], method=da.Hem5(stages="complementarity"))
    with pytest.raises(da.OptionError, match="stages"):
        da.Hem5(stages="lemke")
    with pytest.raises(da.OptionError, match="linear_solver"):
        da.Hem5(stages="complementarity", linear_solver=da.Dense())
    rough = point(lambda s: [s.z], friction=0.3, sliding=lambda s: [s.x_dot], contacts=["floor"])
    with pytest.raises(da.OptionError, match="contact 'floor'"):
        da.simulate(rough, (0, 1), p0=[0, 1], method=da.Hem5(stages="complementarity"))
