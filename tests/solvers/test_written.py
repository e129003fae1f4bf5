"""Iteration matrices eliminated by machine code: the increments and steps of dense factors, which take over where the
order of the pivots is not good."""

import ctypes

import numpy as np
import pytest
from steps import stepper_of

import dalembert as da
from dalembert.compile.system import compile_system
from dalembert.solvers.radau.reduction import written_for
from dalembert.solvers.written import constants

u8, f8, i8 = ctypes.c_uint64, ctypes.c_double, ctypes.c_int64
CALL2, CALL3 = ctypes.CFUNCTYPE(i8, u8, u8), ctypes.CFUNCTYPE(i8, u8, u8, u8)
CALL_REALS3 = ctypes.CFUNCTYPE(i8, u8, f8, f8, f8)
SIGMA = (40.0, 30.0, 35.0)


def planar_chain(n):
    """Bars that hang on each other, in absolute coordinates."""
    mb = da.Multibody(planar=True, gravity=[0, -9.81])
    last = mb.ground
    for k in range(n):
        bar = mb.body(f"bar{k}", mass=1.0 + 0.1 * k, inertia=0.1)
        mb.revolute(f"joint{k}", last, bar, at=(0, 0) if k == 0 else (0.5, 0), to=(-0.5, 0))
        last = bar
    return mb.equations(coordinates="absolute")


@pytest.fixture(scope="module")
def bodies():
    return da.problems.andrews_from_bodies("absolute")


class Algebra:
    """The linear algebra of a method on its own, at one point."""

    def __init__(self, method, problem_or_model, seed=0, change=None):
        model = getattr(problem_or_model, "model", problem_or_model)
        self.stepper = stepper_of(method, model)
        self.algebra, compiled = self.stepper.algebra, self.stepper.compiled
        self.n, self.rows = compiled.system.n, len(compiled.system.equations)
        both = np.random.default_rng(seed).uniform(0.2, 1.0, 2 * self.n)
        values = np.zeros(compiled.jacobian.n_out)
        assert compiled.jacobian.call_status(0.0, both, model.theta(0.0), values) == 0
        if change is not None:
            change(compiled, values)
        self.algebra.nonzeros[: len(values)] = values
        (j_row, j_column), (e_row, e_column) = compiled.jacobian_pattern, compiled.leading_pattern
        self.J, self.E = np.zeros((self.rows, self.n)), np.zeros((self.rows, self.n))
        self.J[j_row, j_column], self.E[e_row, e_column] = values[: len(j_row)], values[len(j_row) :]

    def prepare(self):
        record = self.algebra
        if not CALL2(int(record.decompose))(record.address, self.stepper.state.address):
            return False
        return bool(CALL_REALS3(int(record.prepare))(record.address, *SIGMA))

    def call(self, name, R, out):
        CALL3(int(getattr(self.algebra, name)))(self.algebra.address, R.ctypes.data, out.ctypes.data)
        return out

    def real(self, R):
        return self.call("solve_real" if "solve_real" in self.algebra.dtype.names else "solve", R, np.zeros(self.n))

    def stages(self, R):
        return self.call("solve_stages", R, np.zeros((self.n, 3)))

    @property
    def fell_back(self):
        return bool(self.algebra.fell_back)


SQUARE = [da.Radau5(formulation=f, linear_solver=da.Compiled()) for f in ("index1", "index2", "index3", "ggl")]
SQUARE += [da.Dassl(formulation=f, linear_solver=da.Compiled()) for f in ("index1", "ggl")]


@pytest.mark.parametrize("method", SQUARE, ids=repr)
@pytest.mark.parametrize("which", ["bodies", "chain", "andrews", "truck"])
def test_increments_against_numpy(method, which, bodies):
    problem = {"bodies": bodies, "chain": da.problems.pendulum_chain(5)}.get(which) or da.problems.catalogue()[which]()
    rng = np.random.default_rng(2)
    for seed in range(3):
        algebra = Algebra(method, problem, seed)
        assert algebra.prepare()
        assert not algebra.fell_back
        R = rng.normal(size=(algebra.n, 3))
        matrix = SIGMA[0] * algebra.E - algebra.J
        tolerance = 1e-13 * np.linalg.cond(matrix)
        exact = np.linalg.solve(matrix, R[:, 0])
        assert np.abs(algebra.real(R[:, 0].copy()) - exact).max() <= tolerance * np.abs(exact).max()
        if isinstance(method, da.Radau5):
            D = algebra.stages(R)
            both = np.linalg.solve((SIGMA[1] + 1j * SIGMA[2]) * algebra.E - algebra.J, R[:, 1] + 1j * R[:, 2])
            assert np.abs(D[:, 0] - exact).max() <= tolerance * np.abs(exact).max()
            assert np.abs(D[:, 1] + 1j * D[:, 2] - both).max() <= tolerance * np.abs(both).max()


@pytest.mark.parametrize("kind", [da.Radau5, da.Dassl])
def test_other_pivots_where_the_order_is_not_good(kind, bodies):
    """Lengths, forces and the like of nearly zero make other rows the pivots."""
    rng = np.random.default_rng(4)

    def spoil(compiled, values):
        varying = np.array([known is None for known in constants(compiled)])
        values[varying & (rng.random(len(values)) < 0.5)] *= 1e-13

    seen = 0
    for seed in range(30):
        algebra = Algebra(kind(linear_solver=da.Compiled()), bodies, seed, spoil)
        matrix, R = SIGMA[0] * algebra.E - algebra.J, rng.normal(size=algebra.n)
        rows = np.abs(matrix).max(axis=1)
        scaled = matrix / np.where(rows > 0, rows, 1)[:, None]
        if not algebra.prepare() or not np.linalg.cond(scaled) < 1e10:
            continue
        x = algebra.real(R)
        residual = np.abs(matrix @ x - R) / (np.abs(matrix) @ np.abs(x) + np.abs(R))
        assert residual.max() < 1e-6
        seen += algebra.fell_back
    assert seen > 3


@pytest.mark.parametrize("which", ["bodies", "chain"])
def test_increments_of_geoms_are_those_of_full_pivoting(which, bodies):
    problem = bodies if which == "bodies" else planar_chain(3)
    rng = np.random.default_rng(3)
    for seed in range(5):
        new, old = (Algebra(da.Geoms(linear_solver=s), problem, seed) for s in (da.Compiled(), da.Dense()))
        assert new.prepare()
        assert old.prepare()
        assert not new.fell_back
        R = rng.normal(size=(new.rows, 3))
        for name, R_, out in (
            ("solve_stages", R, np.zeros((new.n, 3))),
            ("solve_real", R[:, 0].copy(), np.zeros(new.n)),
            ("correct", R[:, 1].copy(), np.zeros(new.n)),
        ):
            # independent coordinates may be others: what is the same for all are the equations that must hold
            D = new.call(name, R_, out.copy())
            _check_constraints(new, R_, D)
            if which == "chain":  # nothing is left to choose
                np.testing.assert_allclose(D, old.call(name, R_, out.copy()), rtol=1e-7, atol=1e-9)


def _check_constraints(algebra, R, D):
    blocks = algebra.stepper.form.blocks
    rows = np.concatenate([blocks.F1, blocks.F2, blocks.F3])
    left = algebra.J[rows] @ D + R[rows]
    assert np.abs(left).max() <= 1e-9 * (np.abs(algebra.J[rows]) @ np.abs(D) + np.abs(R[rows])).max()


@pytest.mark.parametrize("kind", [da.Radau5, da.Dassl, da.Geoms])
def test_the_same_steps_as_with_loops(kind, bodies):
    methods = (kind(linear_solver=solver) for solver in (da.Auto(), da.Dense()))
    runs = [da.simulate(bodies.model, (0, 0.01), **bodies.start(), method=m, rtol=1e-6, atol=1e-6) for m in methods]
    counts = [np.array([run.stats.accepted, run.stats.decompositions, run.stats.jacobian_evaluations]) for run in runs]
    # rounding errors alone change the order of Dassl's steps
    assert (np.abs(counts[0] - counts[1]) <= (0.1 if kind is da.Dassl else 0.02) * counts[1] + 1).all()
    np.testing.assert_allclose(runs[0].p[-1], runs[1].p[-1], atol=1e-4)


@pytest.mark.parametrize("kind", [da.Radau5, da.Geoms])
def test_differences_in_the_jacobian(kind, bodies):
    method = kind(jacobian=da.Differences(), linear_solver=da.Compiled())
    run = da.simulate(bodies.model, (0, 0.01), **bodies.start(), method=method, rtol=1e-6, atol=1e-6)
    exact = da.simulate(bodies.model, (0, 0.01), **bodies.start(), method=da.Hem5(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.p[-1], exact.p[-1], atol=1e-4)


def kind_of(method, model):
    record = stepper_of(method, model).algebra.dtype.names
    sparse = {"to", "first", "border"}.intersection(record)
    return "compiled" if "fell_back" in record else "sparse" if sparse else "dense"


def test_who_gets_code(bodies):
    for kind in (da.Radau5, da.Dassl, da.Geoms):
        assert kind_of(kind(), bodies.model) == "compiled"
        assert kind_of(kind(), da.problems.andrews().model) == "dense"
        assert kind_of(kind(linear_solver=da.Dense()), bodies.model) == "dense"
    long = da.problems.pendulum_chain(80).model
    assert {kind_of(kind(), long) for kind in (da.Radau5, da.Dassl, da.Geoms)} == {"sparse"}
    assert kind_of(da.Geoms(), planar_chain(5)) == "compiled"
    assert kind_of(da.Geoms(), planar_chain(9)) == "dense"  # too long
    # options that only dense blocks know, and functions that nobody may ask before the start
    assert kind_of(da.Geoms(algebraic="svd"), bodies.model) == "dense"
    assert kind_of(da.Geoms(singular="step over"), bodies.model) == "dense"


def test_systems_without_code_are_refused_with_a_reason(bodies):
    with pytest.warns(da.UntraceableWarning):
        opaque = da.EquationsOfMotion(
            p=["x", "y"], mass=[1, 1], force=lambda s: [0.0 if float(s.x) > 0 else 1.0, -9.81],
            holonomic=lambda s: [s.x**2 + s.y**2 - 1],
        )  # fmt: skip
    for method in (da.Radau5, da.Dassl):
        with pytest.raises(da.OptionError, match="run as Python code"):
            stepper_of(method(linear_solver=da.Compiled()), opaque)
    with pytest.raises(da.OptionError, match="more than 50 operations"):
        stepper_of(da.Radau5(linear_solver=da.Compiled(longest=50)), bodies.model)
    with pytest.raises(da.OptionError, match="constraints below its equations"):
        stepper_of(da.Odassl(linear_solver=da.Compiled()), bodies.model)
    with pytest.raises(da.OptionError, match="few of its constraints have constant entries"):
        stepper_of(da.Geoms(linear_solver=da.Compiled()), da.problems.andrews().model)
    with pytest.raises(da.OptionError, match="algebraic='svd' asks for dense blocks"):
        stepper_of(da.Geoms(algebraic="svd", linear_solver=da.Compiled()), bodies.model)


def test_code_does_not_hide_missing_ranks():
    """A beam on three parallel cranks, of which one is too many; were they not parallel, it could not move at all.

    Errors are those of dense factors.
    """
    cranks = range(3)

    def closed(s):
        pins = [(s[f"x{k}"], s[f"y{k}"], s[f"phi{k}"]) for k in cranks]
        feet = [f for k, (x, y, phi) in zip(cranks, pins, strict=True) for f in (x - k - np.cos(phi), y - np.sin(phi))]
        heads = [
            f
            for k, (x, y, _) in zip(cranks, pins, strict=True)
            for f in (s.x - x + (k - 1) * np.cos(s.theta), s.y - y + (k - 1) * np.sin(s.theta))
        ]
        return feet + heads

    names = [name for k in cranks for name in (f"x{k}", f"y{k}", f"phi{k}")] + ["x", "y", "theta"]
    model = da.EquationsOfMotion(p=names, mass=[1.0] * 12, force=[0.0] * 10 + [-9.81, 0.0], holonomic=closed)
    tips = [value for k in cranks for value in (k + np.cos(0.7), np.sin(0.7), 0.7)]
    start = [*tips, 1 + np.cos(0.7), np.sin(0.7), 0.0]
    words = []
    for solver in (da.Compiled(), da.Dense()):
        with pytest.raises(da.RedundantConstraints) as caught:
            da.simulate(model, (0, 1), p0=start, method=da.Geoms(linear_solver=solver))
        words.append(str(caught.value))
    assert words[0] == words[1]
    for kind in (da.Radau5, da.Dassl):
        with pytest.raises(da.SingularMatrix, match="holonomic constraint 'lam"):
            da.simulate(model, (0, 1), p0=start, method=kind(linear_solver=da.Compiled()))


def test_runs_are_the_same_from_a_snapshot(bodies):
    for method in (da.Radau5(), da.Dassl(), da.Geoms()):
        stepper = stepper_of(method, bodies.model, 1e-6, max_steps=30)
        start = da.consistent_initial_values(bodies.model, 0.0, **bodies.start())
        stepper.start(0.0, *stepper.form.start(start), 0.01, None)
        stepper.advance()
        middle = stepper.snapshot()
        first = (stepper.advance(), stepper.x.copy())
        stepper.restore(middle)
        again = (stepper.advance(), stepper.x.copy())
        assert first[0] == again[0]
        np.testing.assert_array_equal(first[1], again[1])


def test_code_is_made_once_for_a_form(bodies):
    compiled = compile_system(da.Geoms().formulate(bodies.model))
    assert written_for(compiled, 2000) is written_for(compiled, 2000)
