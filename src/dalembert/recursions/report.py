"""What results are asked for: poses, velocities, accelerations and joint forces of all bodies, energies, momentum."""

from __future__ import annotations

from dalembert.compile.kernel import kernel
from dalembert.multibody.moves import FREE, SPHERICAL
from dalembert.recursions.algebra import (
    add,
    cross,
    dot,
    load3,
    load6,
    load9,
    momentum,
    scale,
    store3,
    store9,
    times,
    turn,
)
from dalembert.recursions.entries import SIGNATURE
from dalembert.recursions.loads import place_loads, subtract_torques, wrenches_of
from dalembert.recursions.loops import closure_wrenches
from dalembert.recursions.newton_euler import joint_forces, motions_and_forces
from dalembert.recursions.rows import (
    ACCELERATION,
    ANGULAR,
    BODY_ACCELERATION,
    BODY_FORCE,
    BODY_MOMENT,
    BODY_POSITION,
    BODY_REPORT,
    BODY_ROTATION,
    BODY_SPIN,
    BODY_SPIN_RATE,
    BODY_VELOCITY,
    FORCE,
    INERTIA,
    KIND,
    KINETIC,
    LEVER,
    LINEAR,
    MASS,
    PARENT,
    POSE_E,
    POSE_R,
    POTENTIAL,
    Q_AT,
    REST,
    ROW,
    SPEED,
    SPIN,
    STIFFNESS,
    TOTALS,
    WORK,
    tree_at,
)
from dalembert.recursions.words import give_slot, put, real, skip, sweep, take_slot, whole

ZERO3 = (0.0, 0.0, 0.0)
ONE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@sweep
def world_report(n, rows, work, q, gx, gy, gz, out):
    """From the ground up: what the recursion found, in world axes; then sums over all bodies."""
    gravity = (gx, gy, gz)
    kinetic, potential, linear, angular = 0.0, 0.0, ZERO3, ZERO3
    for i in range(n):
        row, own, to = skip(rows, i * ROW), skip(work, i * WORK), skip(out, i * BODY_REPORT)
        parent, kind = whole(row, PARENT), whole(row, KIND)
        R, x = ONE, ZERO3
        if parent >= 0:
            above = skip(out, parent * BODY_REPORT)
            R, x = load9(above, BODY_ROTATION), load3(above, BODY_POSITION)
        x, R = add(x, turn(R, load3(own, POSE_R))), times(R, load9(own, POSE_E))
        w, u = load3(own, SPIN), load3(own, SPEED)
        store3(to, BODY_POSITION, x)
        store9(to, BODY_ROTATION, R)
        store3(to, BODY_VELOCITY, turn(R, u))
        store3(to, BODY_SPIN, turn(R, w))
        # the recursion counts accelerations from a ground that is accelerated against gravity
        store3(to, BODY_ACCELERATION, add(gravity, turn(R, add(load3(own, ACCELERATION + 3), cross(w, u)))))
        store3(to, BODY_SPIN_RATE, turn(R, load3(own, ACCELERATION)))
        store3(to, BODY_MOMENT, turn(R, load3(own, FORCE)))
        store3(to, BODY_FORCE, turn(R, load3(own, FORCE + 3)))
        mass, lever = real(row, MASS), load3(row, LEVER)
        h, p = momentum(mass, lever, load6(row, INERTIA), w, u)
        kinetic += 0.5 * (dot(w, h) + dot(u, p))
        potential -= dot(gravity, add(scale(mass, x), turn(R, lever)))
        h, p = turn(R, h), turn(R, p)
        linear, angular = add(linear, p), add(angular, add(h, cross(x, p)))
        if kind not in (SPHERICAL, FREE):
            stretch = real(q, whole(row, Q_AT)) - real(row, REST)
            potential += 0.5 * real(row, STIFFNESS) * stretch * stretch
    to = skip(out, n * BODY_REPORT)
    put(to, KINETIC, kinetic)
    put(to, POTENTIAL, potential)
    store3(to, LINEAR, linear)
    store3(to, ANGULAR, angular)


@kernel(SIGNATURE)
def report(t, x, theta, out, record):
    """Everything at (p, v, a), loads, and multipliers λ of the loops.

    Behind bodies and totals (see `rows`) stands what is missing along the velocities, M a − f + Gᵀ λ.
    """
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    start, v = skip(tree.work, slot * tree.slot_words), skip(x, tree.n_q)
    a = skip(v, tree.n_v)
    applied = skip(a, tree.n_v)
    missing = skip(out, tree.n * BODY_REPORT + TOTALS)
    place_loads(tree, start, applied)
    wrenches = wrenches_of(tree, start)
    if tree.n_loops:
        if not tree.n_applied_bodies:
            for k in range(6 * tree.n):
                put(wrenches, k, 0.0)
        lam = skip(applied, tree.n_applied_velocities + 6 * tree.n_applied_bodies)
        closure_wrenches(tree, start, x, lam, wrenches)
    motions_and_forces(
        tree.n, tree.rows, start, x, v, a, True, tree.gx, tree.gy, tree.gz, wrenches,
        tree.n_applied_bodies + tree.n_loops != 0, True,
    )  # fmt: skip
    joint_forces(tree.n, tree.rows, start, x, v, 1.0, missing)
    subtract_torques(tree, applied, 1.0, missing)
    world_report(tree.n, tree.rows, start, x, tree.gx, tree.gy, tree.gz, out)
    give_slot(tree.slots, slot, tree.n)
    return 0
