"""All methods, formulations and linear algebras agree on mechanisms that nobody has chosen."""

import numpy as np
import pytest

import dalembert as da
from mechanisms import random_mechanism

METHODS = [
    da.Radau5(), da.Radau5(formulation="index2"), da.Radau5(formulation="index1"), da.Radau5(formulation="index3"),
    da.Radau5(linear_solver=da.Sparse(), jacobian=da.GroupedDifferences()), da.Geoms(),
    da.Geoms(algebraic="svd", selector="adaptive"), da.Dassl(),
    da.Dassl(formulation="index1", linear_solver=da.Sparse()),
    da.Dassl(formulation="index2", jacobian=da.GroupedDifferences(partitioned=True)), da.Odassl(),
    da.Odassl(level="acceleration", linear_solver=da.Sparse()), da.Hem5(linear_solver=da.Recursive()), da.Rkf45(),
    da.Mexx(), da.Hedop5(), da.Phem56(), "auto",
]  # fmt: skip


def disagreements(seed):
    """Methods whose end differs from that of a tight run by more than a thousand tolerances, with the difference."""
    model, start = random_mechanism(seed)
    exact = da.simulate(model, (0, 1), **start, method=da.Hem5(), rtol=1e-12, atol=1e-12).p[-1]
    found = {}
    for method in METHODS:
        end = da.simulate(model, (0, 1), **start, method=method, rtol=1e-8, atol=1e-8).p[-1]
        difference = np.abs(end - exact).max() / (1 + np.abs(exact).max())
        if not difference < 1e-5:
            found[repr(method)] = difference
    return found


@pytest.mark.parametrize("seed", [0, 19, 24, 99, 110])
def test_methods_agree(seed):
    assert disagreements(seed) == {}


@pytest.mark.parametrize(("seed", "hardness"), [(1, 1e3), (2, 1e5), (3, 1e4), (24, 1e6), (0, 30.0), (7, 300.0)])
def test_auto_where_joints_are_stiff(seed, hardness):
    model, start = random_mechanism(seed, hardness=hardness)
    exact = da.simulate(model, (0, 2), **start, method="radau5", rtol=1e-10, atol=1e-10)
    auto = da.simulate(model, (0, 2), **start, rtol=1e-6, atol=1e-6)
    others = [da.simulate(model, (0, 2), **start, method=m, rtol=1e-6, atol=1e-6) for m in ("hedop5", "radau5")]
    error, worst = (max(np.abs(sol.p[-1] - exact.p[-1]).max() for sol in some) for some in ([auto], others))
    assert error <= 10 * worst + 1e-5
    explicit, implicit = (sol.stats.accepted for sol in others)
    assert auto.stats.accepted <= 1.5 * min(explicit, 3 * implicit) + 150


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 300))
def test_methods_agree_on_many(seed):
    assert disagreements(seed) == {}
