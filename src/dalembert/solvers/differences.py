"""The Jacobian by differences of the residual, inside the kernels.

With D_r = (F(x + δ_r e_r, x' + c δ_r e_r) − F)/δ_r the columns of ∂F/∂x + c ∂F/∂x' are found together. They are handed
on as ∂F/∂x and E = −∂F/∂x', as linear algebras expect it: exactly if E is evaluated by a port of its own (`leading`),
otherwise divided between the two in a way that is right for this c. Where some nonzeros have to be exact, the port of
the Jacobian gives these (`exact_at`) and E, and the others alone are differences.
"""

import numpy as np

from dalembert.compile.kernel import call_port, device
from dalembert.compile.memory import Memory, imat, ivec, layout, mat, member, vec

EXACT, EVERY_COLUMN, GRAPH, ESTIMATED = range(4)
ROOT = float(np.sqrt(np.finfo(float).eps))
LEAST = float(np.finfo(float).eps ** 0.25)

RECORD = layout(
    arrays=[
        "leading",  # address of a port for E, or 0
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
    reals=[],
    wholes=["kind", "partitioned", "extended", "n", "m", "n_j", "n_e", "n_derived", "n_exact", "n_groups", "n_inputs",
            "known", "followed", "evaluations"],
)  # fmt: skip
differences_at = member(RECORD)


def differences_record(compiled, strategy, n_inputs: int, leading: int, exact: np.ndarray | None = None) -> Memory:
    """Set up for a compiled system; `strategy` is one of `solvers.jacobians`, `n_inputs` counts derivatives of inputs
    too, `leading` is the address of a port for E or 0, and `exact` are the nonzeros of ∂F/∂x that the port of the
    Jacobian gives, followed by E."""
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
    whole = lambda values: np.ascontiguousarray(values, np.int64)  # noqa: E731
    starts = lambda columns: whole(np.searchsorted(columns, np.arange(n + 1)))  # noqa: E731
    memory = Memory(
        RECORD,
        dict(
            leading=leading, j_row=whole(j_row), j_start=starts(j_column), j_on=whole(1 - j_exact),
            e_row=whole(e_row), e_start=starts(e_column), e_on=whole(np.full(len(e_row), exact is None)),
            e_in_j=whole(e_in_j), derived_to=whole(to), derived_from=whole(of), skip=whole(skip),
            group=whole(np.zeros(n)),
            j_exact=whole(j_exact), exact=np.zeros(len(exact_at)), exact_at=whole(exact_at), n_exact=len(exact_at),
            occupied=np.zeros((n, m) if kind in (GRAPH, ESTIMATED) else (0, 0), np.int64), F0=np.zeros(m),
            F1=np.zeros(m), point=np.zeros(2 * n),
            inputs=np.zeros(n_inputs), by_inputs=np.zeros((n_inputs if strategy.extended else 0, len(j_row))),
            probe=np.zeros(len(j_row) + len(e_row)), kind=kind, partitioned=int(strategy.partitioned),
            extended=int(strategy.extended and n_inputs > 0), n=n, m=m, n_j=len(j_row), n_e=len(e_row),
            n_derived=len(to), n_groups=0, n_inputs=n_inputs, known=0, followed=0, evaluations=0,
        ),
    )  # fmt: skip
    return memory


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


@device
def each_column_apart(d):
    """Groups of one column."""
    group, skip = ivec(d.group, d.n), ivec(d.skip, d.n)
    d.n_groups = 0
    for r in range(d.n):
        group[r] = -1
        if skip[r] == 0:
            group[r] = d.n_groups
            d.n_groups += 1


@device
def has_room(d, r, k):
    """Whether column r has no row in common with group k."""
    occupied = imat(d.occupied, d.n, d.m)
    j_row, j_start, j_on = ivec(d.j_row, d.n_j), ivec(d.j_start, d.n + 1), ivec(d.j_on, d.n_j)
    e_row, e_start, e_on = ivec(d.e_row, d.n_e), ivec(d.e_start, d.n + 1), ivec(d.e_on, d.n_e)
    for q in range(j_start[r], j_start[r + 1]):
        if j_on[q] == 1 and occupied[k, j_row[q]] == 1:
            return False
    for q in range(e_start[r], e_start[r + 1]):  # noqa: SIM110
        if e_on[q] == 1 and occupied[k, e_row[q]] == 1:
            return False
    return True


@device
def group_columns(d):
    """Greedy colouring, columns of many nonzeros first."""
    n = d.n
    occupied, group, skip = imat(d.occupied, n, d.m), ivec(d.group, n), ivec(d.skip, n)
    j_row, j_start, j_on = ivec(d.j_row, d.n_j), ivec(d.j_start, n + 1), ivec(d.j_on, d.n_j)
    e_row, e_start, e_on = ivec(d.e_row, d.n_e), ivec(d.e_start, n + 1), ivec(d.e_on, d.n_e)
    for k in range(n):
        group[k] = -1
        for i in range(d.m):
            occupied[k, i] = 0
    d.n_groups = 0
    while True:
        r, most = -1, -1
        for candidate in range(n):
            if group[candidate] < 0 and skip[candidate] == 0:
                size = 0
                for q in range(j_start[candidate], j_start[candidate + 1]):
                    size += j_on[q]
                for q in range(e_start[candidate], e_start[candidate + 1]):
                    size += e_on[q]
                if size > most:
                    r, most = candidate, size
        if r < 0:
            return
        k = 0
        while not has_room(d, r, k):
            k += 1
        group[r] = k
        d.n_groups = max(d.n_groups, k + 1)
        for q in range(j_start[r], j_start[r + 1]):
            if j_on[q] == 1:
                occupied[k, j_row[q]] = 1
        for q in range(e_start[r], e_start[r + 1]):
            if e_on[q] == 1:
                occupied[k, e_row[q]] = 1


@device
def difference(d, ports, t, stage, c, nz, every):
    """Nonzeros of ∂F/∂x and E at `stage` from differences by the groups; `every`: also those that are not known.

    Returns the status of a port.
    """
    n, m, n_j = d.n, d.m, d.n_j
    F0, F1, point = vec(d.F0, m), vec(d.F1, m), vec(d.point, 2 * n)
    group, theta = ivec(d.group, n), ports.theta
    j_row, j_start, j_on = ivec(d.j_row, n_j), ivec(d.j_start, n + 1), ivec(d.j_on, n_j)
    e_row, e_start, e_on = ivec(d.e_row, d.n_e), ivec(d.e_start, n + 1), ivec(d.e_on, d.n_e)
    e_in_j = ivec(d.e_in_j, d.n_e)
    answer = call_port(ports.residual, t, stage.ctypes.data, theta.ctypes.data, F0.ctypes.data)
    if answer != 0:
        return answer
    d.evaluations += 1
    for k in range(d.n_groups):
        for i in range(2 * n):
            point[i] = stage[i]
        for r in range(n):
            if group[r] == k:
                point[r] += max(abs(stage[r]), LEAST) * ROOT
                point[n + r] += c * (point[r] - stage[r])
        answer = call_port(ports.residual, t, point.ctypes.data, theta.ctypes.data, F1.ctypes.data)
        if answer != 0:
            return answer
        d.evaluations += 1
        for r in range(n):
            if group[r] != k:
                continue
            over = 1.0 / (point[r] - stage[r])
            for q in range(j_start[r], j_start[r + 1]):
                nz[q] = (F1[j_row[q]] - F0[j_row[q]]) * over if every or j_on[q] == 1 else 0.0
            for q in range(e_start[r], e_start[r + 1]):
                apart = (every or e_on[q] == 1) and e_in_j[q] < 0
                nz[n_j + q] = -(F1[e_row[q]] - F0[e_row[q]]) * over / c if apart and c != 0.0 else 0.0
    to, of = ivec(d.derived_to, d.n_derived), ivec(d.derived_from, d.n_derived)
    for q in range(d.n_derived):
        nz[to[q]] = -nz[of[q]]
    if d.leading != 0:
        E = nz[n_j:]
        answer = call_port(d.leading, t, stage.ctypes.data, theta.ctypes.data, E.ctypes.data)
        for q in range(d.n_e):
            if e_in_j[q] >= 0:
                nz[e_in_j[q]] += c * E[q]
    return answer


@device
def widen(d, nz):
    """Add to the estimated pattern what is not zero in the differences `nz` of every single column."""
    j_on, e_on, e_in_j = ivec(d.j_on, d.n_j), ivec(d.e_on, d.n_e), ivec(d.e_in_j, d.n_e)
    exact = ivec(d.j_exact, d.n_j)
    for q in range(d.n_j):
        j_on[q] = 1 if exact[q] == 0 and (nz[q] != 0.0 or (d.known == 1 and j_on[q] == 1)) else 0
    for q in range(d.n_e):
        e_on[q] = 1 if nz[d.n_j + q] != 0.0 or (d.known == 1 and e_on[q] == 1) else 0
        if e_in_j[q] >= 0 and e_on[q] == 1:
            j_on[e_in_j[q]] = 1
    d.known = 1


@device
def put_exact(d, ports, t, stage, nz):
    """Nonzeros that are not to be differences, from the port of the Jacobian. Returns its status."""
    exact, at = vec(d.exact, d.n_exact), ivec(d.exact_at, d.n_exact)
    answer = call_port(ports.jacobian, t, stage.ctypes.data, ports.theta.ctypes.data, exact.ctypes.data)
    for k in range(d.n_exact):
        nz[at[k]] = exact[k]
    return answer


@device
def new_nonzeros(d, ports, t, stage, c, nz, full):
    """By differences, in whatever way the record says; `full`: of every column. Returns the status of a port."""
    if d.kind == ESTIMATED and (full or d.known == 0):
        each_column_apart(d)
        answer = difference(d, ports, t, stage, c, nz, True)
        if answer == 0:
            widen(d, nz)
            group_columns(d)
    else:
        if d.n_groups == 0:
            if d.kind == EVERY_COLUMN:
                each_column_apart(d)
            else:
                group_columns(d)
        answer = difference(d, ports, t, stage, c, nz, False)
    if answer == 0 and d.n_exact > 0:
        answer = put_exact(d, ports, t, stage, nz)
    return answer


@device
def follow(d, ports, t, stage, c, nz):
    """Derivatives of ∂F/∂x by the inputs and their rates, by differences. Returns the status of a port."""
    inputs, probe = ports.theta[ports.n_parameters :], vec(d.probe, d.n_j + d.n_e)
    by_inputs = mat(d.by_inputs, d.n_inputs, d.n_j)
    for k in range(d.n_inputs):
        before = inputs[k]
        inputs[k] = before + max(abs(before), 1.0) * LEAST
        answer = difference(d, ports, t, stage, c, probe, False)
        over = 1.0 / (inputs[k] - before)
        inputs[k] = before
        if answer != 0:
            return answer
        for q in range(d.n_j):
            change = (probe[q] - nz[q]) * over
            # below this, differences of differences are rounding errors
            by_inputs[k, q] = change if abs(change) > 1e-3 * abs(nz[q]) or abs(change) > 1e-3 else 0.0
    d.followed = 1
    return 0


@device
def keep_inputs(d, ports):
    """Remember the inputs that ∂F/∂x belongs to."""
    now, kept = ports.theta[ports.n_parameters :], vec(d.inputs, d.n_inputs)
    for k in range(d.n_inputs):
        kept[k] = now[k]


@device
def update(d, ports, t, stage, nz):
    """E at `stage`; ∂F/∂x as it was, or moved with the inputs. Returns the status of a port."""
    if d.extended == 1 and d.followed == 1:
        now, kept, by_inputs = (
            ports.theta[ports.n_parameters :],
            vec(d.inputs, d.n_inputs),
            mat(d.by_inputs, d.n_inputs, d.n_j),
        )
        for k in range(d.n_inputs):
            moved = now[k] - kept[k]
            if moved != 0.0:
                for q in range(d.n_j):
                    nz[q] += moved * by_inputs[k, q]
        keep_inputs(d, ports)
    E = nz[d.n_j :]
    return call_port(d.leading, t, stage.ctypes.data, ports.theta.ctypes.data, E.ctypes.data)
