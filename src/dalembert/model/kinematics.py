"""Time derivatives of the functions of position that the hidden constraints are made of.

Every function g(p, s, t) is differentiated along the flow p' = Z v, s' = −c_s⁻¹ (c_p p' + c_t), t' = 1, u' = u'.
Traced functions are differentiated exactly; untraceable and native ones contribute external symbols for the same
quantities.
"""

from __future__ import annotations

import casadi as ca

from dalembert.model.chain import total_jacobian
from dalembert.model.graph import Graph


def jacobian(graph: Graph, role: str, kind: str) -> ca.SX:
    """∂(function)/∂(vector)."""
    function = graph.functions[role]
    if function.traced:
        return ca.jacobian(function.sx, graph.symbol[kind])
    if function.native is not None:
        return total_jacobian(graph, graph.native_rows(role), graph.symbol[kind])
    return graph.external(role, f"by {kind}", (function.shape[0], graph.size(kind)))


def first(graph: Graph, role: str, rates: dict[str, ca.SX]) -> ca.SX:
    """Derivative along the flow, velocities held: Σ g_q q' + g_t (+ inputs)."""
    function = graph.functions[role]
    if function.native is not None:
        if "first" in function.native.gives:
            return graph.native_rows(role, "first")
        return ca.mtimes(jacobian(graph, role, "p"), rates["p"])
    if not function.traced:
        return graph.external(role, "first" if rates else "time", (function.shape[0], 1))
    along, direction = _direction(graph, rates)
    return ca.jtimes(function.sx, along, direction)


def second(graph: Graph, role: str, rates: dict[str, ca.SX]) -> ca.SX:
    """Second derivative along the flow with the velocities of p and s held constant (the part without p'' and s'')."""
    function = graph.functions[role]
    if function.native is not None:
        return _native_second(graph, role, rates)
    if not function.traced:
        return graph.external(role, "second", (function.shape[0], 1))
    along, direction = _direction(graph, rates)
    frozen = ca.SX.sym("direction", along.numel())
    once = ca.jtimes(function.sx, along, frozen)
    twice = ca.jtimes(once, along, frozen)
    # the inputs' own second derivative is the one acceleration that belongs here
    twice += ca.jtimes(function.sx, graph.u, graph.ddu) if graph.u.numel() else 0
    return ca.substitute(twice, frozen, direction)


def _native_second(graph: Graph, role: str, rates: dict[str, ca.SX]) -> ca.SX:
    if "second" in graph.functions[role].native.gives:
        return graph.native_rows(role, "second")
    frozen, p = ca.SX.sym("direction", graph.size("p")), graph.symbol["p"]
    once = ca.mtimes(jacobian(graph, role, "p"), frozen)
    return ca.substitute(ca.mtimes(total_jacobian(graph, once, p), frozen), frozen, rates["p"])


def _direction(graph: Graph, rates: dict[str, ca.SX]) -> tuple[ca.SX, ca.SX]:
    along = ca.vertcat(*(graph.symbol[kind] for kind in rates), graph.t, graph.u, graph.du)
    return along, ca.vertcat(*rates.values(), 1, graph.du, graph.ddu)


def flow(graph: Graph) -> dict[str, ca.SX]:
    """p' = Z v, and s' from the total derivative of c(p, s, t) = 0."""
    native = graph.functions["kinematics"].native
    if native is not None and "rate" in native.gives:
        rates = {"p": graph.native("kinematics", "rate")}
    else:
        rates = {"p": ca.mtimes(graph.value("kinematics"), graph.symbol["v"])}
    if graph.size("s"):
        moving = ca.mtimes(jacobian(graph, "contact_points", "p"), rates["p"]) + first(graph, "contact_points", {})
        rates["s"] = -solve(jacobian(graph, "contact_points", "s"), moving)
    return rates


def second_flow(graph: Graph, rates: dict[str, ca.SX]) -> dict[str, ca.SX]:
    """p'' = Z a + (dZ/dt) v and s'' from c differentiated twice, with the symbol a for v'."""
    Z = graph.functions["kinematics"]
    if Z.traced:
        along, direction = _direction(graph, rates)
        turning = ca.jtimes(ca.mtimes(Z.sx, graph.symbol["v"]), along, direction)
    elif Z.native is not None and "first" in Z.native.gives:
        turning = graph.native("kinematics", "first")
    elif Z.native is not None:
        turning = ca.mtimes(total_jacobian(graph, rates["p"], graph.symbol["p"]), rates["p"])
    else:
        turning = graph.external("kinematics", "first", (graph.size("p"), 1))
    accelerations = {"p": ca.mtimes(graph.value("kinematics"), graph.a) + turning}
    if graph.size("s"):
        moving = ca.mtimes(jacobian(graph, "contact_points", "p"), accelerations["p"])
        moving += second(graph, "contact_points", rates)
        accelerations["s"] = -solve(jacobian(graph, "contact_points", "s"), moving)
    return accelerations


def solve(A: ca.SX, b: ca.SX) -> ca.SX:
    """A⁻¹ b in the graph; exploits triangular block structure."""
    return ca.solve(A, b)
