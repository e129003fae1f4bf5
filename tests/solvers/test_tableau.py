"""Half-explicit Runge-Kutta methods as data: checks of the numbers, order conditions, the methods made of them."""

import dataclasses
import itertools

import numpy as np
import pytest
from steps import fixed_steps, orders

import dalembert as da
from dalembert.solvers import hedop5, hem5, phem56
from dalembert.solvers.half.order_conditions import defects
from dalembert.solvers.half.tableau import APART, KNOWN, NEXT, HalfExplicitTableau

TABLEAUX = [hem5.TABLEAU, hedop5.TABLEAU, phem56.TABLEAU]
every = pytest.mark.parametrize("tableau", TABLEAUX, ids=lambda tableau: tableau.name)
NEW = [da.Hedop5(), da.Phem56()]
new = pytest.mark.parametrize("method", NEW, ids=lambda method: type(method).__name__)


def changed(tableau, **arrays):
    return dataclasses.replace(tableau, **arrays)


# -- numbers -----------------------------------------------------------------------------------------------------------


@every
def test_conditions_of_order_five_and_not_six(tableau):
    found = defects(tableau, 6)
    assert max(found[n] for n in range(1, 6)) < 1e-12
    assert found[6] > 1e-4
    assert tableau.order == 5


def test_conditions_see_every_coefficient():
    """A change that leaves the times and the quadrature alone is noticed all the same."""
    for name in ("A", "closing"):
        rows = getattr(phem56.TABLEAU, name).copy()
        rows[3, :2] += [1e-6, -1e-6]
        found = defects(changed(phem56.TABLEAU, **{name: rows}), 5)
        assert max(found.values()) > 1e-8, name


def test_conditions_of_low_order_methods():
    euler = HalfExplicitTableau.classical(
        "Euler", order=1, c=[0, 1], rows=[[], [1]], estimates=[[1, -1]], estimate_power=2
    )
    found = defects(euler, 2)
    assert found[1] == 0
    assert found[2] == pytest.approx(0.5)  # b·c = 0 in place of 1/2


@every
def test_first_estimate_is_of_order_four_at_least(tableau):
    """The difference to the new point is a solution with other weights, of lower order."""
    s = tableau.stages
    c = np.append(tableau.c, 1.0)
    for k in range(4):
        assert abs(tableau.estimates[0] @ c**k) < (1e-12 if tableau.project_estimate or k < 3 else 1.0)
    assert tableau.estimate_at_end == bool(tableau.estimates[:, s].any())


def test_links():
    assert hem5.TABLEAU.links == (NEXT,) * 8
    assert hedop5.TABLEAU.links == (KNOWN, *(NEXT,) * 5)
    assert phem56.TABLEAU.links == (KNOWN, NEXT, APART, APART, APART, NEXT)


def test_tableaux_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        hem5.TABLEAU.A[1, 0] = 0.2
    with pytest.raises(dataclasses.FrozenInstanceError):
        hem5.TABLEAU.order = 6


def bent(name, place, value):
    array = getattr(phem56.TABLEAU, name).copy()
    array[place] = value
    return {name: array}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (bent("A", (2, 0), 0.5), "row 2 of A sums to another time"),
        (bent("A", (1, 1), 0.5), "not explicit"),
        (bent("A", (1, 0), np.nan), "not finite"),
        (bent("closing", (3, 4), 0.1), "not explicit"),
        (bent("closing", (2, 2), 0.0), r"closing\[2, 2\] is zero, .* stage 2"),
        (bent("closing", (2, 0), 0.0), "row 1 of closing sums"),
        (bent("estimates", (0, 0), 0.5), "do not sum to zero"),
        (dict(closing_c=(0, 0.3)), "6 times c, but .* closing_c"),
        (dict(closing_c=(0, 3 / 10, 3 / 8, 5 / 7, 1, 0.9)), "sums to another time"),
        (dict(order=6), r"do not integrate t\*\*5"),
        (dict(estimates=[[0.0]] * 3), "3 rows of estimates"),
        (dict(A=phem56.TABLEAU.A[:4]), "but A is"),
    ],
)
def test_wrong_numbers(change, words):
    with pytest.raises(ValueError, match=f"tableau 'PHEM56': .*{words}"):
        changed(phem56.TABLEAU, **change)


def test_too_many_stages():
    rows = [[], *([0.0] * i + [(i + 1) / 9] for i in range(9))]
    with pytest.raises(ValueError, match="9 stages, and the kernel has room for 8"):
        HalfExplicitTableau.classical(
            "long", order=1, c=np.arange(10) / 9, rows=rows, estimates=[[1, -1]], estimate_power=2
        )


# -- methods -----------------------------------------------------------------------------------------------------------


@new
@pytest.mark.parametrize("projection", ["both", "none"])
def test_order_five_on_the_pendulum(method, projection):
    problem = da.problems.pendulum()
    method, errors = dataclasses.replace(method, projection=projection), []
    for steps in (160, 320):
        sol = fixed_steps(problem.model, problem.t_end, steps, method, **problem.start())
        errors.append([np.abs(getattr(sol, k)[-1] - getattr(problem.reference, k)).max() for k in ("p", "v")])
        assert sol.max_residual("velocity") < 1e-13
    order = orders(np.array(errors))
    assert (order > 4.7).all(), order
    assert (order < 6.5).all(), order


@new
def test_order_five_with_time_mass_and_force_elements(method):
    model = da.EquationsOfMotion(
        p=["x", "y"], r=["i"], mass=lambda s: [1 + 0.3 * s.x**2, 2], force=lambda s: [s.i * s.y, -9.81 - s.i * s.x],
        holonomic=lambda s: [(s.x - 0.1 * np.sin(2 * s.t)) ** 2 + s.y**2 - 1],
        dynamics=lambda s: [-3 * s.i + np.sin(3 * s.t) + s.x * s.y_dot],
    )  # fmt: skip
    ends = []
    for steps in (40, 80, 160, 320):
        sol = fixed_steps(model, 1.0, steps, method, p0=[0.6, -0.8], v0=[0.95, 0.5625], r0=[0.3])
        ends.append(np.concatenate([sol.p[-1], sol.v[-1], sol.r[-1]]))
    order = orders(np.array([[np.linalg.norm(a - b)] for a, b in itertools.pairwise(ends)]))
    assert (order > 4.6).all(), order


@new
@pytest.mark.parametrize(("name", "first"), [("sleigh", 20), ("heavy_top", 100)])
def test_order_five_with_other_constraints_and_kinematics(method, name, first):
    problem = da.problems.catalogue()[name]()
    t_end, ends = problem.t_end if name == "sleigh" else 0.5, []
    for factor in (1, 2, 4):
        sol = fixed_steps(problem.model, t_end, first * factor, method, **problem.start())
        ends.append(np.concatenate([sol.p[-1], sol.v[-1]]))
    order = orders(np.array([[np.linalg.norm(a - b)] for a, b in itertools.pairwise(ends)]))
    assert (order > 4.4).all(), order


@new
def test_error_follows_the_tolerance(method):
    problem = da.problems.andrews()
    errors = [problem.error(problem.simulate(method=method, rtol=t, atol=t)) for t in (1e-5, 1e-7, 1e-9)]
    for (early, late), tolerance in zip(itertools.pairwise(errors), (1e-7, 1e-9), strict=True):
        assert late < 0.1 * early
        assert late < 1e4 * tolerance


@pytest.mark.parametrize(("method", "matrices"), list(zip(NEW, (6, 9), strict=True)))
def test_counters(method, matrices):
    problem = da.problems.pendulum()
    sol = problem.simulate(method=dataclasses.replace(method, projection="none"), rtol=1e-6, atol=1e-6)
    stats = sol.stats
    attempts = stats.accepted + stats.rejected
    # six stages, of which the first is the end of the step before; the estimate needs the new point; two inner points
    assert stats.rhs_evaluations == 5 * attempts + attempts + 1 + 2
    assert stats.mass_evaluations == matrices * attempts + 1 + 2
    assert stats.decompositions == 5 * attempts + attempts + 1 + 2
    assert stats.linear_solves == 5 * attempts + 2 * attempts + 1 + 2


@pytest.mark.parametrize("method", [da.Hem5(), *NEW], ids=lambda method: type(method).__name__)
@pytest.mark.parametrize(
    "solver", [da.Dense(), da.Sparse(), da.Recursive(), da.Block()], ids=lambda solver: type(solver).__name__
)
def test_short_cuts_give_what_factors_give(method, solver):
    """The default solves stages without factors; the others factor."""
    problem = da.problems.andrews()
    ends = []
    for linear_solver in (da.Auto(), solver):
        sol = problem.simulate(method=dataclasses.replace(method, linear_solver=linear_solver), rtol=1e-8, atol=1e-8)
        ends.append((sol.x[-1], sol.stats.accepted, sol.stats.decompositions, sol.stats.linear_solves))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-6, atol=1e-6)
    assert ends[0][1] == pytest.approx(ends[1][1], abs=3)


@pytest.mark.parametrize("method", [da.Hem5(), *NEW], ids=lambda method: type(method).__name__)
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_rates_that_cannot_be_evaluated_leave_nothing_behind(method):
    """A stage beyond the domain of a function is tried again with a smaller step, as if nothing had been."""

    def force(s):
        if float(s.x) > 0.11:
            return [float("nan"), float("inf")]
        return [-100 * float(s.x), -9.81]

    model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=force)
    sol = da.simulate(model, (0, 1), p0=[0, 0], v0=[1, 0], method=method, rtol=1e-7, atol=1e-7, first_step=0.5)
    assert sol.stats.convergence_rejections > 0
    t = sol.t[-1]
    np.testing.assert_allclose(sol.p[-1], [0.1 * np.sin(10 * t), -9.81 * t**2 / 2], atol=1e-4)


def test_names():
    assert isinstance(da.problems.pendulum().simulate(method="hedop5").stats.accepted, int)
    assert repr(da.Phem56(error="positions")) == "Phem56(error='positions')"
    with pytest.raises(da.OptionError, match="error='some'"):
        da.Hedop5(error="some")
