"""Numbers that kernels and generated integrators have in common. Loading them takes no time: no kernel is made here."""

from __future__ import annotations

import math

#: rounding unit
UNIT = 2.0**-52

# -- steps -------------------------------------------------------------------------------------------------------------

#: step sizes below this overflow in iteration matrices
SMALLEST = 1e-140
#: a way of so many units in the last place of the time is none
NO_WAY = 64
#: a step that would leave less than a ten-thousandth of itself to the end leads to the end
NEARLY_THERE = 1.0001
#: steps of half-explicit methods of which a tenth is lost in the rounding of t are too small
SMALLEST_PART = 0.1

# Failures in a row, each with a shorter step, after which no step size is expected to help. Steps that succeed in the
# end do so after a few (IDA allows ten); at t = 0, however, where every step size can be resolved, a method would go
# on for hundreds.
MOST_ERROR_FAILURES = 100
MOST_CONVERGENCE_FAILURES = 100
MOST_EVALUATION_FAILURES = 100
MOST_SINGULAR_FAILURES = 6

#: by so many tolerances integrals of a step's cubics may be off if the estimate is `blind`: more than those of smooth
#: solutions are, less than after a jump that no stage has seen
FARTHEST = 500.0

# -- dense output of one-step methods ----------------------------------------------------------------------------------

N_COEFFICIENTS = 6
#: the inner point in s = (t − t_new)/h: there the derivative of s²(1 + s)² is largest
INNER = -(3.0 - math.sqrt(3.0)) / 6.0
SLOPE = 2.0 * INNER * (1.0 + INNER) * (1.0 + 2.0 * INNER)
#: of differences of positions in what makes quartics of velocities: two roundings
NOISE = 60.0 * 2.3e-16
#: differences of positions, and of what else is integrated, below this part of them are not counted
ROUNDING = 10.0 * UNIT

# -- events ------------------------------------------------------------------------------------------------------------

#: where in the first interval of a step one more sample is: it tells where functions are going
EARLY = 1.0 / 64.0
#: of the search for a root; after how many of them the interval shall be half as long
ROOT_ITERATIONS, SLOW_ITERATIONS = 200, 3
#: an interval of a step, as a part of it, that cannot be divided further
POINT = 4e-16
#: iterations of the search for a lowest point, the golden section, and the least interval that is worth a search
DESCENTS, GOLDEN, NARROW = 60, 0.3819660112501051, 1e-12

# -- start values ------------------------------------------------------------------------------------------------------

#: an equation holds if its residual is at most so many units of rounding of its terms; as in regularize.newton
ROUNDINGS = 8.0
#: and nearly, if it is at most so many: where residuals no longer become smaller, they are as small as rounding lets
#: them be
NEARLY = 256.0
#: iterations; Python is more patient
CORRECTIONS = 12
#: a row that is nearer to the span of others, as a fraction of its length, may depend on them
INDEPENDENT = 1e-7
#: a relative change beyond this is worth a warning; as in regularize.initial
NOTEWORTHY = 1e-3
