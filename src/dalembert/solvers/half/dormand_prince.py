"""The pair of Dormand and Prince [1]_, on which half-explicit methods are built.

References
----------
.. [1] J.R. Dormand, P.J. Prince, "A family of embedded Runge-Kutta formulae", J. Comput. Appl. Math. 6, 1980.
"""

#: times and rows of the six stages
TIMES = (0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1)
ROWS = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
)
FIFTH = (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
#: of order 4, with the new point as seventh stage
FOURTH = (5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40)
ESTIMATE = tuple(b - a for b, a in zip((*FIFTH, 0), FOURTH, strict=True))
