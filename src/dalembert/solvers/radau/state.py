"""The record of a run of the Radau family: everything that survives between two calls of the kernel, and its work
space."""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.solvers import shell
from dalembert.solvers.status import N_COUNTS

#: of the polynomial of a step
N_COEFFICIENTS = 4

# Stage quantities Z, W, D (increments) and R have one row per unknown or equation and three columns, so that one pass
# serves all stages.
STATE = layout(
    arrays=[
        *shell.ARRAYS,
        "index",
        "algebraic",  # 1 for equations without derivatives
        "scale",  # 1 / weight, with powers of h for variables of higher index
        "Z", "W", "F", "R", "D",
        "stage",  # (2 n): x and x' of a stage
        "inputs",  # u, u', u'' at the three stages
        "F_here", "rate_here",  # the residual at the current point, and the x' it was evaluated with
        "e_row", "e_column",  # of the nonzeros of E
        "kinematic",  # rows of p' = Z v, if the estimate has to look at them for themselves
        "position",  # the unknowns p of these rows
        "motion",  # variables that constraints do not determine by the others, as they do multipliers; or none
        "error", "correction",
        "failed",  # (2 n): the stage at which a function could not be evaluated
        "differences",  # a record of `solvers.differences`, by address: how to get the Jacobian
    ],
    reals=[
        *shell.REALS, "time_unit", "h_accepted", "error_accepted", "rate", "contraction", "failed_t", "ceiling",
        "first_increment",  # of the last iteration
    ],
    wholes=[
        *shell.WHOLES, "m", "n_nonzeros", "n_e", "n_kinematic", "n_motion",
        "constant",  # E does not change
        # cleared at every start:
        *shell.FLAGS,
        "first", "rejected", "need_jacobian", "need_factors", "jacobian_is_here", "have_history", "iterations",
        "convergence_failed",
        "look_again",  # the pattern of estimated differences may be too small
        "since_failure",  # accepted steps since Newton's method failed
        "have_here",  # F_here belongs to the current point
        "redundant",  # constraints leave multipliers undetermined: the smallest are wanted
    ],
)  # fmt: skip
FLAGS = STATE.names[STATE.names.index(shell.FLAGS[0]) :]
state_at = member(STATE)

#: the fields with which the record of every linear algebra begins; cost: floating-point operations of decompose,
#: prepare, one Newton iteration, one error estimate; own and state: addresses of the record itself and of `STATE`;
#: settle is 0 where constraints may not be redundant
LINEAR_ALGEBRA = (
    "decompose", "prepare", "solve_stages", "solve_real", "correct", "settle", "nonzeros", "cost", "own", "state",
)  # fmt: skip
algebra_at = member(layout(arrays=LINEAR_ALGEBRA))


def new_state(compiled, n_nonzeros: int, n_inputs: int) -> Memory:
    """Work space for a compiled system; `n_inputs` counts inputs and their derivatives."""
    blocks = compiled.system.blocks  # of a projected system, whose constraints filter estimates
    kinematic, position, determined = ((), (), ()) if blocks is None else (blocks.kinematic, blocks.P, blocks.Y)
    motion = np.setdiff1d(np.arange(compiled.system.n), determined) if len(determined) else ()
    system, (e_row, e_column) = compiled.system, compiled.leading_pattern
    n, m, index, algebraic = system.n, len(system.equations), system.index, ~system.differential_equations
    vectors = {name: np.zeros(n) for name in ("x", "x_dot", "atol", "rtol", "weight", "scale", "error", "correction")}
    scalars = {name: 0 for name in STATE.names if STATE[name] != np.uint64 or name in ("monitor", "trace")}
    arrays = dict(
        coefficients=np.zeros((N_COEFFICIENTS, n)), count=np.zeros(N_COUNTS, np.int64),
        index=np.ascontiguousarray(index, np.int64), algebraic=np.ascontiguousarray(algebraic, np.int64),
        Z=np.zeros((n, 3)), W=np.zeros((n, 3)), D=np.zeros((n, 3)),
        F=np.zeros((3, m)), R=np.zeros((m, 3)), stage=np.zeros(2 * n), failed=np.zeros(2 * n),
        inputs=np.zeros((3, n_inputs)), differences=0, F_here=np.zeros(m), rate_here=np.zeros(n),
        e_row=np.ascontiguousarray(e_row, np.int64), e_column=np.ascontiguousarray(e_column, np.int64),
        kinematic=np.ascontiguousarray(kinematic, np.int64), position=np.ascontiguousarray(position, np.int64),
        motion=np.ascontiguousarray(motion, np.int64),
    )  # fmt: skip
    sizes = dict(
        n_kinematic=len(kinematic),
        n_motion=len(motion),
        n=n,
        n_coefficients=N_COEFFICIENTS,
        m=m,
        n_nonzeros=n_nonzeros,
        n_e=len(e_row),
        constant=int(system.leading_is_constant),
    )
    return Memory(STATE, {**vectors, **scalars, **arrays, **sizes})


@device
def set_scale(state):
    """Errors of variables of index 2 and 3 are weighted by h and h², in the unit of time of the tolerances."""
    n, h = state.n, abs(state.h) / state.time_unit
    index, scale, weight = ivec(state.index, n), vec(state.scale, n), vec(state.weight, n)
    for i in range(n):
        power = index[i]
        scale[i] = (1.0 if power == 1 else (h if power == 2 else h * h)) / weight[i]
