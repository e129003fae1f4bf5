"""Radau IIA with three stages, order 5 [1]_: coefficients and the transformation that splits Newton's system in two.

T⁻¹ A⁻¹ T = blockdiag(γ, [[α, −β], [β, α]]).

References
----------
.. [1] E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., section IV.8.
"""

import numpy as np

_r = np.sqrt(6.0)
_C = np.array([(4 - _r) / 10, (4 + _r) / 10, 1.0])
_A = np.array(
    [
        [(88 - 7 * _r) / 360, (296 - 169 * _r) / 1800, (-2 + 3 * _r) / 225],
        [(296 + 169 * _r) / 1800, (88 + 7 * _r) / 360, (-2 - 3 * _r) / 225],
        [(16 - _r) / 36, (16 + _r) / 36, 1 / 9],
    ]
)
GAMMA = 3 - 3 ** (1 / 3) + 3 ** (2 / 3)
ALPHA = 3 + (3 ** (1 / 3) - 3 ** (2 / 3)) / 2
BETA = (3 ** (5 / 6) + 3 ** (7 / 6)) / 2
# eigenvectors of A⁻¹, scaled as is usual so that the third row is (0.966…, 1, 0)
_T = np.array(
    [
        [9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02],
        [0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779],
        [0.96604818261509293619, 1.0, 0.0],
    ]
)


def _numbers(matrix: np.ndarray) -> tuple:
    """Plain numbers, which become part of the kernels' code."""
    return tuple(tuple(float(v) for v in row) for row in matrix)


C = tuple(float(c) for c in _C)
AI = _numbers(np.linalg.inv(_A))  # A⁻¹
TM, TI = _numbers(_T), _numbers(np.linalg.inv(_T))  # T, T⁻¹
#: weights of the stages in the embedded error estimate (order 3)
ERR = (float(-(13 + 7 * _r) / 3), float((-13 + 7 * _r) / 3), -1 / 3)
