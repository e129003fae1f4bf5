"""Numbers of the elementary motions, which kernels know as well: nothing else may stand here, or they compile anew."""

#: about an axis, along it, both at once, about a point (Euler parameters), six degrees of freedom
REVOLUTE, PRISMATIC, SCREW, SPHERICAL, FREE = range(5)
