"""Names, promises and helper functions: what is taken, and what is refused with the reason."""

import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

DOCS = Path(__file__).parents[2] / "docs"


def build(**changes):
    return da.EquationsOfMotion(**{"p": ["x", "y"], "mass": [1, 1], "force": [0, -9.81], **changes})


def bodies(s):
    """A helper that looks at everything, as helpers do, and returns what each function picks from."""
    return {"square": s.x**2 + s.y**2, "power": s.v @ s.p, "speed": s.x_dot**2 + s.y_dot**2, "rate": s.k_dot}


def test_helpers_may_be_shared():
    """A function must not depend on velocities, but may call what looks at them."""
    model = build(
        inputs={"k": np.sin}, mass=lambda s: [1 + 0 * bodies(s)["square"], 1],
        force=lambda s: [-bodies(s)["power"], -bodies(s)["speed"] * bodies(s)["rate"]],
        holonomic=lambda s: [bodies(s)["square"] - 1], nonholonomic=None,
    )  # fmt: skip
    assert not model.untraceable
    assert da.simulate(model, (0, 0.5), p0=[1, 0]).success


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"holonomic": lambda s: [s.x, bodies(s)["power"]]}, r"'x_dot' cannot be .* is a velocity.*value 2"),
        ({"mass": lambda s: [1, bodies(s)["speed"]]}, r"mass .*'y_dot' cannot .*value 2"),
        ({"holonomic": lambda s: [s.x - bodies(s)["rate"]]}, r"'k_dot' cannot .* differentiated twice"),
        ({"holonomic": lambda s: [s.x - float(s.y_dot)]}, r"'y_dot' cannot be used here: it is a velocity"),
        ({"holonomic": lambda s: [s.x - s.lam[0]]}, r"'lam' cannot be used here: it is a multiplier"),
    ],
)
def test_what_a_result_must_not_contain(changes, message):
    with pytest.raises(da.ModelError, match=message):
        build(inputs={"k": np.sin}, **changes)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x\udfff", "", 5, None, b"x"], ids=repr)
def test_names_that_cannot_be_written(name):
    for changes in (
        {"p": ["x", name]}, {"v": ["vx", name]}, {"parameters": {name: 1.0}}, {"inputs": {name: np.sin}},
        {"discrete": {name: 1}}, {"holonomic": lambda s: [s.x], "lam": [name]}, {"name": name},
    ):  # fmt: skip
        with pytest.raises(da.ModelError, match="name"):
            build(**changes)
    with pytest.raises(da.ModelError, match="name"):
        da.QuasiLinearDAE(x=[name], rhs=lambda s: [-s.x[0]])
    if name is not None:
        with pytest.raises(da.OptionError, match="name"):
            da.Event(lambda s: s.x, name=name)


def test_names_of_all_languages():
    model = build(p=["φ", "位置"], v=["φ'", "s[0]"], parameters={"a b": 1.0}, name="Größe")
    assert da.simulate(model, (0, 0.1), p0=[0, 0]).names[:2] == ("φ", "位置")


class Broken(list):
    def __iter__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("p", [np.array("x"), 5, Broken(), "x", None], ids=lambda p: type(p).__name__)
def test_what_is_no_list_of_names(p):
    with pytest.raises(da.ModelError, match="give a list of names"):
        build(p=p, mass=[1], force=[0])


def test_no_positions():
    with pytest.raises(da.ModelError, match=r"at least one position.*QuasiLinearDAE"):
        build(p=[], mass=[], force=[])


@pytest.mark.parametrize("value", [np.zeros(2), "yes", 1.0, []], ids=repr)
@pytest.mark.parametrize("promise", ["constant_mass", "autonomous"])
def test_promises_are_true_or_false(promise, value):
    with pytest.raises(da.ModelError, match=f"{promise}=.* must be True, False or None"):
        build(**{promise: value})


@pytest.mark.parametrize("shape", [(0,), (0, 0), (0, 1), (1, 0), (2,), (2, 1)], ids=str)
def test_leading_matrices_of_wrong_shape(shape):
    for leading in (np.ones(shape), lambda s: np.ones(shape)):
        with pytest.raises(da.ModelError, match="leading"):
            da.QuasiLinearDAE(x=["z"], rhs=lambda s: [-s.z], leading=leading)


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def silent(s):
    raise Silent


def later(s):
    if not isinstance(s.x, float):
        float(s.x)
    if s.t > 0.5:
        raise Silent
    return [0, -9.81]


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_exceptions_without_text():
    with pytest.raises(da.ModelError, match="Silent: its text cannot be shown"):
        build(force=silent)
    with pytest.raises(da.FunctionFailed, match="Silent: its text cannot be shown"):
        da.simulate(build(force=later), (0, 1), p0=[1, 0])
    action = da.Event(lambda s: s.t - 0.1, action=silent)
    with pytest.raises(da.SimulationError, match="Silent: its text cannot be shown"):
        da.simulate(build(), (0, 1), p0=[1, 0], events=action)
    with pytest.raises(da.ModelError, match="Silent: its text cannot be shown"):
        da.consistent_initial_values(build(), p0=[1, 0], initial_conditions=silent)


def test_hidden_constraints_are_shown_in_a_line():
    text = repr(da.hidden_constraints(da.problems.pendulum().model))
    assert text == "HiddenConstraints(of model 'pendulum': 1 on velocity level, 1 on acceleration level)"
    assert "none" in repr(da.hidden_constraints(build()))


def test_reserved_names_are_listed_in_the_documentation():
    """One row of a table for each class, complete."""
    page = (DOCS / "models.md").read_text()
    models = {
        "EquationsOfMotion": build(),
        "QuasiLinearDAE": da.QuasiLinearDAE(x=["y"], rhs=lambda s: [-s.y]),
        "ImplicitDAE": da.ImplicitDAE(x=["y"], residual=lambda s: [s.y_dot + s.y]),
    }
    for kind, model in models.items():
        row = re.search(rf"^\| `{kind}` \| (.*) \|$", page, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row[1])) == model.reserved
