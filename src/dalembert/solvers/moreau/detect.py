"""Contacts of colliding bodies at a point: places, broad phase if it is due, narrow phase."""

from dalembert.compile.kernel import device, kernel
from dalembert.compile.memory import reference
from dalembert.solvers.moreau.bodies import place_bodies
from dalembert.solvers.moreau.broad import find_pairs, moved_too_far
from dalembert.solvers.moreau.collide import COLLISIONS
from dalembert.solvers.moreau.narrow import find_contacts
from dalembert.solvers.moreau.smooth import FINE
from dalembert.solvers.records import i8, vector


@device
def detect(own, point):
    """Contacts that are closed at the positions in `point`; `full` is set if there is no room. Returns an outcome."""
    outcome = place_bodies(own, point)
    if outcome != FINE:
        return outcome
    if own.valid == 0 or moved_too_far(own):
        find_pairs(own)
    find_contacts(own)
    if own.full == 1:
        own.valid = 0
    return FINE


@kernel(i8(reference(COLLISIONS), vector))
def look(records, point):
    """Contacts at a point, for those who ask from Python. Returns an outcome."""
    return detect(records[0], point)
