"""Equations that are differentiated must be smooth: what becomes of |x|, sign, floor, where in them.

An equation that jumps has no derivative there, and one with a kink has no second one: velocities would have to jump,
which no constraint says. So for each switching operation a point at which it switches is looked for, and the equation
with its derivatives is evaluated on both sides. Functions in several pieces that fit together pass.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.errors import DerivativeJumps, ModelError, warn_user
from dalembert.model import Model
from dalembert.regularize.structure.analysis import Structure, listed
from dalembert.regularize.structure.differentiate import Motion
from dalembert.regularize.structure.forms import picked
from dalembert.regularize.structure.switching import Switch, switches

#: lines on which points are looked for at which an operation switches, and how far from their middle
LINES, DISTANCES = 12, np.concatenate([[0.0], 10.0 ** np.linspace(-3, 5, 33)])
#: how far from such a point both sides are evaluated: differences that do not shrink with it are jumps
NEAR, NEARER = 1e-6, 1e-7
#: jumps of pieces that fit together up to rounding, in units of the value
ROUNDING = 1e-8


def check_smoothness(model: Model, structure: Structure, F: ca.SX) -> None:
    """Warn if the last derivative of an equation jumps somewhere; raise ModelError if an earlier one does.

    `F` are the equations as they were analysed.
    """
    differentiated = np.flatnonzero(structure.c > 0)
    if not len(differentiated):
        return
    rows, graph = picked(F, differentiated), model.graph
    moving = ca.vertcat(graph.symbol["x"], graph.dx, graph.time)
    found = [switch for switch in switches(rows) if ca.depends_on(switch.boundary, moving)]
    if not found:
        return
    faults, warnings = [], []
    for number in sorted({row for switch in found for row in switch.rows}):
        here = [switch for switch in found if number in switch.rows]
        equation, count = differentiated[number], int(structure.c[differentiated[number]])
        derivatives = _Derivatives(model, picked(rows, [number]), count)
        for switch in here:
            first = derivatives.first_jump(switch)
            if first > count:
                continue
            what = f"{structure.equations[equation]} contains {switch.name}, and "
            what += "jumps" if first == 0 else "has a kink" if first == 1 else f"its derivative {first} jumps"
            times = f"{count} times" if count > 1 else "once"
            what += f" where this switches, but has to be differentiated {times}"
            (faults if first < count else warnings).append(what)
    remedy = (
        "Take a smooth function in its place, or a discrete variable that an event sets, or an input with breakpoints"
    )
    if faults:
        raise ModelError(
            f"model '{model.name}' hides constraints that are derivatives of functions which have none. {remedy}",
            list(dict.fromkeys(faults)),
        )
    if warnings:
        warn_user(
            f"model '{model.name}': {listed(list(dict.fromkeys(warnings)), most=3)}. What follows from this derivative "
            f"jumps there. {remedy}",
            DerivativeJumps,
        )


class _Derivatives:
    """An equation and its derivatives as functions of jets: x and all its derivatives are independent."""

    def __init__(self, model: Model, row: ca.SX, count: int):
        graph = model.graph
        x, x_dot = graph.symbol["x"], graph.dx
        jets = [x, x_dot, *(ca.SX.sym(f"x{k}", x.numel()) for k in range(2, count + 2))]
        inputs = [graph.u, graph.du, graph.ddu, *(ca.SX.sym(f"u{k}", graph.u.numel()) for k in range(3, count + 3))]
        symbols = ca.vertcat(*jets[:-1], graph.t, *inputs[:-1])
        motion = Motion(symbols, ca.vertcat(*jets[1:], 1, *inputs[1:]))
        rows = [row]
        for _ in range(count):
            rows.append(motion.derivative(rows[-1]))
        self._moving = ca.vertcat(*jets, graph.t, *inputs)
        self._fixed = ca.vertcat(graph.parameter_symbols, graph.discrete_symbols)
        self._values = np.concatenate([graph.parameter_values, graph.discrete_values])
        self._rows = ca.Function("rows", [self._moving, self._fixed], [ca.densify(ca.vertcat(*rows))])

    def first_jump(self, switch: Switch) -> int:
        """The order of the first derivative that jumps where the operation switches; more than there are if none."""
        boundary = ca.Function("boundary", [self._moving, self._fixed], [switch.boundary])
        rng, lowest = np.random.default_rng(0), self._rows.size1_out(0)
        for _ in range(LINES):
            middle = rng.uniform(-1, 1, self._moving.numel())
            direction = rng.uniform(-1, 1, self._moving.numel())
            distance = self._crossing(boundary, middle, direction)
            if distance is not None:
                lowest = min(lowest, self._jump(middle + distance * direction, direction))
        return lowest

    def _crossing(self, boundary: ca.Function, middle: np.ndarray, direction: np.ndarray) -> float | None:
        """How far along a line the boundary changes its sign."""

        def at(distances: np.ndarray) -> np.ndarray:
            points = middle[:, None] + direction[:, None] * np.atleast_1d(distances)
            return np.array(boundary(points, self._values), float).ravel()

        distances = np.concatenate([-DISTANCES[:0:-1], DISTANCES])
        values = at(distances)
        ends = np.flatnonzero(np.isfinite(values[:-1]) & np.isfinite(values[1:]) & (values[:-1] * values[1:] < 0))
        if not len(ends):
            return None
        k = ends[np.argmin(np.abs(distances[ends]))]
        low, high, sign = distances[k], distances[k + 1], np.sign(values[k])
        for _ in range(60):
            middle_ = 0.5 * (low + high)
            if np.sign(at(middle_)[0]) == sign:
                low = middle_
            else:
                high = middle_
        return 0.5 * (low + high)

    def _jump(self, point: np.ndarray, direction: np.ndarray) -> int:
        """The first row that jumps at a point."""
        size = 1 + np.abs(point).max()
        gaps = []
        for distance in (NEAR, NEARER):
            sides = [
                np.array(self._rows(point + sign * distance * size * direction, self._values), float).ravel()
                for sign in (-1, 1)
            ]
            gaps.append(np.abs(sides[1] - sides[0]))
        scale = 1 + np.maximum(*map(np.abs, sides))
        with np.errstate(invalid="ignore"):
            jumps = ~(gaps[1] <= 0.5 * gaps[0]) & ~(gaps[1] <= ROUNDING * scale)
        return int(np.argmax(jumps)) if jumps.any() else len(jumps)
