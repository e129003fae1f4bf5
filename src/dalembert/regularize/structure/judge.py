"""Whether the structure of a DAE tells the truth: the matrix by which its highest derivatives follow must be regular.

Structural analysis knows which unknowns occur, and nothing of the numbers. It is right, and the hidden constraints are
all there are, where the system Jacobian ∂f_i^(c_i)/∂x_j^(d_j) is regular [1]_. If terms cancel, in one equation or
between several, it is singular: the index is higher than the structure says, or equations depend on each other.

References
----------
.. [1] J.D. Pryce, "A simple structural analysis method for DAEs", BIT 41, 2001, theorem 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.sparse.linalg import splu

from dalembert.errors import NumericallySingular
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.regularize.newton import scales
from dalembert.regularize.pencil import RANK
from dalembert.regularize.structure.analysis import Structure, analyse, equations_of, listed
from dalembert.regularize.structure.elimination import sample_points
from dalembert.regularize.structure.forms import picked
from dalembert.regularize.structure.incidence import Equations

#: rows of blocks from which sparse factors are used
LARGE = 300
#: so far away in units of 1 + |x| it is looked whether a point is a special one
NEARBY = 1e-3
#: shares of an equation or unknown in what is singular, below which it is not named
SHARE = 1e-3
#: digits to which shares are the same at all points, so that a combination can be written down
SAME = 1e-8

#: relative change of unknowns that shows which entries are rounding errors: these change as a whole
TREMBLE = 1e-9

JACOBIAN: Slot[Callable] = Slot("system Jacobian", most=4)


@dataclass(frozen=True)
class Singular:
    """A block of the system Jacobian that is singular.

    `combination` holds the shares of the equations `rows` in the combination (of derivatives) in which the highest
    derivatives of the unknowns `columns` cancel.
    """

    rows: np.ndarray
    columns: np.ndarray
    combination: np.ndarray


def system_jacobian(model: Model, structure: Structure | None = None) -> Callable[..., np.ndarray]:
    """A function of t, x, x' and θ for the entries of the system Jacobian, in the order of `structure.leading`."""
    structure = analyse(model) if structure is None else structure
    return model.kept.get(JACOBIAN, structure, lambda: jacobian_entries(model, equations_of(model)[0], structure))


def jacobian_entries(model: Model, equations: Equations, structure: Structure) -> Callable[..., np.ndarray]:
    """The same for equations of which a structure tells."""
    graph, F = model.graph, picked(equations.residual, structure.rows)
    leading, n = structure.leading, len(structure.rows)
    values = ca.SX.zeros(len(leading.columns))
    for order, symbols in enumerate((equations.x, equations.x_dot)):
        wanted = np.flatnonzero(leading.order == order)
        if len(wanted):
            J = ca.sparsify(ca.jacobian(F, symbols))
            i, j = (np.array(part, int) for part in J.sparsity().get_triplet())
            place = np.searchsorted(i + n * j, leading.rows[wanted] + n * leading.columns[wanted])
            values[wanted.tolist()] = J.nz[place.tolist()]
    function = ca.Function("J", [graph.t, equations.x, equations.x_dot, graph.theta], [ca.densify(values)])
    shift = 1 + TREMBLE * np.random.default_rng(3).uniform(-1, 1, (2, n))

    def entries(t: float, x: np.ndarray, x_dot: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Entries that are nothing but rounding errors are zero."""
        here, beside = (
            np.array(function(t, x * a, x_dot * b, theta), float).ravel() for a, b in ((1.0, 1.0), shift)
        )  # fmt: skip
        noise = np.abs(here - beside) > 1e-2 * np.maximum(np.abs(here), np.abs(beside))
        return np.where(noise, 0.0, here)

    return entries


def singular_blocks(structure: Structure, entries: np.ndarray) -> list[Singular]:
    """Blocks of the system Jacobian with these entries that are singular, in whatever units their rows are."""
    J, found = structure.leading.matrix(entries), []
    single = np.array([len(rows) == 1 for rows, _ in structure.blocks])
    alone = [block for block, is_single in zip(structure.blocks, single, strict=True) if is_single]
    if alone:
        rows, columns = (np.concatenate(part) for part in zip(*alone, strict=True))
        value = np.zeros(J.shape[0])
        own = structure.leading.columns == structure.matching[structure.leading.rows]
        value[structure.leading.rows[own]] = entries[own]
        for k in np.flatnonzero(value[rows] == 0).tolist():
            found.append(Singular(rows[k : k + 1], columns[k : k + 1], np.ones(1)))
    for (rows, columns), is_single in zip(structure.blocks, single, strict=True):
        if not is_single:
            shares = _null_vectors(J[rows][:, columns])
            if shares is not None:
                u, v = (np.abs(part) > SHARE * np.abs(part).max() for part in shares)
                found.append(Singular(rows[u], columns[v], shares[0][u]))
    return found


def _null_vectors(block: sparse.csr_array) -> tuple[np.ndarray, np.ndarray] | None:
    """Vectors u, v with uᵀ A = 0, A v = 0, or None if A is regular."""
    if block.shape[0] > LARGE:
        return _sparse_null_vectors(block)
    A = block.toarray()
    rows, columns = scales(A)
    U, S, V = np.linalg.svd(A * rows[:, None] * columns)
    if S[-1] > RANK * S[0]:
        return None
    null = RANK * S[0] >= S
    return _simplest(U[:, null] * rows[:, None]), _simplest(V[null].T * columns[:, None])


def _simplest(N: np.ndarray) -> np.ndarray:
    """A vector in the span of these columns that has a zero for each of them but one: of several, a mixture would have
    shares that nobody can read, with rounding errors that equations carry on."""
    if N.shape[1] == 1:
        return N[:, 0]
    _, _, order = qr(N.T, mode="economic", pivoting=True)
    return N @ np.linalg.inv(N[order[: N.shape[1]]])[:, 0]


def _sparse_null_vectors(block: sparse.csr_array) -> tuple[np.ndarray, np.ndarray] | None:
    """The same by inverse iteration with sparse factors."""
    A = block.tocsc()
    rows = 1 / np.maximum(abs(A).max(axis=1).toarray().ravel(), 1e-300)
    A = sparse.diags_array(rows) @ A
    columns = 1 / np.maximum(abs(A).max(axis=0).toarray().ravel(), 1e-300)
    A = (A @ sparse.diags_array(columns)).tocsc()
    try:
        factors = splu(A)
    except RuntimeError:  # exactly singular: a small shift makes it nearly so
        factors = splu((A + 1e-14 * sparse.eye_array(A.shape[0])).tocsc())
    rng = np.random.default_rng(0)
    vectors = []
    for transposed in ("T", "N"):
        v = rng.standard_normal(A.shape[0])
        for _ in range(3):
            v = factors.solve(v / np.linalg.norm(v), trans=transposed)
            if not np.isfinite(v).all():
                v = np.nan_to_num(v, nan=0.0, posinf=1e300, neginf=-1e300)
        vectors.append(v)
    if max(np.linalg.norm(v) for v in vectors) < 1 / RANK:
        return None
    u, v = (v / np.linalg.norm(v) for v in vectors)
    return u * rows, v * columns


def check_generic_points(model: Model, structure: Structure) -> None:
    """Raise NumericallySingular if the system Jacobian is singular wherever one looks."""
    jacobian, seen = system_jacobian(model, structure), []
    block_of = np.zeros(len(structure.rows), int)
    for number, (rows, _) in enumerate(structure.blocks):
        block_of[rows] = number
    everywhere: set[int] | None = None  # blocks that were singular at all points so far
    for t, x, x_dot, theta in sample_points(model):
        entries = jacobian(t, x, x_dot, theta)
        if np.isfinite(entries).all():
            found = singular_blocks(structure, entries)
            bad = {int(block_of[block.rows[0]]) for block in found}
            everywhere = bad if everywhere is None else everywhere & bad
            if not everywhere:
                return
            seen.append([block for block in found if block_of[block.rows[0]] in everywhere])
    if seen:
        raise _singular(model, structure, seen, "wherever one looks")


def judge(
    model: Model, t: float, x: np.ndarray, x_dot: np.ndarray, theta: np.ndarray | None = None,
    structure: Structure | None = None,
) -> None:  # fmt: skip
    """Raise NumericallySingular if the system Jacobian is singular at consistent values.

    Parameters
    ----------
    x_dot : array
        Derivatives; those that are not determined do not matter.

    Examples
    --------
    >>> import dalembert as da
    >>> meets = da.ImplicitDAE(x=["a", "b"], residual=lambda s: [s.a_dot - s.b, s.a**2 - s.t**2])
    >>> judge(meets, 1.0, np.array([1.0, 1.0]), np.zeros(2))
    >>> try:
    ...     judge(meets, 0.0, np.array([0.0, 1.0]), np.zeros(2))
    ... except da.NumericallySingular as error:
    ...     print(error.equations, error.variables)
    ('equation 2',) ('a',)
    """
    structure = analyse(model) if structure is None else structure
    theta = model.theta(t) if theta is None else theta
    jacobian = system_jacobian(model, structure)
    entries = jacobian(t, x, x_dot, theta)
    if not np.isfinite(entries).all():
        return
    seen = [singular_blocks(structure, entries)]
    if not seen[0]:
        return
    rng, where = np.random.default_rng(0), f"at t = {t:.9g} and near it"
    for _ in range(2):
        near = [v + NEARBY * rng.uniform(-1, 1, len(v)) * (1 + np.abs(v)) for v in (x, x_dot)]
        entries = jacobian(t, *near, theta)
        if np.isfinite(entries).all():
            found = singular_blocks(structure, entries)
            if not found:
                where = f"at t = {t:.9g}, though not at all points near it"
                break
            seen.append(found)
    raise _singular(model, structure, seen, where)


def _singular(model: Model, structure: Structure, seen: list[list[Singular]], where: str) -> NumericallySingular:
    """The exception for what was found at several points."""
    faults, equations, variables = [], [], []
    for block in seen[0]:
        names = [structure.equations[i] for i in block.rows]
        unknowns = [structure.variables[j] for j in block.columns]
        equations += names
        variables += unknowns
        again = [other for found in seen[1:] for other in found if np.array_equal(other.rows, block.rows)]
        lowest = structure.c[block.rows].min()
        fault = f"{_derivatives(names, structure.c[block.rows])} {'do' if len(names) > 1 else 'does'} not determine "
        fault += _derivatives([f"'{name}'" for name in unknowns], structure.d[block.columns])
        combination = _combination(block, again, names, structure.c[block.rows] - lowest)
        if combination is not None and len(seen) > 1:
            target = names[int(np.argmin(structure.c[block.rows]))]
            fault += f": in {combination} they cancel; put this in place of {target}"
        faults.append(fault)
    return NumericallySingular(
        f"model '{model.name}': its structure says index {structure.index}, but the equations that it takes for "
        f"independent are not, {where}. Either equations depend on each other or terms cancel, so that more "
        'constraints are hidden. Combine equations or simplify terms, or write out all constraints with hidden="given"',
        faults,
        tuple(equations),
        tuple(variables),
    )


def _derivatives(names: list[str], orders: np.ndarray) -> str:
    """ "derivative 2 of equation 1, equation 4"."""
    words = [f"derivative {k} of {name}" if k else name for name, k in zip(names, orders.tolist(), strict=True)]
    return listed(words)


def _combination(block: Singular, again: list[Singular], names: list[str], orders: np.ndarray) -> str | None:
    """The combination of equations in which derivatives cancel, if it is the same at all points."""
    if len(block.rows) < 2 or len(block.rows) > 6:
        return None
    shares = block.combination / block.combination[np.argmax(np.abs(block.combination))]
    for other in again:
        others = other.combination / other.combination[np.argmax(np.abs(block.combination))]
        if len(others) != len(shares) or np.abs(others - shares).max() > SAME:
            return None
    return combination_text(shares, names, orders)


def combination_text(shares: np.ndarray, names: list[str], orders: np.ndarray) -> str:
    """What a combination of equations and their derivatives is called.

    >>> combination_text(np.array([1.0, -2.0]), ["equation 1", "equation 4"], np.array([0, 1]))
    '(equation 1) − 2·(d/dt) (equation 4)'
    """
    text = ""
    for share, name, order in zip(shares, names, orders.tolist(), strict=True):
        sign = (" − " if share < 0 else " + ") if text else ("−" if share < 0 else "")
        factor = "" if abs(abs(share) - 1) < SAME else f"{abs(share):.6g}·"
        prime = f"(d/dt{'' if order == 1 else f'^{order}'}) " if order else ""
        text += f"{sign}{factor}{prime}({name})"
    return text
