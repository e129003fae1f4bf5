"""What ``method="auto"`` takes, what it says about it, and how it changes its mind."""

import pickle

import numpy as np
import pytest

import dalembert as da


def test_it_says_what_it_chose_and_why():
    sol = da.problems.pendulum().simulate()
    assert isinstance(sol.method_choice.method, da.Radau5)
    assert "stiff or not" in str(sol.method_choice)
    assert sol.method_choice.tried == ()
    assert sol.method.startswith("Radau5")
    assert str(pickle.loads(pickle.dumps(sol)).method_choice) == str(sol.method_choice)
    assert da.problems.pendulum().simulate(method="radau5").method_choice is None
    dae = da.problems.naive(da.problems.pendulum())
    assert isinstance(dae.simulate().method_choice.method, da.Qualidaes)
    assert "hide constraints" in str(dae.simulate(method="AUTO").method_choice)


def test_the_result_is_that_of_the_method():
    problem = da.problems.andrews()
    np.testing.assert_array_equal(problem.simulate().x, problem.simulate(method=da.Radau5()).x)


def test_redundant_constraints_lead_to_another_method():
    problem = da.problems.bricard()
    sol = problem.simulate()
    assert problem.error(sol) < 1e-4
    choice = sol.method_choice
    assert repr(choice.method) == "Geoms(algebraic='svd')"
    assert [method for method, _ in choice.tried] == ["Radau5()"]
    assert "depend on each" in choice.tried[0][1]
    with pytest.raises(da.SingularMatrix):
        problem.simulate(method="radau5")


def test_with_a_checkpoint_it_stays_with_its_method(tmp_path):
    with pytest.raises(da.SingularMatrix):
        da.problems.bricard().simulate(checkpoint=tmp_path / "run.h5")


def test_other_failures_are_what_they_are():
    with pytest.raises(da.TooManySteps):
        da.problems.andrews().simulate(max_steps=5)
