"""QuasiLinearDAE: validation, and problems with known solutions."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import UntraceableWarning

ELIMINATED = "equations with untraceable right-hand sides are eliminated as if they read no variable"


def build(**changes):
    return da.QuasiLinearDAE(**{"x": ["a", "b"], "rhs": lambda s: [s.b, -s.a], **changes})


FAULTS = {
    "text for a list": ({"x": "ab"}, r"x='ab': give a list of names"),
    "None": ({"x": None}, r"x=None: give a list"),
    "no unknown": ({"x": []}, r"at least one unknown"),
    "twice": ({"x": ["a", "a"]}, r"'a' is given twice"),
    "reserved": ({"x": ["t", "b"]}, r"'t' is reserved"),
    "rhs missing": ({"rhs": None}, r"rhs= is missing"),
    "rhs too short": ({"rhs": lambda s: [s.a]}, r"leading= is missing, and 1 right-hand sides for 2 unknowns"),
    "rhs too long": ({"rhs": lambda s: [s.a] * 3}, r"leading= is missing, and 3 right-hand sides"),
    "rhs matrix": ({"rhs": lambda s: np.eye(2)}, r"rhs .*returned a 2×2 matrix; return a vector"),
    "rhs NaN": ({"rhs": [np.nan, 1]}, r"rhs: contains a constant that is NaN"),
    "rhs None": ({"rhs": lambda s: None}, r"rhs .*returned None"),
    "rhs raises": ({"rhs": lambda s: [s.a / 0 if False else 1 / 0, 1]}, r"rhs .*ZeroDivisionError"),
    "unknown name": ({"rhs": lambda s: [s.aa, 1]}, r"there is no 'aa'; did you mean 'a'"),
    "a mechanical vector": ({"rhs": lambda s: [s.v[0], 1]}, r"there is no 'v'; known names: a, b, t, u, x"),
    "leading too short": ({"leading": [1]}, r"leading: is 1×1; 2 right-hand sides and 2 unknowns need 2×2"),
    "leading 3×2": ({"leading": np.ones((3, 2))}, r"leading: is 3×2; .* need 2×2"),
    "leading 2×3": ({"leading": np.ones((2, 3))}, r"leading: is 2×3"),
    "leading scalar": ({"leading": 2.0}, r"leading: is 1×1"),
    "leading too long": ({"leading": [1, 2, 3]}, r"leading: is 3×1"),
    "leading NaN": ({"leading": [1, np.nan]}, r"leading: contains a constant that is NaN"),
    "leading None": ({"leading": lambda s: None}, r"leading .*returned None"),
    "leading text": ({"leading": "ab"}, r"leading: .*'str'"),
    "too few equations": ({"leading": [[1, 0]], "rhs": lambda s: [s.b]}, r"1 equations for 2 unknowns: 1 more"),
    "constraints matrix": ({"constraints": lambda s: np.eye(2)}, r"constraints .*2×2 matrix"),
    "constant constraint": ({"constraints": [3]}, r"constraint 1 depends on no unknown"),
    "constraint of time": ({"constraints": lambda s: [s.a, s.t]}, r"constraint 2 depends on no unknown"),
    "empty equation": (
        {"leading": [1, 0], "rhs": lambda s: [s.a, s.t]},
        r"equation 2 contains neither a derivative nor an unknown",
    ),
    "parameter NaN": ({"parameters": {"k": np.nan}}, r"'k' = nan"),
    "parameter like an unknown": ({"parameters": {"a": 1}}, r"'a' is given twice"),
    "input NaN": ({"inputs": {"q": np.nan}}, r"input 'q' is nan"),
}


@pytest.mark.parametrize(("changes", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_named(changes, message):
    with pytest.raises(da.ModelError, match=message) as caught:
        build(**changes)
    assert caught.value.faults


def test_all_faults_at_once():
    with pytest.raises(da.ModelError) as caught:
        build(rhs=lambda s: [s.c, 1], constraints=lambda s: np.eye(3))
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("x0", "message"),
    [
        (None, "x0= is missing: start values for a, b"),
        ([1], "x0 has 1 values; the model has 2: a, b"),
        ([np.nan, 0], "the start value of 'a' is nan"),
        ([0, np.inf], "the start value of 'b' is inf"),
        ({"c": 1}, "there is no 'c'; known names: a, b"),
        ({"a": np.nan}, r"x0.*'a'.* is nan"),
        ({"a": "x"}, r"x0\['a'\] = 'x' is not a number"),
        ("ab", "x0 = 'ab' is not an array of numbers"),
    ],
)
def test_start_values(x0, message):
    with pytest.raises(da.ModelError, match=message):
        da.simulate(build(), (0, 1), x0=x0)


def test_start_values_of_another_kind():
    with pytest.raises(da.ModelError, match="there is no 'p0'; known names: x0"):
        da.simulate(build(), (0, 1), x0=[1, 0], p0=[1, 0])


def test_start_values_as_mapping():
    sol = da.simulate(build(), (0, 1), x0={"a": 1, "b": 0}, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sol.x[-1], [np.cos(1), -np.sin(1)], atol=1e-7)


def test_an_unknown_may_be_called_x():
    model = da.QuasiLinearDAE(x=["x"], rhs=lambda s: [-s.x])
    assert da.simulate(model, (0, 1), x0=[1], rtol=1e-9)["x"][-1] == pytest.approx(np.exp(-1), abs=1e-8)


def test_no_constraints_are_no_constraints():
    assert build(constraints=lambda s: []).n_constraints == 0


def test_overdetermined_is_refused_by_a_method_that_cannot():
    model = build(constraints=lambda s: [s.a**2 + s.b**2 - 1], name="circle", hidden="given")
    with pytest.raises(da.ModelError, match="'circle' is overdetermined: 3 equations for 2 unknowns"):
        da.simulate(model, (0, 1), x0=[1, 0], method=da.Radau5())
    model = build(leading=np.ones((3, 2)), rhs=lambda s: [s.a] * 3, hidden="given")
    with pytest.raises(da.ModelError, match="3 differential equations for 2 unknowns"):
        da.simulate(model, (0, 1), x0=[1, 0], method=da.Radau5())


def test_square_with_constraints_of_its_own():
    """a' = b with b given by the circle: a = sin t up to the impasse."""
    model = build(leading=[[1, 0]], rhs=lambda s: [s.b], constraints=lambda s: [s.a**2 + s.b**2 - 1])
    sol = da.simulate(model, (0, 1), x0=[0, 1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sol.x[-1], [np.sin(1), np.cos(1)], atol=1e-7)
    assert sol.max_residual("constraints") < 1e-9


def test_impasse_is_reported_with_everything_before_it():
    model = build(leading=[1, 0], rhs=lambda s: [-1, s.b**2 - s.a])
    with pytest.raises(da.SimulationError, match=r"t = 1\b.*'b'") as caught:
        da.simulate(model, (0, 3), x0=[1, 1])
    sol = caught.value.solution
    assert 0.99 < sol.t[-1] <= 1
    assert np.isfinite(sol.x).all()


def test_an_unknown_that_no_equation_determines():
    with pytest.raises(da.SimulationError, match="variable 'b'"):
        da.simulate(build(leading=[1, 0], rhs=lambda s: [s.a, s.a - 1], hidden="given"), (0, 1), x0=[1, 0])
    with pytest.raises(da.StructurallySingular, match="'b' occurs in no equation"):
        da.simulate(build(leading=[1, 0], rhs=lambda s: [s.a, s.a - 1]), (0, 1), x0=[1, 0])


def test_no_consistent_start_values():
    with pytest.raises(da.SimulationError, match="algebraic equation 1 keeps a residual"):
        da.simulate(build(leading=[1, 0], rhs=lambda s: [s.b, s.b**2 + 1]), (0, 1), x0=[1, 0])


def robertson(traced=True):
    def rhs(s):
        if not traced:
            float(s.A)
        fast = 1e4 * s.B * s.C
        return [-0.04 * s.A + fast, 0.04 * s.A - fast - 3e7 * s.B**2, s.A + s.B + s.C - 1]

    return da.QuasiLinearDAE(x=["A", "B", "C"], leading=[1, 1, 0], rhs=rhs)


def test_robertson():
    """Values of the IVP test set at t = 40 and 1e11."""
    sol = da.simulate(robertson(), (0, 40), x0=[1, 0, 0], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(sol.x[-1], [0.7158270688, 9.185534765e-6, 0.2841637457], rtol=1e-7)
    sol = da.simulate(robertson(), (0, 1e11), x0=[1, 0, 0], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(sol.x[-1, :2], [0.2083340149701255e-7, 0.8333360770334713e-13], rtol=1e-5)


def test_robertson_untraceable():
    with pytest.warns(UntraceableWarning, match=r"rhs \(line \d+"):
        model = robertson(traced=False)
    sol = da.simulate(model, (0, 40), x0=[1, 0, 0], rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(sol.x[-1], [0.7158270688, 9.185534765e-6, 0.2841637457], rtol=1e-5)


def test_an_untraceable_stiff_equation_takes_as_many_steps_as_a_traced_one():
    def rhs(s):
        return [-1000 * (s.a - np.cos(s.t))]

    with pytest.warns(UntraceableWarning):
        opaque = da.QuasiLinearDAE(x=["a"], rhs=lambda s: [float(v) for v in rhs(s)])
    runs = [da.simulate(m, (0, 1), x0=[0]) for m in (da.QuasiLinearDAE(x=["a"], rhs=rhs), opaque)]
    assert runs[1].stats.accepted <= 1.2 * runs[0].stats.accepted


def test_series_rlc_circuit():
    """Charge and current of a damped circuit switched to a constant voltage; the node voltages are algebraic."""
    R, L, C, U = 2.0, 0.5, 0.1, 3.0
    circuit = da.QuasiLinearDAE(
        x=["uc", "i", "ul"],
        leading=lambda s: [[s.C, 0, 0], [0, s.L, 0], [0, 0, 0]],
        rhs=lambda s: [s.i, s.ul, s.U - s.R * s.i - s.ul - s.uc],
        parameters={"R": R, "L": L, "C": C},
        inputs={"U": U},
    )
    sol = da.simulate(circuit, (0, 2), x0=[0, 0, 0], rtol=1e-9, atol=1e-11)
    damping = R / (2 * L)
    omega = np.sqrt(1 / (L * C) - damping**2)
    t = sol.t
    uc = U * (1 - np.exp(-damping * t) * (np.cos(omega * t) + damping / omega * np.sin(omega * t)))
    i = U / (omega * L) * np.exp(-damping * t) * np.sin(omega * t)
    np.testing.assert_allclose(sol["uc"], uc, atol=1e-7)
    np.testing.assert_allclose(sol["i"], i, atol=1e-7)
    np.testing.assert_allclose(sol["ul"], U - R * i - uc, atol=1e-6)
    half = da.simulate(circuit, (0, 2), x0=[0, 0, 0], rtol=1e-9, atol=1e-11, inputs={"U": U / 2})
    np.testing.assert_allclose(half.x[-1], sol.x[-1] / 2, atol=1e-7)
