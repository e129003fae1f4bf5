"""What stands where: the row of a body, the rows in which recursions work, and the record that leads to them."""

from __future__ import annotations

from dalembert.compile.memory import layout, member

#: Row of a body: rotation and offset of the joint's frame; mass m, m·c, and inertia about the origin of the body's
#: frame; pitch, damping, stiffness and rest of joints with one degree of freedom; whole numbers. SUM is the number of
#: its row of sums, where children add what does not go from body to body in registers (−1: it has none), MORE that of
#: its row for joints with several degrees of freedom.
ROTATION, OFFSET, MASS, LEVER, INERTIA, PITCH, DAMPING, STIFFNESS, REST = 0, 9, 12, 13, 16, 22, 23, 24, 25
PARENT, KIND, Q_AT, V_AT, SUM, MORE = 26, 27, 28, 29, 30, 31
ROW = 32

#: Row to work in: pose on the parent, E from the child's axes to the parent's and r to its origin; velocity; further
#: numbers of the recursion (force, or articulated inertia along the joint); acceleration.
POSE_E, POSE_R, SPIN, SPEED, FORCE, INVERSE, DRIVE, ACCELERATION = 0, 9, 12, 15, 18, 24, 25, 26
WORK = 32

#: rows for matrices: of a body, of a degree of freedom (`matrices`)
MATRIX_WORK, DOF = 56, 24

#: Row of a loop: frames a and b on their bodies (rotation, offset); kind, path (bodies to a, then to b), first
#: equation, first entries of its Jacobians by p and by v, and the last body that both sides share (−1: the ground)
FRAME_A, FRAME_B, LOOP_KIND, PATH_A, PATH_B, PATH_END, EQUATION, ENTRY_P, ENTRY_V, SHARED = (
    0, 12, 24, 25, 26, 27, 28, 29, 30, 31,
)  # fmt: skip
LOOP = 32

#: What `report` writes of a body, in world axes: origin, rotation, velocity of the origin, ω, acceleration of the
#: origin, ω', and force and moment that the joint transmits to the body, about its origin.
BODY_POSITION, BODY_ROTATION, BODY_VELOCITY, BODY_SPIN, BODY_ACCELERATION, BODY_SPIN_RATE, BODY_FORCE, BODY_MOMENT = (
    0, 3, 12, 15, 18, 21, 24, 27,
)  # fmt: skip
BODY_REPORT = 30
#: and behind all bodies: kinetic and potential energy, linear and angular momentum (about the world's origin)
KINETIC, POTENTIAL, LINEAR, ANGULAR, TOTALS = 0, 1, 2, 5, 8

TREE = layout(
    arrays=(
        "rows", "slots", "work",
        # `multibody.pattern.BranchPattern`
        "rows_v", "starts_v", "rows_q", "starts_q", "walk_at", "lower", "upper", "shift_q", "met",
        # whole trees, and to which of them columns belong
        "tree_dofs", "tree_starts", "tree_of_q", "tree_of_v", "tree_of_load",
        # where loads act, and the derivative by them
        "applied_velocities", "applied_bodies", "rows_load", "starts_load",
        "loops", "loop_path",
    ),
    reals=("gx", "gy", "gz"),
    wholes=(
        "n", "n_q", "n_v", "n_sums", "n_more",
        "slot_words",  # of the memory of one slot
        "loads_at", "factors_at",  # where forces of users stand in the memory of a slot, and factors of the mass matrix
        "n_applied_velocities", "n_applied_bodies", "n_loops",
        "failed",  # the joint without inertia
        "entries_q", "entries_v", "pairs",  # entries of derivatives by q, of square matrices, of one half of them
    ),
)  # fmt: skip
tree_at = member(TREE)
