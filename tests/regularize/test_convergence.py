"""When start values count as found: by residuals and rounding, whatever the units, and never what is wrong."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.regularize import newton
from dalembert.regularize.newton import Dense, holds, nearest_solution
from dalembert.regularize.rounding import rounding_seen
from dalembert.solvers.start import start_values
from mechanisms import random_mechanism

UNITS = st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6])


def units_of(model, length, mass, time):
    """What one of our units is in the user's, for every component of the random mechanisms."""
    turns = np.array([name.startswith("phi") for name in model.names("p")])
    force, moment = mass * length / time**2, mass * length**2 / time**2
    p = np.where(turns, 1.0, length)
    loop = len(model.names("lam")) % 2  # a rod of fixed length, squared, closes it: a force divided by a length
    lam = np.full(len(model.names("lam")), force)
    if loop:
        lam[-1] = mass / time**2
    return {"p": p, "v": p / time, "a": p / time**2, "lam": lam, "r": np.full(len(model.names("r")), moment)}


@given(seed=st.integers(0, 10_000), length=UNITS, mass=UNITS, time=UNITS)
@settings(max_examples=60, deadline=None)
def test_units_do_not_matter(seed, length, mass, time):
    """The same mechanism in other units: the same values, by Python and by the kernel."""
    model, start = random_mechanism(seed)
    expected = da.consistent_initial_values(model, **start)
    scaled, scaled_start = random_mechanism(seed, length, mass, time)
    units = units_of(model, length, mass, time)
    condition = 1e-9
    for found in (
        da.consistent_initial_values(scaled, **scaled_start),
        start_values(scaled, 0.0, scaled_start),
    ):
        assert found.unique == expected.unique
        assert found.correction <= 1e-15
        for kind, unit in units.items():
            value = found.values[kind] / unit
            size = 1 + np.abs(expected.values[kind]).max(initial=0)
            np.testing.assert_allclose(value, expected.values[kind], rtol=0, atol=condition * size, err_msg=kind)


@given(seed=st.integers(0, 10_000), length=UNITS, mass=UNITS, time=UNITS, kick=st.sampled_from([1e-6, 1e-2, 0.1]))
@settings(max_examples=60, deadline=None)
def test_corrections_succeed_in_all_units(seed, length, mass, time, kick):
    """What comes back satisfies the constraints to rounding of their terms, which have the same unit."""
    model, start = random_mechanism(seed, length, mass, time)
    units = units_of(model, length, mass, time)
    rng = np.random.default_rng(seed)
    p0 = start["p0"] + kick * units["p"] * rng.standard_normal(len(start["p0"]))
    v0 = kick * units["v"] * rng.standard_normal(len(p0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.InitialValuesCorrected)
        found = start_values(model, 0.0, start | {"p0": p0, "v0": v0})
    problems = newton_problems(model)
    for problem, kinds in ((problems.position, ("s", "p")), (problems.velocity, ("v",))):
        residual, J = problem(0.0, found.values, model.theta(0.0))
        z = np.concatenate([found.values[kind] for kind in kinds])
        # a joint at the origin has only the body's own coordinates to compare with
        assert (np.abs(residual.ravel()) <= 1e-14 * (np.abs(J) @ (np.abs(z) + kick * units[kinds[-1]]))).all()


def newton_problems(model):
    from dalembert.regularize.start_problems import start_problems

    return start_problems(model)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_redundant_constraints_in_all_units(unit, scale):
    """Two rows say the same in different units; the smallest multipliers are given."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[unit, unit], force=[0, -2.0 * unit], holonomic=lambda s: [s.y, scale * s.y]
    )
    start = da.consistent_initial_values(model, p0=[0, 0])
    assert not start.unique
    np.testing.assert_allclose(start.lam, np.array([1, scale]) * -2.0 * unit / (1 + scale**2), rtol=1e-9)
    np.testing.assert_allclose(start.a, 0, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_contradictions_are_errors_in_all_units(unit):
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, 0], holonomic=lambda s: [s.x - s.y, s.x - s.y - 1e-7 * unit]
    )
    with pytest.raises(da.InconsistentInitialValues, match="no consistent values of the positions"):
        da.consistent_initial_values(model, p0=[unit, unit])
    falls = da.EquationsOfMotion(p=["x", "y"], mass=[1.0, 0.0], force=[0, -3.0 * unit])
    with pytest.raises(da.InconsistentInitialValues, match="equation of motion of 'y_dot'"):
        da.consistent_initial_values(falls, p0=[0, 0])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_small_residuals_of_small_mechanisms_are_not_rounding(unit):
    """An error of 1e-10 of the length is corrected, also if the length is a micrometre."""
    model = da.problems.pendulum(L=unit).model
    start = da.consistent_initial_values(model, p0=[unit * (1 + 1e-10), 0.0])
    assert start.p[0] / unit == pytest.approx(1.0, abs=4e-16)


def test_equilibrium_where_accelerations_are_rounding():
    """A bridge at rest: every acceleration vanishes, and so do all terms of the constraints on acceleration level."""
    n = 7
    height = np.cosh(np.linspace(-1, 1, n))

    def holonomic(s):
        x, y = s.p[0::2], s.p[1::2]
        return [x[0], y[0] - height[0], y[-1] - height[-1]] + [
            (x[i + 1] - x[i]) ** 2 + (y[i + 1] - y[i]) ** 2 - (height[i + 1] - height[i]) ** 2 - 0.01
            for i in range(n - 1)
        ]

    names = [f"{c}{i}" for i in range(n) for c in "xy"]
    model = da.EquationsOfMotion(p=names, mass=[0.1] * 2 * n, force=[0.0, -0.981] * n, holonomic=holonomic)
    p0 = np.column_stack([0.1 * np.arange(n), height]).ravel()
    for mode in ("correct", "trust"):
        for start in (
            da.consistent_initial_values(model, p0=p0, mode=mode),
            start_values(model, 0.0, {"p0": p0}, mode=mode),
        ):
            assert np.isfinite(start.lam).all()
            assert start.correction < 1e-15


def test_ill_conditioned_mass_is_no_obstacle():
    """Steps stagnate at eps × condition, here 1e-5, with residuals at rounding."""
    n = 8
    hilbert = 1 / (1 + np.add.outer(np.arange(n), np.arange(n)))
    force = hilbert.sum(axis=1)  # of accelerations that are all one
    model = da.EquationsOfMotion(p=[f"q{i}" for i in range(n)], mass=hilbert, force=force)
    for start in (da.consistent_initial_values(model, p0=np.zeros(n)), start_values(model, 0.0, {"p0": np.zeros(n)})):
        assert (np.abs(hilbert @ start.a - force) <= 1e-14 * (hilbert @ np.abs(start.a))).all()
        np.testing.assert_allclose(start.a, 1.0, atol=1e-4)


@pytest.mark.slow
def test_long_chain_in_joint_coordinates():
    problem = da.problems.pendulum_chain(1600, coordinates="joint")
    start = da.consistent_initial_values(problem.model, **problem.start())
    assert start.unique
    residual, J = newton_problems(problem.model).acceleration(0.0, start.values, problem.model.theta(0.0))
    assert (np.abs(residual.ravel()) <= 1e-14 * (np.abs(J) @ np.abs(start.a))).all()


# -- the judgement itself ------------------------------------------------------------------------------------------


def solve(function, derivative, z):
    """`nearest_solution` of one equation, or None."""
    try:
        return nearest_solution(
            lambda z: (np.array([function(z)]), np.array([derivative(z)])), np.array(z, float), ["it"], "z", 0.0
        )
    except da.InconsistentInitialValues:
        return None


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_rounding_of_constants_is_recognized(unit):
    """Near the origin |J| |z| vanishes, and the constants in the equation are all that is rounded."""
    for far in (0.7, 0.3, 0.1):

        def function(z, L=far * unit):
            return (z[0] - L) ** 2 + (z[1] - L) ** 2 - 2 * L * L * (1 + 2**-52)

        found = solve(function, lambda z, L=far * unit: [2 * (z[0] - L), 2 * (z[1] - L)], [0.0, 0.0])
        assert found is not None
        assert np.abs(found).max() < 1e-15 * unit


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow, far away
@pytest.mark.parametrize("start", [1e-3, 0.5, 3.0, 1e3, 1e8])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_equations_without_solution_are_not_rounding(start, unit):
    """Steep, flat, saturating: none of them has a root."""
    z = [start * unit]
    assert solve(lambda z: (z[0] / unit) ** 2 + 1, lambda z: [2 * z[0] / unit**2], z) is None
    assert (
        solve(lambda z: np.tanh(z[0] / unit) + 2, lambda z: [1 / np.cosh(min(z[0] / unit, 300)) ** 2 / unit], z) is None
    )
    assert (
        solve(
            lambda z: 1 / (1 + (z[0] / unit) ** 2), lambda z: [-2 * z[0] / unit**2 / (1 + (z[0] / unit) ** 2) ** 2], z
        )
        is None
    )
    assert solve(lambda z: np.exp(-z[0] / unit) + 1e-9, lambda z: [-np.exp(-z[0] / unit) / unit], z) is None


def test_double_root_is_approached_as_far_as_it_goes():
    found = solve(lambda z: z[0] ** 2, lambda z: [2 * z[0]], [0.5])
    assert abs(found[0]) < 1e-15


def solve_noisy(roots, exponent: int, noise: float) -> bool:
    """Whether a polynomial with known roots is solved to the noise that it has, and that no derivative knows of."""
    unit = 10.0**exponent
    roots = np.unique(np.round(roots, 1)) * unit

    def function(z):
        value = np.prod((z[0] - roots) / unit)
        return value + noise * np.sin(1e17 * z[0] / unit)

    def derivative(z):
        return [sum(np.prod(np.delete(z[0] - roots, i) / unit) for i in range(len(roots))) / unit]

    start = roots.max() + unit  # beyond all roots Newton's method cannot fail
    found = solve(function, derivative, [start])
    if found is None:
        return False
    slope = max(abs(derivative(found)[0]) * unit, 1e-3)
    assert abs(found[0] - roots.max()) <= (20 * noise / slope + 1e-12) * unit
    return True


@given(
    roots=st.lists(st.floats(-3, 3), min_size=1, max_size=4),
    exponent=st.integers(-6, 6),
    noise=st.sampled_from([0.0, 1e-12, 1e-9]),
)
@settings(max_examples=100, deadline=None)
def test_noisy_functions_are_solved_to_their_noise_or_refused(roots, exponent, noise):
    """Noise may look like a response; then nothing is returned, and never a wrong root."""
    assert solve_noisy(roots, exponent, noise) or noise > 0


def test_noisy_functions_are_hardly_ever_refused():
    rng = np.random.default_rng(0)
    solved = [
        solve_noisy(rng.uniform(-3, 3, rng.integers(1, 5)), int(rng.integers(-6, 7)), float(rng.choice([1e-12, 1e-9])))
        for _ in range(300)
    ]
    assert sum(solved) >= 297


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("small", [0.3, 4.3e-3, 1.7e-5])
def test_dependent_equations_contradict_each_other_by_rounding(small, unit):
    """Entries of the second one are differences of larger numbers: its own size does not tell how exact it is."""

    def nearest(v, wrong=0.0):
        def rows(v, p):
            J = np.array([[1.0, -1.0, 0.0], [unit * ((p + 1.0) - 1.0), -unit * p, 0.0], [0.0, 1.0, 1.0]])
            return J @ v + [0.0, wrong * unit, 0.0], J

        p = np.array(small)
        return nearest_solution(
            lambda v: rows(v, p), np.array(v), "abc", "v", 0.0, lambda v, move: rows(move(v), move(p))[0]
        )

    for start in ([5.0, 5.0, -5.0], [5.0, 4.0, -3.0], [3.1, 3.1 * (1 + 1e-15), 7.0]):
        expected = np.mean([start[0], start[1], -start[2]]) * np.array([1.0, 1.0, -1.0])  # without the second one
        np.testing.assert_allclose(nearest(start), expected, rtol=0, atol=2e-14)
        with pytest.raises(da.errors.DalembertError, match=r"no consistent values of v.*keeps a residual of"):
            nearest(start, wrong=1e-10)


def test_holds_is_blind_to_units():
    rng = np.random.default_rng(1)
    J, z = rng.standard_normal((3, 5)), rng.standard_normal(5)
    residual = np.array([1.0, 100.0, 1e-3]) * newton.UNIT * (np.abs(J) @ np.abs(z))
    rows, columns = 10.0 ** rng.integers(-9, 9, 3), 10.0 ** rng.integers(-5, 5, 5)
    assert holds(residual, J, z).tolist() == [True, False, True]
    assert holds(rows * residual, rows[:, None] * J / columns, columns * z).tolist() == [True, False, True]


def test_rank_is_blind_to_units():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((6, 6))
    singular = A.copy()
    singular[3] = singular[1] + singular[2]
    for _ in range(20):
        rows, columns = 10.0 ** rng.integers(-6, 7, 6), 10.0 ** rng.integers(-6, 7, 6)
        assert Dense(rows[:, None] * A * columns).rank == 6
        assert Dense(rows[:, None] * singular * columns).rank == 5


def test_rounding_is_seen_equation_by_equation():
    """One equation is as exact as it can be, the other is not."""

    def function(z):
        return np.array([(z[0] + 1e8) - 1e8 - 0.3, z[1] - 1.0]), np.eye(2)

    z = np.array([0.3, 1.001])
    assert rounding_seen(function, z, *function(z)).tolist() == [True, False]
