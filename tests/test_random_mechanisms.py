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
    da.Mexx(),
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 300))
def test_methods_agree_on_many(seed):
    assert disagreements(seed) == {}
