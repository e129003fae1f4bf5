"""Edges in gaps: found in expressions, held by discrete variables, and nothing else while none is held."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da

SURFACES = {
    "maximum": (lambda x: np.maximum(x, 0.3) ** 2, 1),
    "minimum": (lambda x: np.minimum(x, 0.3) * x, 1),
    "abs": (lambda x: abs(x - 0.1), 1),
    "sign": (lambda x: np.sign(x) * x**2, 1),
    "where": (lambda x: np.where(x < 0, 0.0, x**2), 1),
    "both": (lambda x: np.where((x > -1) & (x <= 1), 1 - x**2, 0.0), 2),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), 2),
    "floor": (lambda x: x - np.floor(x), 1),
    "ceil": (lambda x: np.ceil(x) - x, 1),
    "interp": (lambda x: np.interp(x, [-1.0, 0.0, 1.5], [0.2, 0.0, 0.7]), 4),
    "smooth": (lambda x: np.sin(x) ** 2, 0),
    "constant": (lambda x: np.maximum(0.3, 0.2) * x, 0),
}


def model(surface):
    return da.EquationsOfMotion(p=["x", "z"], mass=[1, 1], force=[0, -1], unilateral=lambda s: [s.z - surface(s.x)])


@pytest.mark.parametrize("name", SURFACES)
def test_gaps_are_as_written_while_no_side_is_held(name):
    surface, count = SURFACES[name]
    found = model(surface)
    assert len(found.edges) == count
    gap = ca.Function("gap", [found.graph.symbol["p"], found.graph.discrete_symbols], [-found.graph.value("holonomic")])
    for x in np.random.default_rng(1).uniform(-2, 2, 50):
        assert float(gap([x, 0.0], found.graph.discrete_values)) == pytest.approx(-float(surface(x)), abs=1e-12)


@pytest.mark.parametrize("name", [name for name, (_, count) in SURFACES.items() if count])
def test_pieces_agree_with_the_gap_on_their_sides_and_are_smooth_beyond(name):
    surface, _ = SURFACES[name]
    found, rng = model(surface), np.random.default_rng(2)
    graph, names = found.graph, list(found.discrete_names)
    g = -graph.value("holonomic")
    symbols = [graph.symbol["p"], graph.discrete_symbols]
    gap = ca.Function("gap", symbols, [g, ca.jacobian(g, graph.symbol["p"])])
    sides = ca.Function("sides", symbols, [graph.value("edges")])
    for x in rng.uniform(-2, 2, 30):
        discrete = graph.discrete_values.copy()
        values = sides([x, 0.0], discrete).full().ravel()
        for edge, value in zip(found.edges, values, strict=True):
            discrete[names.index(edge.side)] = 1.0 if edge.level else np.sign(value)
            if edge.level:
                discrete[names.index(edge.level)] = np.floor(value)
        assert float(gap([x, 0.0], discrete)[0]) == pytest.approx(-float(surface(x)), abs=1e-12)
        # across all edges the derivative changes as that of one polynomial of degree 2 does
        at = np.linspace(-3, 3, 7)
        slope = np.array([float(gap([y, 0.0], discrete)[1][0]) for y in at])
        assert np.diff(slope, 2) == pytest.approx(np.zeros(5), abs=1e-10)


def test_equal_functions_are_one_edge_of_several_contacts():
    found = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=np.ones(3), force=np.zeros(3),
        unilateral=lambda s: [s.z - np.maximum(s.x, 0) ** 2, s.y - np.maximum(s.x, 0), s.y],
    )  # fmt: skip
    assert [edge.contacts for edge in found.edges] == [(0, 1)]


def test_directions_chosen_case_by_case_are_no_edges():
    found = da.EquationsOfMotion(
        p=["x", "z"], mass=[1, 1], force=[0, -1], unilateral=lambda s: [s.z], friction=0.1,
        sliding=lambda s: [np.where(s.x > 0, s.x_dot, -s.x_dot)],
    )  # fmt: skip
    assert not found.edges


def test_models_with_edges_travel():
    found = model(SURFACES["maximum"][0])
    twin = pickle.loads(pickle.dumps(found))
    assert twin.edges == found.edges
    sol = da.simulate(twin, (0, 0.5), p0=[0.2, 0.09], v0=[1, 0])
    assert [round(segment.t, 6) for segment in sol.segments] == [0.0, 0.1]
