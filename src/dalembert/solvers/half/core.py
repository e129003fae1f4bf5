"""What half-explicit methods share: the record of a run, evaluation of the model, saddle-point systems, projection.

A *point* is x = (p, v, r, λ, μ) with its rates x' (those of λ and μ stay zero), the values (p', f, r') and the
matrices M, C, (g_t, h) there. There are two of them in the record: the current one (`x`, `x_dot`, `rates`, `matrices`)
and the one that a step leads to (`next`, `next_dot`, `next_rates`, `next_matrices`), which `commit` makes the current.

A method adds its own fields (`half_layout`, `new_state`); the functions here take any such record.
"""

import numpy as np

from dalembert.compile.kernel import call1, call3, call_code, device, inlined
from dalembert.compile.memory import Memory, ivec, layout, vec
from dalembert.solvers import shell
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.limits import SMALLEST_PART, UNIT
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.ports import evaluate
from dalembert.solvers.shell import fail, set_weights, step_too_small, why_to_return
from dalembert.solvers.status import GO_ON, N_COUNTS, Count, Outcome, Status

FINE, CANNOT_EVALUATE, STOPPED = int(Outcome.FINE), int(Outcome.CANNOT_EVALUATE), int(Outcome.STOPPED)
SINGULAR, NOT_PROJECTED, DRIFTED = int(Outcome.SINGULAR), int(Outcome.NOT_PROJECTED), int(Outcome.DRIFTED)

PORTS = ("rates", "kinematics", "matrices", "position", "acceleration", "friction")
ARRAYS = (
    "saddle",  # the record of the linear solver
    "monitor",  # the clock of a profile; 0: there is none
    "trace",  # a record of `attempts`; 0: there is none
    *(f"{name}_port" for name in PORTS),  # addresses; 0: there is none
    "x", "x_dot", "rates", "matrices", "next", "next_dot", "next_rates", "next_matrices",
    "coefficients",  # of the polynomial of the step under way: its place in the buffer
    "count", "atol", "rtol", "weight",
    "g", "gamma", "F",  # values of the ports
    "b",  # right-hand side of saddle-point systems
    "solved",  # their solution (w, λ), and one number more
    "drift",  # work space of the length of the multipliers
    "trial",  # work space of the length of x
    "error",
    "failed",  # where a function could not be evaluated
)  # fmt: skip
REALS = (
    "t", "h", "t_end", "h_old", "failed_t",
    "residual_p", "residual_v",  # largest position and velocity residual at the end of the last attempt
    "max_step", "min_step", "safety", "max_growth", "max_shrink", "drift_limit", "projection_limit",
    "multiplier_limit",  # what polynomials of multipliers may miss, as a part of them; 0: nobody looks at them
)  # fmt: skip
WHOLES = (
    "n", "n_p", "n_v", "n_r", "n_d", "n_lam", "n_m",  # n_d = n_p + n_v + n_r; n_m = λ and μ
    "n_M", "n_C", "n_F",  # nonzeros
    "n_coefficients",
    "plain",  # p' = v
    "late",  # r' depends on the multipliers
    "symmetric",  # the linear solver takes U = G
    "frictional",  # forces are f + F (λ, μ): F is part of the matrix, U = C − Fᵀ, and f that without multipliers
    "max_steps", "project_positions", "project_velocities", "project_every", "error_in",
    "first", "rejected", "last", "singular", "forced", "since_projection",
    "error_failures", "convergence_failures", "evaluation_failures", "singular_failures",
    "factors_fit",  # what was factored last serves for the projection of the positions of `next`
    "why",  # the outcome of the last attempt
)  # fmt: skip
#: what `start` clears
FLAGS = WHOLES[WHOLES.index("first") :]


def half_layout(arrays: tuple = (), reals: tuple = (), wholes: tuple = ()) -> np.dtype:
    """The record of a method: what all have, and its own fields."""
    return layout(arrays=[*ARRAYS, *arrays], reals=[*REALS, *reals], wholes=[*WHOLES, *wholes])


def new_state(dtype: np.dtype, compiled, n_coefficients: int, **own) -> Memory:
    """A record for a compiled descriptor form. Scalars of the method that are not given are zero."""
    form = compiled.form
    size = {kind: form.model.graph.size(kind) for kind in ("p", "v", "r", "lam", "mu")}
    n, n_m, n_v = form.n, size["lam"] + size["mu"], size["v"]
    n_M, n_C, n_F = (
        len(pattern[0]) for pattern in (compiled.mass_pattern, compiled.constraint_pattern, compiled.friction_pattern)
    )
    n_d = size["p"] + n_v + size["r"]
    scalars = {name: 0 for name in dtype.names if name not in own}
    vectors = {name: np.zeros(n) for name in (
        "x", "x_dot", "next", "next_dot", "atol", "rtol", "weight", "trial", "error", "failed")}  # fmt: skip
    arrays = dict(
        rates=np.zeros(n_d), next_rates=np.zeros(n_d), matrices=np.zeros(n_M + n_C + n_m),
        next_matrices=np.zeros(n_M + n_C + n_m),
        count=np.zeros(N_COUNTS, np.int64), g=np.zeros(size["lam"]), gamma=np.zeros(n_m), F=np.zeros(n_F),
        b=np.zeros(n_v + n_m), solved=np.zeros(n_v + n_m + 1), drift=np.zeros(n_m),
    )  # fmt: skip
    sizes = dict(
        n=n, n_p=size["p"], n_v=n_v, n_r=size["r"], n_d=n_d, n_lam=size["lam"], n_m=n_m, n_M=n_M, n_C=n_C, n_F=n_F,
        n_coefficients=n_coefficients, plain=int(form.plain_kinematics), late=int(form.dynamics_read_multipliers),
    )  # fmt: skip
    for name in PORTS:
        port = getattr(compiled, name)
        scalars[f"{name}_port"] = port.address if port is not None else 0
    return Memory(dtype, {**scalars, **vectors, **arrays, **sizes, **own})


@inlined
def copy(source, target, n):
    """Numbers from one address to another."""
    a, b = vec(source, n), vec(target, n)
    for i in range(n):
        b[i] = a[i]


@inlined
def place(address, k):
    """The address of number k behind an address."""
    return address + np.uint64(8 * k)


# -- evaluating the model ----------------------------------------------------------------------------------------------


@inlined
def watched(state, answer, t, x):
    """Keep the point if it could not be evaluated; returns the answer of the port."""
    if answer != 0:
        keep_failed(state, t, x)
    return answer


@device
def keep_failed(state, t, x):
    failed = vec(state.failed, state.n)
    state.failed_t = t
    for i in range(state.n):
        failed[i] = x[i]


@inlined
def evaluate_rates(state, ports, t, x, out):
    """(p', f, r') at x."""
    add(state, Count.RHS, 1)
    return watched(state, evaluate(state.rates_port, ports, t, x, out), t, x)


@inlined
def evaluate_matrices(state, ports, t, x, out):
    """Nonzeros of M, of C, and (g_t, h), at the positions in x."""
    add(state, Count.MASS, 1)
    return watched(state, evaluate(state.matrices_port, ports, t, x, out), t, x)


@inlined
def time_at(state, c):
    """t + c h; exactly the end of the interval at the end of the last step, as inputs may jump there."""
    return state.t_end if c == 1.0 and state.last == 1 else state.t + c * state.h


@inlined
def constraint_pattern(state, la):
    """Rows and columns of the nonzeros of C."""
    return ivec(la.G_rows, state.n_C), ivec(la.G_columns, state.n_C)


@device
def velocity_residual(state, la, matrices, v, out):
    """out = C v + (g_t, h) with the given matrices; returns the largest modulus."""
    C = matrices[state.n_M :]
    rows, columns = constraint_pattern(state, la)
    n_C, n_m = state.n_C, state.n_m
    for i in range(n_m):
        out[i] = C[n_C + i]
    for k in range(n_C):
        out[rows[k]] += C[k] * v[columns[k]]
    largest = 0.0
    for i in range(n_m):
        largest = max(largest, abs(out[i]))
    return largest


@device
def position_residual(state, ports, t, x):
    """g at x, in `g`; returns the status of the port. `residual_p` is the largest modulus."""
    state.residual_p = 0.0
    if state.position_port == 0:
        return FINE
    g = vec(state.g, state.n_lam)
    answer = watched(state, evaluate(state.position_port, ports, t, x, g), t, x)
    if answer == 0:
        for i in range(state.n_lam):
            state.residual_p = max(state.residual_p, abs(g[i]))
    return answer


# -- saddle-point systems ----------------------------------------------------------------------------------------------


@device
def set_friction(state, ports, la, t, x):
    """F at x becomes part of U, behind C. Returns the status of the port."""
    F, U = vec(state.F, state.n_F), vec(la.U, state.n_C + state.n_F)
    answer = watched(state, evaluate(state.friction_port, ports, t, x, F), t, x)
    for k in range(state.n_F):
        U[state.n_C + k] = -F[k]
    return answer


@device
def clear_friction(state, la):
    """Projections are orthogonal in the norm of M: U = C."""
    U = vec(la.U, state.n_C + state.n_F)
    for k in range(state.n_F):
        U[state.n_C + k] = 0.0


@device
def load(state, la, here, there):
    """Give the linear solver M and U here, G there."""
    n_M, n_C = state.n_M, state.n_C
    copy(here, la.M, n_M)
    copy(place(there, n_M), la.G, n_C)
    if state.symmetric == 0:
        copy(place(here, n_M), la.U, n_C)


@device
def factor(state, la, here, there):
    """The matrix of M and U here, G there, addresses of matrices as `evaluate_matrices` gives them.

    Returns FINE, or SINGULAR with the solver's code in `singular`.
    """
    add(state, Count.DECOMPOSITIONS, 1)
    if la.factor_at != 0:
        code = call3(la.factor_at, la.own, here, there)
    else:
        load(state, la, here, there)
        code = call1(la.factor, la.own)
    if code != 0:
        state.singular = code
        return SINGULAR
    return FINE


@inlined
def solve(state, la):
    """For the right-hand side in `b`: the solution (w, λ) in `solved`. Returns FINE, or SINGULAR as `factor` does."""
    add(state, Count.LINEAR_SOLVES, 1)
    code = call3(la.solve, la.own, state.b, state.solved)
    if code != 0:
        state.singular = code
        return SINGULAR
    return FINE


@device
def load_and_factor(state, la, matrices):
    """The system of one point; symmetric if there is no friction, or if it is cleared."""
    return factor(state, la, matrices.ctypes.data, matrices.ctypes.data)


@inlined
def factor_point(state, ports, la, t, x, matrices):
    """The system for the accelerations at x. Returns an outcome."""
    if state.frictional == 1:
        answer = set_friction(state, ports, la, t, x)
        if answer != 0:
            return answer
    return load_and_factor(state, la, matrices)


@inlined
def solve_step(state, la, here, there, f, v, step, keep):
    """M w + C_hereᵀ λ = f, C_there (v + step w) + (g_t, h) = 0, for `solved`; arguments are addresses.

    `here` and `there` hold matrices as `evaluate_matrices` gives them. Factors of the matrix are only left behind if
    `keep`. Returns FINE or SINGULAR.
    """
    n_v, n_m = state.n_v, state.n_m
    if la.once != 0 and not keep:
        answer = call_code(la.once, -step, here, there, f, v, state.solved)
        if answer == 0 and vec(state.solved, n_v + n_m + 1)[n_v + n_m] > 0.0:
            add(state, Count.DECOMPOSITIONS, 1)
            add(state, Count.LINEAR_SOLVES, 1)
            return FINE
    return factor_step(state, la, here, there, f, v, step)


@device
def factor_step(state, la, here, there, f, v, step):
    """`solve_step` by factors, which stay."""
    n_v, n_m = state.n_v, state.n_m
    second = vec(there, state.n_M + state.n_C + n_m)
    outcome = factor(state, la, here, there)
    if outcome != FINE:
        return outcome
    b, force = vec(state.b, n_v + n_m), vec(f, n_v)
    velocity_residual(state, la, second, vec(v, n_v), vec(place(state.b, n_v), n_m))
    inverse = 1.0 / -step  # as `once` does: bits shall not depend on who asks
    for k in range(n_m):
        b[n_v + k] *= inverse
    for k in range(n_v):
        b[k] = force[k]
    return solve(state, la)


@device
def accelerations(state, ports, la, t, x, rates):
    """v' and multipliers from M v' + Cᵀ (λ, μ) = f, C v' + γ = 0, in `solved`; the matrix at x must be factored."""
    b, n_v = vec(state.b, state.n_v + state.n_m), state.n_v
    if state.acceleration_port != 0:
        gamma = vec(state.gamma, state.n_m)
        answer = watched(state, evaluate(state.acceleration_port, ports, t, x, gamma), t, x)
        if answer != 0:
            return answer
        for i in range(state.n_m):
            b[n_v + i] = -gamma[i]
    for i in range(n_v):
        b[i] = rates[state.n_p + i]
    return solve(state, la)


@inlined
def keep_accelerations(state, x, x_dot, rates):
    """From `solved`: v' into x_dot, multipliers into x; p' and r' from the rates."""
    n_p, n_v, n_d, n_m = state.n_p, state.n_v, state.n_d, state.n_m
    solved = vec(state.solved, n_v + n_m)
    for i in range(n_d):
        x_dot[i] = rates[i]
    for i in range(n_v):
        x_dot[n_p + i] = solved[i]
    for i in range(n_m):
        x[n_d + i] = solved[n_v + i]


@inlined
def forget_multipliers(state, x):
    """Functions must not read multipliers that are not known yet: what does not depend on them does not notice.

    Forces that are linear in them are evaluated without: the matrix has the rest.
    """
    if state.frictional == 1:
        for i in range(state.n_d, state.n):
            x[i] = 0.0
    elif state.n_F == 0 and state.late == 0:
        for i in range(state.n_d, state.n):
            x[i] = np.nan


@device
def complete(state, ports, la, t, x, x_dot, rates):
    """Rates, accelerations and multipliers at x, whose matrix is factored. Returns an outcome."""
    forget_multipliers(state, x)
    outcome = evaluate_rates(state, ports, t, x, rates)
    if outcome == FINE:
        outcome = accelerations(state, ports, la, t, x, rates)
    if outcome == FINE:
        keep_accelerations(state, x, x_dot, rates)
    if outcome == FINE and state.late == 1:  # r' depends on the multipliers
        outcome = evaluate_rates(state, ports, t, x, rates)
        for i in range(state.n_p + state.n_v, state.n_d):
            x_dot[i] = rates[i]
    return outcome


# -- projection --------------------------------------------------------------------------------------------------------


@device
def project_positions(state, ports, la, t, x):
    """Newton's method with the factored matrix of the starting point, (2.9)-(2.11) of MEXX; p in x is changed.

    Returns an outcome. Nonholonomic constraints restrict the direction of the correction.
    """
    n_p, n_v, n_m = state.n_p, state.n_v, state.n_m
    if state.n_lam == 0:
        return FINE
    b, g, weight = vec(state.b, n_v + n_m), vec(state.g, state.n_lam), vec(state.weight, state.n)
    solved = vec(state.solved, n_v + n_m)
    trial, move = vec(state.trial, state.n), vec(state.error, state.n)
    before = np.inf
    for i in range(state.n):
        trial[i] = x[i]
    for iteration in range(10):
        if iteration > 0:  # the first residual is that of the caller
            answer = position_residual(state, ports, t, x)
            if answer != 0:
                return answer
        for i in range(n_v + n_m):
            b[i] = 0.0
        for i in range(state.n_lam):
            b[n_v + i] = -g[i]
        if solve(state, la) != FINE:
            return SINGULAR
        if state.plain == 1:
            for i in range(n_p):
                move[i] = solved[i]
        else:  # Z at the point where the iteration began
            for i in range(n_v):
                trial[n_p + i] = solved[i]
            answer = watched(state, evaluate(state.kinematics_port, ports, t, trial, move), t, trial)
            if answer != 0:
                return answer
        total = 0.0
        for i in range(n_p):
            x[i] += move[i]
            e = move[i] / weight[i]
            total += e * e
        size = np.sqrt(total / n_p)
        if size <= state.projection_limit:
            return FINE
        if not size < 2.0 * before:
            return NOT_PROJECTED
        before = size
    return NOT_PROJECTED


@device
def project_velocities(state, la, matrices, x):
    """The nearest velocities on C v + (g_t, h) = 0 in the norm of M, (2.12) of MEXX; the matrix must be factored."""
    n_v, n_m = state.n_v, state.n_m
    b, drift, v = vec(state.b, n_v + n_m), vec(state.drift, n_m), x[state.n_p : state.n_p + n_v]
    velocity_residual(state, la, matrices, v, drift)
    for i in range(n_v):
        b[i] = 0.0
    for i in range(n_m):
        b[n_v + i] = -drift[i]
    if solve(state, la) != FINE:
        return SINGULAR
    solved = vec(state.solved, n_v)
    for i in range(n_v):
        v[i] += solved[i]
    return FINE


# -- arriving at a point -----------------------------------------------------------------------------------------------


@device
def begin(state, ports, la):
    """Everything at the current point that a first step needs. Returns an outcome."""
    x, x_dot, t = vec(state.x, state.n), vec(state.x_dot, state.n), state.t
    rates, matrices = vec(state.rates, state.n_d), vec(state.matrices, state.n_M + state.n_C + state.n_m)
    ivec(la.sizes, 7)[6] = 1
    outcome = evaluate_matrices(state, ports, t, x, matrices)
    if outcome == FINE:
        outcome = factor_point(state, ports, la, t, x, matrices)
    if outcome == FINE:
        outcome = complete(state, ports, la, t, x, x_dot, rates)
    set_weights(state)
    return outcome


@device
def project(state, ports, la, t):
    """Project `next` as the options say; the matrix of the projected point is factored afterwards.

    `next_matrices` must be those of `next`, and are so afterwards. Returns an outcome; `residual_p` and `residual_v`
    are those found before any projection.
    """
    x, matrices = vec(state.next, state.n), vec(state.next_matrices, state.n_M + state.n_C + state.n_m)
    n_p = state.n_p
    due = state.since_projection + 1 >= state.project_every
    outcome = FINE
    enter(state, Phase.PROJECTION)
    if state.frictional == 1:
        clear_friction(state, la)
    if state.drift_limit > 0.0:
        state.residual_v = velocity_residual(state, la, matrices, x[n_p:], vec(state.drift, state.n_m))
    if state.drift_limit > 0.0 or (due and state.project_positions == 1):
        outcome = position_residual(state, ports, t, x)
        if outcome != FINE:
            return outcome
    if due and state.project_positions == 1 and state.n_lam > 0:
        found = state.residual_p
        if state.factors_fit == 0:
            outcome = load_and_factor(state, la, matrices)
        if outcome == FINE:
            outcome = project_positions(state, ports, la, t, x)
        state.residual_p = found
        if outcome == FINE:
            outcome = evaluate_matrices(state, ports, t, x, matrices)
    state.factors_fit = 0
    enter(state, Phase.STAGES)
    if outcome == FINE:
        outcome = load_and_factor(state, la, matrices)
    if outcome == FINE and due and state.project_velocities == 1 and state.n_m > 0:
        enter(state, Phase.PROJECTION)
        outcome = project_velocities(state, la, matrices, x)
        enter(state, Phase.STAGES)
    return outcome


@device
def arrive(state, ports, la, t):
    """Make `next` a complete point: project it, then rates, accelerations, multipliers. Returns an outcome."""
    outcome = project(state, ports, la, t)
    if outcome == FINE and state.frictional == 1:
        matrices = vec(state.next_matrices, state.n_M + state.n_C + state.n_m)
        outcome = factor_point(state, ports, la, t, vec(state.next, state.n), matrices)
    if outcome == FINE:
        x, x_dot, rates = vec(state.next, state.n), vec(state.next_dot, state.n), vec(state.next_rates, state.n_d)
        outcome = complete(state, ports, la, t, x, x_dot, rates)
    return outcome


@device
def commit(state, buffer):
    """`next` becomes the current point; the step joins its polynomial in the buffer."""
    copy(state.next, state.x, state.n)
    copy(state.next_dot, state.x_dot, state.n)
    copy(state.next_rates, state.rates, state.n_d)
    copy(state.next_matrices, state.matrices, state.n_M + state.n_C + state.n_m)
    state.first, state.rejected = 0, 0
    state.since_projection = 0 if state.since_projection + 1 >= state.project_every else state.since_projection + 1
    shell.commit(state, state.h, buffer)


# -- step control ------------------------------------------------------------------------------------------------------


@device
def why_to_stop(state, buffer):
    """A `Status` if no further step shall be taken now, or GO_ON."""
    code = why_to_return(state, buffer)
    if code == GO_ON and step_too_small(state, SMALLEST_PART, UNIT):
        return Status.SINGULAR if state.singular_failures > 0 else Status.STEP_TOO_SMALL
    return code


@device
def open_step(state, la, buffer):
    """Count an attempt; find the place of its polynomial; iterative solvers may take a new preconditioner."""
    state.coefficients = place(buffer.coefficients.ctypes.data, buffer.used[0] * state.n_coefficients * state.n)
    shell.open_step(state, 0)
    ivec(la.sizes, 7)[6] = 1


@inlined
def may_shrink(state):
    """Whether a smaller step is allowed; steps of min_step are taken whatever their error is."""
    return abs(state.h) > state.min_step * (1.0 + 1e-10)


@device
def reject(state, outcome, h_new):
    """Repeat the step from the current point with another size. Returns GO_ON, or a `Status` if the run ends."""
    code = fail(state, outcome)
    if code == GO_ON:
        state.rejected = 1
        direction = 1.0 if state.t_end >= state.t else -1.0
        state.h = direction * max(abs(h_new), state.min_step)
    return code


@device
def give_up(state, outcome):
    """`reject` a step that could not be computed: half its size, if that is allowed."""
    can = may_shrink(state)
    code = reject(state, outcome, 0.5 * state.h)
    if code == GO_ON and not can:
        return Status.SINGULAR if outcome == SINGULAR else Status.STEP_TOO_SMALL
    return code


@device
def begin_or_fail(state, ports, la):
    """`begin` at a start; returns GO_ON or a `Status`: no step size makes the starting point better."""
    outcome = begin(state, ports, la)
    if outcome == FINE:
        return GO_ON
    if outcome == STOPPED:
        return Status.PORT_FAILED
    return Status.SINGULAR if outcome == SINGULAR else Status.NOT_FINITE


@device
def drifted(state):
    """Whether the constraints at the end of the step are violated beyond `drift_limit`, by which factor; else 0."""
    if state.drift_limit <= 0.0:
        return 0.0
    worst = max(state.residual_p, state.residual_v) / state.drift_limit
    return worst if worst > 1.0 else 0.0
