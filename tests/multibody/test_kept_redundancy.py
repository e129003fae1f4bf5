"""Models that keep redundant constraints: multipliers are the smallest that solve the equations of motion."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from linkages import bricard, door, four_bar, parallelogram
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.model.start import with_start
from dalembert.solvers.start import start_values

SVD = da.Geoms(algebraic="svd")


class Smallest:
    """Multipliers and accelerations of a model at a state, by numpy: M a + Gᵀ λ = f, G a + γ = 0."""

    def __init__(self, model):
        graph = model.graph
        p, v, g = graph.symbol["p"], graph.symbol["v"], graph.value("holonomic")
        p_dot = ca.mtimes(graph.value("kinematics"), v)
        first = ca.jtimes(g, p, p_dot)
        parts = [graph.value("mass"), graph.value("force"), ca.jacobian(first, v), ca.jtimes(first, p, p_dot)]
        self._parts = ca.Function("parts", [p, v], [ca.densify(part) for part in parts])

    def __call__(self, p, v):
        M, f, G, gamma = (part.full() for part in self._parts(p, v))
        f, gamma = f.ravel(), gamma.ravel()
        U, S, _ = np.linalg.svd(G)
        U = U[:, : int((1e-4 * S[0] < S).sum())]  # beside the constraints no row depends on others exactly
        by_force = np.linalg.solve(M, np.column_stack([f, G.T]))
        A, b = U.T @ G @ by_force[:, 1:] @ U, U.T @ (G @ by_force[:, 0] + gamma)
        lam = U @ np.linalg.solve(A, b)
        return lam, by_force[:, 0] - by_force[:, 1:] @ lam, np.linalg.cond(A)

    def error(self, p, v, lam):
        """The largest one, as a fraction of the largest multiplier, over the largest condition number."""
        found = [self(*state) for state in zip(p, v, strict=True)]
        expected = np.array([each[0] for each in found])
        return np.abs(lam - expected).max() / (1 + np.abs(expected).max()) / max(each[2] for each in found)


def spinning(coordinates, **shape):
    known = {"base0.angle": 0.7, "base0.speed": 8.0}
    return parallelogram(**shape).equations(coordinates, known=known, redundant="keep")


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
def test_cranks_that_turn_the_dependence_of_their_constraints(coordinates, tol):
    """Over many turns. Where a crank lies along the ground the constraints turn round within a step, and a row of them
    vanishes."""
    model = spinning(coordinates, cranks=3, offset=0.5)
    sol = da.simulate(model, (0, 10), method=SVD, rtol=tol, atol=tol)
    assert np.ptp(sol["base0.angle" if coordinates == "joint" else "crank0.angle"]) > 10 * 2 * np.pi
    smallest = Smallest(model)
    assert smallest.error(sol.p, sol.v, sol.lam) < 1e-12
    assert sol.max_residual("acceleration") < 1e-9
    a = np.array([smallest(*state)[1] for state in zip(sol.p, sol.v, strict=True)])
    assert np.abs(sol.accelerations() - a).max() < 1e-11 * np.abs(a).max()
    between = sol.at(np.linspace(0, 10, 501))
    assert smallest.error(between.p, between.v, between.lam) < 0.1 * tol ** (2 / 3)  # as the method takes tolerances
    energy = sol["energy.total"]
    assert np.ptp(energy) < 1e3 * tol * np.abs(energy).max()


@pytest.mark.parametrize("scaling", ["rows", "none", "step"])
@pytest.mark.parametrize(
    "options", [{}, {"newton_matrix": "stage2"}, {"corrections": 0}, {"selector": "adaptive"}, {"differential": "qr"}]
)
def test_every_option_sees_constraints_that_turn(scaling, options):
    model = spinning("joint", cranks=3, offset=0.5)
    sol = da.simulate(model, (0, 3), method=da.Geoms(algebraic="svd", scaling=scaling, **options), rtol=1e-6, atol=1e-6)
    assert Smallest(model).error(sol.p, sol.v, sol.lam) < 1e-11
    assert sol.p[-1][0] == pytest.approx(27.1, abs=1.0)


def test_a_start_where_a_row_vanishes():
    model = parallelogram(cranks=3, offset=0.5).equations("joint", redundant="keep")
    for tol in (1e-6, 1e-8):
        sol = da.simulate(model, (0, 5), method=SVD, rtol=tol, atol=tol)
        assert Smallest(model).error(sol.p, sol.v, sol.lam) < 1e-12


def cranks(rng):
    """Parallel cranks at random places."""
    mb = da.Multibody(planar=True)
    coupler = mb.body("coupler", mass=rng.uniform(0.5, 3), inertia=rng.uniform(0.1, 1), com=rng.uniform(-1, 1, 2))
    for k in range(int(rng.integers(3, 6))):
        at = rng.uniform(-1.5, 1.5, 2)
        crank = mb.body(f"crank{k}", mass=rng.uniform(0.5, 2), inertia=0.1, com=(0.5, 0))
        mb.revolute(f"base{k}", mb.ground, crank, at=at)
        mb.revolute(f"pin{k}", crank, coupler, at=(1.0, 0), to=at)
    return mb, {"base0.angle": rng.uniform(-3, 3), "base0.speed": rng.uniform(-10, 10)}


def four_bar_in_space(rng):
    """A planar mechanism in an oblique plane; forces out of it are held by what is redundant."""
    R = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    coupler, rocker = rng.uniform(2.6, 3.2), rng.uniform(2.2, 2.8)
    mb = da.Multibody(gravity=(0, 0, -9.81))
    bodies = [
        mb.body(name, mass=1.0, inertia=(0.01, 0.1, 0.1), com=(length / 2, 0, 0))
        for name, length in (("crank", 1.0), ("coupler", coupler), ("rocker", rocker))
    ]
    mb.revolute("motor", mb.ground, bodies[0], rotation=R)
    mb.revolute("elbow", bodies[0], bodies[1], at=(1.0, 0, 0))
    mb.revolute("base", mb.ground, bodies[2], at=R @ [3.0, 0, 0], rotation=R)
    mb.revolute("pin", bodies[1], bodies[2], at=(coupler, 0, 0), to=(rocker, 0, 0))
    return mb, {"motor.angle": rng.uniform(-3, 3), "motor.speed": rng.uniform(5, 10)}


def spherical_four_bar(rng):
    """All axes meet in one point."""
    angles = np.array([0.5, 1.3, 1.1, -1.2]) + rng.uniform(-0.1, 0.1, 4)
    turned = [Rotation.from_euler("x", angle).as_matrix() for angle in angles]
    mb = da.Multibody()
    a, b, c = (mb.body(name, 1.0, (0.1, 0.12, 0.15), com=(0.3 * rng.normal(), 0.2, 0.4)) for name in "abc")
    mb.revolute("j0", mb.ground, a)
    mb.revolute("j1", a, b, rotation=turned[0])
    mb.revolute("j2", b, c, rotation=turned[1])
    mb.revolute("j3", c, mb.ground, rotation=turned[2], rotation_to=turned[3])
    return mb, {"j0.angle": rng.uniform(-3, 3), "j0.speed": rng.uniform(3, 8)}


MECHANISMS = (cranks, four_bar_in_space, spherical_four_bar)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    make=st.sampled_from(MECHANISMS),
    coordinates=st.sampled_from(["joint", "absolute"]),
    tol=st.sampled_from([1e-5, 1e-7]),
)
def test_random_mechanisms(seed, make, coordinates, tol):
    mb, known = make(np.random.default_rng(seed))
    model = mb.equations(coordinates, known=known, redundant="keep")
    sol = da.simulate(model, (0, 1.5), method=SVD, rtol=tol, atol=tol)
    # where nothing is redundant in these coordinates, Newton's method determines multipliers to the tolerance
    assert Smallest(model).error(sol.p, sol.v, sol.lam) < (tol if is_regular(model) else 1e-10)
    energy = sol["energy.total"]
    assert np.ptp(energy) < 1e3 * tol * (1 + np.abs(energy).max())


def is_regular(model):
    """Whether the constraints are independent at the start."""
    return start_values(model, 0.0, with_start(model, {})).unique


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    make=st.sampled_from(MECHANISMS),
    coordinates=st.sampled_from(["joint", "absolute", "mixed"]),
)
@example(seed=1036, make=cranks, coordinates="joint")  # a constraint whose derivatives nearly vanish, among others
@example(seed=2057, make=cranks, coordinates="joint")
def test_start_values_of_random_mechanisms(seed, make, coordinates):
    """Constraints that are nothing but rounding say nothing, also where a search scales them up."""
    mb, known = make(np.random.default_rng(seed))
    model = mb.equations(coordinates, known=known, redundant="keep")
    for start in (da.consistent_initial_values(model), start_values(model, 0.0, with_start(model, {}))):
        lam, a, condition = Smallest(model)(start.p, start.v)
        assert start.correction < 1e-9
        assert np.abs(start.lam - lam).max() < 1e-12 * condition * (1 + np.abs(lam).max())
        assert np.abs(start.a - a).max() < 1e-11 * condition * (1 + np.abs(a).max())


KEPT = {
    "cranks": lambda c: spinning(c, cranks=3, offset=0.5),
    "cranks at a vanishing row": lambda c: parallelogram(cranks=3, offset=0.5).equations(c, redundant="keep"),
    "bricard": lambda c: bricard().equations(c, redundant="keep"),
    "four bar": lambda c: four_bar(1.0, 3.0, 2.5, 3.0, spatial=True).equations(
        "absolute", known={"motor.angle": 1.0}, redundant="keep"
    ),
    "door": lambda c: door().equations("absolute", redundant="keep"),
}


@pytest.mark.parametrize("method", ["radau5", "dassl", "odassl", "hem5", "mexx", "rkf45", "geoms"])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("name", KEPT)
def test_other_methods_refuse_in_words(name, coordinates, method):
    model = KEPT[name](coordinates)
    with pytest.raises(DalembertError, match=r"svd") as error:
        da.simulate(model, (0, 1), method=method)
    assert "lam_" in str(error.value) or "cannot be independent" in str(error.value)


@pytest.mark.parametrize("method", ["radau5", "dassl", "odassl"])
def test_rounding_in_redundant_constraints_is_no_pivot(method):
    """Rods of a double pendulum, stated again as combinations of each other: factors of what is left of them exist."""
    for seed in range(6):
        A = np.vstack([np.eye(2), np.random.default_rng(seed).normal(size=(2, 2))])

        def holonomic(s, A=A):
            rods = [s.x**2 + s.y**2 - 1, (s.x2 - s.x) ** 2 + (s.y2 - s.y) ** 2 - 1]
            return [a * rods[0] + b * rods[1] for a, b in A.tolist()]

        model = da.EquationsOfMotion(
            p=["x", "y", "x2", "y2"], mass=[1, 1, 1, 1], force=[0, -9.81, 0, -9.81], holonomic=holonomic
        )
        with pytest.raises(da.SingularMatrix, match=r"depend on each other.*svd"):
            da.simulate(model, (0, 1), p0=[0.6, -0.8, 1.4, -1.4], method=method)
