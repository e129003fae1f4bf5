"""GEOMS: published step counts, all decompositions, redundant constraints, invariants, its linear algebra."""

import itertools

import numpy as np
import pytest

import dalembert as da

PROBLEMS = sorted(da.problems.catalogue())


@pytest.mark.parametrize("name", PROBLEMS)
def test_reference_values(name):
    problem = da.problems.catalogue()[name]()
    loose, tight = (problem.error(problem.simulate(method=da.Geoms(), rtol=tol, atol=tol)) for tol in (1e-6, 1e-9))
    assert loose < 2e-3
    assert tight < 3e-5
    assert tight < loose


PUBLISHED = {2.8: (187, 270, 391), 2.9: (207, 303, 441)}


@pytest.mark.parametrize("selector", ["every", "adaptive"])
@pytest.mark.parametrize("v0", PUBLISHED)
def test_steps_of_tables_3_and_4(v0, selector):
    """At most 15 % more steps than published; adaptive selectors: one, and one for each passage of 45 degrees."""
    problem = da.problems.pendulum(start="hanging", v0=v0, g=13.75, t_end=5.0)
    for tolerance, published in zip((1e-7, 1e-8, 1e-9), PUBLISHED[v0], strict=True):
        stats = problem.simulate(
            method=da.Geoms(selector=selector), rtol=tolerance, atol=tolerance, first_step=0.01
        ).stats
        assert stats.accepted <= 1.15 * published
        if selector == "adaptive":
            passages = 0 if v0 == 2.8 else 12
            assert stats.selectors == 1 + passages + stats.convergence_rejections
        else:
            assert stats.selectors == stats.constraint_decompositions == stats.jacobian_evaluations


OPTIONS = [
    dict(algebraic=algebraic, differential=differential, selector=selector, formulation=formulation)
    for algebraic, differential, selector, formulation in itertools.product(
        ("lu", "qr", "svd"), ("lu", "qr"), ("every", "adaptive"), ("strangeness-free", "index1")
    )
] + [
    dict(controller="classical"),
    dict(start="constant"),
    dict(newton_matrix="stage1"),
    dict(newton_matrix="stage2"),
    dict(newton_matrix="stage3"),
    dict(newton_updates=1),
    dict(newton_matrix="stage2", newton_updates=1),
    dict(corrections=0),
    dict(accelerations="unknown"),
    dict(scaling="step"),
    dict(scaling="none"),
    dict(invariants="ignore"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: " ".join(map(str, o.values())))
@pytest.mark.parametrize(
    "name", ["pendulum", "andrews", "car_axis", "heavy_top", "sleigh", "ball_in_ellipse", "motor_pendulum"]
)
def test_all_options_solve(name, options):
    problem = da.problems.catalogue()[name]()
    sol = problem.simulate(method=da.Geoms(**options), rtol=1e-8, atol=1e-8)
    assert problem.error(sol) < 2e-4
    if options.get("corrections", 1):
        assert sol.max_residual("position") < 1e-9 if problem.model.names("lam") else True
        assert sol.max_residual("velocity") < 1e-8 * (1 + np.abs(sol.v).max())


CHOICES = dict(
    algebraic=("lu", "qr", "svd"),
    differential=("lu", "qr"),
    selector=("every", "adaptive"),
    formulation=("strangeness-free", "index1"),
    controller=("predictive", "classical"),
    newton=(dict(start="constant"), *(dict(newton_matrix=at) for at in ("start", "stage1", "stage2", "stage3"))),
    newton_updates=(0, 1),
    scaling=("rows", "step", "none"),
)


def every_combination(name):
    """Solve a problem with all 1440 combinations of options; those that fail, with the error."""
    problem, failures = da.problems.catalogue()[name](), []
    for values in itertools.product(*CHOICES.values()):
        options = dict(zip(CHOICES, values, strict=True))
        options |= options.pop("newton")
        error = problem.error(problem.simulate(method=da.Geoms(**options), rtol=1e-7, atol=1e-7))
        if not error < 1e-3:
            failures.append((error, options))
    return failures


@pytest.mark.parametrize("name", ["sleigh", "motor_pendulum"])
def test_every_combination_of_options_solves(name):
    assert every_combination(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in ("slider_crank", "truck11")])
def test_every_combination_of_options_solves_every_problem(name):
    assert every_combination(name) == []


@pytest.mark.parametrize("name", ["andrews", "car_axis", "truck", "pendulum_chain"])
def test_partitioned_and_general_linear_algebra_agree(name):
    """QR for the differential part takes the general way, LU the one for p' = v: two discretizations of one motion."""
    problem = da.problems.catalogue()[name]()
    assert da.Geoms().formulate(problem.model).blocks.partitioned
    fast, general = (
        problem.simulate(method=da.Geoms(differential=kind), rtol=1e-9, atol=1e-9) for kind in ("lu", "qr")
    )
    scale = 1 + np.abs(general.v[-1])
    np.testing.assert_allclose(fast.v[-1] / scale, general.v[-1] / scale, atol=2e-6)
    for level in ("position", "velocity", "acceleration"):
        assert fast.max_residual(level) <= 1e-8 * (1 + np.abs(fast.v).max()) ** 2
    assert fast.stats.linear_algebra_operations < general.stats.linear_algebra_operations


def test_partitioned_linear_algebra_with_force_elements():
    """Two coupled variables r that push the pendulum and are driven by it."""
    model = da.EquationsOfMotion(
        p=["x", "y"], r=["c", "d"], mass=[1, 1], force=lambda s: [3 * s.c, -9.81 + s.d * s.x],
        dynamics=lambda s: [s.d - 2 * s.c + s.x_dot, s.x - 0.5 * s.d - s.c * s.y_dot],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )  # fmt: skip
    methods = (da.Geoms(), da.Geoms(differential="qr"), da.Radau5(formulation="index1"))
    assert methods[0].formulate(model).blocks.partitioned
    common = dict(t_span=(0, 3), p0=[1, 0], r0=[0.3, -0.2], rtol=1e-10, atol=1e-10)
    runs = [da.simulate(model, method=method, **common) for method in methods]
    for other in runs[1:]:
        np.testing.assert_allclose(runs[0].r[-1], other.r[-1], atol=1e-7)
        np.testing.assert_allclose(runs[0].v[-1], other.v[-1], atol=1e-6)
    # Newton's method converges as fast as with the general linear algebra: the matrix is the right one
    assert runs[0].stats.rhs_evaluations < 1.1 * runs[1].stats.rhs_evaluations


@pytest.mark.parametrize("algebraic", ["lu", "qr", "svd"])
def test_all_constraint_levels_are_kept(algebraic):
    problem = da.problems.pendulum(t_end=100.0)
    sol = problem.simulate(method=da.Geoms(algebraic=algebraic), rtol=1e-7, atol=1e-7)
    for level in ("position", "velocity", "acceleration"):
        assert sol.max_residual(level) < 1e-9


def test_position_invariants_are_imposed():
    """The norm of Euler parameters contains no velocity: it joins the position constraints."""
    problem = da.problems.heavy_top()
    kept = problem.simulate(method=da.Geoms(), rtol=1e-7, atol=1e-7)
    free = problem.simulate(method=da.Geoms(invariants="ignore"), rtol=1e-7, atol=1e-7)
    assert kept.max_residual("invariant") < 1e-12 < free.max_residual("invariant")


@pytest.mark.parametrize("start", [dict(start="hanging", v0=2.8), {}], ids=["swinging", "from the horizontal, at rest"])
def test_a_thousand_seconds_of_a_pendulum(start):
    """All levels and the energy below 1e-9 at tolerance 1e-7, and the smallest error of all formulations."""
    problem = da.problems.pendulum(energy=True, t_end=1000.0, **start)
    sol = problem.simulate(method=da.Geoms(), rtol=1e-7, atol=1e-7)
    for level in ("position", "velocity", "acceleration", "invariant"):
        assert sol.max_residual(level) < 1e-9
    best = problem.error(sol)
    others = [da.Geoms(invariants="ignore"), da.Geoms(formulation="index1")]
    others += [da.Radau5(formulation=f) for f in ("index1", "index2", "index3", "ggl")]
    for method in others:
        assert best < problem.error(problem.simulate(method=method, rtol=1e-7, atol=1e-7))


def test_invariants_can_be_imposed_on_the_stages():
    """As in the paper: velocities follow from the energy. Away from turning points this is regular."""
    problem = da.problems.pendulum(start="hanging", v0=9.0, g=9.81, energy=True, t_end=5.0)  # it goes round
    sol = problem.simulate(method=da.Geoms(invariants="impose"), rtol=1e-8, atol=1e-8)
    assert sol.max_residual("invariant") < 1e-10
    assert problem.error(sol) < 1e-5


def test_redundant_constraints_need_the_svd():
    problem = da.problems.bricard()
    for algebraic in ("lu", "qr"):
        with pytest.raises(da.RedundantConstraints, match=r"close_x.*use Geoms\(algebraic='svd'\)"):
            problem.simulate(method=da.Geoms(algebraic=algebraic))
    sol = problem.simulate(method=da.Geoms(algebraic="svd"), rtol=1e-8, atol=1e-8)
    assert problem.error(sol) < 1e-6
    assert sol.max_residual("position") < 1e-10


def test_redundant_rod_has_the_smallest_multipliers():
    """The same rod twice, the second time doubled: λ is shared as 1 : 2."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1, 2 * (s.x**2 + s.y**2 - 1)], lam=["rod", "double"],
    )  # fmt: skip
    single = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1]
    )
    common = dict(t_span=(0, 3), p0=[1, 0], rtol=1e-9, atol=1e-9)
    sol = da.simulate(model, method=da.Geoms(algebraic="svd"), **common)
    plain = da.simulate(single, method=da.Geoms(), **common)
    np.testing.assert_allclose(sol.p[-1], plain.p[-1], atol=1e-7)
    np.testing.assert_allclose(sol["double"], 2 * sol["rod"], atol=1e-9 * np.abs(sol.lam).max())
    with pytest.raises(da.RedundantConstraints, match=r"'rod'.*'double'"):
        da.simulate(model, method=da.Geoms(), **common)


def test_linear_algebra_is_cheaper_than_the_dense_form():
    """On Andrews' mechanism: for an error of 1e-6 a half of the operations of the dense index-1 form, which eliminates
    positions itself; and fewer at every tolerance."""
    problem, least = da.problems.andrews(), {}
    for label, method in (("projected", da.Geoms()), ("dense", da.Radau5(formulation="index1"))):
        runs = [problem.simulate(method=method, rtol=tol, atol=tol) for tol in np.geomspace(1e-6, 3e-9, 12)]
        counts = [run.stats.linear_algebra_operations for run in runs]
        least[label] = (
            min(count for run, count in zip(runs, counts, strict=True) if problem.error(run) <= 1e-6),
            np.array(counts),
        )
    assert least["dense"][0] > 2 * least["projected"][0]
    assert (least["dense"][1] > 1.3 * least["projected"][1]).all()


@pytest.mark.parametrize("algebraic", ["lu", "svd"])
def test_singular_positions_are_reported_by_name(algebraic):
    """The chain of four-bar linkages is stretched at t = 0.7144, where cranks and couplers are in one line."""
    problem = da.problems.four_bar_chain(2)
    with pytest.raises(da.SingularConfiguration, match=r"'(crank|coupler)[012]'.*become dependent") as error:
        problem.simulate(method=da.Geoms(algebraic=algebraic), rtol=1e-8, atol=1e-8)
    assert error.value.solution.t[-1] == pytest.approx(0.714355529293, abs=0.02)


@pytest.mark.parametrize("algebraic", ["lu", "svd"])
@pytest.mark.parametrize("n", [2, 4, 40])
def test_singular_positions_are_stepped_over(n, algebraic):
    """To t = 10, through some ten singular positions, on the branch of the motion."""
    problem = da.problems.four_bar_chain(n)
    method = da.Geoms(algebraic=algebraic, singular="step over")
    sol = problem.simulate(method=method, rtol=1e-8, atol=1e-8)
    assert problem.error(sol) < 1e-5
    assert sol.max_residual("position") < 1e-9


def test_semidefinite_mass():
    model = da.EquationsOfMotion(p=["x", "y"], mass=[2.0, 0.0], force=[0, -3.0], holonomic=lambda s: [s.x - s.y])
    sol = da.simulate(model, (0, 2), p0=[0, 0], method=da.Geoms(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.p[-1], [-3.0, -3.0], atol=1e-8)
    assert sol.p.shape[1] == 2


def test_truck_at_the_tightest_tolerance():
    problem = da.problems.truck11()
    sol = problem.simulate(method=da.Geoms(), rtol=1e-12, atol=1e-12)
    assert problem.error(sol) < 1e-9


def test_untraceable_force():
    def force(s):
        return [0.0, -float(s.m) * float(s.g)]

    parts = dict(
        p=["x", "y"],
        parameters=dict(m=1.0, g=9.81),
        mass=lambda s: [s.m, s.m],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )
    with pytest.warns(da.UntraceableWarning):
        opaque = da.EquationsOfMotion(force=force, **parts)
    traced = da.EquationsOfMotion(force=lambda s: [0, -s.m * s.g], **parts)
    ends = [da.simulate(m, (0, 1), p0=[1, 0], method="geoms", rtol=1e-9, atol=1e-9).p[-1] for m in (opaque, traced)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(algebraic="cholesky"), "'lu', 'qr', 'svd'"),
        (dict(differential="svd"), "'lu', 'qr'"),
        (dict(selector="always"), "'every', 'adaptive'"),
        (dict(formulation="index2"), "did you mean 'index1'"),
        (dict(invariants="force"), "'project', 'impose', 'ignore'"),
        (dict(corrections=-1), "negative"),
        (dict(rank_threshold=1e-16), "between 1e-15, below which is rounding, and 1"),
        (dict(accelerations="none"), "'auto', 'eliminated', 'unknown'"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(da.OptionError, match=message):
        da.Geoms(**options)


def test_needs_equations_of_motion():
    with pytest.raises(da.ModelError, match="EquationsOfMotion"):
        da.simulate(da.QuasiLinearDAE(x=["y"], rhs=lambda s: [-s.y]), (0, 1), x0=[1], method=da.Geoms())


def test_energy_is_kept_where_old_jacobians_lead_away_from_it():
    """A pendulum in its angle swings past the points where the gradient of its energy has turned round."""
    model = da.EquationsOfMotion(
        p=["phi"],
        parameters={"g": 9.81},
        mass=[1.0],
        force=lambda s: [-s.g * np.sin(s.phi)],
        invariant=lambda s: [0.5 * s.phi_dot**2 - s.g * np.cos(s.phi)],
    )
    sol = da.simulate(model, (0, 50), p0=[-np.pi / 2], method=da.Geoms(), rtol=1e-6, atol=1e-6)
    energy = 0.5 * sol.v[:, 0] ** 2 - 9.81 * np.cos(sol.p[:, 0])
    assert np.abs(energy).max() < 1e-6
