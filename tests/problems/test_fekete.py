"""Points on a sphere: start, way and end."""

import numpy as np
import pytest
from index1 import Index1

import dalembert as da
from dalembert import problems
from dalembert.errors import OptionError


def test_start_is_that_of_the_source():
    """Points 1, 4, 11 and 17: the first of each circle."""
    points = problems.fekete().p0.reshape(20, 3)
    angles = {
        0: (2 / 3 + 1 / 13, 3 / 8),
        3: (2 / 7 + 1 / 29, 1 / 8),
        10: (2 / 6 + 1 / 7, -2 / 15),
        16: (1 / 17, -3 / 10),
    }
    for i, (azimuth, latitude) in angles.items():
        a, b = np.pi * azimuth, np.pi * latitude
        expected = [np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)]
        assert points[i] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("N", [2, 5, 20, 31])
def test_start_is_consistent(N):
    problem = problems.fekete(N)
    oracle = Index1(problem)
    assert max(oracle.residuals(0.0, oracle.y0).values()) < 1e-15
    assert (problem.reference is None) == (N != 20)
    points = problem.p0.reshape(N, 3)
    i, j = np.triu_indices(N, 1)
    assert np.linalg.norm(points[i] - points[j], axis=1).min() > 0.2


def test_reference_is_an_equilibrium_with_the_multipliers_known():
    reference = problems.fekete().reference
    oracle = Index1(problems.fekete())
    y = np.concatenate([reference.p, reference.v])
    assert oracle.residuals(reference.t, y)["position"] < 1e-11
    accelerations, lam = oracle.accelerations(reference.t, y)
    assert np.abs(accelerations).max() < 1e-10
    assert lam == pytest.approx(np.full(20, 4.75), abs=1e-10)
    assert reference.p[:3] == pytest.approx([-0.4070263380333202, 0.3463758772791802, 0.8451942450030429], abs=4e-12)


@pytest.mark.parametrize(
    ("method", "tolerance", "allowed"),
    [
        (da.Radau5(), 1e-7, 1e-6),
        (da.Radau5(formulation="index3"), 1e-9, 1e-7),
        (da.Geoms(), 1e-9, 1e-8),
        (da.Hem5(), 1e-9, 1e-8),
    ],
)
def test_reaches_the_reference(method, tolerance, allowed):
    problem = problems.fekete()
    sol = problem.simulate(method=method, rtol=tolerance, atol=tolerance)
    assert problem.error(sol) < allowed
    assert np.abs(sol.lam[-1] - 4.75).max() < allowed


@pytest.mark.parametrize("method", [da.Dassl(formulation="ggl"), da.Odassl(), da.Odassl(level="acceleration")])
def test_constraints_hold_to_the_end(method):
    """Index 3 as given; with BDF methods on stabilized and overdetermined equations, at all points up to t = 1000."""
    problem = problems.fekete()
    sol = problem.simulate(method=method, rtol=1e-9, atol=1e-9)
    assert sol.t[-1] == 1000.0
    assert sol.max_residual("position") < 1e-8
    assert sol.max_residual("velocity") < 1e-8
    assert problem.error(sol) < 1e-7


def test_five_points_come_to_rest_where_they_should():
    """Two poles and an equilateral triangle on the equator: distances √2 (6 times), √3 (3 times), 2 (once)."""
    sol = problems.fekete(5, t_end=200.0).simulate(rtol=1e-8, atol=1e-8)
    points = sol.p[-1].reshape(5, 3)
    i, j = np.triu_indices(5, 1)
    distances = np.sort(np.linalg.norm(points[i] - points[j], axis=1))
    assert distances == pytest.approx(6 * [np.sqrt(2)] + 3 * [np.sqrt(3)] + [2.0], abs=1e-6)
    assert sol.lam[-1] == pytest.approx(np.ones(5), abs=1e-6)


@pytest.mark.parametrize("options", [{"N": 1}, {"N": 2.5}, {"t_end": 0.0}])
def test_bad_arguments(options):
    with pytest.raises(OptionError, match="fekete: "):
        problems.fekete(**options)
