"""Expandable and overconstrained connectors: what becomes of them in the flat model."""

import pytest

import dalembert as da
from dalembert.modelica import flatten

FRAMES = """
package P
  record Angle "redundant: c^2 + s^2 = 1"
    Real c; Real s;
    function equalityConstraint
      input Angle a; input Angle b; output Real r[1];
    algorithm
      r[1] := a.c*b.s - a.s*b.c;
    end equalityConstraint;
  end Angle;
  connector Frame Angle R; Real x; flow Real f; end Frame;
  model Fixed
    Frame b;
  equation
    Connections.root(b.R);
    b.R.c = 1; b.R.s = 0; b.x = 0;
  end Fixed;
  model Bar
    Frame a, b; Real nearer;
  equation
    Connections.branch(a.R, b.R);
    a.x - b.x = a.f; a.f + b.f = 0;
    if Connections.rooted(a.R) then
      b.R.c = a.R.c; b.R.s = a.R.s; nearer = 1;
    else
      a.R.c = b.R.c; a.R.s = b.R.s; nearer = 2;
    end if;
  end Bar;
  model Loose
    Frame a; Integer n = cardinality(a); Boolean root;
  equation
    Connections.potentialRoot(a.R, 5);
    a.f = a.x;
    if Connections.isRoot(a.R) then
      a.R.c = 0; a.R.s = 1; root = true;
    else
      root = false;
    end if;
  end Loose;
  model Chain Fixed f; Bar p, q; equation connect(f.b, p.b); connect(p.a, q.a); end Chain;
  model Loop
    Fixed f; Bar p, q;
  equation
    connect(f.b, p.a); connect(p.b, q.a); connect(q.b, f.b);
  end Loop;
  model Free Loose l; Bar p; equation connect(l.a, p.b); end Free;
  model Held Fixed f; Loose l; equation connect(f.b, l.a); end Held;
  model Two Fixed f, g; Bar p; equation connect(f.b, p.a); connect(p.b, g.b); end Two;
end P;
"""


def texts(flat):
    return [line.strip() for line in flat.to_modelica().split("\n")]


def test_branches_know_which_end_is_nearer_to_the_root():
    lines = texts(flatten(FRAMES, "P.Chain"))
    assert "'p.nearer' = 2;" in lines
    assert "'q.nearer' = 1;" in lines


@pytest.mark.parametrize("name", ["Chain", "Free", "Held"])
def test_trees_have_no_equations_of_constraints(name):
    flat = flatten(FRAMES, f"P.{name}")
    assert flat.equation_count() == len(flat.unknowns())
    assert not any("*" in line for line in texts(flat))


@pytest.mark.parametrize("name", ["Loop", "Two"])
def test_a_loop_is_cut_once(name):
    lines = texts(flatten(FRAMES, f"P.{name}"))
    constraints = [line for line in lines if line.startswith("0.0 = ") and "equalityConstraint" in line]
    assert len(constraints) == 1, lines


def test_roots_are_chosen_where_nobody_has_said_so():
    assert "'l.root' = true;" in texts(flatten(FRAMES, "P.Free"))
    assert "'l.root' = false;" in texts(flatten(FRAMES, "P.Held"))


def test_connections_are_counted():
    assert "'l.n' = 1;" in texts(flatten(FRAMES, "P.Held"))


def test_two_roots_in_one_piece_are_refused():
    text = FRAMES.replace("model Two", "model Twice Bar p; equation Connections.root(p.a.R); Connections.root(p.b.R); "
                          "end Twice; model Two")  # fmt: skip
    with pytest.raises(da.ModelicaError, match="both are roots"):
        flatten(text, "P.Twice")


BUS = """
package P
  connector In = input Real; connector Out = output Real;
  expandable connector Bus Real declared; end Bus;
  block Sender Bus bus; Out y[2] = {time, 2*time}; equation connect(y, bus.pair); end Sender;
  block Inner Bus bus; Sender s; equation connect(s.bus, bus.sub); end Inner;
  block Reader Bus bus; In u[2]; equation connect(bus.pair, u); end Reader;
  model M Inner i; Reader r; Bus bus; equation connect(i.bus, bus); connect(bus.sub, r.bus); end M;
end P;
"""


def test_names_travel_through_buses():
    flat = flatten(BUS)
    assert "r.u[2]" in flat.variables
    assert "bus.sub.pair[2]" in flat.variables
    assert "i.bus.sub.pair[1]" in flat.variables
    assert not any("declared" in name for name in flat.variables)  # nobody uses it
    assert flat.equation_count() == len(flat.unknowns())


def test_what_is_declared_in_a_bus_and_used_exists():
    flat = flatten(BUS.replace("connect(i.bus, bus);", "connect(i.bus, bus); bus.declared = 3;"))
    assert {"bus.declared", "i.bus.declared"} <= set(flat.variables)
    assert flat.equation_count() == len(flat.unknowns())
