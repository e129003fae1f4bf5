"""Random networks of resistors, in components within components: the flat equations against nodal analysis."""

import random

import numpy as np
import pytest

from dalembert.modelica import flatten, tree

PARTS = """
  connector Pin Real v; flow Real i; end Pin;
  model Resistor Pin p, n; parameter Real R = 1; equation R*p.i = p.v - n.v; p.i + n.i = 0; end Resistor;
  model Current Pin p, n; parameter Real I = 1; equation n.i = -I; p.i + n.i = 0; end Current;
  model Ground Pin p; equation p.v = 0; end Ground;
"""


def number(node, values):
    """The value of an expression of the flat model."""
    match node:
        case tree.Literal():
            return float(node.value)
        case tree.Ref():
            return values[node.names[0]]
        case tree.Unary():
            return -number(node.operand, values)
        case tree.Binary():
            a, b = number(node.left, values), number(node.right, values)
            return {"+": a + b, "-": a - b, "*": a * b}[node.op]
    raise AssertionError(node)


def solve(flat):
    """The values of all unknowns of a linear flat model."""
    names = flat.unknowns()
    known = {name: number(one.binding, {}) for name, one in flat.variables.items() if one.binding is not None}

    def residual(x):
        values = known | dict(zip(names, x, strict=True))
        return np.array([number(one.left, values) - number(one.right, values) for one in flat.equations])

    rest = residual(np.zeros(len(names)))
    matrix = np.array([residual(unit) - rest for unit in np.eye(len(names))]).T
    return dict(zip(names, np.linalg.solve(matrix, -rest), strict=True))


class Network:
    """A random network with some edges hidden in subcircuits; nodes are numbered, 0 is the ground."""

    def __init__(self, rng, nodes, edges):
        self.nodes = nodes
        chain = [(k, k + 1) for k in range(nodes - 1)]
        self.edges = chain + [tuple(rng.sample(range(nodes), 2)) for _ in range(edges)]
        self.R = [rng.uniform(1, 5) for _ in self.edges]
        self.source = tuple(rng.sample(range(nodes), 2))
        self.text = self.write(rng)

    def write(self, rng):
        """Each edge is a resistor; some are two in series, or two in parallel, in a component, or in an array."""
        models, declared, connects = [], [], []
        self.ends = []
        for k, R in enumerate(self.R):
            kind = rng.choice(["plain", "series", "parallel", "array", "deep"])
            if kind == "plain":
                declared.append(f"Resistor r{k}(R = {R})")
            elif kind == "array":
                declared.append(f"Resistor r{k}[2](R = {{{R / 4}, {3 * R / 4}}})")
                connects.append(f"connect(r{k}[1].n, r{k}[2].p)")
            else:
                first, second = (R / 3, 2 * R / 3) if kind != "parallel" else (2 * R, 2 * R)
                inside = "connect(a.n, b.p); connect(p, a.p); connect(n, b.n)"
                if kind == "parallel":
                    inside = "connect(a.p, p); connect(a.n, n); connect(p, b.p); connect(b.n, n)"
                models.append(
                    f"model S{k} Pin p, n; Resistor a(R = {first}), b(R = {second}); equation {inside}; end S{k};"
                )
                if kind == "deep":
                    models.append(f"model D{k} Pin p, n; S{k} s; equation connect(p, s.p); connect(s.n, n); end D{k};")
                declared.append(f"{'D' if kind == 'deep' else 'S'}{k} r{k}")
            self.ends.append((f"r{k}[1].p", f"r{k}[2].n") if kind == "array" else (f"r{k}.p", f"r{k}.n"))
        pins = [[] for _ in range(self.nodes)]
        for (a, b), (p, n) in zip(self.edges, self.ends, strict=True):
            pins[a].append(p)
            pins[b].append(n)
        pins[self.source[0]].append("source.p")
        pins[self.source[1]].append("source.n")
        pins[0].append("ground.p")
        for group in pins:  # in any order, as a tree
            rng.shuffle(group)
            for i in range(1, len(group)):
                pair = [group[rng.randrange(i)], group[i]]
                rng.shuffle(pair)
                connects.append(f"connect({pair[0]}, {pair[1]})")
        rng.shuffle(connects)
        body = "; ".join([*declared, "Current source(I = 2)", "Ground ground"])
        return f"package P {PARTS} {' '.join(models)} model A {body}; equation {'; '.join(connects)}; end A; end P;"

    def potentials(self):
        """Nodal analysis."""
        G = np.zeros((self.nodes, self.nodes))
        for (a, b), R in zip(self.edges, self.R, strict=True):
            G[a, a] += 1 / R
            G[b, b] += 1 / R
            G[a, b] -= 1 / R
            G[b, a] -= 1 / R
        flow = np.zeros(self.nodes)
        flow[self.source[0]] -= 2  # what flows into the source at p
        flow[self.source[1]] += 2
        v = np.zeros(self.nodes)
        v[1:] = np.linalg.solve(G[1:, 1:], flow[1:])
        return v


@pytest.mark.parametrize("seed", range(8))
def test_potentials(seed):
    rng = random.Random(seed)
    network = Network(rng, rng.randrange(3, 8), rng.randrange(0, 8))
    flat = flatten(network.text)
    assert flat.equation_count() == len(flat.unknowns())
    found, wanted = solve(flat), network.potentials()
    for (a, b), (p, n) in zip(network.edges, network.ends, strict=True):
        assert found[f"{p}.v"] == pytest.approx(wanted[a], abs=1e-9)
        assert found[f"{n}.v"] == pytest.approx(wanted[b], abs=1e-9)
    for (a, b), R, (p, _) in zip(network.edges, network.R, network.ends, strict=True):
        assert found[f"{p}.i"] == pytest.approx((wanted[a] - wanted[b]) / R, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_flat_text_has_the_same_solution(seed):
    network = Network(random.Random(seed), 5, 4)
    flat = flatten(network.text)
    again = solve(flatten(flat.to_modelica()))
    assert {name.strip("'"): value for name, value in again.items()} == pytest.approx(solve(flat))
