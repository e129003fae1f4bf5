"""Whether there are as many equations as unknowns, and who is to blame if not."""

from __future__ import annotations

from typing import NoReturn

from dalembert.modelica.flat import FlatModel, Origin, assigned, names_in
from dalembert.modelica.library import Definition
from dalembert.modelica.printer import expression_text

_SHOWN = 10


def check_balance(flat: FlatModel, definition: Definition) -> None:
    """Raise ModelicaError if unknowns are left without an equation; note equations beyond their number.

    Every unknown is matched with an equation in which it occurs, differentiated or not. Those without a partner are
    named.
    """
    unknowns = {name: i for i, name in enumerate(flat.unknowns())}
    rows = _rows(flat, unknowns)
    partner = match([row for row, _, _ in rows], len(unknowns))
    taken = set(partner)
    missing = [name for name, i in unknowns.items() if partner[i] < 0]
    surplus = [(text, origin) for k, (_, text, origin) in enumerate(rows) if k not in taken]
    count, wanted = len(rows), len(unknowns)
    if missing:
        parts = [f"the model {flat.name} has {count} equations for {wanted} unknowns"]
        if count >= wanted:
            parts = [f"the equations of the model {flat.name} cannot determine its unknowns ({count} for {wanted})"]
        parts.append(f"not determined: {_listed(missing)}")
        if surplus:
            parts.append("surplus: " + _listed([f"{text} ({origin})" for text, origin in surplus]))
        variable = flat.variables[missing[0]]
        raise variable.origin.source.error(
            "; ".join(parts), variable.origin.at,
            "An input may not be connected, or an equation is missing" if count < wanted
            else "Some equations say the same",
        )  # fmt: skip
    if surplus:
        flat.notes.append(
            f"{count} equations for {wanted} unknowns: {len(surplus)} more than needed, which have to be consistent"
        )


def check_parameters(flat: FlatModel) -> None:
    """Raise ModelicaError if a parameter depends on itself, or on what changes in the simulation."""
    depends = {
        name: [other for other in names_in(variable.binding) if other in flat.variables or other == "time"]
        for name, variable in flat.variables.items()
        if variable.variability in ("parameter", "constant") and variable.binding is not None
    }
    done: set[str] = set()
    path: dict[str, None] = {}  # names from where we began to where we are
    for start in depends:
        waiting = [(start, False)]
        while waiting:
            name, leaving = waiting.pop()
            if leaving:
                del path[name]
                done.add(name)
            elif name in path:
                _fail_at(flat, name, f"the parameter `{name}` depends on itself: {' → '.join([*path, name])}")
            elif name not in done and name in depends:
                path[name] = None
                waiting.append((name, True))
                for other in depends[name]:
                    known = flat.variables.get(other)
                    if known is None or known.variability not in ("parameter", "constant"):
                        _fail_at(flat, name, f"the parameter `{name}` depends on `{other}`, which is no parameter")
                    waiting.append((other, False))


def _fail_at(flat: FlatModel, name: str, message: str) -> NoReturn:
    origin = flat.variables[name].origin
    origin.source.fail(message, origin.at)


def _rows(flat: FlatModel, unknowns: dict[str, int]) -> list[tuple[list[int], str, Origin]]:
    """Unknowns that occur in each scalar equation, with its text and origin."""

    def numbers(*nodes: object) -> list[int]:
        return list(dict.fromkeys(unknowns[name] for node in nodes for name in names_in(node) if name in unknowns))

    rows = []
    for equation in flat.equations:
        text = f"{expression_text(equation.left, 1)} = {expression_text(equation.right)}"
        rows += [(numbers(equation.left, equation.right), text, equation.origin)] * equation.size
    for when in flat.whens:
        rows += [([unknowns[name]], f"when … {name} = …", when.origin) for name in assigned(when) if name in unknowns]
    for algorithm in flat.algorithms:
        own = [unknowns[name] for name in algorithm.targets if name in unknowns]
        rows += [(own, f"algorithm for {name}", algorithm.origin) for name in algorithm.targets]
    return rows


def match(rows: list[list[int]], n: int) -> list[int]:
    """The row that each of `n` columns is matched with, or -1; as many as possible.

    Examples
    --------
    >>> match([[0, 1], [0]], 3)
    [1, 0, -1]
    """
    partner, column_of = [-1] * n, [-1] * len(rows)
    for start, row in enumerate(rows):
        free = next((column for column in row if partner[column] < 0), None)
        if free is not None:
            partner[free], column_of[start] = start, free
        else:
            _augment(rows, partner, column_of, start)
    return partner


def _augment(rows: list[list[int]], partner: list[int], column_of: list[int], start: int) -> None:
    """Look for a free column along alternating paths, breadth first, and turn the path around."""
    came: dict[int, int] = {}  # column -> row from which it was reached
    queue = [start]
    for row in queue:
        for column in rows[row]:
            if column in came:
                continue
            came[column] = row
            if partner[column] >= 0:
                queue.append(partner[column])
                continue
            while column >= 0:
                back = came[column]
                before = column_of[back]
                partner[column], column_of[back] = back, column
                column = before
            return


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
