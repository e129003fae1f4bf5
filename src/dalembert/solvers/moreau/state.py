"""The record of a run of Moreau and Jean's method on the descriptor form."""

import numpy as np

from dalembert.compile.memory import Memory, layout
from dalembert.solvers import shell
from dalembert.solvers.status import N_COUNTS

PORTS = ("rates", "kinematics", "matrices", "position", "jacobian")
ARRAYS = (
    *shell.ARRAYS,
    "saddle",  # the record of the linear solver
    "collisions",  # the record of colliding bodies; 0: there are none
    *(f"{name}_port" for name in PORTS),  # addresses; 0: there is none
    "failed",  # where a function could not be evaluated
    "p_dot",  # at the start of the step
    "middle", "next",  # points: where functions are evaluated, where the step leads to
    "rates", "matrices", "end_matrices", "jacobian", "g",  # values of the ports
    "change",  # (Δv, impulses of the bilateral constraints), without contacts and then with them
    "b", "solved",  # of linear systems
    "mass_place", "jacobian_place",  # of the nonzeros in M of the linear solver
    "bilateral_entry", "bilateral_row",  # entries of C that are always in force, and all rows that are
    "row_start", "row_entry", "row_column",  # entries of C by rows of contacts
    "row_of",  # of each such row, its number in C
    "first_row", "normal",  # of each contact: its first row, and its number in g
    "restitution", "friction",
    "active",  # numbers of the contacts that are closed
    "block_start", "block_friction",  # of closed contacts, colliding bodies behind them: first row, friction
    "W", "answer", "A",  # rows of closed contacts, what impulses along them do, and matrix of the contact problem
    "before", "q", "impulse", "kept",  # rates before, y = A p + q, impulses, and those of the last step by row
    "correction",
    "gap", "way",
)  # fmt: skip
REALS = (*shell.REALS, "failed_t", "step", "theta", "tolerance", "projection_limit", "slack", "deepest")
WHOLES = (
    *shell.WHOLES,
    "n_p", "n_v", "n_r", "n_d", "n_lam", "n_m", "n_b",  # n_m: λ and μ, n_b: those of them that are bilateral
    "n_M", "n_C", "n_G", "n_J", "n_contacts", "n_rows", "n_blocks",
    "plain", "passes", "iterations", "project",
    "n_by_v",  # entries of the Jacobian that are derivatives by v, the first ones
    "singular", "unsolved", "not_projected",
    "n_active", "n_closed", "n_points",  # contacts of the model that are closed, with those of bodies, and their rows
)  # fmt: skip
FLAGS = (*shell.FLAGS, "first")
LAYOUT = layout(arrays=ARRAYS, reals=REALS, wholes=(*WHOLES, *FLAGS))

#: counters behind those of all methods
CONTACTS, ITERATIONS, CLOSED = N_COUNTS, N_COUNTS + 1, N_COUNTS + 2
N_OWN_COUNTS = 3


def new_state(tables, n_coefficients: int, room: int = 0) -> Memory:
    """A record for the `tables` of a model, with room for contacts of colliding bodies."""
    compiled, form = tables.compiled, tables.compiled.form
    size = {kind: form.model.graph.size(kind) for kind in ("p", "v", "r", "lam", "mu")}
    n, n_v, n_m, n_b = form.n, size["v"], size["lam"] + size["mu"], len(tables.bilateral_row)
    n_d, rows, contacts = size["p"] + n_v + size["r"], len(tables.row_of), len(tables.normal)
    most, blocks = rows + 3 * room, contacts + room
    n_M, n_C, n_J = len(compiled.mass_pattern[0]), len(compiled.constraint_pattern[0]), len(tables.jacobian_place)
    scalars = dict.fromkeys(LAYOUT.names, 0)
    arrays = dict(
        x=np.zeros(n), x_dot=np.zeros(n), atol=np.zeros(n), rtol=np.zeros(n), weight=np.zeros(n), failed=np.zeros(n),
        coefficients=np.zeros((n_coefficients, n)), count=np.zeros(N_COUNTS + N_OWN_COUNTS, np.int64),
        p_dot=np.zeros(size["p"]), middle=np.zeros(n), next=np.zeros(n), rates=np.zeros(n_d),
        matrices=np.zeros(n_M + n_C + n_m), end_matrices=np.zeros(n_M + n_C + n_m), jacobian=np.zeros(n_J),
        g=np.zeros(size["lam"]), change=np.zeros(n_v + n_b), b=np.zeros(n_v + n_b), solved=np.zeros(n_v + n_b + 1),
        W=np.zeros((most, n_v)), answer=np.zeros((most, n_v + n_b)), A=np.zeros((most, most)), kept=np.zeros(rows),
        active=np.zeros(contacts, np.int64), block_start=np.zeros(blocks + 1, np.int64),
        block_friction=np.zeros(blocks), gap=np.zeros(blocks),
        **{name: np.zeros(most) for name in ("before", "q", "impulse", "correction")},
        way=np.zeros(size["p"]), restitution=np.zeros(contacts), friction=np.zeros(contacts),
        **{name: getattr(tables, name) for name in (
            "mass_place", "jacobian_place", "bilateral_entry", "bilateral_row", "row_start", "row_entry", "row_column",
            "row_of", "first_row", "normal")},
    )  # fmt: skip
    sizes = dict(
        n=n, n_coefficients=n_coefficients, n_p=size["p"], n_v=n_v, n_r=size["r"], n_d=n_d, n_lam=size["lam"], n_m=n_m,
        n_b=n_b, n_M=n_M, n_C=n_C, n_G=len(tables.bilateral_entry), n_J=n_J, n_contacts=contacts, n_rows=rows,
        n_blocks=blocks,
        plain=int(form.plain_kinematics), passes=tables.passes, n_by_v=tables.n_by_v,
    )  # fmt: skip
    for name in PORTS:
        port = tables.jacobian if name == "jacobian" else getattr(compiled, name)
        scalars[f"{name}_port"] = port.address if port is not None else 0
    return Memory(LAYOUT, {**scalars, **arrays, **sizes})
