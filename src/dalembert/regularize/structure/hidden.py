"""The constraints of every level that a DAE hides, and the DAE with all of them: its regularized form.

The structure says how often each equation is to be differentiated (c_i) and up to which order derivatives of each
unknown follow then (d_j) [1]_. Rows f_i^(k), k = 0 … c_i, restrict the unknowns x_j^(l), l = 0 … d_j. Of these unknowns

- derivatives that an equation gives safely are expressions (`elimination`), and this equation stays differential;
- derivatives that a differentiated row gives by a constant coefficient are expressions, too, and the row is used up:
  x_j' = … is the differential equation;
- the others become unknowns y, with x_j' = y_j as differential equation.

What is left of the rows are the constraints, by level: as often as they were differentiated [2]_. So always

    E(x,t) x' = k(x,y,t),    0 = h^0, h^1, …, h^ν (x,y,t),    n_x + n_y − rows of h = degrees of freedom,

with one differential equation for each unknown that has a derivative (d_j > 0), and E regular in these.

References
----------
.. [1] J.D. Pryce, "A simple structural analysis method for DAEs", BIT 41, 2001.
.. [2] R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with
   Modelica", Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.regularize.structure.analysis import Structure, analyse, equations_of
from dalembert.regularize.structure.differentiate import Motion, check_inputs
from dalembert.regularize.structure.elimination import Rates, given_by_rows, leading_matrix, solved_rates
from dalembert.regularize.structure.forms import Constraints, Regularized, picked
from dalembert.regularize.structure.judge import check_generic_points
from dalembert.regularize.structure.smoothness import check_smoothness
from dalembert.regularize.structure.written import with_written

REGULARIZED: Slot[Regularized] = Slot("regularized form", most=2)


def regularized(model: Model) -> Regularized:
    """The DAE with its constraints of all levels (kept with the model).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.ImplicitDAE(
    ...     x=["x", "y", "vx", "vy", "lam"],
    ...     residual=lambda s: [s.vx - s.x_dot, s.vy - s.y_dot, -s.lam * s.x - s.vx_dot, -s.lam * s.y - 9.81 - s.vy_dot,
    ...                         s.x**2 + s.y**2 - 1])
    >>> form = regularized(pendulum)
    >>> form
    Regularized(model 'model': 5 + 0 unknowns, 4 differential equations, constraints: 1 of level 0, 1 of level 1, 1 of level 2)
    >>> form.levels[1].names
    ('derivative 1 of equation 5',)

    Raises
    ------
    NumericallySingular
        If equations that the structure takes for independent are not, wherever one looks.
    ModelError
        If a third derivative of an input is needed, or derivatives of functions that have none.
    """  # noqa: E501
    return model.kept.get(REGULARIZED, None, lambda: with_written(_regularized(model, analyse(model))))


def _regularized(model: Model, structure: Structure) -> Regularized:
    equations, _ = equations_of(model)
    x, x_dot = equations.x, equations.x_dot
    F = picked(equations.residual, structure.rows)
    if structure.c.any() or len(equations.names) > len(structure.rows):
        check_generic_points(model, structure)
        check_smoothness(model, structure, F)
    E = leading_matrix(F, x_dot)
    solved = solved_rates(model, structure, F, E)
    unknown = Unknown.of(structure, solved)
    rates, determined = _all_rates(x_dot, solved, unknown)
    _check_switching_rates(model, structure, F, determined)
    rows = _prolonged(model, structure, F, solved, unknown, rates)
    given = given_by_rows(model, rows.expression, unknown.y, rows.order)
    left = np.setdiff1d(np.arange(len(rows.order)), given.rows)
    h, rates = given.insert(picked(rows.expression, left)), given.insert(rates)

    open_y = np.setdiff1d(np.arange(unknown.y.numel()), given.columns)
    y, y_of = picked(unknown.y, open_y), unknown.of_what[open_y]
    own, others = solved.rows, unknown.first[1]  # equations that stay, and unknowns that need another one
    still = ca.substitute(picked(F, own), x_dot, ca.SX.zeros(x_dot.numel()))
    leading = [E[own.tolist(), :]] if len(own) else []
    leading += [ca.SX.eye(x.numel())[others.tolist(), :]] if len(others) else []
    names = [structure.equations[i] for i in own] + [f"derivative of '{structure.variables[j]}'" for j in others]
    form = Regularized(
        model=model,
        structure=structure,
        x=x,
        x_dot=x_dot,
        y=y,
        E=ca.sparsify(ca.vertcat(*leading)) if leading else ca.SX(0, x.numel()),
        k=ca.densify(ca.vertcat(still, picked(rates, others))),
        levels=_by_level(structure, h, rows.equation[left], rows.order[left]),
        differential_names=tuple(names),
        y_names=tuple(derivative_name(structure.variables[j], order) for j, order in y_of.tolist()),
        y_of=y_of,
        rates=rates,
        determined=determined,
    )
    count = x.numel() + y.numel() - sum(map(len, form.levels))
    assert count == structure.degrees_of_freedom, "as many rows are used as derivatives are found"
    return form


def derivative_name(variable: str, order: int) -> str:
    """What a derivative is called as an unknown.

    >>> derivative_name("z", 1), derivative_name("z", 2)
    ('der(z)', 'der2(z)')
    """
    return f"der{order if order > 1 else ''}({variable})"


@dataclass(frozen=True)
class Unknown:
    """Derivatives x_j^(l), l = 1 … d_j, that no equation gives at once: symbols y."""

    y: ca.SX
    of_what: np.ndarray  # number of the unknown and order, for each

    @classmethod
    def of(cls, structure: Structure, solved: Rates) -> Unknown:
        wanted = structure.d.copy()
        wanted[solved.columns] = 0
        columns = np.repeat(np.arange(len(wanted)), wanted)
        orders = np.arange(len(columns)) - np.repeat(np.cumsum(wanted) - wanted, wanted) + 1
        return cls(ca.SX.sym("y", len(columns)), np.stack([columns, orders], axis=1))

    @property
    def first(self) -> tuple[np.ndarray, np.ndarray]:
        """Which of them are first derivatives, and of what."""
        places = np.flatnonzero(self.of_what[:, 1] == 1)
        return places, self.of_what[places, 0]

    @property
    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Which of them have a derivative that is one of them, and which that is."""
        following = np.flatnonzero(self.of_what[:, 1] > 1)
        return following - 1, following


def _all_rates(x_dot: ca.SX, solved: Rates, unknown: Unknown) -> tuple[ca.SX, np.ndarray]:
    """x' as expressions of x and y, and which of them are known."""
    n = x_dot.numel()
    places, columns = unknown.first
    values = ca.SX.zeros(n)
    if len(columns):
        values[columns.tolist()] = unknown.y[places.tolist()]
    if len(solved.columns):
        own = solved.values
        if len(columns):
            own = ca.substitute(own, x_dot[columns.tolist()], unknown.y[places.tolist()])
        values[solved.columns.tolist()] = own
    determined = np.zeros(n, bool)
    determined[columns] = determined[solved.columns] = True
    return values, determined


def _check_switching_rates(model: Model, structure: Structure, F: ca.SX, determined: np.ndarray) -> None:
    """Derivatives that only switch something (sign, a condition) are determined by nothing."""
    others = np.flatnonzero(~determined)
    x_dot = model.graph.dx
    if not len(others) or not ca.depends_on(F, x_dot[others.tolist()]):
        return
    pairs = zip(*ca.jacobian_sparsity(F, x_dot[others.tolist()]).get_triplet(), strict=True)
    faults = [
        f"{structure.equations[i]} switches by the derivative of '{structure.variables[others[j]]}', which no equation "
        "determines: let it switch by something else"
        for i, j in sorted(pairs)
    ]
    raise ModelError(f"model '{model.name}' has derivatives that only switch", faults)


@dataclass(frozen=True)
class Rows:
    """Rows f_i^(k): the expression, the number of the equation among those analysed, and k."""

    expression: ca.SX
    equation: np.ndarray
    order: np.ndarray


def _prolonged(model: Model, structure: Structure, F: ca.SX, solved: Rates, unknown: Unknown, rates: ca.SX) -> Rows:
    """Equations that gave no derivatives, and their own derivatives, as functions of x and y."""
    c, graph = structure.c, model.graph
    equation = np.setdiff1d(np.arange(len(c)), solved.rows)
    level = ca.substitute(picked(F, equation), graph.dx, rates)
    here, there = unknown.steps
    moving = np.flatnonzero(structure.d > 0)
    motion = Motion.of(
        model,
        ca.vertcat(picked(graph.symbol["x"], moving), picked(unknown.y, here)),
        ca.vertcat(picked(rates, moving), picked(unknown.y, there)),
    )
    levels, equations, orders = [level], [equation], [np.zeros(len(equation), int)]
    for k in range(1, int(c[equation].max(initial=0)) + 1):
        again = np.flatnonzero(c[equation] >= k)
        equation, level = equation[again], picked(level, again)
        check_inputs(model, level, [structure.equations[i] for i in equation], c[equation])
        level = motion.derivative(level)
        levels.append(level)
        equations.append(equation)
        orders.append(np.full(len(equation), k))
    return Rows(ca.densify(ca.vertcat(*levels)), np.concatenate(equations), np.concatenate(orders))


def _by_level(structure: Structure, h: ca.SX, equation: np.ndarray, order: np.ndarray) -> tuple[Constraints, ...]:
    levels = []
    level_of = order if structure.spent is None else order + structure.spent[equation]
    for k in range(int(level_of.max(initial=0)) + 1 if len(order) else 0):
        part = np.flatnonzero(level_of == k)
        names = [
            f"derivative {count} of {structure.equations[i]}" if count else structure.equations[i]
            for i, count in zip(equation[part], order[part], strict=True)
        ]
        levels.append(
            Constraints(picked(h, part), tuple(names), structure.rows[equation[part]], np.full(len(part), k > 0))
        )
    return tuple(levels)
