"""One contact alone: the forces of Signorini's and Coulomb's conditions in closed form, or by a search for one number.

    0 ≤ y_N ⊥ x_N ≥ 0,   y_T = −κ x_T,  κ ≥ 0,  |x_T| ≤ r = friction (x_N + preload),      y = a x + s.

A contact is open, sticks or slides. Sliding is the search for κ: with y_N = 0 eliminated, (ã + κ) x_T = c; as κ grows
x_T becomes shorter, and where r becomes larger than |x_T| it is found. `friction x_N / |x_T|` is nearly linear in κ, so
that Newton's method needs few steps.
"""

from __future__ import annotations

from dalembert.compile.kernel import device

#: steps of the search; bisection alone takes as many
STEPS = 120
#: what is added to the tangential part so that directions in which nothing moves do no harm, relative to it
TINY = 1e-15


@device
def solve_block(a, s, dim, friction, preload, x):
    """Forces x of one contact, from its block a (3 × 3 in rows, of which dim × dim count) and s (rates without them).

    a, s and x are arrays of length 9, 3 and 3. Returns whether there was a solution; x is undefined otherwise.
    """
    x[0], x[1], x[2] = 0.0, 0.0, 0.0
    if dim == 1 or friction == 0.0:
        if s[0] >= 0.0:
            return True
        x[0] = -s[0] / a[0]
        return a[0] > 0.0 and x[0] < 1e300
    if preload == 0.0:
        if s[0] >= 0.0:
            return True
    else:  # open, with the friction of the preload
        _tangential(a, s, dim, friction * preload, x)
        if s[0] + a[1] * x[1] + a[2] * x[2] >= 0.0:
            return True
    if not a[0] > 0.0:
        return False
    if dim == 2:
        return _closed_planar(a, s, friction, preload, x)
    return _closed_spatial(a, s, friction, preload, x)


@device
def _tangential(a, s, dim, radius, x):
    """Tangential forces within a disc of fixed radius, the normal force being zero."""
    x[0] = 0.0
    if dim == 2:
        x[1] = 0.0
        if abs(s[1]) >= radius * a[4]:
            x[1] = -radius if s[1] > 0.0 else radius
        else:
            x[1] = -s[1] / a[4]
        return
    _search(a[4], a[5], a[7], a[8], -s[1], -s[2], 0.0, 0.0, 0.0, 1.0, radius, x)


@device
def _closed_planar(a, s, friction, preload, x):
    """y_N = 0 and planar friction: sticking, else sliding to the side that the rate asks for."""
    schur = a[4] - a[3] * a[1] / a[0]
    c = -s[1] + a[3] * s[0] / a[0]
    if schur > TINY * a[4]:
        x[1] = c / schur
        x[0] = -(s[0] + a[1] * x[1]) / a[0]
        if x[0] >= 0.0 and abs(x[1]) <= friction * (x[0] + preload):
            return True
    for attempt in range(2):
        side = friction if (c >= 0.0) == (attempt == 0) else -friction
        pushed = a[0] + side * a[1]
        if pushed > 0.0:
            x[0] = -(s[0] + side * preload * a[1]) / pushed
            x[1] = side * (x[0] + preload)
            # sliding against the force
            if x[0] >= 0.0 and side * (s[1] + a[3] * x[0] + a[4] * x[1]) <= 0.0:
                return True
    return False


@device
def _closed_spatial(a, s, friction, preload, x):
    """y_N = 0 and friction in space."""
    i = 1.0 / a[0]
    e11, e12 = a[4] - a[3] * a[1] * i, a[5] - a[3] * a[2] * i
    e21, e22 = a[7] - a[6] * a[1] * i, a[8] - a[6] * a[2] * i
    c1, c2 = -s[1] + a[3] * s[0] * i, -s[2] + a[6] * s[0] * i
    done = _search(e11, e12, e21, e22, c1, c2, -s[0] * i, -a[1] * i, -a[2] * i, friction, friction * preload, x)
    return done and x[0] >= 0.0


@device
def _search(e11, e12, e21, e22, c1, c2, n, n1, n2, friction, offset, x):
    """Solve (e + κ) x_T = c for the smallest κ ≥ 0 that is found with |x_T| ≤ r, equal where κ > 0.

    Normal force x_N = n + n1 x_1 + n2 x_2 and r = friction x_N + offset. Returns whether there is one.
    """
    trace = abs(e11) + abs(e22)
    if c1 == 0.0 and c2 == 0.0:
        x[0], x[1], x[2] = n, 0.0, 0.0
        return friction * n + offset >= 0.0
    low, high, k = 0.0, 1e300, TINY * trace
    if not trace > 0.0:  # nothing moves: |c| / κ = r
        k = 1.0
    first = True
    for _ in range(STEPS):
        d11, d22 = e11 + k, e22 + k
        det = d11 * d22 - e12 * e21
        if det > 0.0:
            inverse = 1.0 / det
            x1, x2 = (d22 * c1 - e12 * c2) * inverse, (d11 * c2 - e21 * c1) * inverse
            length = (x1 * x1 + x2 * x2) ** 0.5
            x0 = n + n1 * x1 + n2 * x2
            r = friction * x0 + offset
            h = r / length - 1.0
        else:  # rounding of a singular block
            x1, x2, length, x0, r, h, inverse = 0.0, 0.0, 1.0, n, 0.0, -1.0, 0.0
        if h >= 0.0 and first and trace > 0.0:  # sticks
            x[0], x[1], x[2] = x0, x1, x2
            return True
        first = False
        if h >= 0.0:
            high = k
        else:
            low = k
        if abs(h) <= 4e-16 or high - low <= 4e-16 * (high + trace):
            break
        step = 0.0
        if inverse > 0.0:
            g1, g2 = -(d22 * x1 - e12 * x2) * inverse, -(d11 * x2 - e21 * x1) * inverse
            slope = (friction * (n1 * g1 + n2 * g2) - r * (x1 * g1 + x2 * g2) / (length * length)) / length
            step = -h / slope if slope > 0.0 else 0.0
        proposal = k + step
        if step == 0.0 or not low < proposal < high:
            proposal = 0.5 * (low + high) if high < 1e299 else 4.0 * low + trace + 1e-300
        if proposal == k:
            break
        k = proposal
        if k > 1e250:
            return False
    if not ((length > 0.0 and r >= 0.0 and high < 1e299) or abs(h) <= 1e-12):
        return False
    shrink = r / length  # exactly on the border
    x[0], x[1], x[2] = x0, x1 * shrink, x2 * shrink
    return True
