"""One contact with Coulomb's friction, solved exactly: the innermost part of Gauss and Seidel's iteration.

With y = A p + q, of which the first component is normal and one or two others are tangential,

    0 ≤ y_N ⊥ p_N ≥ 0,    |p_T| ≤ μ p_N,    y_T = 0 inside the cone,    y_T opposite to p_T on its border.
"""

import numpy as np

from dalembert.compile.kernel import device, inlined

#: turns of the search for the direction of sliding, and what is left of its residual, relative to the impulse
MOST_TURNS, NEARLY_ZERO = 150, 1e-13


@inlined
def solve_normal(a, q):
    """Without friction."""
    return -q / a if q < 0.0 else 0.0


@device
def solve_planar(a00, a01, a10, a11, q0, q1, mu):
    """(p_N, p_T) of a contact in the plane; friction has one direction there."""
    if q0 >= 0.0:
        return 0.0, 0.0
    det = a00 * a11 - a01 * a10
    if det > 0.0:
        normal, along = (a01 * q1 - a11 * q0) / det, (a10 * q0 - a00 * q1) / det
        if normal >= 0.0 and abs(along) <= mu * normal:
            return normal, along
    for side in range(2):  # forwards or backwards: rather as the contact would slide without friction
        sign = 1.0 if (q1 > 0.0) == (side == 0) else -1.0
        effective = a00 - sign * mu * a01
        if effective > 0.0:
            normal = -q0 / effective
            if sign * (q1 + (a10 - sign * mu * a11) * normal) >= 0.0:
                return normal, -sign * mu * normal
    # no mode fits, as where rods jam: what comes nearest
    normal = max(-q0 / a00, 0.0)
    return normal, -mu * normal if q1 > 0.0 else mu * normal


@device
def solve_spatial(a00, a01, a02, a10, a11, a12, a20, a21, a22, q0, q1, q2, mu):
    """(p_N, p_T1, p_T2) of a contact in space.

    Normal velocity zero leaves ŷ = Â p_T + q̂. A contact that slides has Â p_T + q̂ = −α p_T with α > 0 so that
    |p_T| = μ p_N: one equation for α, monotonous but for coupling.
    """
    if q0 >= 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0:
        return -q0 / a00, 0.0, 0.0
    b11, b12 = a11 - a10 * a01 / a00, a12 - a10 * a02 / a00
    b21, b22 = a21 - a20 * a01 / a00, a22 - a20 * a02 / a00
    c1, c2 = q1 - a10 * q0 / a00, q2 - a20 * q0 / a00
    size = 0.5 * (b11 + b22)
    low, high, alpha = 0.0, np.inf, 0.0
    x, y, normal = 0.0, 0.0, 0.0
    for turn in range(MOST_TURNS):
        d11, d22 = b11 + alpha, b22 + alpha
        det = d11 * d22 - b12 * b21
        if det <= 0.0:  # no stiffness along a tangent: farther into the sliding ones
            low, alpha = alpha, max(2.0 * alpha, 1e-8 * abs(size) + 1e-300)
            continue
        x, y = (b12 * c2 - d22 * c1) / det, (b21 * c1 - d11 * c2) / det
        normal = -(q0 + a01 * x + a02 * y) / a00
        length = np.sqrt(x * x + y * y)
        excess = length - mu * normal
        if alpha == 0.0 and excess <= 0.0:
            return normal, x, y  # it sticks
        if abs(excess) <= NEARLY_ZERO * (length + mu * abs(normal)):
            break
        if excess > 0.0:
            low = alpha
        else:
            high = alpha
        if high < np.inf and high - low <= 1e-15 * high:
            break
        # a fixed point of length/(μ normal) = 1, exact where tangents are equal and do not couple; every third turn
        # halves the interval, as the other steps may shorten it from one side only
        step = alpha + (length / (mu * normal) - 1.0) * (size + alpha) if normal > 0.0 else np.inf
        if not low < step < high or turn % 3 == 2:
            step = 0.5 * (low + high) if high < np.inf else 4.0 * alpha + size
        alpha = step
    normal = max(normal, 0.0)
    length = np.sqrt(x * x + y * y)
    factor = mu * normal / length if length > 0.0 else 0.0
    return normal, factor * x, factor * y
