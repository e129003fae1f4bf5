"""Formulas mean what the expressions mean: MathML is read back, and evaluated."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.model.typeset import Equation, identifier, number, typeset

FUNCTIONS = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "arctan": math.atan, "atan2": math.atan2, "tanh": math.tanh,
    "ln": math.log, "min": min, "max": max, "arcsin": math.asin,
}  # fmt: skip


def parsed(math_text: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<math>{math_text}</math>")


class Reader:
    """Evaluates the subset of MathML that is written: rows by precedence, as a person would read them."""

    def __init__(self, values: dict[str, float]):
        self.values = values

    def value(self, node: ElementTree.Element) -> float:
        text = ElementTree.tostring(node, encoding="unicode")
        if text in self.values:
            return self.values[text]
        children = list(node)
        if node.tag == "mn":
            return float(node.text)
        if node.tag == "mfrac":
            return self.value(children[0]) / self.value(children[1])
        if node.tag == "msqrt":
            return math.sqrt(self.row(children))
        if node.tag == "msup":
            if children[0].tag == "mi" and children[0].text == "e":
                return math.exp(self.value(children[1]))
            return self.value(children[0]) ** self.value(children[1])
        assert node.tag in ("mrow", "math"), text
        return self.row(children)

    def row(self, nodes: list[ElementTree.Element]) -> float:
        """A sum of products, with functions, parentheses and absolute values."""
        nodes = [node for node in nodes if node.tag != "mspace" and (node.text or "") not in ("\u2061",)]
        self_nodes, at = nodes, 0

        def is_operator(k: int, *signs: str) -> bool:
            return k < len(self_nodes) and self_nodes[k].tag == "mo" and self_nodes[k].text in signs

        def total() -> float:
            nonlocal at
            found = product()
            while is_operator(at, "+", "−"):
                sign = 1 if self_nodes[at].text == "+" else -1
                at += 1
                found += sign * product()
            return found

        def product() -> float:
            nonlocal at
            if is_operator(at, "−"):
                at += 1
                return -product()
            found = factor()
            while at < len(self_nodes) and not is_operator(at, "+", "−", ")", "|", ","):
                if is_operator(at, "\u2062", "·"):
                    at += 1
                found *= factor()
            return found

        def factor() -> float:
            nonlocal at
            node = self_nodes[at]
            if is_operator(at, "(", "|"):
                closing = ")" if node.text == "(" else "|"
                at += 1
                found = total()
                assert is_operator(at, closing)
                at += 1
                return found if closing == ")" else abs(found)
            if node.tag == "mi" and node.text in FUNCTIONS and is_operator(at + 1, "("):
                name, at = node.text, at + 2
                arguments = [total()]
                while is_operator(at, ","):
                    at += 1
                    arguments.append(total())
                at += 1
                return FUNCTIONS[name](*arguments)
            at += 1
            return self.value(node)

        found = total()
        assert at == len(self_nodes), [ElementTree.tostring(node) for node in self_nodes[at:]]
        return found


def agree(model, expression, seed=0):
    """Formulas and expressions at random points."""
    graph, rng = model.graph, np.random.default_rng(seed)
    found = typeset(graph, expression)
    names = [name for kind in graph.vectors for name in graph.names(kind)]
    values = dict(zip(names, rng.uniform(0.2, 0.9, len(names)), strict=True))
    for name, value in model.parameters.items():  # entries of arrays are numbered from one
        entries = np.ravel(value)
        values |= {name: float(value)} if np.ndim(value) == 0 else {f"{name}_{k + 1}": x for k, x in enumerate(entries)}
    written = {ElementTree.tostring(parsed(identifier(n))[0], encoding="unicode"): x for n, x in values.items()}
    for one in found.named:
        left, right = one.math.split("<mo>=</mo>", 1)
        key = ElementTree.tostring(parsed(left)[0], encoding="unicode")
        written[key] = Reader(written).value(parsed(right))
    symbols = [graph.symbol[kind] for kind in graph.vectors] + [graph.parameter_symbols]
    numbers = [[values[name] for name in graph.names(kind)] for kind in graph.vectors] + [graph.parameter_values]
    expected = ca.Function("f", symbols, [ca.densify(ca.vec(expression))])(*numbers).full().ravel()
    read = [Reader(written).value(parsed(row.text)) for row in found.rows]
    np.testing.assert_allclose(read, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["pendulum", "andrews", "heavy_top", "four_bar_linkage", "rocking_block"])
@pytest.mark.parametrize("role", ["mass", "force", "holonomic"])
def test_formulas_of_problems(name, role):
    model = getattr(da.problems, name)().model
    agree(model, model.graph.functions[role].sx)


def test_formulas_of_random_expressions():
    rng = np.random.default_rng(5)
    model = da.EquationsOfMotion(p=["x", "y1", "beta"], mass=[1, 1, 1], force=[0, 0, 0], parameters={"L_0": 1.3})
    graph = model.graph
    leaves = [
        *ca.vertsplit(graph.symbol["p"]),
        *ca.vertsplit(graph.symbol["v"]),
        graph.parameter_symbols,
        ca.SX(2),
        ca.SX(0.5),
    ]

    def grown(depth):
        if depth == 0:
            return leaves[rng.integers(len(leaves))]
        a, b = grown(depth - 1), grown(rng.integers(depth))
        return [
            lambda: a + b, lambda: a - b, lambda: a * b, lambda: a / (2 + b * b), lambda: -a, lambda: a - (b - a),
            lambda: ca.sin(a), lambda: ca.sqrt(1 + a * a), lambda: (a * a + 1) ** 2, lambda: ca.fabs(a) - b,
            lambda: ca.exp(-a * a), lambda: ca.atan2(a, 2 + b * b), lambda: ca.fmax(a, b), lambda: -(a + b) * -(a - b),
        ][rng.integers(14)]()  # fmt: skip

    for seed in range(60):
        agree(model, ca.vertcat(grown(4), grown(3)), seed)


@pytest.mark.parametrize(
    ("value", "read"), [(1.0, 1.0), (-2.5, -2.5), (1e-9, 1e-9), (-3.2e12, -3.2e12), (0.1 + 0.2, 0.3)]
)
def test_numbers(value, read):
    assert Reader({}).value(parsed(number(value).text)) == pytest.approx(read, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["x", "x_dot", "phi12_dot", "body.angle", "a<b&c", "x_ddot", "_", "x_", "12", "é", "m_rear"]
)
def test_any_name_is_well_formed(name):
    parsed(identifier(name))


def test_long_equations_are_folded():
    short, long_ = Equation("<mn>0</mn><mo>=</mo><mi>x</mi>", 3), Equation("<mn>0</mn><mo>=</mo><mi>x</mi>", 500)
    assert "<details" not in short.html()
    assert "<details" in long_.html()


@pytest.mark.parametrize("name", ["pendulum", "andrews", "transistor_amplifier", "woodpecker", "railway_carriage"])
def test_notebooks_show_models(name):
    html = getattr(da.problems, name)().model._repr_html_()
    for part in re.findall(r"<math.*?</math>", html):
        ElementTree.fromstring(part)
    assert "<math" in html


def test_what_has_no_formula_says_so():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.UntraceableWarning)
        model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [float(s.x)])
    assert "no formula" in model._repr_html_()
