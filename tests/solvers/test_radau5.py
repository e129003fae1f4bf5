"""Radau 5: order, options, dense output, counters, explanations of failure."""

import dataclasses

import numpy as np
import pytest

import dalembert as da

TIGHT = dict(newton_limit=1e-11, newton_iterations=30)
LOOSE = 1.0  # tolerance at which the controller always wants larger steps


def fixed_step_errors(problem, formulation, steps):
    """Errors of p and v at t_end with constant steps: tolerances so loose that the controller always wants more."""
    errors = []
    for n in steps:
        h = problem.t_end / n
        sol = problem.simulate(
            method=da.Radau5(formulation=formulation, **TIGHT),
            rtol=LOOSE,
            atol=LOOSE,
            first_step=h,
            max_step=h * (1 + 1e-12),
        )
        assert sol.stats.accepted == n
        errors.append([np.abs(getattr(sol, k)[-1] - getattr(problem.reference, k)).max() for k in ("p", "v")])
    return np.array(errors)


@pytest.mark.parametrize("formulation", ["index1", "index2", "ggl", "baumgarte"])
def test_order_five_with_constraints(formulation):
    errors = fixed_step_errors(da.problems.pendulum(), formulation, [80, 160])
    orders = np.log2(errors[0] / errors[1])
    assert (orders > 4.7).all(), orders
    assert (orders < 6.5).all(), orders


def test_order_of_the_index_three_formulation():
    """Positions keep order 5, velocities fall to 3 (Hairer, Lubich, Roche: index-3 results)."""
    errors = fixed_step_errors(da.problems.pendulum(), "index3", [40, 80])
    order_p, order_v = np.log2(errors[0] / errors[1])
    assert order_p > 2.7
    assert 2.7 < order_v < 5.5


def test_order_with_state_dependent_mass_and_time():
    """E(x) is evaluated at every stage; frozen at the start of the step the order would be lost."""
    model = da.EquationsOfMotion(
        p=["q"], mass=lambda s: [[1 + 0.5 * np.sin(s.q) ** 2]],
        force=lambda s: [-0.5 * np.sin(s.q) * np.cos(s.q) * s.q_dot**2 - np.sin(s.q) + 0.3 * np.cos(2 * s.t)],
    )  # fmt: skip
    ends = []
    for n in (20, 40, 80):
        h = 2.0 / n
        sol = da.simulate(
            model,
            (0, 2),
            p0=[0.5],
            v0=[1.0],
            method=da.Radau5(**TIGHT),
            rtol=LOOSE,
            atol=LOOSE,
            first_step=h,
            max_step=h * (1 + 1e-12),
        )
        ends.append(np.concatenate([sol.p[-1], sol.v[-1]]))
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert 4.6 < np.log2(ratio) < 6.0


def test_order_on_a_stiff_dae():
    """A quasi-linear DAE of index 1 with an exact solution: x = sin t, z = cos t, y stiff around both."""
    model = da.QuasiLinearDAE(
        x=["x", "y", "z"],
        leading=[1, 1, 0],
        rhs=lambda s: [
            s.z,
            -1e4 * (s.y - s.x - s.z) + s.z - s.x,
            s.x**2 + s.z**2 + np.cos(s.t) * s.z - 1 - np.cos(s.t) ** 2,
        ],
    )
    errors = []
    for n in (10, 20):
        h = 1.0 / n
        sol = da.simulate(
            model,
            (0, 1),
            x0=[0, 1, 1],
            method=da.Radau5(**TIGHT),
            rtol=LOOSE,
            atol=LOOSE,
            first_step=h,
            max_step=h * (1 + 1e-12),
        )
        exact = np.array([np.sin(1), np.sin(1) + np.cos(1), np.cos(1)])
        errors.append(np.abs(sol.x[-1] - exact))
    order_x, order_y, order_z = np.log2(errors[0] / errors[1])
    assert order_x > 4.7
    assert order_z > 4.7
    assert order_y > 2.7  # a stiff component converges with the stage order


@pytest.mark.parametrize("formulation", ["index1", "index2", "index3", "ggl", "baumgarte"])
def test_dense_output_between_the_steps(formulation):
    """The collocation polynomial has order 3; at tolerance 1e-10 that leaves 1e-6 between the steps."""
    problem = da.problems.pendulum()
    sol = problem.simulate(method=da.Radau5(formulation=formulation), rtol=1e-10, atol=1e-10)
    middle = sol.at(0.5 * (sol.t[1:] + sol.t[:-1]))
    finer = problem.simulate(method=da.Radau5(formulation="ggl"), rtol=1e-12, atol=1e-12, t_eval=middle.t)
    assert np.abs(middle.p - finer.p).max() < 2e-5
    assert np.abs(middle["lam1"] - finer["lam1"]).max() < 2e-2
    for k in (0, 3, -1):  # and it goes through the accepted points
        np.testing.assert_allclose(sol.at(sol.t[k]).p, sol.p[k], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "options",
    [
        dict(controller="classical"),
        dict(start="constant"),
        dict(newton_matrix="stage1"),
        dict(newton_matrix="stage2", newton_updates=1),
        dict(newton_matrix="stage3"),
        dict(newton_updates=1),
        dict(rounding_unit=1e-16),
        dict(newton_iterations=10),
        dict(newton_limit=1e-3),
        dict(safety=0.8),
        dict(max_growth=4.0, max_shrink=0.1),
        dict(keep_step=(0.9, 1.5)),
        dict(jacobian_rate=0.1),
        dict(jacobian_rate=0.0),
        dict(initial_values="trust"),
        dict(initial_values="check"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["andrews", "car_axis", "heavy_top"])
def test_every_option_solves(name, options):
    problem = da.problems.catalogue()[name]()
    sol = problem.simulate(method=da.Radau5(formulation="ggl", **options), rtol=1e-8, atol=1e-8)
    assert problem.error(sol) < 5e-5


def test_options_have_the_effect_they_promise():
    problem = da.problems.car_axis()

    def stats(**options):
        return problem.simulate(method=da.Radau5(formulation="index2", **options), rtol=1e-8, atol=1e-8).stats

    default = stats()
    assert stats(jacobian_rate=0.0).jacobian_evaluations > default.jacobian_evaluations
    assert stats(jacobian_rate=0.1).jacobian_evaluations < default.jacobian_evaluations
    assert stats(keep_step=(1.0, 1.0)).decompositions > stats(keep_step=(0.8, 1.6), jacobian_rate=0.1).decompositions
    assert stats(start="constant").rhs_evaluations > default.rhs_evaluations
    assert stats(controller="classical").error_rejections != default.error_rejections
    assert stats(newton_limit=1e-8).back_substitutions > default.back_substitutions


def test_updates_and_predicted_matrices_save_failures():
    """Andrews' mechanism turns fast: Newton's matrix of the start of the step fits badly."""
    problem = da.problems.andrews()

    def failures(**options):
        sol = problem.simulate(method=da.Radau5(formulation="index3", **options), rtol=1e-7, atol=1e-7)
        return sol.stats.convergence_rejections

    default = failures()
    assert failures(newton_updates=1) < default
    assert failures(newton_matrix="stage2") < default


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(formulation="gll"), "did you mean 'ggl'"),
        (dict(formulation="overdetermined"), "one of 'index1'"),
        (dict(controller="pi"), "predictive"),
        (dict(start="zero"), "extrapolated"),
        (dict(newton_matrix="stage4"), "did you mean 'stage"),
        (dict(newton_matrix="stage2", start="constant"), "needs start='extrapolated'"),
        (dict(newton_updates=-1), "must not be negative"),
        (dict(rounding_unit=0.5), "rounding_unit"),
        (dict(newton_iterations=1), "at least 2"),
        (dict(newton_limit=-1.0), "must be positive"),
        (dict(safety=1.5), "between 0 and 1"),
        (dict(max_growth=0.5), "must exceed 1"),
        (dict(max_shrink=2.0), "between 0 and 1"),
        (dict(keep_step=(1.1, 1.2)), "must enclose 1"),
        (dict(initial_values="fix"), "correct"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(da.OptionError, match=message):
        da.Radau5(**options)


def test_options_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        da.Radau5().safety = 0.5


def test_backwards_in_time_returns_to_the_start():
    problem = da.problems.pendulum()
    there = problem.simulate(rtol=1e-10, atol=1e-10, t_eval=[1.3])
    back = da.simulate(problem.model, (1.3, 0), p0=there.p[-1], v0=there.v[-1], rtol=1e-10, atol=1e-10)
    assert back.t[0] == 1.3
    assert back.t[-1] == 0
    assert (np.diff(back.t) < 0).all()
    np.testing.assert_allclose(back.p[-1], problem.p0, atol=1e-7)
    np.testing.assert_allclose(back.at(0.7).p, problem.simulate(rtol=1e-10, atol=1e-10).at(0.7).p, atol=1e-6)


def test_redundant_constraint_is_named():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1, 2 * (s.x**2 + s.y**2 - 1)], lam=["rod", "same rod"],
    )  # fmt: skip
    for formulation in ("index1", "index2", "index3", "ggl"):
        with pytest.raises(da.SingularMatrix, match=r"(same )?rod") as error:
            da.simulate(model, (0, 1), p0=[1, 0], method=da.Radau5(formulation=formulation))
        assert error.value.solution is not None
        assert "redundant" in str(error.value)


def test_counters_are_consistent():
    stats = da.problems.andrews().simulate(method=da.Radau5(formulation="index2"), rtol=1e-7, atol=1e-7).stats
    assert stats.rejected == stats.error_rejections + stats.convergence_rejections
    assert stats.jacobian_evaluations <= stats.accepted + stats.rejected
    assert stats.decompositions <= stats.accepted + stats.rejected + 1
    # three residuals per Newton iteration and one or two per error estimate
    steps = stats.accepted + stats.error_rejections
    assert 3 * stats.back_substitutions + steps <= stats.rhs_evaluations <= 3 * stats.back_substitutions + 2 * steps + 9


@pytest.mark.parametrize("formulation", ["ggl", "index2", "index3", "index1"])
def test_errors_of_newtons_method_do_not_stop_the_steps(formulation):
    """A blade on a circle: so smooth that the second step is long; what is left of its constraint must not count as an
    error of the third."""
    blade = da.EquationsOfMotion(
        p=["x", "y", "phi"], mass=[1, 1, 0.1], force=[0, 0, 0],
        nonholonomic=lambda s: [-np.sin(s.phi) * s.x_dot + np.cos(s.phi) * s.y_dot],
    )  # fmt: skip
    for tolerance in (1e-6, 1e-7, 1e-8, 1e-9):
        sol = da.simulate(
            blade,
            (0, np.pi),
            p0=[0, 0, 0],
            v0=[1, 0, 1],
            rtol=tolerance,
            atol=1e-8,
            method=da.Radau5(formulation=formulation),
        )
        np.testing.assert_allclose(sol.p[-1], [0, 2, np.pi], atol=1e3 * tolerance)
        assert sol.stats.error_rejections < 10


def test_large_systems_use_lapack():
    """A chain of 20 oscillators: matrices beyond the size where LAPACK takes over; its sum moves freely."""
    n = 20
    coupling = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    coupling[0, 0] = coupling[-1, -1] = 1
    model = da.EquationsOfMotion(
        p=[f"q{i}" for i in range(n)], mass=np.ones(n), force=lambda s: -coupling @ s.p - 0.1 * coupling @ s.v,
        holonomic=lambda s: [s.p[i] + s.p[i + 1] - 2 * s.p[i + 2] for i in range(0, 12, 3)],
    )  # fmt: skip
    v0 = np.zeros(n)
    with pytest.warns(da.InitialValuesCorrected):
        sols = [
            da.simulate(
                model,
                (0, 2),
                p0=np.arange(n) * 0.1,
                v0=v0,
                rtol=1e-9,
                atol=1e-9,
                method=da.Radau5(formulation=f, linear_solver=da.Dense()),
            )
            for f in ("index2", "ggl", "index1")
        ]
    for sol in sols:
        np.testing.assert_allclose(sol.p[-1], sols[0].p[-1], atol=1e-6)


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(da.Radau5()) == "Radau5()"
    assert repr(da.Radau5(formulation="index2", safety=0.8)) == "Radau5(formulation='index2', safety=0.8)"
    with pytest.raises(da.OptionError, match="no option 'formultion'; did you mean 'formulation'"):
        da.Radau5(formultion="ggl")
    with pytest.raises(da.OptionError, match="by name"):
        da.Radau5("ggl")
