"""Contexts for tests of trees on CasADi graphs."""

import casadi as ca

from dalembert.modelica import flatten
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.calls import Calls
from dalembert.modelica.symbolic.expressions import Expressions
from dalembert.modelica.values import Arr, RecordValue


class Names:
    """A context with given values; relations are plain, and specials are noted."""

    def __init__(self, source, values):
        self.source, self.values, self.seen, self.claims = source, values, [], []

    def name(self, node):
        if node.names[0] not in self.values:
            self.fail(f"there is no `{node.names[0]}`", node)
        return self.values[node.names[0]]

    def relation(self, op, left, right, node):
        self.seen.append(op)
        return scalars.relation(op, left, right)

    def special(self, name, node, evaluator):
        self.seen.append(name)
        return ca.SX.sym(name)

    def known(self, values, what, node):
        self.fail(f"{what} has to be known", node)

    def claim(self, condition, message, node):
        self.claims.append((condition, message))

    def fail(self, message, node, suggestion=None):
        self.source.fail(message, node.at, suggestion)


class Functions:
    """Functions of a Modelica text, called from Python on numbers and graphs.

    The text is a package `P`; `calls` are what its model `M` calls, so that the flat model holds them.
    """

    def __init__(self, text):
        self.flat = flatten(text)
        self.calls = Calls(self.flat)
        some = next(iter(self.flat.variables.values()))
        self.context = Names(some.origin.source, {})
        self.evaluator = Expressions(self.context, self.calls)

    def __call__(self, name, *args, **named):
        """All results."""
        from dalembert.modelica import tree

        node = tree.Call(0, tree.Ref(0, (name,)), ())
        return self.calls.call(name, list(args), named, node, self.evaluator)


def number(value, **values):
    """The value of a number or graph, or of those in an array or record."""
    if isinstance(value, Arr):
        return [number(item, **values) for item in value.items]
    if isinstance(value, RecordValue):
        return {name: number(item, **values) for name, item in value.fields.items()}
    if not isinstance(value, ca.SX):
        return float(value)
    symbols = ca.symvar(value)
    return float(ca.Function("f", symbols, [value])(*(values[one.name()] for one in symbols)))
