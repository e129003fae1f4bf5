"""One vocabulary: what it says is complete and consistent, and models answer from it."""

import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.model.vocabulary import (
    FUNCTIONS,
    LEVELS,
    MECHANICAL,
    RESIDUALS,
    VISIBLE,
    VOCABULARY,
    Role,
    constraint_name,
    equation_name,
    select,
)
from dalembert.regularize.formulations import FORMULATIONS
from dalembert.regularize.projected import projected

ROOT = Path(da.__file__).parent


@pytest.fixture
def rolling():
    """All vectors of equations of motion occur."""
    return da.EquationsOfMotion(
        p=["x", "y"], r=["spring"], w=["slip"], s=["sigma"], mass=[1, 1], force=lambda s: [s.spring, s.slip - s.lam[0]],
        dynamics=lambda s: [-s.spring], auxiliary=lambda s: [s.slip - s.x_dot],
        contact_points=lambda s: [s.sigma - s.x],
        holonomic=lambda s: [s.y - s.sigma**2], nonholonomic=lambda s: [s.x_dot - 1], mu=["speed"],
    )  # fmt: skip


@pytest.fixture
def decay():
    return da.QuasiLinearDAE(x=["y"], rhs=lambda s: [-s.y])


@pytest.fixture
def implicit():
    return da.ImplicitDAE(x=["y"], residual=lambda s: [s.y_dot + s.y])


def test_references_between_entries_exist():
    for symbol, kind in VOCABULARY.items():
        assert symbol == kind.symbol
        assert kind.of is None or kind.of in VOCABULARY
        assert kind.level is None or (kind.level in LEVELS and kind.equation)
        assert kind.start in (None, "needed", "zero", "computed")
        assert (kind.rate is not None) == (kind.role in (Role.DIFFERENTIAL, Role.UNKNOWN))
    for function in FUNCTIONS.values():
        assert set(function.reads) <= set(VOCABULARY)
        assert function.rows is None or VOCABULARY[function.rows].equation
    assert set(RESIDUALS.values()) <= set(FUNCTIONS)


def test_what_is_seen_comes_in_the_order_of_states():
    assert (*MECHANICAL, "x") == VISIBLE
    assert select(VISIBLE, Role.MULTIPLIER) == ("lam", "mu")


@pytest.mark.parametrize(
    ("symbol", "title", "sentence"),
    [
        ("v", "velocities v", "is a velocity"),
        ("w", "auxiliary variables w", "is an auxiliary variable"),
        ("lam", "holonomic constraints, lam", "is a multiplier"),
        ("x", "unknowns x", "is a state"),
    ],
)
def test_words_for_messages(symbol, title, sentence):
    assert (VOCABULARY[symbol].title, VOCABULARY[symbol].sentence) == (title, sentence)


def test_names_of_equations():
    assert equation_name("p", "x") == "kinematic equation of 'x'"
    assert equation_name("lam", "rod", "position") == "holonomic constraint 'rod'"
    assert equation_name("lam", "rod", "acceleration") == "holonomic constraint 'rod' on acceleration level"
    assert equation_name("mu", "wheel", "velocity") == "nonholonomic constraint 'wheel'"
    assert equation_name("mu", "wheel", "baumgarte") == "nonholonomic constraint 'wheel' (Baumgarte)"
    assert equation_name("eta", "rod") == "holonomic constraint 'rod'"
    assert constraint_name("rod") == "constraint 'rod'"
    assert constraint_name("rod", "velocity") == "constraint 'rod' on velocity level"


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_row_of_a_formulation_has_a_name_of_its_own(rolling, formulation):
    system = da.formulate(rolling, formulation)
    assert len(set(system.equations + system.constraint_names)) == system.residual.numel() + system.constraints.numel()
    assert len(set(system.variables)) == system.n
    at = system.slices["lam"]
    level = {"index1": " on acceleration level", "index2": " on velocity level", "index3": ""}.get(formulation)
    assert level is None or system.equations[at.start] == f"holonomic constraint 'lam1'{level}"


@pytest.mark.parametrize("options", [{}, {"form": "index1"}, {"accelerations": "unknown"}])
def test_every_row_of_the_projected_form_has_a_name_of_its_own(rolling, options):
    system = projected(rolling, **options)
    assert len(set(system.equations)) == system.residual.numel()
    assert len(set(system.variables)) == system.n
    if options == {"accelerations": "unknown"}:
        assert "equation of motion of 'x_dot' (for its derivative)" in system.equations
        assert "x_dot'" in system.variables


def test_what_models_answer(rolling, decay, implicit):
    assert rolling.state_kinds == rolling.start_kinds == MECHANICAL
    assert rolling.differential_kinds == ("p", "v", "r")
    assert rolling.continuous_kinds == ("p", "v", "r", "s")
    assert rolling.settable_kinds == ("p", "v", "r", "w", "s")
    assert rolling.given_rates == ()
    assert rolling.mechanical
    assert rolling.linear_in_rates
    assert (decay.state_kinds, decay.start_kinds, decay.continuous_kinds) == (("x",), ("x",), ("x",))
    assert (implicit.start_kinds, implicit.given_rates) == (("x", "dx"), ("dx",))
    assert [model.own_formulation for model in (rolling, decay, implicit)] == [None, "quasi-linear", "implicit"]
    assert [model.linear_in_rates for model in (rolling, decay, implicit)] == [True, True, False]
    assert decay.reserved == {"u", "t"}
    assert implicit.reserved == {"u", "t", "dx"}
    assert rolling.reserved == {*MECHANICAL, "a", "u", "t"}


def test_names_of_vectors(rolling, implicit):
    assert rolling.names("mu") == ("speed",)
    assert rolling.names("a") == ("x_dot'", "y_dot'")
    assert rolling.names("eta") == ("eta of lam1",)
    assert implicit.names("dx") == ("y_dot",)
    assert rolling.names("x") == rolling.names("nothing of the kind") == ()
    assert rolling.graph.size("a") == 2


def test_rates_of_the_vocabulary_are_those_of_initial_values(rolling, decay):
    start = da.consistent_initial_values(rolling, p0=[0, 0], v0=[1, 0], r0=[2])
    for kind in rolling.differential_kinds:
        assert start.values[VOCABULARY[kind].rate].shape == (rolling.graph.size(kind),)
    np.testing.assert_allclose(start.values[VOCABULARY["r"].rate], -2)
    start = da.consistent_initial_values(decay, x0=[3.0])
    np.testing.assert_allclose(start.values[VOCABULARY["x"].rate], -3)


def test_rooms_ask_the_model_and_not_its_class():
    asks = re.compile(r"isinstance\((self\.)?model, \(?(EquationsOfMotion|QuasiLinearDAE|ImplicitDAE)")
    found = [path for path in ROOT.rglob("*.py") if asks.search(path.read_text())]
    assert not found
