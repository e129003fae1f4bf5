"""The C functions of Modelica's tables."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.externals.registry import Answer, Question, external
from dalembert.modelica.symbolic.tables.curve import Curve, Extrapolation
from dalembert.modelica.symbolic.tables.files import read_table
from dalembert.modelica.symbolic.tables.surface import Surface
from dalembert.modelica.symbolic.tables.time_table import TimeTable
from dalembert.modelica.values import Arr, stack

_PREFIX = "ModelicaStandardTables_Combi"


def _matrix(question: Question) -> np.ndarray:
    """The numbers of a table: from its file, or its third argument."""
    file, name = question.known(0), question.known(1)
    named = [str(one).strip() not in ("", "NoName") for one in (file, name)]
    if named[0]:
        delimiter, skipped = (question.known(i) for i in (-2, -1))
        if not isinstance(delimiter, str):  # older constructors end before
            delimiter, skipped = ",", 0
        return read_table(file, name, delimiter, int(skipped))
    if named[1]:
        raise ValueError(f"the table `{name}` is in no file; tables of a function usertab are not supported")
    table = question.known(2)
    if not isinstance(table, Arr) or len(table.shape) != 2 or 0 in table.shape:
        raise ValueError("the table is an empty matrix")
    return np.array(table.items, float).reshape(table.shape)


def _columns(question: Question, i: int, table: np.ndarray) -> list[int]:
    columns = [int(one) for one in question.known(i).items]
    for one in columns:
        if not 1 <= one <= table.shape[1]:
            raise ValueError(f"the table has {table.shape[1]} columns; number {one} was asked for")
    return columns


# -- one variable ----------------------------------------------------------------------------------------------------


@external(*(f"{_PREFIX}Table1D_init{version}" for version in ("", "2", "3")))
def curves(question: Question) -> list[Curve]:
    table = _matrix(question)
    columns = _columns(question, 5, table)
    if np.any(np.diff(table[:, 0]) <= 0):
        row = int(np.argmax(np.diff(table[:, 0]) <= 0)) + 1
        raise ValueError(f"the first column of a table has to increase strictly: see rows {row} and {row + 1}")
    kinds = int(question.known(7)), int(question.known(8)) if len(question.args) > 8 else 2
    return [Curve(table[:, 0], table[:, one - 1], *kinds) for one in columns]


@external(f"{_PREFIX}Table1D_getValue")
def curve_value(question: Question) -> Any:
    curve = question.args[0][int(question.known(1)) - 1]
    u = question.args[2]
    _stay_inside(question, curve, u, "the table")
    return curve.value(u)


@external(f"{_PREFIX}Table1D_getDerValue", f"{_PREFIX}Table1D_getDer2Value")
def curve_derivative(question: Question) -> Any:
    curve = question.args[0][int(question.known(1)) - 1]
    return _derivative(lambda u: curve.value(u), question.args[2:3], question.args[3:])


@external(f"{_PREFIX}Table1D_minimumAbscissa", f"{_PREFIX}Table1D_maximumAbscissa")
def curve_ends(question: Question) -> float:
    return float(question.args[0][0].x[0 if "minimum" in question.name else -1])


# -- time ------------------------------------------------------------------------------------------------------------


@external(*(f"{_PREFIX}TimeTable_init{version}" for version in ("", "2", "3")))
def time_table(question: Question) -> TimeTable:
    table = _matrix(question)
    start, shift, events = question.known(5), 0.0, 1
    if not question.name.endswith("init"):
        shift, events = question.known(10), int(question.known(11))
    kinds = int(question.known(8)), int(question.known(9))
    return TimeTable(table, _columns(question, 6, table), *kinds, float(start), float(shift), events)


@external(f"{_PREFIX}TimeTable_getValue")
def time_value(question: Question) -> Any:
    table, _, t, upcoming = question.args[:4]
    _stay_inside(question, table.curve, scalars.arithmetic("-", t, table.shift), "the time table", table.start)
    return table.value(int(question.known(1)), t, upcoming)


@external(f"{_PREFIX}TimeTable_getDerValue", f"{_PREFIX}TimeTable_getDer2Value")
def time_derivative(question: Question) -> Any:
    table, _, t, upcoming = question.args[:4]
    column = int(question.known(1))
    return _derivative(lambda u: table.value(column, u, upcoming), [t], question.args[5:])


@external(f"{_PREFIX}TimeTable_nextTimeEvent")
def next_time_event(question: Question) -> Any:
    return question.args[0].next_event(question.args[1])


@external(f"{_PREFIX}TimeTable_minimumTime", f"{_PREFIX}TimeTable_maximumTime")
def time_ends(question: Question) -> float:
    return question.args[0].least if "minimum" in question.name else question.args[0].largest


# -- two variables ---------------------------------------------------------------------------------------------------


@external(*(f"{_PREFIX}Table2D_init{version}" for version in ("", "2", "3")))
def surface(question: Question) -> Surface:
    extrapolation = int(question.known(6)) if len(question.args) > 6 else 2
    return Surface(_matrix(question), int(question.known(5)), extrapolation)


@external(f"{_PREFIX}Table2D_getValue")
def surface_value(question: Question) -> Any:
    table, u, v = question.args
    _stay_inside(question, table.x, u, "the table, first input")
    _stay_inside(question, table.y, v, "the table, second input")
    return table.value(u, v)


@external(f"{_PREFIX}Table2D_getDerValue", f"{_PREFIX}Table2D_getDer2Value")
def surface_derivative(question: Question) -> Any:
    table = question.args[0]
    return _derivative(lambda u, v: table.value(u, v), question.args[1:3], question.args[3:])


@external(f"{_PREFIX}Table2D_minimumAbscissa", f"{_PREFIX}Table2D_maximumAbscissa")
def surface_ends(question: Question) -> Answer:
    table = question.args[0]
    i = 0 if "minimum" in question.name else -1
    return Answer(args={1: stack([float(table.x.x[i]), float(table.y.x[i])])})


@external(*(f"{_PREFIX}{kind}_close" for kind in ("Table1D", "Table2D", "TimeTable")))
def close(question: Question) -> None:
    return None


# -- all -------------------------------------------------------------------------------------------------------------


def _stay_inside(question: Question, curve: Curve, u: Any, what: str, start: float = -np.inf) -> None:
    """Where there is no extrapolation, claim that an argument stays inside, with an event where it leaves."""
    if curve.extrapolation != Extrapolation.NONE:
        return
    body = question.body
    least, largest = float(curve.x[0]), float(curve.x[-1])
    caller = body.caller
    relation = caller.context.relation if isinstance(u, ca.SX) and not caller.quiet else None

    def holds(op: str, bound: float) -> Any:
        return scalars.relation(op, u, bound) if relation is None else relation(op, u, bound, body.call)

    inside = scalars.logical("and", holds(">=", least), holds("<=", largest))
    if np.isfinite(start):
        inside = scalars.logical("or", scalars.relation("<", u, start), inside)
    claimed = scalars.logical("or", scalars.negation(body.evaluator.path()), inside)
    message = (f"an argument of {what} leaves its range from {least:g} to {largest:g}, and there is no extrapolation",)
    if claimed is False:
        raise ValueError(f"{u:g}: {message[0]}")
    if claimed is not True:
        body.claim(claimed, message, body.call)


def _derivative(function: Any, at: list[Any], rates: list[Any]) -> Any:
    """The first derivative with respect to time of a function, from those of its arguments; the second one if second
    derivatives of all arguments are given, too."""
    places = [ca.SX.sym(f"u{i}") for i in range(len(at))]
    where = ca.vertcat(*places)
    y = ca.SX(function(*places))
    first = [ca.SX(one) for one in rates[: len(at)]]
    slope = ca.jacobian(y, where)
    found = ca.mtimes(slope, ca.vertcat(*first))
    if len(rates) > len(at):
        v = ca.vertcat(*first)
        second = ca.vertcat(*(ca.SX(one) for one in rates[len(at) :]))
        found = ca.mtimes([v.T, ca.jacobian(slope, where), v]) + ca.mtimes(slope, second)
    return scalars.folded(ca.substitute(found, where, ca.vertcat(*(ca.SX(one) for one in at))))
