"""How kernels get the Jacobian: the record of a strategy. What it asks for is done by `difference_kernels`.

With D_r = (F(x + δ_r e_r, x' + c δ_r e_r) − F)/δ_r the columns of ∂F/∂x + c ∂F/∂x' are found together. They are handed
on as ∂F/∂x and E = −∂F/∂x', as linear algebras expect it, divided between the two in a way that is right for this c. If
E is evaluated by a port of its own (`leading`), only x is varied, and ∂F/∂x is good for every c: what c δ_r makes of a
residual that is not linear in x' would stay in it. Where some nonzeros have to be exact, the port of the Jacobian gives
these (`exact_at`) and E, and the others alone are differences.
"""

import numpy as np

from dalembert.compile.memory import Memory, layout, member

EXACT, EVERY_COLUMN, GRAPH, ESTIMATED = range(4)

RECORD = layout(
    arrays=[
        "renew", "refresh",  # kernels, by address: a new ∂F/∂x and E; E alone, with ∂F/∂x kept. 0: not needed
        "leading",  # address of a port for E, or 0
        "residual", "jacobian", "theta", "stage", "nonzeros",  # of the run that uses the record, by address
        "now",  # inputs and their rates in θ
        # nonzeros of ∂F/∂x and of E, sorted by columns: rows, where columns start, and whether they count as nonzero
        "j_row", "j_start", "j_on", "e_row", "e_start", "e_on",
        "e_in_j",  # the nonzero of ∂F/∂x at the place of one of E, or −1
        "derived_to", "derived_from",  # entries that are the negatives of others
        "skip",  # columns that are not differenced
        "j_exact",  # 1 for nonzeros of ∂F/∂x that the port of the Jacobian gives
        "exact", "exact_at",  # what it gives, and the places of that
        "group", "occupied",
        "F0", "F1", "point",
        "inputs",  # at which ∂F/∂x was evaluated
        "by_inputs",  # (3 inputs, nonzeros): its derivatives
        "probe",
    ],
    reals=["t", "c"],  # where and for which c a Jacobian is asked for
    wholes=[
        "full",  # of every single column, to widen an estimated pattern
        "kind", "partitioned", "extended", "n", "m", "n_j", "n_e", "n_derived", "n_exact", "n_groups", "n_most",
        "n_inputs", "known", "followed", "evaluations",
    ],
)  # fmt: skip
differences_at = member(RECORD)


def differences_record(
    compiled, strategy, n_inputs: int, leading: int, kernels: tuple[int, int], exact: np.ndarray | None = None
) -> Memory:
    """Set up for a compiled system.

    `strategy` is one of `solvers.jacobians`, `n_inputs` counts derivatives of inputs too, `leading` is the address of a
    port for E or 0, `kernels` are those of `renew` and `refresh`. The port of the Jacobian gives the nonzeros `exact`
    of ∂F/∂x, then E.
    """
    system = compiled.system
    n, m = system.n, len(system.equations)
    (j_row, j_column), (e_row, e_column) = compiled.jacobian_pattern, compiled.leading_pattern
    place = {entry: k for k, entry in enumerate(zip(j_row.tolist(), j_column.tolist(), strict=True))}
    e_in_j = [place.get(entry, -1) for entry in zip(e_row.tolist(), e_column.tolist(), strict=True)]
    to, of, skip = _derived(system, place)
    j_exact, exact_at = np.zeros(len(j_row), int), np.zeros(0, int)
    if exact is not None:
        j_exact[exact] = 1
        exact_at = np.concatenate([exact, len(j_row) + np.arange(len(e_row))])
        skip[np.setdiff1d(np.arange(n), j_column[j_exact == 0])] = 1
    kind = {"Exact": EXACT, "Differences": EVERY_COLUMN}.get(type(strategy).__name__, GRAPH)
    if kind == GRAPH and strategy.pattern == "estimated":
        kind = ESTIMATED
    most = _most_groups((j_row, j_column), (e_row, e_column), n, m) if kind in (GRAPH, ESTIMATED) else 0
    whole = lambda values: np.ascontiguousarray(values, np.int64)  # noqa: E731
    starts = lambda columns: whole(np.searchsorted(columns, np.arange(n + 1)))  # noqa: E731
    memory = Memory(
        RECORD,
        dict(
            renew=kernels[0], refresh=kernels[1], residual=0, jacobian=0, theta=0, stage=0, nonzeros=0, now=0, t=0.0,
            c=0.0, full=0, leading=leading, j_row=whole(j_row), j_start=starts(j_column), j_on=whole(1 - j_exact),
            e_row=whole(e_row), e_start=starts(e_column), e_on=whole(np.full(len(e_row), exact is None)),
            e_in_j=whole(e_in_j), derived_to=whole(to), derived_from=whole(of), skip=whole(skip),
            group=whole(np.zeros(n)),
            j_exact=whole(j_exact), exact=np.zeros(len(exact_at)), exact_at=whole(exact_at), n_exact=len(exact_at),
            occupied=np.zeros((most, m), np.int64), n_most=most, F0=np.zeros(m),
            F1=np.zeros(m), point=np.zeros(2 * n),
            inputs=np.zeros(n_inputs), by_inputs=np.zeros((n_inputs if strategy.extended else 0, len(j_row))),
            probe=np.zeros(len(j_row) + len(e_row)), kind=kind, partitioned=int(strategy.partitioned),
            extended=int(strategy.extended and n_inputs > 0), n=n, m=m, n_j=len(j_row), n_e=len(e_row),
            n_derived=len(to), n_groups=0, n_inputs=n_inputs, known=0, followed=0, evaluations=0,
        ),
    )  # fmt: skip
    return memory


def _most_groups(jacobian: tuple, leading: tuple, n: int, m: int) -> int:
    """How many groups a greedy colouring can need: a column meets at most so many others in its rows."""
    (j_row, j_column), (e_row, e_column) = jacobian, leading
    entries = np.unique(np.concatenate([j_row, e_row]) * n + np.concatenate([j_column, e_column]))
    row, column = entries // n, entries % n
    others = np.bincount(row, minlength=m)[row] - 1
    met = np.bincount(column, weights=others, minlength=n)
    return int(min(n, met.max(initial=0) + 1))


def _derived(system, place: dict) -> tuple[list, list, np.ndarray]:
    """Columns of η in the formulation of Gear, Gupta and Leimkuhler: −Gᵀ, while G = ∂g/∂p stands in the rows of g."""
    to, of, skip = [], [], np.zeros(system.n, int)
    p, eta = system.slices.get("p"), system.slices.get("eta")
    if eta is None or "s" in system.slices:
        return to, of, skip
    pairs = [
        (place[row, column], place.get((column, row)))
        for row, column in place
        if eta.start <= column < eta.stop and p.start <= row < p.stop
    ]
    if all(source is not None for _, source in pairs):
        to, of = [a for a, _ in pairs], [b for _, b in pairs]
        skip[eta] = 1
    return to, of, skip
