"""A snapshot holds all records of a stepper: going on from it gives the same steps, bit for bit."""

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize import consistent_initial_values
from dalembert.solvers.method import RunSpec, Tolerances
from dalembert.solvers.status import Status

METHODS = [
    da.Radau5(), da.Radau5(linear_solver=da.Sparse()), da.Radau5(jacobian=da.GroupedDifferences()), da.Geoms(),
    da.Geoms(linear_solver=da.Sparse()),
    da.Geoms(algebraic="svd", selector="adaptive"), da.Hem5(), da.Hem5(linear_solver=da.Sparse()),
    da.Rkf45(), da.Rkf45(linear_solver=da.ConjugateGradient()), da.Mexx(), da.Dassl(),
    da.Dassl(jacobian=da.GroupedDifferences(pattern="estimated")), da.Odassl(),
]  # fmt: skip


def prepared(problem, method):
    form = method.formulate(problem.model)
    tolerances = Tolerances(np.full(form.n, 1e-6), np.full(form.n, 1e-6))
    return form, method.stepper(form, RunSpec(model=problem.model, tolerances=tolerances))


def finish(stepper, pause=None):
    """All steps to the end; returns at the first full buffer if `pause` is given."""
    pieces = []
    while True:
        reason = stepper.advance()
        pieces.append(stepper.collect())
        if reason == Status.DONE or pause:
            break
        assert reason == Status.BUFFER_FULL
    return [np.concatenate(parts) for parts in zip(*pieces, strict=True)]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("name", ["andrews", "truck11"])
def test_steps_after_a_restore_are_the_same(method, name):
    if name == "truck11" and isinstance(method, da.Odassl):
        problem = da.problems.car_axis()
    else:
        problem = getattr(da.problems, name)()
    form, stepper = prepared(problem, method)
    stepper.start(
        0.0, *form.start(consistent_initial_values(problem.model, 0.0, **problem.start())), problem.t_end, None
    )
    # stop in the middle: a full buffer, made small
    stepper.buffer = stepper.buffer._replace(
        t=stepper.buffer.t[:7], h=stepper.buffer.h[:7], coefficients=stepper.buffer.coefficients[:7]
    )
    for _ in range(2):
        assert stepper.advance() == Status.BUFFER_FULL
        stepper.collect()
    taken = stepper.snapshot()
    rest = finish(stepper)
    counters = stepper.counters
    # the same stepper, after it has done something else
    stepper.restore(taken)
    for before, after in zip(rest, finish(stepper), strict=True):
        np.testing.assert_array_equal(before, after)
    assert stepper.counters == counters
    # another one, as in another process: addresses differ
    _, other = prepared(problem, method)
    assert other is not stepper
    other.buffer = other.buffer._replace(
        t=other.buffer.t[:7], h=other.buffer.h[:7], coefficients=other.buffer.coefficients[:7]
    )
    other.restore(pickle.loads(pickle.dumps(taken)))
    for before, after in zip(rest, finish(other), strict=True):
        np.testing.assert_array_equal(before, after)


def test_snapshots_of_other_methods_are_refused():
    problem = da.problems.pendulum()
    _, radau = prepared(problem, da.Radau5())
    _, hem = prepared(problem, da.Hem5())
    with pytest.raises(da.OptionError, match="another method"):
        radau.restore(hem.snapshot())


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_steppers_are_used_again_without_a_trace_of_the_run_before(method):
    problem = da.problems.andrews()
    options = dict(method=method, rtol=1e-5, atol=1e-5)
    first = problem.simulate(**options)
    problem.simulate(method=method, rtol=1e-8, atol=1e-9, t_eval=[0.01], max_step=1e-3)
    with pytest.raises(da.TooManySteps):
        problem.simulate(max_steps=5, **options)
    again = problem.simulate(**options)
    np.testing.assert_array_equal(first.x, again.x)
    assert first.stats.to_dict() | {"seconds": 0} == again.stats.to_dict() | {"seconds": 0}
