"""Fingerprints: the same for the same, in every process and after every use; others for others."""

import subprocess
import sys

import numpy as np
import pytest

import dalembert as da
from dalembert.model.fingerprint import fingerprint, model_parts

SCALE = 2.0


def scaled(s):
    return s.x * SCALE


def calls_scaled(s):
    return scaled(s) + 1


def recursive(n):
    return 1 if n == 0 else n * recursive(n - 1)


OBJECTS = {
    "options": lambda: da.Radau5(linear_solver=da.Sparse()), "event": lambda: da.Event(calls_scaled, direction=1),
    "array": lambda: [np.arange(3.0), {"b": (1, None), "a": "x"}, {3, 1, 2}], "function": lambda: recursive,
    "partial": lambda: np.linalg.norm, "input": lambda: da.Input.table([0, 1, 2], [0, 1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_use_changes_nothing(name):
    one, other = OBJECTS[name](), OBJECTS[name]()
    before = fingerprint(one)
    repr(one), hash(str(one))
    assert fingerprint(one) == before == fingerprint(other)


def test_methods_that_were_used_are_the_same():
    problem = da.problems.pendulum()
    for method in (da.Radau5(), da.Hem5(), da.Geoms(), da.Mexx(), da.Dassl()):
        before = fingerprint(method), model_parts(problem.model)
        problem.simulate(method=method)
        assert (fingerprint(method), model_parts(problem.model)) == before


def test_what_functions_use_counts(monkeypatch):
    before = fingerprint(calls_scaled)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert fingerprint(calls_scaled) != before

    def shifted(by):
        return lambda s: s.x - by

    assert fingerprint(shifted(1)) == fingerprint(shifted(1)) != fingerprint(shifted(2))


def test_parts_of_a_model_are_told_apart():
    one = da.problems.andrews().model
    assert model_parts(one) == model_parts(da.problems.andrews().model)
    other = model_parts(one.replace({"m1": 1.0}))
    assert {name for name, value in model_parts(one).items() if value != other[name]} == {"parameters"}


def test_another_process_finds_the_same():
    code = (
        "import dalembert as da; from dalembert.model.fingerprint import *;"
        "print(fingerprint(da.Geoms(selector='adaptive')), *model_parts(da.problems.bouncing_ball().model).values())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    here = [fingerprint(da.Geoms(selector="adaptive")), *model_parts(da.problems.bouncing_ball().model).values()]
    assert found == here
