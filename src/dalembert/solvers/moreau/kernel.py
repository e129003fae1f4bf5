"""The kernel: a step of Moreau and Jean's method for models of moderate size, and the loop over steps."""

from dalembert.compile.kernel import device, inlined, kernel
from dalembert.compile.memory import reference
from dalembert.solvers.buffer import buffer_type
from dalembert.solvers.events import scan_type
from dalembert.solvers.limits import UNIT
from dalembert.solvers.moreau.collide import collisions_at
from dalembert.solvers.moreau.rows import push_apart, solve_contacts
from dalembert.solvers.moreau.smooth import FINE, arrive, free_motion, move, project, set_polynomial
from dalembert.solvers.moreau.state import LAYOUT
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.ports import ports_type
from dalembert.solvers.records import i8
from dalembert.solvers.shell import (
    commit,
    fail,
    keep_polynomial,
    limit_step,
    look_for_events,
    open_step,
    set_weights,
    step_too_small,
    why_to_return,
)
from dalembert.solvers.status import GO_ON, Status


@inlined
def lacks_room(state):
    """Whether there are more contacts than the record of collisions holds."""
    return state.collisions != 0 and collisions_at(state.collisions).full == 1


@device
def attempt_with_rows(state, ports):
    """A step up to `next`. Returns an outcome."""
    outcome = free_motion(state, ports)
    if outcome == FINE:
        outcome = solve_contacts(state, ports)
    if lacks_room(state):
        return outcome
    if outcome == FINE:
        outcome = move(state, ports)
    if outcome == FINE and state.project == 1:
        enter(state, Phase.PROJECTION)
        if state.n_closed > 0:
            outcome = push_apart(state, ports)
        if outcome == FINE and state.n_b > 0:  # joints last: they hold exactly
            outcome = project(state, ports)
        enter(state, Phase.STAGES)
    return outcome


def take_steps(name, attempt):
    """A kernel of a device function: ``attempt(state, ports)`` leads from `x` to `next` and returns an outcome."""

    @kernel(i8(reference(LAYOUT), ports_type, buffer_type, scan_type), name=name)
    def run(states, ports, buffer, scan):
        """Take steps until the end, a full buffer, an event or a failure. Returns a `Status`."""
        state = states[0]
        if state.first == 1:
            set_weights(state)
            state.first = 0
        while True:
            code = why_to_return(state, buffer)
            if code != GO_ON:
                return code
            if step_too_small(state, 0.1, UNIT):
                return Status.SINGULAR if state.singular_failures > 0 else Status.STEP_TOO_SMALL
            open_step(state, 0)
            outcome = attempt(state, ports)
            if lacks_room(state):
                return Status.BUFFER_FULL
            if outcome == FINE:
                set_polynomial(state, state.n_closed > 0)
                outcome = arrive(state, ports)
            if outcome != FINE:
                code = fail(state, outcome)
                if code != GO_ON:
                    return code
                state.h *= 0.5
                continue
            keep_polynomial(state, buffer)
            commit(state, state.h, buffer)
            code = look_for_events(state, ports, scan)
            if state.t != state.t_end:
                limit_step(state, state.step)
            if code != GO_ON:
                return code

    return run


moreau_jean = take_steps("moreau_jean", attempt_with_rows)
