"""Radau IIA with three stages, order 5 [1]_: coefficients and the transformation that splits Newton's system in two.

T⁻¹ A⁻¹ T = blockdiag(γ, [[α, −β], [β, α]]).

References
----------
.. [1] E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., section IV.8.
"""

import numpy as np

_r = np.sqrt(6.0)
C = np.array([(4 - _r) / 10, (4 + _r) / 10, 1.0])
A = np.array(
    [
        [(88 - 7 * _r) / 360, (296 - 169 * _r) / 1800, (-2 + 3 * _r) / 225],
        [(296 + 169 * _r) / 1800, (88 + 7 * _r) / 360, (-2 - 3 * _r) / 225],
        [(16 - _r) / 36, (16 + _r) / 36, 1 / 9],
    ]
)
A_INVERSE = np.linalg.inv(A)
GAMMA = 3 - 3 ** (1 / 3) + 3 ** (2 / 3)
ALPHA = 3 + (3 ** (1 / 3) - 3 ** (2 / 3)) / 2
BETA = (3 ** (5 / 6) + 3 ** (7 / 6)) / 2
# eigenvectors of A⁻¹, scaled as is usual so that the third row is (0.966…, 1, 0)
T = np.array(
    [
        [9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02],
        [0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779],
        [0.96604818261509293619, 1.0, 0.0],
    ]
)
T_INVERSE = np.linalg.inv(T)
#: weights of the stages in the embedded error estimate (order 3)
ERROR = np.array([-(13 + 7 * _r) / 3, (-13 + 7 * _r) / 3, -1 / 3])
