"""Hidden constraints against derivatives worked out by hand, at random points."""

import numpy as np
import pytest

import dalembert as da

POINTS = range(5)


def check(got, expected):
    scale = 1 + np.abs(expected).max()
    np.testing.assert_allclose(got, expected, rtol=0, atol=2e-14 * scale)


@pytest.mark.parametrize("seed", POINTS)
def test_pendulum(seed):
    rng = np.random.default_rng(seed)
    m, L, g = rng.uniform(0.5, 2, 3)
    (x, y), (vx, vy), lam = rng.normal(size=2), rng.normal(size=2), rng.normal(size=1)
    hidden = da.hidden_constraints(da.problems.pendulum(m=m, L=L, g=g).model)
    check(hidden.velocity([x, y], [vx, vy]), [2 * x * vx + 2 * y * vy])
    expected = 2 * vx**2 + 2 * vy**2 - 2 * y * g - 4 / m * (x**2 + y**2) * lam[0]
    check(hidden.acceleration([x, y], [vx, vy], lam=lam), [expected])


@pytest.mark.parametrize("seed", POINTS)
def test_car_axis_depends_on_time(seed):
    rng = np.random.default_rng(seed)
    p = rng.normal(size=4) + np.array([0, 0.5, 1, 0.5])
    v, lam, t = rng.normal(size=4), rng.normal(size=2), rng.uniform(0, 3)
    eps, m, length, l0, r, omega = 0.01, 10.0, 1.0, 0.5, 0.1, 10.0
    k = m * eps**2 / 2
    yb, yb1, yb2 = r * np.sin(omega * t), r * omega * np.cos(omega * t), -r * omega**2 * np.sin(omega * t)
    xb = np.sqrt(length**2 - yb**2)
    xb1 = -yb * yb1 / xb
    xb2 = -(yb1**2 + yb * yb2) / xb - (yb * yb1) ** 2 / xb**3
    xl, yl, xr, yr = p
    ul, wl, ur, wr = v
    dx, dy, du, dw = xl - xr, yl - yr, ul - ur, wl - wr
    g_I = [ul * xb + xl * xb1 + wl * yb + yl * yb1, 2 * (dx * du + dy * dw)]
    hidden = da.hidden_constraints(da.problems.car_axis().model)
    check(hidden.velocity(p, v, t), g_I)
    G = np.array([[xb, yb, 0, 0], [2 * dx, 2 * dy, -2 * dx, -2 * dy]])
    left, right = np.hypot(xl, yl), np.hypot(xr - xb, yr - yb)
    f = np.array(
        [
            (l0 - left) * xl / left,
            (l0 - left) * yl / left - k,
            (l0 - right) * (xr - xb) / right,
            (l0 - right) * (yr - yb) / right - k,
        ]
    )
    a = (f - G.T @ lam) / k
    g_II = G @ a + [2 * ul * xb1 + xl * xb2 + 2 * wl * yb1 + yl * yb2, 2 * (du**2 + dw**2)]
    got = hidden.acceleration(p, v, t, lam=lam)
    np.testing.assert_allclose(got, g_II, rtol=1e-13, atol=1e-12 * np.abs(G @ a).max())


def rotation(e):
    e0, e1, e2, e3 = e
    return np.array(
        [
            [e0**2 + e1**2 - e2**2 - e3**2, 2 * (e1 * e2 - e0 * e3), 2 * (e1 * e3 + e0 * e2)],
            [2 * (e1 * e2 + e0 * e3), e0**2 - e1**2 + e2**2 - e3**2, 2 * (e2 * e3 - e0 * e1)],
            [2 * (e1 * e3 - e0 * e2), 2 * (e2 * e3 + e0 * e1), e0**2 - e1**2 - e2**2 + e3**2],
        ]
    )


@pytest.mark.parametrize("seed", POINTS)
def test_heavy_top_with_euler_parameters(seed):
    """x = R(e) X0 with body angular velocity ω: x' = R (ω × X0), x'' = R (ω × (ω × X0) + ω' × X0)."""
    rng = np.random.default_rng(seed)
    model = da.problems.heavy_top().model
    e = rng.normal(size=4)
    e /= np.linalg.norm(e)
    x, v, omega, lam = (rng.normal(size=3) for _ in range(4))
    R, X0 = rotation(e), np.array([0.0, 1.0, 0.0])
    hidden = da.hidden_constraints(model)
    p, velocity = np.concatenate([x, e]), np.concatenate([v, omega])
    check(hidden.velocity(p, velocity), v - R @ np.cross(omega, X0))

    m, J, gravity = 15.0, np.diag([0.234375, 0.46875, 0.234375]), np.array([0.0, 0.0, -9.81])
    # the constraint force on x is −λ; its moment about the centre of mass follows from G Z: −(R (ω × X0))ᵀ
    by_omega = -np.column_stack([R @ np.cross(unit, X0) for unit in np.eye(3)])
    a = (m * gravity - lam) / m
    alpha = np.linalg.solve(J, -np.cross(omega, J @ omega) - by_omega.T @ lam)
    expected = a - R @ (np.cross(omega, np.cross(omega, X0)) + np.cross(alpha, X0))
    check(hidden.acceleration(p, velocity, lam=lam), expected)


@pytest.mark.parametrize("seed", POINTS)
def test_contact_point_is_eliminated(seed):
    """The ball in the ellipse away from its constraints, so that every term of (7) and (8) shows."""
    rng = np.random.default_rng(seed)
    m, gravity, A, B, radius = 1.0, 9.81, 2.0, 1.0, 0.25
    p, v, sigma, lam = rng.normal(size=2), rng.normal(size=2), rng.uniform(-3, 3), rng.normal(size=1)
    curve = np.array([A * np.cos(sigma), B * np.sin(sigma)])
    d1, d2 = np.array([-A * np.sin(sigma), B * np.cos(sigma)]), -curve
    d3 = -d1
    gap = p - curve
    c_s = -d1 @ d1 + gap @ d2
    rate = -(v @ d1) / c_s
    hidden = da.hidden_constraints(da.problems.ball_in_ellipse().model)
    check(hidden.velocity(p, v, s=[sigma]), [-gap @ (v - d1 * rate) / radius])
    G = -gap / radius - (gap @ d1) / radius / c_s * d1
    a = np.array([0, -gravity]) - G * lam / m
    second = -((a - d2 * rate**2) @ d1 + 2 * rate * (v - d1 * rate) @ d2 + gap @ d3 * rate**2) / c_s
    slip = v - d1 * rate
    expected = -(slip @ slip + gap @ (a - d2 * rate**2 - d1 * second)) / radius
    check(hidden.acceleration(p, v, s=[sigma], lam=lam), [expected])


@pytest.mark.parametrize("seed", POINTS)
def test_nonholonomic_acceleration(seed):
    """A knife edge whose direction turns with an input: H and h depend on p, t and u."""
    rng = np.random.default_rng(seed)
    model = da.EquationsOfMotion(
        p=["x", "y", "phi"],
        mass=[2.0, 2.0, 0.5],
        force=lambda s: [1.0, s.x, -s.phi_dot],
        inputs={"delta": lambda t: 0.3 * np.sin(t)},
        nonholonomic=lambda s: [
            -np.sin(s.phi + s.delta) * s.x_dot + np.cos(s.phi + s.delta) * s.y_dot - 0.1 * s.delta * s.x
        ],
    )
    x, y, phi = rng.normal(size=3)
    vx, vy, omega = v = rng.normal(size=3)
    mu, t = rng.normal(), rng.uniform(0, 5)
    delta, rate = 0.3 * np.sin(t), 0.3 * np.cos(t)
    angle = phi + delta
    H = np.array([-np.sin(angle), np.cos(angle), 0])
    a = (np.array([1.0, x, -omega]) - H * mu) / [2, 2, 0.5]
    turning = (-np.cos(angle) * vx - np.sin(angle) * vy) * (omega + rate)
    expected = H @ a + turning - 0.1 * (rate * x + delta * vx)
    hidden = da.hidden_constraints(model)
    check(hidden.nonholonomic_acceleration([x, y, phi], v, t, mu=[mu]), [expected])
    assert hidden.velocity([x, y, phi], v, t).shape == (0,)


OWN = dict(
    p=["x", "y"],
    parameters=dict(m=1.0, g=9.81),
    mass=lambda s: [s.m, s.m],
    force=lambda s: [0, -s.m * s.g],
    holonomic=lambda s: [s.x**2 + s.y**2 - 1],
)


@pytest.mark.parametrize(
    "acceleration",
    [
        lambda s: [2 * s.x_dot**2 + 2 * s.y_dot**2 + 2 * s.x * s.a[0] + 2 * s.y * s.a[1]],
        lambda s: [2 * s.x_dot**2 + 2 * s.y_dot**2 - 2 * s.y * s.g - 4 / s.m * (s.x**2 + s.y**2) * s.lam[0]],
    ],
    ids=["with the acceleration", "with the inverse mass, as the paper prints it"],
)
def test_own_hidden_constraints_are_used(acceleration):
    velocity = lambda s: [2 * s.x * s.x_dot + 2 * s.y * s.y_dot]  # noqa: E731
    model = da.EquationsOfMotion(**OWN, velocity_constraints=velocity, acceleration_constraints=acceleration)
    plain = da.EquationsOfMotion(**OWN)
    for formulation in ("index1", "index2", "ggl"):
        ends = [
            da.simulate(m, (0, 1), p0=[1, 0], method=da.Radau5(formulation=formulation), rtol=1e-9, atol=1e-9).p[-1]
            for m in (model, plain)
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


def test_wrong_hidden_constraints_are_named():
    model = da.EquationsOfMotion(
        **OWN,
        velocity_constraints=lambda s: [2 * s.x * s.x_dot - 2 * s.y * s.y_dot],
        acceleration_constraints=lambda s: [2 * s.x * s.a[0]],
    )
    with pytest.raises(da.ModelError, match="differ from the derived ones") as error:
        da.hidden_constraints(model)
    assert len(error.value.faults) == 2
    assert "velocity_constraints: row 1 ('lam1')" in error.value.faults[0]
    assert "acceleration_constraints: row 1 ('lam1')" in error.value.faults[1]


def test_singular_mass_has_no_explicit_acceleration():
    model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 0], force=[0, -1], holonomic=lambda s: [s.x - s.y])
    with pytest.raises(da.ModelError, match="mass matrix is singular"):
        da.hidden_constraints(model).acceleration([0, 0], [1, 1])


def test_numbers_that_are_not_finite_stay_visible():
    model = da.EquationsOfMotion(
        p=["x"], mass=lambda s: [[np.sqrt(s.x)]], force=[1.0], holonomic=lambda s: [s.x**2 - 1], lam=["wall"]
    )
    assert np.isnan(da.hidden_constraints(model).acceleration([-1.0], [0.0], lam=[0.0])).all()
