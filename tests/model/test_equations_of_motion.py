"""Validation of EquationsOfMotion: every fault is named, all of them at once; and everything that is no fault works."""

import numpy as np
import pytest

import dalembert as da
from dalembert.compile.system import compile_system
from dalembert.errors import UntraceableWarning

VALID = {"p": ["x", "y"], "mass": [1, 1], "force": [0, -9.81]}
TWO = {"v": ["vx", "vy"]}


def build(**changes):
    return da.EquationsOfMotion(**{**VALID, **changes})


def unit_circle(s):
    return [s.x**2 + s.y**2 - 1]


def nothing(s):
    return None


# -- names -------------------------------------------------------------------------------------------------------------

NAME_FAULTS = {
    "text for a list": ({"p": "xy"}, r"p='xy': give a list of names"),
    "None": ({"p": None}, r"p=None: give a list of names"),
    "a number for a list": ({"p": 3}, r"p=3: give a list of names"),
    "no position": ({"p": []}, r"at least one position"),
    "no text": ({"p": [1, "y"]}, r"p: 1 is not a name"),
    "empty": ({"p": ["", "y"]}, r"p: '' is not a name"),
    "reserved": ({"p": ["t", "y"]}, r"'t' is reserved .* e\.g\. 't_'"),
    "twice": ({"p": ["x", "x"]}, r"the name 'x' is given twice"),
    "velocity like a position": ({"v": ["x", "b"]}, r"the name 'x' is given twice"),
    "velocities no list": ({"v": 5}, r"v=5: give a list"),
    "r no list": ({"r": 4}, r"r=4: give a list"),
    "parameter like a variable": ({"parameters": {"x": 1}}, r"the name 'x' is given twice"),
    "parameter like a velocity": ({"parameters": {"x_dot": 1}}, r"the name 'x_dot' is given twice"),
    "parameter reserved": ({"parameters": {"t": 1}}, r"parameter 't': this name is reserved"),
    "parameter no text": ({"parameters": {3: 1}}, r"parameter 3: names are non-empty strings"),
    "input like a variable": ({"inputs": {"x": 1}}, r"the name 'x' is given twice"),
    "input rate like a parameter": ({"inputs": {"q": 1}, "parameters": {"q_dot": 1}}, r"'q_dot' is given twice"),
    "input reserved": ({"inputs": {"t": 1}}, r"input 't': this name is reserved"),
    "input no text": ({"inputs": {3: 1}}, r"input 3: names are non-empty strings"),
    "input empty": ({"inputs": {"": 1}}, r"input '': names are non-empty strings"),
    "multiplier twice": ({"holonomic": lambda s: [s.x, s.y], "lam": ["q", "q"]}, r"lam: the name 'q' is given twice"),
    "multiplier reserved": ({"holonomic": unit_circle, "lam": ["t"]}, r"lam: the name 't' is reserved"),
    "multiplier no text": ({"holonomic": unit_circle, "lam": [3]}, r"lam: 3 is not a name"),
    "multipliers text": ({"holonomic": unit_circle, "lam": "q"}, r"lam='q': give a list"),
    "multipliers no list": ({"holonomic": unit_circle, "lam": 7}, r"lam=7: give a list"),
    "too many multipliers": ({"holonomic": unit_circle, "lam": ["a1", "b1"]}, r"2 names, but holonomic= has 1"),
    "multipliers of nothing": ({"mu": ["a1"]}, r"mu= gives 1 names, but nonholonomic= has 0"),
    "multiplier like a variable": ({"holonomic": unit_circle, "lam": ["y"]}, r"'y' is taken by a multiplier"),
    "default multiplier is taken": (
        {"holonomic": unit_circle, "parameters": {"lam1": 2}},
        r"'lam1' is taken by a multiplier; rename it or name the multipliers with lam=",
    ),
}


@pytest.mark.parametrize(("changes", "message"), NAME_FAULTS.values(), ids=NAME_FAULTS)
def test_faulty_names(changes, message):
    with pytest.raises(da.ModelError, match=message) as caught:
        build(**changes)
    assert caught.value.faults


# -- values and shapes -------------------------------------------------------------------------------------------------

FAULTS = {
    "parameter NaN": ({"parameters": {"k": np.nan}}, r"parameter 'k' = nan is not finite"),
    "parameter text": ({"parameters": {"k": "1.5"}}, r"parameter 'k' = '1\.5' is not a number"),
    "parameter None": ({"parameters": {"k": None}}, r"parameter 'k' = None is not a number"),
    "parameter complex": ({"parameters": {"k": 1j}}, r"parameter 'k' = 1j is not a number"),
    "parameter ragged": ({"parameters": {"k": [[1], [1, 2]]}}, r"parameter 'k' = .* is not a number"),
    "parameters a list": ({"parameters": [1, 2]}, r"parameters=\[1, 2\]: give a mapping"),
    "parameters an array": ({"parameters": np.ones(2)}, r"parameters=.*: give a mapping"),
    "inputs a number": ({"inputs": 5}, r"inputs=5: give a mapping"),
    "mass missing": ({"mass": None}, r"mass= is missing"),
    "force missing": ({"force": None}, r"force= is missing"),
    "mass too long": ({"mass": [1, 2, 3]}, r"mass: returned 3 values; 2 velocities need a vector of 2 .* or a 2×2"),
    "mass scalar": ({"mass": 2.0}, r"mass: returned 1 values"),
    "mass 3×2": ({"mass": lambda s: np.ones((3, 2))}, r"mass \(line \d+ of .*\): returned a 3×2 matrix"),
    "mass of three dimensions": ({"mass": np.zeros((2, 2, 2))}, r"mass: .*3 dimensions"),
    "mass text": ({"mass": "ab"}, r"mass: .*'str'"),
    "mass NaN": ({"mass": [1, np.nan]}, r"mass: contains a constant that is NaN"),
    "mass asymmetric": ({"mass": [[1, 2], [3, 4]]}, r"mass: the mass matrix is not symmetric"),
    "mass asymmetric in x": ({"mass": lambda s: [[1, s.x], [0, 1]]}, r"the mass matrix is not symmetric"),
    "mass negative": ({"mass": [1, -2]}, r"negative eigenvalue -2"),
    "mass indefinite": ({"mass": [[1, 2], [2, 1]]}, r"negative eigenvalue -1"),
    "mass with a velocity": ({"mass": lambda s: [s.x_dot, 1]}, r"'x_dot' cannot be used here: it is a velocity"),
    "force too short": ({"force": [1]}, r"force: returned 1 values where 2 are needed \(one for each of x_dot, y"),
    "force matrix": ({"force": lambda s: np.eye(2)}, r"returned a 2×2 matrix; return a vector"),
    "force None": ({"force": nothing}, r"force .*returned None; is a `return` missing"),
    "force text": ({"force": lambda s: "ab"}, r"returned 'ab'; return real numbers"),
    "force texts": ({"force": lambda s: ["1", "2"]}, r"returned \['1', '2'\]; return real numbers"),
    "force dict": ({"force": lambda s: {"x": 1, "y": 2}}, r"returned {'x': 1, 'y': 2}"),
    "force complex": ({"force": lambda s: [1j, 2]}, r"returned \[1j, 2\]; return real numbers"),
    "force complex symbol": ({"force": lambda s: [1j * s.x, 2]}, r"return real numbers"),
    "force generator": ({"force": lambda s: (i for i in (1, 2))}, r"'generator'"),
    "force set": ({"force": lambda s: {1, 2}}, r"'set'"),
    "force ragged": ({"force": lambda s: [[1, 2], 3]}, r"inhomogeneous"),
    "force object": ({"force": lambda s: object()}, r"'object'"),
    "force infinite": ({"force": lambda s: [np.inf, 2]}, r"constant that is NaN or infinite"),
    "force NaN times x": ({"force": lambda s: [np.nan * s.x, 2]}, r"constant that is NaN or infinite"),
    "force raises": ({"force": lambda s: [1 / 0, 1]}, r"force \(line .*ZeroDivisionError: division by zero"),
    "force without argument": ({"force": lambda: [1, 2]}, r"takes 0 positional arguments"),
    "force recursive": ({"force": lambda s: (lambda f: f(f))(lambda f: f(f))}, r"RecursionError"),
    "force beyond the end": ({"force": lambda s: [s.p[5], 1]}, r"IndexError: index 5"),
    "assignment": ({"force": lambda s: setattr(s, "x", 3)}, r"must not assign to s\.x"),
    "unknown name": ({"force": lambda s: [s.xx, 1]}, r"there is no 'xx'; did you mean 'x'"),
    "unknown item": ({"force": lambda s: [s["y_do"], 1]}, r"there is no 'y_do'; did you mean 'y_dot'"),
    "number as name": ({"force": lambda s: [s[0], 1]}, r"s\[0\]: the namespace is read by name"),
    "iterated namespace": ({"force": lambda s: list(s)}, r"namespace s is not a sequence"),
    "acceleration in force": ({"force": lambda s: [s.a[0], 1]}, r"'a' cannot be used here: it is an acceleration"),
    "velocity in holonomic": (
        {"holonomic": lambda s: [s.x_dot]},
        r"'x_dot' cannot be used here: it is a velocity, and holonomic= may depend on p, s, t",
    ),
    "velocities in holonomic": ({"holonomic": lambda s: [s.v[0]]}, r"'x_dot' cannot be used here: it is a velocity"),
    "multiplier in holonomic": ({"holonomic": lambda s: [s.lam[0]]}, r"'lam' cannot be used here: it is a multiplier"),
    "constraint without variables": (
        {"holonomic": lambda s: [s.x - 1, s.t - 1]},
        r"holonomic constraint 2 \('lam2'\) depends on no position",
    ),
    "constant constraint": ({"holonomic": [3.0]}, r"constraint 1 \('lam1'\) depends on no position"),
    "nonholonomic nonlinear": ({"nonholonomic": lambda s: [s.x_dot**2]}, r"'mu1' is not linear in the velocities"),
    "nonholonomic without velocity": ({"nonholonomic": lambda s: [s.x]}, r"'mu1'\) depends on no velocity"),
    "r without dynamics": ({"r": ["q"]}, r"r= names 1 variables, but dynamics= .* is missing"),
    "dynamics without r": ({"dynamics": [1]}, r"dynamics= is given, but r= names no variables"),
    "dynamics too long": ({"r": ["q"], "dynamics": [1, 2]}, r"dynamics: returned 2 values where 1 are needed .* q\)"),
    "auxiliary without w": ({"auxiliary": [1]}, r"auxiliary= is given, but w= names no"),
    "auxiliary without any w": (
        {"w": ["q"], "auxiliary": lambda s: [s.x]},
        r"auxiliary: equation 1 \('q'\) depends on no auxiliary variable",
    ),
    "contact points without s": (
        {"s": ["q"], "contact_points": lambda s: [s.x]},
        r"equation 1 \('q'\) depends on no contact-point coordinate",
    ),
    "constant invariant": ({"invariant": [3]}, r"invariant: equation 1 depends on no position and no velocity"),
    "kinematics without v": ({"kinematics": np.eye(2)}, r"v= must name the velocities when kinematics= is given"),
    "kinematics of wrong shape": ({**TWO, "kinematics": np.eye(3)}, r"returned 3×3; Z must be 2×2"),
    "kinematics with velocity": ({**TWO, "kinematics": lambda s: [[s.vx, 0], [0, 1]]}, r"'vx' cannot be used here"),
    "fewer velocities than positions": ({"v": ["a1"]}, r"2 positions but 1 velocities: kinematics= .* must be given"),
    "input rate in holonomic": (
        {"inputs": {"q": lambda t: t}, "holonomic": lambda s: [s.x - s.q_dot]},
        r"'q_dot' cannot be used here: holonomic= is differentiated twice",
    ),
    "derivative of no constraint": ({"velocity_constraints": lambda s: [s.x_dot]}, r"there are no constraints"),
    "derivatives too many": (
        {"holonomic": unit_circle, "velocity_constraints": lambda s: [s.x_dot, 2]},
        r"returned 2 values where 1 are needed \(one for each of lam1\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_named(changes, message):
    with pytest.raises(da.ModelError, match=message) as caught:
        build(**changes)
    assert caught.value.faults
    assert "NoneType" not in str(caught.value)


def test_an_untraceable_mass_must_be_symmetric_too():
    with (
        pytest.raises(da.ModelError, match="not symmetric"),
        pytest.warns(UntraceableWarning),
    ):
        build(mass=lambda s: [[1, float(s.x)], [0, 1]])


def test_all_faults_at_once():
    with pytest.raises(da.ModelError) as caught:
        build(
            force=[1],
            mass=[[1, 2], [3, 4]],
            holonomic=lambda s: [s.x_dot],
            nonholonomic=lambda s: [s.x],
            r=["q"],
            invariant=lambda s: [s.nothing],
        )
    text = str(caught.value)
    for part in ("dynamics=", "x_dot", "symmetric", "force", "mu1", "nothing"):
        assert part in text
    assert len(caught.value.faults) == 6


def test_all_faults_of_names_and_numbers_at_once():
    with pytest.raises(da.ModelError) as caught:
        build(p=["x", "x", "t", 3], parameters={"k": np.nan, "x": 2}, inputs={"q": np.nan}, w=7)
    text = str(caught.value)
    for part in ("'t'", "3 is not a name", "'k' = nan", "input 'q' is nan", "'x' is given twice", "w=7"):
        assert part in text


def test_a_model_error_is_a_value_error_and_names_the_model():
    with pytest.raises(ValueError, match="model 'swing' has faults"):
        build(force=[1], name="swing")


# -- what is no fault --------------------------------------------------------------------------------------------------


def test_repr_counts():
    model = build(holonomic=unit_circle, r=["q"], dynamics=lambda s: [-s.q], name="m")
    text = "EquationsOfMotion('m': 2 positions, 2 velocities, 1 dynamic force variable, 1 holonomic constraint)"
    assert repr(model) == text


def final(model, **options):
    return da.simulate(model, (0, 0.5), **{"p0": [1, 0], "rtol": 1e-8, **options}).p[-1]


def test_scalars_lists_tuples_arrays_and_functions_mean_the_same():
    reference = final(build(holonomic=unit_circle))
    for variant in (
        build(mass=np.eye(2), force=np.array([0, -9.81]), holonomic=lambda s: s.x**2 + s.y**2 - 1),
        build(p=("x", "y"), mass=(1.0, 1.0), force=lambda s: (0, -9.81), holonomic=lambda s: s.p @ s.p - 1),
        build(p=iter(["x", "y"]), mass=lambda s: np.ones(2), force=[[0], [-9.81]], holonomic=unit_circle),
        build(mass=lambda s: [[1, 0], [0, 1]], force=[[0, -9.81]], holonomic=lambda s: np.stack([s.p @ s.p - 1])),
        build(holonomic=unit_circle, nonholonomic=lambda s: []),
    ):
        np.testing.assert_allclose(final(variant), reference, rtol=1e-10)


def test_sympy_expressions():
    sympy = pytest.importorskip("sympy")
    from sympy.physics.mechanics import dynamicsymbols

    reference = final(build(holonomic=unit_circle))
    x, y = sympy.symbols("x y")
    np.testing.assert_allclose(final(build(holonomic=[x**2 + y**2 - 1])), reference, rtol=1e-10)
    x, y = dynamicsymbols("x y")
    rate = x.diff(dynamicsymbols._t)
    model = build(holonomic=lambda s: [x**2 + y**2 - 1], force=sympy.Matrix([0 * rate, -sympy.Rational(981, 100)]))
    np.testing.assert_allclose(final(model), reference, rtol=1e-10)
    with pytest.raises(da.ModelError, match="no variable or parameter 'z'"):
        build(holonomic=[sympy.Symbol("z") ** 2 - 1])
    with pytest.raises(da.ModelError, match="'foo'"):
        build(force=[sympy.Function("foo")(sympy.Symbol("x")), 1])
    with pytest.raises(da.ModelError, match="ImaginaryUnit"):
        build(force=[sympy.I * sympy.Symbol("x"), 1])


def test_parameters_as_arrays():
    model = build(
        mass=lambda s: s.M, force=lambda s: -s.K @ s.p, parameters={"M": np.diag([2.0, 1.0]), "K": np.diag([8.0, 9.0])}
    )
    sol = da.simulate(model, (0, 1), p0=[1, 1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sol.p[-1], [np.cos(2), np.cos(3)], atol=1e-7)
    assert model.parameters["K"].shape == (2, 2)
    other = model.replace(parameters={"K": np.diag([2.0, 1.0])})
    np.testing.assert_allclose(da.simulate(other, (0, 1), p0=[1, 1]).p[-1], [np.cos(1), np.cos(1)], atol=1e-5)
    with pytest.raises(da.ModelError, match=r"'K' has shape \(2,\); the model was built with \(2, 2\)"):
        model.replace(parameters={"K": [1, 2]})


def test_a_semi_definite_mass_is_accepted():
    """A massless coordinate that a constraint ties to one with mass."""
    model = build(mass=[1, 0], force=[0, 0], holonomic=lambda s: [s.y - s.x])
    sol = da.simulate(model, (0, 1), p0=[0, 0], v0=[2, 2])
    np.testing.assert_allclose(sol.p[-1], [2, 2], atol=1e-6)


def test_kinematics_with_other_velocities():
    """A point on a plane in polar velocities, p' = Z v with Z a function of p."""
    model = da.EquationsOfMotion(
        p=["x", "phi"],
        v=["speed", "rate"],
        kinematics=lambda s: [[np.cos(s.phi), 0], [0, 1]],
        mass=[1, 1],
        force=[0, 0],
    )
    sol = da.simulate(model, (0, 1), p0=[0, 0], v0=[2, 1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sol.p[-1], [2 * np.sin(1), 1], atol=1e-7)


HOSTILE = ('"; import os', "x[0]", "a\nb", "%s", "größe→", "{0}", "it's", "__class__", "lambda", " ", "_names")


@pytest.mark.parametrize("traced", [True, False])
def test_hostile_names_are_nothing_but_names(traced, recwarn):
    def force(s):
        return [-s[name] if traced else -float(s[name]) for name in HOSTILE]

    model = da.EquationsOfMotion(
        p=HOSTILE,
        mass=np.ones(len(HOSTILE)),
        force=force,
        parameters={"%d": 1.0, "eval('1')": 2.0},
        inputs={"__dict__": lambda t: t},
        holonomic=lambda s: [s["x[0]"] - s["a\nb"]],
        lam=["λ\n;"],
        name="'''",
    )
    event = da.Event(lambda s: s["%s"] - 0.7, name='"\n%', action=lambda s: {"{0}": 2.0})
    sol = da.simulate(model, (0, 1), p0=dict.fromkeys(HOSTILE, 1.0), events=event, atol={"%s": 1e-10}, rtol=1e-8)
    for name in HOSTILE:
        if name != "{0}":
            assert sol[name][-1] == pytest.approx(np.cos(1), abs=1e-6)
    assert abs(sol["λ\n;"]).max() < 1e-6
    assert sol.events.t == pytest.approx([np.arccos(0.7)], abs=1e-7)
    with pytest.raises(da.ModelError, match="there is no"):
        sol["__doc__"]


# -- variants ----------------------------------------------------------------------------------------------------------


def test_replace_keeps_the_original_and_shares_compiled_code():
    model = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [-s.k * s.x], parameters={"k": 1.0})
    first = da.simulate(model, (0, 1), p0=[1], rtol=1e-9)
    form = da.Radau5().formulate(model)
    compiled = compile_system(form)
    variant = model.replace(parameters={"k": 4.0})
    second = da.simulate(variant, (0, 1), p0=[1], rtol=1e-9)
    third = da.simulate(model, (0, 1), p0=[1], rtol=1e-9, parameters={"k": 4.0})
    assert da.Radau5().formulate(variant) is form
    assert compile_system(form) is compiled
    assert variant.kept is model.kept
    assert model.parameters == {"k": 1.0}
    assert third.parameters == {"k": 4.0}
    assert first.p[-1, 0] == pytest.approx(np.cos(1), abs=1e-7)
    assert second.p[-1, 0] == pytest.approx(np.cos(2), abs=1e-7)
    assert third.p[-1, 0] == second.p[-1, 0]
    assert model.replace() is model


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": {"kk": 1}}, "there is no 'kk'; did you mean 'k'"),
        ({"parameters": {"x": 1}}, "there is no 'x'; known names: k"),
        ({"parameters": {"k": [1, 2]}}, r"'k' has shape \(2,\)"),
        ({"parameters": {"k": np.nan}}, "'k' = nan is not finite"),
        ({"parameters": {"k": "a"}}, "'k' = 'a' is not a number"),
        ({"parameters": 3}, "parameters=3: give a mapping"),
        ({"parameters": {3: 1}}, "parameter 3: names"),
        ({"inputs": {"q": 1}}, "there is no 'q'; known names: none"),
        ({"inputs": [1]}, r"inputs=\[1\]: give a mapping"),
        ({"parameters": {"j": 1, "k": np.inf}, "inputs": {"q": 1}}, "(?s)'k' = inf.*'j'.*'q'"),
    ],
)
def test_faulty_replacements(changes, message):
    model = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [-s.k * s.x], parameters={"k": 1.0})
    with pytest.raises(da.ModelError, match=message):
        model.replace(**changes)
    with pytest.raises(da.ModelError, match=message):
        da.simulate(model, (0, 1), p0=[1], **changes)


def test_mass_matrix_in_blocks_is_judged_by_each_of_them():
    """Bodies 1 and 3 are coupled; a coupling of 1 makes the matrix semi-definite, of 2 indefinite."""

    def model(coupling):
        mass = np.diag([1.0, 5.0, 1.0, 0.0])
        mass[0, 2] = mass[2, 0] = coupling
        return da.EquationsOfMotion(p=["a1", "a2", "a3", "a4"], mass=mass, force=[0, 0, 0, 0])

    assert model(1.0).graph.size("p") == 4
    with pytest.raises(da.ModelError, match="negative eigenvalue -1;"):
        model(2.0)


def test_all_faults_of_constraints_are_named():
    with pytest.raises(da.ModelError) as failure:
        da.EquationsOfMotion(
            p=["x", "y", "z"],
            mass=[1, 1, 1],
            force=[0, 0, 0],
            holonomic=lambda s: [s.x, s.t, s.y, 2.0],
            nonholonomic=lambda s: [s.x_dot * s.y_dot, s.z_dot],
        )
    text = str(failure.value)
    assert "constraint 2 ('lam2')" in text
    assert "constraint 4 ('lam4')" in text
    assert "'lam1'" not in text
    assert "'lam3'" not in text
    assert "'mu1' is not linear" in text
    assert "'mu2'" not in text
