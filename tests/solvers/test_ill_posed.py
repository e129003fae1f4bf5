"""Constraints in force together that contradict each other, as at the edge of a surface: reported by name."""

import numpy as np
import pytest

import dalembert as da


def sphere(surface):
    """A mass point on the plane z = 0 and on a surface that touches it at x = 0."""
    return da.EquationsOfMotion(
        p=["x", "z"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.z, s.z - surface(s)],
        lam=["flat", "parabola"],
    )  # fmt: skip


SURFACES = [lambda s: s.x**2, lambda s: np.maximum(s.x, 0) ** 2]
TRUST = {"initial_values": "trust"}
OPTIONS = [{}, TRUST, {**TRUST, "projection": "none"}]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("x", [0.0, 1e-7, 1e-5, 3.325e-5, 1e-3])
@pytest.mark.parametrize(
    "options", [{}, {"initial_values": "trust"}, {"initial_values": "trust", "projection": "none"}]
)
def test_hem5_names_constraints_that_contradict_each_other(surface, x, options):
    """Also where the matrix is regular, and the system has a solution: the body would stand still."""
    with pytest.raises(da.SingularMatrix) as caught:
        da.simulate(sphere(surface), (0, 1), p0=[x, 0], v0=[1, 0], method=da.Hem5(**options))
    assert "'flat'" in str(caught.value)
    assert "'parabola'" in str(caught.value)
    assert "unilateral=" in str(caught.value)
    if x > 1e-6:
        assert isinstance(caught.value, da.IllPosedConstraints)
        assert len(caught.value.constraints) == 2


@pytest.mark.parametrize("method", [da.Hem5(), da.Mexx(), da.Radau5(), da.Geoms()], ids=repr)
@pytest.mark.parametrize("x", [0.0, 1e-9, 1e-6, 3.3e-5])
@pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")
def test_constraints_that_contradict_each_other_from_an_event_on(method, x):
    model = da.EquationsOfMotion(
        p=["x", "z", "y"], mass=[1, 1, 1], force=[0, -9.81, 0], lam=["flat", "parabola"], discrete={"on": 0},
        holonomic=lambda s: [s.z, (1 - s.on) * s.y + s.on * (s.z - s.x**2)],
    )  # fmt: skip
    edge = da.Event(lambda s: s.x - x, action=lambda s: {"on": 1}, name="edge")
    with pytest.raises(da.IllPosedConstraints, match=r"'flat'.*'parabola'.*contradict") as caught:
        da.simulate(model, (0, 2), p0=[-1, 0, 0], v0=[1, 0, 0], method=method, events=edge)
    assert caught.value.solution.t[-1] == pytest.approx(1 + x, abs=1e-6)


def test_redundant_surfaces_are_named():
    with pytest.raises(da.SingularMatrix, match=r"'flat', 'parabola' are redundant.*unilateral="):
        da.simulate(sphere(SURFACES[1]), (0, 2), p0=[-1, 0], v0=[1, 0], method=da.Hem5())


def test_nearly_parallel_rows_that_agree_are_no_error():
    """A second constraint that says nearly the same, but leads y along, is an ordinary system."""
    model = da.EquationsOfMotion(
        p=["x", "z", "y"], mass=[1, 1, 1], force=[0, -9.81, 0], holonomic=lambda s: [s.z, s.z - 1e-3 * (s.y - s.x)]
    )
    for options in ({}, {"initial_values": "trust"}):
        sol = da.simulate(model, (0, 1), p0=[0, 0, 0], v0=[1, 0, 1], method=da.Hem5(**options))
        assert sol.p[-1] == pytest.approx([1, 0, 1], abs=1e-9)
