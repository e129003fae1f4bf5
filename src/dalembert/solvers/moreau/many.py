"""The kernel for many colliding bodies that nothing else holds: steps whose cost is that of their contacts."""

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, vec
from dalembert.solvers.moreau.bodies import (
    iterate_over_bodies,
    measure,
    move_apart,
    read_velocities,
    set_contacts,
    shift_bodies,
    start_with_old_impulses,
    turn_inertia,
    write_velocities,
)
from dalembert.solvers.moreau.collide import collisions_at
from dalembert.solvers.moreau.detect import detect
from dalembert.solvers.moreau.kernel import take_steps
from dalembert.solvers.moreau.narrow import keep_impulses
from dalembert.solvers.moreau.smooth import FINE, free_motion, move, predict
from dalembert.solvers.moreau.state import CLOSED, CONTACTS, N_OWN_COUNTS
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.status import N_COUNTS


@device
def largest_change(own, change):
    """Of the velocity of a centre of mass."""
    at, largest, dim = ivec(own.v_at, own.n_bodies), 0.0, 3 - own.planar
    for b in range(own.n_bodies):
        for k in range(dim):
            largest = max(largest, abs(change[at[b] + k]))
    return largest


@device
def attempt(state, ports):
    """A step up to `next`. Returns an outcome."""
    own, n_p, n_v = collisions_at(state.collisions), state.n_p, state.n_v
    outcome = free_motion(state, ports)
    if outcome != FINE:
        return outcome
    predict(state, 0.5)
    outcome = detect(own, vec(state.middle, state.n))
    if outcome != FINE or own.full == 1:
        return outcome
    v, change = vec(state.x, state.n)[n_p : n_p + n_v], vec(state.change, n_v)
    nothing = vec(state.solved, n_v)
    for i in range(n_v):
        nothing[i] = 0.0
    turn_inertia(own)
    read_velocities(own, v, nothing)
    set_contacts(own)
    own.slack = 0.5 * abs(state.h) * largest_change(own, change)
    state.n_closed = own.n_contacts
    read_velocities(own, v, change)
    measure(own)
    start_with_old_impulses(own)
    iterate_over_bodies(state, own)
    write_velocities(own, v, change)
    keep_impulses(own)
    count = ivec(state.count, N_COUNTS + N_OWN_COUNTS)
    count[CONTACTS] += own.n_contacts
    count[CLOSED] = own.n_contacts
    outcome = move(state, ports)
    if outcome != FINE:
        return outcome
    enter(state, Phase.PROJECTION)
    moved = state.project == 1 and move_apart(state, own)
    shift_bodies(own, vec(state.next, state.n), moved)
    enter(state, Phase.STAGES)
    return FINE


moreau_jean_of_bodies = take_steps("moreau_jean_of_bodies", attempt)
