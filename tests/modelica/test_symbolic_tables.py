"""Tables: against calculations by hand, SciPy, and numbers against graphs."""

import itertools

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator, RegularGridInterpolator

from dalembert.modelica.symbolic.tables.curve import Curve, Extrapolation, Smoothness
from dalembert.modelica.symbolic.tables.files import read_table
from dalembert.modelica.symbolic.tables.surface import Surface
from dalembert.modelica.symbolic.tables.time_table import NEVER, TimeTable

U, V, W = ca.SX.sym("u"), ca.SX.sym("v"), ca.SX.sym("w")
HOLD, LAST, PERIODIC, NONE = Extrapolation


def points(seed, n):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.uniform(0.1, 2, n)) - 3, rng.normal(size=n)


def graph(expression, *symbols):
    function = ca.Function("f", symbols or [U], [expression])
    return lambda *at: float(function(*at))


@pytest.mark.parametrize("extrapolation", Extrapolation)
@pytest.mark.parametrize("smoothness", Smoothness)
def test_graphs_agree_with_numbers(smoothness, extrapolation):
    for n in (1, 2, 3, 4, 9):
        x, y = points(n, n)
        curve = Curve(x, y, smoothness, extrapolation)
        found = graph(ca.SX(curve.value(U)))
        for u in [*np.linspace(x[0] - 2, x[-1] + 2, 23), *x]:
            assert found(u) == pytest.approx(curve.value(u), rel=1e-13, abs=1e-13)
        if n > 1:
            inside = [0.7 * a + 0.3 * b for a, b in itertools.pairwise(x)]
            for k, u in enumerate(x[:-1]):
                assert curve.value(u) == pytest.approx(y[k], abs=1e-12)
                if smoothness == Smoothness.CONSTANT:
                    assert curve.value(inside[k]) == y[k]
                if smoothness == Smoothness.LINEAR:
                    assert curve.value(inside[k]) == pytest.approx(0.7 * y[k] + 0.3 * y[k + 1], abs=1e-12)


def test_akima_and_makima_are_those_of_scipy():
    for seed, n in ((0, 3), (1, 5), (2, 20)):
        x, y = points(seed, n)
        at = np.linspace(x[0], x[-1], 50)
        for smoothness, method in ((Smoothness.AKIMA, "akima"), (Smoothness.MODIFIED_AKIMA, "makima")):
            try:
                theirs = Akima1DInterpolator(x, y, method=method)
            except TypeError:
                pytest.skip("this SciPy has no makima")
            curve = Curve(x, y, smoothness, LAST)
            assert [curve.value(u) for u in at] == pytest.approx(theirs(at), rel=1e-10, abs=1e-12)


def test_fritsch_butland_is_pchip_inside():
    """The slopes at inner points are SciPy's; those at the ends are others (secants here)."""
    x, y = points(3, 12)
    curve, theirs = Curve(x, y, Smoothness.FRITSCH_BUTLAND, LAST), PchipInterpolator(x, y)
    at = np.linspace(x[1], x[-2], 60)
    assert [curve.value(u) for u in at] == pytest.approx(theirs(at), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("smoothness", [Smoothness.FRITSCH_BUTLAND, Smoothness.STEFFEN])
def test_monotone_curves_do_not_overshoot(smoothness):
    rng = np.random.default_rng(5)
    for _ in range(20):
        x, y = np.cumsum(rng.uniform(0.01, 3, 10)), np.cumsum(rng.exponential(size=10) ** 3)
        curve = Curve(x, y, smoothness, HOLD)
        values = [curve.value(u) for u in np.linspace(x[0], x[-1], 400)]
        assert np.all(np.diff(values) >= -1e-12 * max(values))


def test_steffen_by_hand():
    """Points (0, 0), (1, 1), (3, 2): secants 1 and 1/2, slope of the parabola (1·2 + 0.5·1)/3 = 5/6, limited to 5/6."""
    curve = Curve([0, 1, 3], [0, 1, 2], Smoothness.STEFFEN, LAST)
    assert curve.coefficients[2][1] == pytest.approx(5 / 6)
    slope = graph(ca.jacobian(curve.value(U), U))
    assert slope(1.0) == pytest.approx(5 / 6)
    assert (slope(-1.0), slope(4.0)) == (1.0, 0.5)


@pytest.mark.parametrize("smoothness", [s for s in Smoothness if s not in (Smoothness.LINEAR, Smoothness.CONSTANT)])
def test_smooth_curves_have_a_continuous_derivative_also_outside(smoothness):
    x, y = points(7, 8)
    slope = graph(ca.jacobian(Curve(x, y, smoothness, LAST).value(U), U))
    for u in x:
        assert slope(u - 1e-9) == pytest.approx(slope(u + 1e-9), abs=1e-6)
    assert slope(x[-1] + 5) == slope(x[-1] + 1)


def test_periodic_curves():
    x = np.linspace(0, 2 * np.pi, 30)
    for smoothness in (Smoothness.AKIMA, Smoothness.LINEAR):
        curve = Curve(x, np.sin(x), smoothness, PERIODIC)
        for u in (-40.0, -1.0, 3.0, 100.0):
            assert curve.value(u) == pytest.approx(np.sin(u), abs=1e-2)
    slope = graph(ca.jacobian(Curve(x, np.sin(x), Smoothness.AKIMA, PERIODIC).value(U), U))
    assert slope(-1e-9) == pytest.approx(slope(1e-9), abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "smoothness", "reason"),
    [
        ([], [], 1, "no rows"), ([0, 2, 1], [0, 0, 0], 1, "increase: 2 and 1 in rows 2 and 3"),
        ([0, 1, 1], [0, 0, 0], 2, "increase strictly"), ([0, np.nan], [0, 0], 1, "not finite"), ([0], [0], 9, "9"),
    ],
)  # fmt: skip
def test_points_that_make_no_curve(x, y, smoothness, reason):
    with pytest.raises(ValueError, match=reason):
        Curve(x, y, smoothness, HOLD)


def test_two_thousand_rows_stay_cheap():
    """Seven operations a row, a few more for the derivative, and exact values at the far end."""
    x, y = points(11, 2000)
    curve = Curve(x, y, Smoothness.LINEAR, LAST)
    value = curve.value(U)
    function = ca.Function("f", [U], [value])
    assert function.n_nodes() < 12 * 2000
    assert ca.Function("d", [U], [ca.jacobian(value, U)]).n_nodes() < 12 * 2000
    at = np.concatenate([x, 0.5 * (x[1:] + x[:-1])])
    assert np.array(function(at.reshape(1, -1))).ravel() == pytest.approx(np.interp(at, x, y), rel=1e-12, abs=1e-12)


# -- time ------------------------------------------------------------------------------------------------------------

STEPS = [[0, 0], [1, 0], [1, 1], [2, 4], [3, 9], [4, 16]]


def test_the_example_of_a_time_table():
    """Before and after the event at the jump; extrapolation beyond the end."""
    table = TimeTable(STEPS, [2], 1, LAST, 0.0, 0.0, 2)
    assert table.next_event(0.0) == 1
    assert (table.value(1, 1.0, 1.0), table.value(1, 1.0, NEVER)) == (0, 1)
    assert table.next_event(1.0) == NEVER
    assert [table.value(1, t, NEVER) for t in (1.5, 2.0, 5.0)] == [2.5, 4, 23]


def run(table, start, stop, n=200):
    """Times and values as a simulation sees them: right before and right after events, and between."""
    next_event = graph(ca.SX(table.next_event(U)))
    value = graph(ca.SX(table.value(1, U, V)), U, V)
    t, found = start, []
    while t < stop:
        upcoming = next_event(t)
        assert upcoming == table.next_event(t)
        assert upcoming > t
        for u in np.linspace(t, min(upcoming, stop), 7):
            found.append((u, value(u, upcoming)))
            assert found[-1][1] == pytest.approx(table.value(1, u, upcoming), rel=1e-12, abs=1e-12)
        t = upcoming
        assert len(found) < 10_000
    return np.array(found).T


def test_a_run_with_all_events():
    table = TimeTable(STEPS, [2], 1, LAST, 0.0, 0.0, 1)
    t, y = run(table, 0.0, 6.0)
    x = np.array(STEPS, float)
    late = t > 1
    outside = np.where(t > 4, 16 + 7 * (t - 4), np.interp(t, x[:, 0], x[:, 1]))
    assert y[late] == pytest.approx(outside[late])
    assert set(y[t < 1]) == {0.0}
    assert y[t == 1].tolist() == [0, 1]  # before and after


def test_start_shift_and_hold():
    table = TimeTable([[0, 1], [1, 3]], [2], 1, HOLD, 0.5, 2.0, 1)
    assert [table.next_event(t) for t in (0.0, 0.5, 2.0, 3.0)] == [0.5, 2.0, 3.0, NEVER]
    t, y = run(table, 0.0, 5.0)
    assert set(y[t < 0.5]) == {0.0}
    late = t > 0.5
    assert y[late] == pytest.approx(np.clip(1 + 2 * (t[late] - 2), 1, 3))


@pytest.mark.parametrize("events", [1, 2, 3])
def test_periodic_saw_tooth(events):
    table = TimeTable([[0, 0], [1, 1], [2, -1], [3, 0.5]], [2], 1, PERIODIC, -20.0, 0.25, events)
    x, y = np.array([[0, 0], [1, 1], [2, -1], [3, 0.5]]).T
    t, found = run(table, -7.3, 30.0) if events < 3 else (np.linspace(-7.3, 30, 300), None)
    if found is None:
        found = np.array([table.value(1, one, NEVER) for one in t])
    inner = np.abs((t - 0.25) / 3 - np.round((t - 0.25) / 3)) > 1e-9
    assert found[inner] == pytest.approx(np.interp((t[inner] - 0.25) % 3, x, y), abs=1e-9)


def test_constant_segments_have_events_always():
    table = TimeTable([[0, 5], [1, 6], [2, 7]], [2], 3, HOLD, 0.0, 0.0, 3)
    t, y = run(table, 0.0, 4.0)
    assert y[t == 1].tolist() == [5, 6]
    assert set(y[t > 2]) == {7.0}


def test_scaled_times_that_are_rounded_do_not_repeat_an_event():
    scale = 0.1
    table = TimeTable([[k, k % 2] for k in range(50)], [2], 1, HOLD, 0.0, 0.0, 1)
    t = 0.0
    for k in range(1, 50):
        upcoming = table.next_event(t / scale)
        assert upcoming == k
        t = upcoming * scale


# -- two variables ---------------------------------------------------------------------------------------------------


def grid(seed=0, n=6, m=5):
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.uniform(0.2, 1, n)), np.cumsum(rng.uniform(0.2, 1, m))
    return x, y, rng.normal(size=(n, m))


def table_of(x, y, z):
    return np.block([[np.zeros((1, 1)), y[None, :]], [x[:, None], z]])


def test_bilinear_surfaces_are_those_of_scipy():
    x, y, z = grid()
    surface = Surface(table_of(x, y, z), 1, LAST)
    theirs = RegularGridInterpolator((x, y), z, bounds_error=False, fill_value=None)
    for u, v in np.random.default_rng(1).uniform(0, 5, (40, 2)):
        assert surface.value(u, v) == pytest.approx(theirs([[u, v]])[0], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("extrapolation", [HOLD, LAST, PERIODIC])
@pytest.mark.parametrize("smoothness", [1, 2, 3, 6])
def test_surfaces_on_graphs_agree_with_numbers(smoothness, extrapolation):
    x, y, z = grid(3)
    surface = Surface(table_of(x, y, z), smoothness, extrapolation)
    found = graph(surface.value(U, V), U, V)
    for u, v in np.random.default_rng(2).uniform(-1, 6, (30, 2)):
        assert found(u, v) == pytest.approx(surface.value(u, v), rel=1e-11, abs=1e-11)


def test_smooth_surfaces_go_through_points_and_are_smooth():
    x, y, z = grid(4)
    surface = Surface(table_of(x, y, z), 2, LAST)
    value = surface.value(U, V)
    slope = ca.Function("f", [U, V], [ca.jacobian(value, ca.vertcat(U, V))])
    for i, u in enumerate(x):
        for j, v in enumerate(y[:-1]):
            assert surface.value(u, v) == pytest.approx(z[i, j], abs=1e-11)
            assert np.array(slope(u - 1e-8, v - 1e-8)) == pytest.approx(np.array(slope(u + 1e-8, v + 1e-8)), abs=1e-5)
            middle = v + 0.4 * (y[j + 1] - v)
            assert np.array(slope(u - 1e-8, middle)) == pytest.approx(np.array(slope(u + 1e-8, middle)), abs=1e-5)


def test_smooth_surfaces_reproduce_products_of_curves():
    """Akima's method keeps planes, and z = x·y."""
    x, y, _ = grid(5)
    surface = Surface(table_of(x, y, 1 + 2 * x[:, None] - y[None, :] + 3 * np.outer(x, y)), 2, LAST)
    for u, v in np.random.default_rng(6).uniform(-1, 5, (30, 2)):
        assert surface.value(u, v) == pytest.approx(1 + 2 * u - v + 3 * u * v, rel=1e-10, abs=1e-10)


def test_smooth_surfaces_of_one_variable_are_curves():
    x, y, z = grid(8)
    surface = Surface(table_of(x, y, np.repeat(z[:, :1], len(y), axis=1)), 2, LAST)
    curve = Curve(x, z[:, 0], 2, LAST)
    for u in np.linspace(x[0] - 1, x[-1] + 1, 30):
        assert surface.value(u, 1.7) == pytest.approx(curve.value(u), rel=1e-11, abs=1e-11)


# -- files -----------------------------------------------------------------------------------------------------------

TEXT = """#1
# two tables
double tab1(3,2)  # comment
  0 0
  1, 0.5; 2
  +4.e0
double other(1,1)
7
"""


def test_tables_in_text_files(tmp_path):
    file = tmp_path / "tables.txt"
    file.write_text(TEXT)
    assert read_table(str(file), "tab1").tolist() == [[0, 0], [1, 0.5], [2, 4]]
    assert read_table(str(file), "other").tolist() == [[7]]
    (tmp_path / "a.csv").write_text("t;y\n0;1\n2;3\n")
    assert read_table(str(tmp_path / "a.csv"), "Values", ";", 1).tolist() == [[0, 1], [2, 3]]


def test_tables_in_matlab_files(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"tab": np.array([[1.0, 2.0], [3.0, 4.0]])})
    assert read_table(str(tmp_path / "a.mat"), "tab").tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="no matrix `none`"):
        read_table(str(tmp_path / "a.mat"), "none")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("tab3", TEXT, "there are: tab1, other"), ("tab1", TEXT[3:], "begin with #1"), ("tab1", None, "cannot be read"),
        ("tab1", TEXT.replace("0.5", "x"), "`x` in"), ("tab1", TEXT.replace("0.5", ""), "5 numbers, not 3 x 2"),
    ],
)  # fmt: skip
def test_faulty_files(tmp_path, name, text, reason):
    file = tmp_path / "tables.txt"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=reason):
        read_table(str(file), name)
