"""Algorithms of models on CasADi graphs."""

import casadi as ca
import pytest
from symbolic_places import Names, number

from dalembert.errors import ModelicaError
from dalembert.modelica import flatten
from dalembert.modelica.symbolic import algorithms
from dalembert.modelica.symbolic.calls import Calls
from dalembert.modelica.symbolic.expressions import Expressions


class Model(Names):
    """Model variables are symbols; what they were before is `pre_…`; when-clauses fire where their condition holds."""

    def __init__(self, flat):
        super().__init__(next(iter(flat.variables.values())).origin.source, {})
        self.acts = []

    def name(self, node):
        return self.values.setdefault(node.names[0], ca.SX.sym(node.names[0]))

    def before(self, name):
        return self.values.setdefault(f"pre_{name}", ca.SX.sym(f"pre_{name}"))

    def fires(self, condition, node, evaluator):
        return evaluator.value(condition)

    def act(self, call, condition, evaluator):
        self.acts.append((call.function.names[0], condition))


def run(text):
    """Results of the algorithm of a model, its context."""
    flat = flatten(f"model M Real u = time; {text} end M;")
    context = Model(flat)
    return algorithms.run(flat.algorithms[0], Expressions(context, Calls(flat))), context


def test_assignments_in_order():
    found, _ = run("Real a; Real b; algorithm a := u; b := 2*a; a := a + b;")
    assert number(found["a"], u=2.0) == 6
    assert number(found["b"], u=2.0) == 4


def test_what_is_not_assigned_keeps_its_value():
    found, _ = run("Real a; algorithm if u > 1 then a := u; end if;")
    assert number(found["a"], u=2.0, pre_a=7.0) == 2
    assert number(found["a"], u=0.0, pre_a=7.0) == 7


def test_when_and_elsewhen():
    found, _ = run("discrete Real a; algorithm when u > 2 then a := 1; elsewhen u > 1 then a := a + 10; end when;")
    assert [number(found["a"], u=u, pre_a=5.0) for u in (3.0, 1.5, 0.0)] == [1, 15, 5]


def test_conditions_see_what_was_assigned_before():
    found, _ = run("Real w; discrete Real a; algorithm w := u - 1; when w > 0 then a := w; end when;")
    assert [number(found["a"], u=u, pre_a=5.0) for u in (3.0, 0.0)] == [2, 5]


def test_actions_are_handed_over_with_their_conditions():
    _, context = run(
        'discrete Real a; algorithm when u > 2 then a := 1; if u > 3 then terminate("end"); end if; end when;'
    )
    ((name, condition),) = context.acts
    assert name == "terminate"
    assert [number(condition, u=u) for u in (1.0, 2.5, 4.0)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("v := {v[2], v[1]};", [2, 1]), ("v := v + {v[2], v[1]};", [3, 3]), ("v := {1, v[1]};", [1, 1]),
        ("v := [0, 1; 1, 0]*v;", [2, 1]),
    ],
)  # fmt: skip
def test_arrays_are_assigned_at_once(statement, expected):
    found, _ = run(f"Real v[2]; algorithm v := {{u, 2*u}}; {statement}")
    assert [number(found[name], u=1.0) for name in ("v[1]", "v[2]")] == expected


def test_loops_with_break_and_while():
    found, _ = run("Real s; algorithm s := 0; for i in 1:5 loop if s > u then break; end if; s := s + i; end for;")
    assert [number(found["s"], u=u) for u in (0.5, 2.0, 100.0)] == [1, 3, 15]
    found, _ = run("Real s; algorithm s := u; while s > 1 loop s := s/2; end while;")
    assert number(found["s"], u=12.0) == 0.75


def test_results_of_functions_are_assigned_at_once():
    flat = flatten("""package P
      function f input Real v[2]; output Real s; output Real w[2]; algorithm s := sum(v); w := {v[2], s}; end f;
      model M Real u = time; Real v[2]; Real s; algorithm v := {u, 3*u}; (s, v) := P.f(v); end M; end P;""")
    context = Model(flat)
    found = algorithms.run(flat.algorithms[0], Expressions(context, Calls(flat)))
    assert [number(found[name], u=1.0) for name in ("s", "v[1]", "v[2]")] == [4, 3, 4]


def test_faults_have_the_place_of_the_algorithm():
    with pytest.raises(ModelicaError, match=r"different sizes|is not between"):
        run("Integer i; Real v[2]; algorithm i := 3; v := {1, 2}; v[i] := if u > 1 then {1, 2} else {1};")
