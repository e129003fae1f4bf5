"""Start values that belong to a model."""

import pickle

import numpy as np
import pytest

import dalembert as da


def rod(start, **changes):
    given = dict(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2],
        parameters={"L": 1.0}, start=start,
    )  # fmt: skip
    return da.EquationsOfMotion(**{**given, **changes})


FULL = {"p0": [0.6, -0.8], "v0": [0.4, 0.3]}


@pytest.mark.parametrize(
    "start",
    [
        FULL,
        {"p0": np.array([0.6, -0.8]), "v0": {"y_dot": 0.3, "x_dot": 0.4}},
        {"x": 0.6, "y": -0.8, "x_dot": 0.4, "y_dot": 0.3},
        {"y": -0.8, "p0": {"x": 0.6}, "v0": (0.4, 0.3)},
    ],
)
def test_ways_to_give_them(start):
    model = rod(start)
    assert set(model.start) == {"p0", "v0"}
    np.testing.assert_array_equal(model.start["p0"], [0.6, -0.8])
    np.testing.assert_array_equal(model.start["v0"], [0.4, 0.3])
    expected = da.simulate(rod(None), (0, 1), **FULL)
    np.testing.assert_array_equal(da.simulate(model, (0, 1)).x, expected.x)
    values = da.consistent_initial_values(model)
    np.testing.assert_array_equal(values.lam, da.consistent_initial_values(rod(None), **FULL).lam)


def test_it_is_a_copy():
    model = rod(FULL)
    model.start["p0"][:] = 0
    model.start.clear()
    np.testing.assert_array_equal(model.start["p0"], [0.6, -0.8])
    assert rod(None).start == {} == rod({}).start


@pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")
def test_mixing():
    """An array takes the place of a vector, a mapping that of the named components, other vectors stay."""
    model = rod(FULL)

    def begins(**given):
        sol, values = da.simulate(model, (0, 0.01), **given), da.consistent_initial_values(model, **given)
        np.testing.assert_allclose(sol.p[0], values.p, atol=1e-14)
        np.testing.assert_allclose(sol.v[0], values.v, atol=1e-14)
        return [*values.p, *values.v]

    np.testing.assert_allclose(begins(v0=[0, 0]), [0.6, -0.8, 0, 0])
    np.testing.assert_allclose(begins(p0=[-0.6, -0.8], v0={"x_dot": 0.4, "y_dot": -0.3}), [-0.6, -0.8, 0.4, -0.3])
    np.testing.assert_allclose(begins(p0={"x": -0.6}, v0={"y_dot": -0.3}), [-0.6, -0.8, 0.4, -0.3])
    np.testing.assert_allclose(begins(p0=[0, -1], v0=None), [0, -1, 0.4, 0])  # the model's v0, corrected
    np.testing.assert_allclose(begins(p0={"y": 0.8}, v0={"y_dot": -0.3}), [0.6, 0.8, 0.4, -0.3])


def test_a_part_of_them():
    model = rod({"y": -0.8, "x_dot": 0.4})
    assert model.start == {"p0": {"y": -0.8}, "v0": {"x_dot": 0.4}}
    with pytest.raises(da.ModelError, match="p0: the start value of 'x' must be given, too"):
        da.simulate(model, (0, 1))
    values = da.consistent_initial_values(model, p0={"x": 0.6}, v0={"y_dot": 0.3})
    np.testing.assert_allclose([*values.p, *values.v], [0.6, -0.8, 0.4, 0.3])
    with pytest.raises(da.ModelError, match="p0= is missing"):
        da.simulate(rod({"v0": [0, 0]}), (0, 1))
    with pytest.raises(da.ModelError, match="there is no 'xx'"):
        da.simulate(rod(FULL), (0, 1), p0={"xx": 1})


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (3, "start=3: give a mapping"),
        ({"p0": [1, 2, 3]}, "start: p0 has 3 values; the model has 2: x, y"),
        ({"p0": "text"}, "start: p0 = 'text'"),
        ({"p0": [1, np.nan]}, "start: p0: the start value of 'y' is nan"),
        ({"x": np.inf}, "start: p0: the start value of 'x' is inf"),
        ({"x": [1, 2]}, r"start: p0\['x'\]"),
        ({"q0": [1]}, "start: there is no 'q0'"),
        ({"x_dott": 1}, "start: there is no 'x_dott'; did you mean 'x_dot'"),
        ({"L": 1}, "start: there is no 'L'"),
        ({3: 1}, "start: 3 is not a name"),
        ({"p0": [1, 2], "x": 3}, "start: 'x' is given twice, in p0 and by its name"),
        ({"v0": {"x": 1}}, "start: v0: there is no 'x'"),
    ],
)
def test_faults(start, message):
    with pytest.raises(da.ModelError, match=message):
        rod(start)


def test_variants_and_copies_keep_them():
    for model in (rod(FULL), pickle.loads(pickle.dumps(rod(FULL))), rod(FULL).replace(parameters={"L": 1.0})):
        np.testing.assert_array_equal(da.simulate(model, (0, 0.1)).p[0], [0.6, -0.8])
    # equal graphs that arrive one after the other have their own
    first, second = (pickle.loads(pickle.dumps(rod({"p0": p}))) for p in ([1, 0], [0, -1]))
    np.testing.assert_array_equal(da.simulate(first, (0, 0.1)).p[0], [1, 0])
    np.testing.assert_array_equal(da.simulate(second, (0, 0.1)).p[0], [0, -1])


def test_names_that_look_like_arguments():
    """The argument goes first."""
    model = da.EquationsOfMotion(p=["p0", "v0"], mass=[1, 1], force=[0, 0], start={"p0": {"p0": 1, "v0": 2}})
    np.testing.assert_array_equal(model.start["p0"], [1, 2])


def test_other_models():
    tank = da.QuasiLinearDAE(x=["h", "q"], leading=[1, 0], rhs=lambda s: [-s.q, s.q - s.h], start={"h": 2.0})
    np.testing.assert_allclose(da.simulate(tank, (0, 1)).x[0], [2, 2])
    np.testing.assert_allclose(da.simulate(tank, (0, 1), x0={"h": 3}).x[0], [3, 3])
    fall = da.ImplicitDAE(
        x=["h"], residual=lambda s: [s.h_dot * abs(s.h_dot) + 0.04 * s.h], start={"h": 1.0, "h_dot": -0.2}
    )
    assert set(fall.start) == {"x0", "dx0"}
    assert da.simulate(fall, (0, 5), method=da.Dassl()).x[-1, 0] == pytest.approx(0.25, abs=1e-4)


def test_restarts_do_not_begin_anew():
    """After jumps of inputs, actions and singular positions only the state there counts, not the model's start."""
    start = {"p0": [0.0], "v0": [1.0], "r0": [5.0], "w0": [3.0]}
    model = da.EquationsOfMotion(
        p=["z"], r=["F"], w=["D"], discrete={"k": 0}, mass=[1.0], force=lambda s: [-s.D - s.push],
        inputs={"push": da.Input(lambda t: np.where(t < 0.3, 0.0, 1.0), breakpoints=[0.3])},
        dynamics=lambda s: [-s.F + s.k], auxiliary=lambda s: [s.D + 0.1 * s.D**3 - s.F - s.z_dot], start=start,
    )  # fmt: skip
    plain = da.EquationsOfMotion(
        p=["z"], r=["F"], w=["D"], discrete={"k": 0}, mass=[1.0], force=lambda s: [-s.D - s.push],
        inputs={"push": da.Input(lambda t: np.where(t < 0.3, 0.0, 1.0), breakpoints=[0.3])},
        dynamics=lambda s: [-s.F + s.k], auxiliary=lambda s: [s.D + 0.1 * s.D**3 - s.F - s.z_dot],
    )  # fmt: skip
    switch = da.Event(lambda s: s.t - 0.6, action=lambda s: {"k": 1})
    for method in (da.Radau5(), da.Geoms()):
        ours = da.simulate(model, (0, 1), method=method, events=switch)
        theirs = da.simulate(plain, (0, 1), method=method, events=switch, **start)
        np.testing.assert_array_equal(ours.x, theirs.x)
        assert len(ours.trajectory.restarts) == 2


def test_released_constraints_do_not_begin_anew():
    breaks = da.Event(lambda s: s.t - 0.2, action=lambda s: da.Transition(active=[]))
    sol = da.simulate(rod({"p0": [1, 0], "lam0": [3.0]}), (0, 0.5), events=breaks)
    expected = da.simulate(rod(None), (0, 0.5), p0=[1, 0], events=breaks)
    np.testing.assert_allclose(sol.p[-1], expected.p[-1], atol=1e-9)
