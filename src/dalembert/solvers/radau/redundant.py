"""Multipliers that redundant constraints leave undetermined: the smallest, at the stages of a step and between them.

Newton's method changes multipliers by the smallest increments, so what the prediction brings along would stay, and grow
from step to step. And of redundant constraints it takes as many combinations as are independent, those of the Jacobian
that it has. Where the dependence between constraints turns, these see less and less of what the constraints say. So
multipliers are solved for once more, at every stage with the Jacobian there.
"""

import numpy as np

from dalembert.compile.kernel import call3, device
from dalembert.compile.memory import mat, vec
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.ports import evaluate
from dalembert.solvers.radau.newton import decompose_jacobian, evaluate_jacobian, note_failure
from dalembert.solvers.radau.stages import set_stage
from dalembert.solvers.radau.tableau import C
from dalembert.solvers.records import i8
from dalembert.solvers.shell import FINE
from dalembert.solvers.status import Count, Outcome

#: what `settle` of a linear algebra answers: the decomposed Jacobian sees too little of the constraints at this point;
#: it sees nearly all; they have turned, but it sees enough
BLIND, SEEN, TURNED = 0, 1, 2
#: a step in which constraints turn too far is shortened by this factor
TURNED_SHRINK = 0.5
#: where the polynomial of a step is compared with multipliers: it is farthest from them about here
BETWEEN = 0.85
#: of the next step beside that with which the polynomial would just be good enough, and the least of this one
SAFETY, LEAST = 0.9, 0.2


def _weights() -> tuple[float, ...]:
    """Of the stages in the polynomial through them and the start of the step, at `BETWEEN`."""
    nodes = (0.0, *C)
    return tuple(float(np.prod([(BETWEEN - other) / (node - other) for other in nodes if other != node])) for node in C)


W1, W2, W3 = _weights()


@device
def settle_at(la, ports, state, t):
    """Settle multipliers of the point in `stage`. Returns an outcome, and the answer of `settle`."""
    outcome = i8(evaluate(ports.residual, ports, t, vec(state.stage, 2 * state.n), mat(state.F, 3, state.m)[0]))
    add(state, Count.RHS, 1)
    if outcome == FINE:
        outcome = i8(evaluate_jacobian(la, ports, state, t))
    if outcome != FINE:
        return outcome, i8(BLIND)
    return outcome, i8(call3(la.settle, la.own, state.F, state.stage))


@device
def error_between(la, ports, state):
    """Of the multipliers in the polynomial of the step, weighted. Where functions cannot be evaluated it is not known,
    and 0."""
    n = state.n
    x, Z, scale = vec(state.x, n), mat(state.Z, n, 3), vec(state.scale, n)
    t = set_stage(state, 2) - (1.0 - BETWEEN) * state.h  # its rates do not matter
    stage = vec(state.stage, 2 * n)
    for i in range(n):
        stage[i] = x[i] + W1 * Z[i, 0] + W2 * Z[i, 1] + W3 * Z[i, 2]
    outcome, answer = settle_at(la, ports, state, t)
    if outcome != FINE or answer == BLIND:
        return 0.0
    total = 0.0
    for i in range(n):
        e = (stage[i] - (x[i] + W1 * Z[i, 0] + W2 * Z[i, 1] + W3 * Z[i, 2])) * scale[i]
        total += e * e
    return np.sqrt(total / n)


@device
def settle_multipliers(la, ports, state):
    """At all stages. Leaves the Jacobian of the end of the step decomposed.

    Returns an outcome, and the largest step that multipliers allow. SLOW: combinations of constraints are blind to what
    one of them says at a stage. INACCURATE: where constraints turn, the smallest multipliers change more quickly than
    the motion, and the polynomial of the step is too far from them.
    """
    n, turned = state.n, False
    x, Z, stage = vec(state.x, n), mat(state.Z, n, 3), vec(state.stage, 2 * n)
    state.jacobian_is_here = 0
    for k in range(3):
        outcome, answer = settle_at(la, ports, state, set_stage(state, k))
        if outcome != FINE:
            return outcome, 0.0
        if answer == BLIND:
            note_failure(state, abs(state.h))
            state.h *= TURNED_SHRINK
            return i8(Outcome.SLOW), 0.0
        turned = turned or answer == TURNED
        for i in range(n):
            Z[i, k] = stage[i] - x[i]
    allowed = np.inf
    if turned:
        error = error_between(la, ports, state)
        if error > 0.0:
            allowed = abs(state.h) * max(LEAST, SAFETY * error**-0.25)
        if error > 1.0:
            return i8(Outcome.INACCURATE), allowed
        outcome = i8(evaluate_jacobian(la, ports, state, set_stage(state, 2)))
        if outcome != FINE:
            return outcome, 0.0
    return i8(decompose_jacobian(la, state)), allowed
