"""Redundant constraints in GEOMS: the motion is that without them, and of all multipliers the smallest are returned."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da


def crank_platform(seed: int, cranks: int) -> tuple[da.EquationsOfMotion, dict]:
    """A body on parallel cranks of length 1: three constraints and more for the two coordinates that they take."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (cranks, 2))

    def holonomic(s):
        c, d = np.cos(s.th), np.sin(s.th)
        return [(s.X + c * x - d * y - x) ** 2 + (s.Y + d * x + c * y - y) ** 2 - 1 for x, y in points]

    mass = rng.uniform(0.5, 3)
    model = da.EquationsOfMotion(
        p=["X", "Y", "th"], mass=[mass, mass, rng.uniform(0.2, 2)], force=[0, -9.81 * mass, 0], holonomic=holonomic
    )
    angle = rng.uniform(0.3, 1.2)
    return model, dict(p0=[np.sin(angle), -np.cos(angle), 0])


def combined_chain(seed: int, links: int, more: int) -> tuple[da.EquationsOfMotion, dict]:
    """A chain of point masses whose rods are stated again, several times, as combinations of each other."""
    rng = np.random.default_rng(seed)
    A = np.vstack([np.eye(links), rng.normal(size=(more, links))])
    A = A[rng.permutation(len(A))]

    def holonomic(s):
        x, y = [0, *s.p[::2]], [0, *s.p[1::2]]
        rods = [(x[i + 1] - x[i]) ** 2 + (y[i + 1] - y[i]) ** 2 - 1 for i in range(links)]
        return [sum(float(a) * rod for a, rod in zip(row, rods, strict=True)) for row in A]

    names = [name for i in range(links) for name in (f"x{i}", f"y{i}")]
    masses = np.repeat(rng.uniform(0.5, 2, links), 2)
    force = np.where(np.arange(2 * links) % 2, -9.81 * masses, 0)
    model = da.EquationsOfMotion(p=names, mass=list(masses), force=list(force), holonomic=holonomic)
    angles = rng.uniform(-1, 1, links)
    p0 = np.stack([np.cumsum(np.sin(angles)), -np.cumsum(np.cos(angles))], 1).ravel()
    return model, dict(p0=p0)


def sledge(seed: int) -> tuple[da.EquationsOfMotion, dict]:
    """A knife edge, stated twice, on a body that is also held on a line, stated twice: multipliers of both kinds."""
    a, b = np.random.default_rng(seed).uniform(0.5, 2, 2)
    model = da.EquationsOfMotion(
        p=["x", "y", "th", "q"], mass=[1, 1, 0.3, 0.5], force=[0.3, -0.2, 0.1, -1],
        holonomic=lambda s: [s.q - 0.2 * s.x**2, a * s.q - 0.2 * a * s.x**2],
        nonholonomic=lambda s: [
            s.x_dot * np.sin(s.th) - s.y_dot * np.cos(s.th),
            b * (s.x_dot * np.sin(s.th) - s.y_dot * np.cos(s.th)),
        ],
    )  # fmt: skip
    return model, dict(p0=[1, 0, 0.4, 0.2], v0=[0.5 * np.cos(0.4), 0.5 * np.sin(0.4), 0.3, 0.2 * np.cos(0.4)])


def door(seed: int) -> tuple[da.EquationsOfMotion, dict]:
    """A body on two hinges about one oblique axis: ten constraints on six velocities, of which five do the work."""
    rng = np.random.default_rng(seed)
    J, mass, arm = np.diag(rng.uniform(0.5, 2, 3)), 2.0, np.array([1.0, 0.3, 0.0])
    axis = np.array([0.0, 0.0, 1.0])
    tilt = np.linalg.qr(rng.normal(size=(3, 3)))[0]  # of the whole room
    tilt *= np.sign(np.linalg.det(tilt))
    hinges = [-arm + height * axis for height in (-0.5, 0.7)]  # in the body, from its centre

    def turn(e):
        return np.array([
            [e[0]**2 + e[1]**2 - e[2]**2 - e[3]**2, 2*(e[1]*e[2] - e[0]*e[3]), 2*(e[1]*e[3] + e[0]*e[2])],
            [2*(e[1]*e[2] + e[0]*e[3]), e[0]**2 - e[1]**2 + e[2]**2 - e[3]**2, 2*(e[2]*e[3] - e[0]*e[1])],
            [2*(e[1]*e[3] - e[0]*e[2]), 2*(e[2]*e[3] + e[0]*e[1]), e[0]**2 - e[1]**2 - e[2]**2 + e[3]**2],
        ])  # fmt: skip

    def holonomic(s):
        A = tilt @ turn(s.p[3:])
        rows = []
        for hinge in hinges:
            rows += list(s.p[:3] + A @ hinge - tilt @ (hinge + arm))
            rows += [tilt[:, 0] @ A @ axis, tilt[:, 1] @ A @ axis]
        return rows

    def kinematics(s):
        e = s.p[3:]
        Z = np.zeros((7, 6), dtype=object)
        Z[:3, :3] = np.eye(3)
        Z[3:, 3:] = 0.5 * np.array(
            [[-e[1], -e[2], -e[3]], [e[0], -e[3], e[2]], [e[3], e[0], -e[1]], [-e[2], e[1], e[0]]]
        )
        return Z

    def force(s):
        w = s.v[3:]
        m = J @ w
        gyroscopic = [m[1] * w[2] - m[2] * w[1], m[2] * w[0] - m[0] * w[2], m[0] * w[1] - m[1] * w[0]]
        return [*(-9.81 * mass * tilt[0]), *gyroscopic]

    M = np.zeros((6, 6))
    M[:3, :3], M[3:, 3:] = mass * np.eye(3), J
    model = da.EquationsOfMotion(
        p=["x", "y", "z", "e0", "e1", "e2", "e3"], v=["vx", "vy", "vz", "w1", "w2", "w3"], kinematics=kinematics,
        mass=M, force=force, holonomic=holonomic, invariant=lambda s: [s.p[3:] @ s.p[3:] - 1],
    )  # fmt: skip
    return model, dict(p0=[*(tilt @ arm), 1, 0, 0, 0])


def constraint_directions(model: da.EquationsOfMotion):
    """(Gᵀ, Hᵀ) as a function of p: multipliers act as forces through it."""
    graph = model.graph
    parts = []
    Z = graph.value("kinematics")
    if graph.size("lam"):
        parts.append(ca.mtimes(ca.jacobian(graph.value("holonomic"), graph.symbol["p"]), Z))
    if graph.size("mu"):
        parts.append(ca.jacobian(graph.value("nonholonomic"), graph.symbol["v"]))
    f = ca.Function("G", [graph.symbol["p"]], [ca.vertcat(*parts)])
    return lambda p: np.array(f(p)).T


def excess(model, p, multipliers) -> float:
    """How far multipliers are from the smallest ones that exert the same forces, as a fraction of these."""
    G = constraint_directions(model)
    worst = 0.0
    for point, given in zip(p, multipliers, strict=True):
        smallest = np.linalg.lstsq(G(point), G(point) @ given, rcond=1e-7)[0]
        worst = max(worst, np.abs(given - smallest).max() / (1 + np.abs(smallest).max()))
    return worst


def multipliers_of(sol) -> np.ndarray:
    return np.hstack([sol.lam, sol.mu]) if sol.mu.size else sol.lam


CASES = [
    *((crank_platform, (seed, 3 + seed % 4)) for seed in range(4)),
    *((combined_chain, (seed, 1 + seed % 3, 1 + seed)) for seed in range(4)),
    (sledge, (1,)),
    (door, (1,)),
]


@pytest.mark.parametrize(("make", "arguments"), CASES)
def test_multipliers_are_the_smallest(make, arguments):
    model, start = make(*arguments)
    for tol in (1e-5, 1e-8):
        sol = da.simulate(model, (0, 4), method=da.Geoms(algebraic="svd"), rtol=tol, atol=tol, **start)
        assert excess(model, sol.p, multipliers_of(sol)) < 1e-7
        between = sol.at(np.linspace(0, 4, 57))
        assert excess(model, between.p, multipliers_of(between)) < 1e3 * tol


@pytest.mark.parametrize("options", [
    dict(differential="qr"), dict(selector="adaptive"), dict(accelerations="unknown"), dict(jacobian=da.Differences()),
    dict(newton_matrix="stage2"), dict(singular="step over"), dict(scaling="step"), dict(corrections=0),
])  # fmt: skip
def test_multipliers_are_the_smallest_with_every_option(options):
    for make, arguments in ((crank_platform, (3, 6)), (sledge, (2,))):
        model, start = make(*arguments)
        sol = da.simulate(model, (0, 3), method=da.Geoms(algebraic="svd", **options), rtol=1e-6, atol=1e-6, **start)
        assert excess(model, sol.p, multipliers_of(sol)) < 1e-7


def test_redundancy_does_not_change_the_motion():
    for seed in range(4):
        redundant, start = combined_chain(seed, 2, 1 + seed)
        plain, _ = combined_chain(seed, 2, 0)
        # the number of rows decides which random numbers follow: masses and angles of the redundant chain are taken
        plain = da.EquationsOfMotion(
            p=plain.names("p"), mass=list(np.diag(np.array(ca.evalf(redundant.graph.value("mass"))))),
            force=list(np.array(ca.evalf(redundant.graph.value("force"))).ravel()),
            holonomic=lambda s: [s.x0**2 + s.y0**2 - 1, (s.x1 - s.x0) ** 2 + (s.y1 - s.y0) ** 2 - 1],
        )  # fmt: skip
        expected = da.simulate(plain, (0, 2), method=da.Hem5(), rtol=1e-11, atol=1e-11, **start).p[-1]
        for tol in (1e-6, 1e-9):
            sol = da.simulate(redundant, (0, 2), method=da.Geoms(algebraic="svd"), rtol=tol, atol=tol, **start)
            assert np.abs(sol.p[-1] - expected).max() < 100 * tol


def test_a_body_on_two_hinges_swings_as_on_one_axis():
    model, start = door(5)
    sol = da.simulate(model, (0, 3), method=da.Geoms(algebraic="svd"), rtol=1e-9, atol=1e-9, **start)
    assert model.graph.size("lam") > model.graph.size("v")
    M = np.array(ca.evalf(model.graph.value("mass")))
    force = ca.Function("f", [model.graph.symbol["p"], model.graph.symbol["v"]], [model.graph.value("force")])
    gravity = np.array(force(start["p0"], np.zeros(6))).ravel()[:3]
    energy = 0.5 * np.einsum("ti,ij,tj->t", sol.v, M, sol.v) - sol.p[:, :3] @ gravity
    assert np.ptp(energy) < 1e-6
    assert np.abs(np.diff(sol.p[:, 3])).max() > 0.01  # it does swing


def test_index_1_refuses_redundant_constraints():
    model, start = combined_chain(1, 2, 2)
    with pytest.raises(da.RedundantConstraints, match="strangeness-free"):
        da.simulate(model, (0, 1), method=da.Geoms(algebraic="svd", formulation="index1"), **start)


def test_other_decompositions_say_that_constraints_are_redundant():
    model, start = crank_platform(2, 5)
    for method in (da.Geoms(), da.Geoms(algebraic="qr"), da.Geoms(linear_solver=da.Sparse())):
        with pytest.raises(da.RedundantConstraints, match="svd"):
            da.simulate(model, (0, 1), method=method, **start)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_platforms_run_for_long(seed):
    model, start = crank_platform(100 + seed, 3 + seed % 4)
    steps = []
    for end in (10, 60):
        sol = da.simulate(model, (0, end), method=da.Geoms(algebraic="svd"), rtol=1e-7, atol=1e-7, **start)
        assert excess(model, sol.p, sol.lam) < 1e-7
        steps.append(sol.stats.accepted / end)
    assert steps[1] < 1.3 * steps[0]
