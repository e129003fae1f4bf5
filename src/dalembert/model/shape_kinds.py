"""Numbers of the kinds of shapes that collide, for kernels and for those who prepare their records."""

#: in the order in which the narrow phase takes them
SPHERE, CAPSULE, BOX, HALF_SPACE = range(4)
