"""The selectors of GEOMS: which combinations S of the differential equations are integrated.

S is the null space's own transpose, computed anew with every Jacobian ("every"), or the rows of the independent
coordinates, kept while the pivots stay ("adaptive"). Where no equation belongs to an unknown, it is a basis of the
range of E X ("image").
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, mat
from dalembert.linalg.factors import lu
from dalembert.linalg.factors.blocks import SVD, block_at
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.radau.constraints import constraint_at
from dalembert.solvers.status import Count

EVERY, ADAPTIVE, IMAGE = 0, 1, 2


@device
def transposed_selectors(la):
    """S = the null-space bases themselves, transposed; free multipliers select along the constraint forces."""
    S = mat(la.S, la.n_most, la.n_d)
    multiplier, element = ivec(la.multiplier_of_free, la.n_free), ivec(la.element_of_free, la.n_free)
    for row in range(la.n_f):
        for k in range(la.n_d):
            S[row, k] = 0.0
        if row < la.n_free and element[row] >= 0:
            S[row, element[row]] = 1.0
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        K, equation = mat(block_at(own.block).K, own.n_unknowns, own.n_unknowns), ivec(own.own, own.n_unknowns)
        for j in range(own.n_unknowns):
            if equation[j] >= 0:
                for c in range(own.null):
                    S[own.first + c, equation[j]] = K[j, c]
        if own.directs == 1:
            G = mat(la.G, own.n_rows, own.n_unknowns)
            for row in range(la.n_free):
                if multiplier[row] >= 0:
                    for j in range(own.n_unknowns):
                        S[row, equation[j]] = G[multiplier[row], j]
        at = own.next


@device
def unit_selectors(la):
    """S = rows of the independent coordinates. Returns whether there are such (LU, QR; contact points dependent)."""
    if la.algebraic == SVD:
        return False
    S, element = mat(la.S, la.n_most, la.n_d), ivec(la.element_of_free, la.n_free)
    for row in range(la.n_f):
        for k in range(la.n_d):
            S[row, k] = 0.0
        if row < la.n_free:
            if element[row] < 0:
                return False
            S[row, element[row]] = 1.0
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        block = block_at(own.block)
        column, equation = ivec(block.column, own.n_unknowns), ivec(own.own, own.n_unknowns)
        for c in range(own.null):
            k = equation[column[block.rank + c]]
            if k < 0:
                return False
            S[own.first + c, k] = 1.0
        at = own.next
    return True


@device
def remove_projections(la, row, T):
    """S[row] orthogonal to the rows before it, by Gram and Schmidt, twice; T[:, row] follows."""
    S = mat(la.S, la.n_most, la.n_d)
    for _ in range(2):
        for other in range(row):
            along = 0.0
            for k in range(la.n_d):
                along += S[other, k] * S[row, k]
            for k in range(la.n_d):
                S[row, k] -= along * S[other, k]
                T[k, row] -= along * T[k, other]


@device
def size_of(v):
    total = 0.0
    for k in range(v.size):
        total += v[k] * v[k]
    return np.sqrt(total)


@device
def image_selectors(la):
    """S = an orthonormal basis of the range of E X, transposed: for equations that belong to no unknown in particular.

    A direction x in the span of X with E x = 0 is one of unknowns of index 2, multipliers without the constraints that
    determine them: equations are selected along J x, the forces that they are. T holds J x for the x of each row of S.
    If J x depends on the others as well a row of zeros is left, and all of S (σ E − J) X singular.
    """
    S, EX, JX = mat(la.S, la.n_most, la.n_d), mat(la.EX, la.n_d, la.n_most), mat(la.JX, la.n_d, la.n_most)
    T = mat(la.many, la.n_rows, la.n_most)
    for row in range(la.n_f):
        for k in range(la.n_d):
            S[row, k], T[k, row] = EX[k, row], JX[k, row]
        size = size_of(S[row])
        remove_projections(la, row, T)
        left = size_of(S[row])
        moves = left > la.threshold * size
        if not moves:
            for k in range(la.n_d):
                S[row, k], T[k, row] = T[k, row], 0.0
            size = size_of(S[row])
            remove_projections(la, row, T)
            left = size_of(S[row])
        factor = 1.0 / left if left > la.threshold * size else 0.0
        for k in range(la.n_d):
            S[row, k] *= factor
            T[k, row] *= factor if moves else 0.0


@device
def remember_pivots(block, kept):
    """Note which variables are dependent; returns whether others were before."""
    column, changed = ivec(block.column, block.columns), False
    for place in range(block.columns):
        now = 1 if place < block.rank else 0
        if kept[column[place]] != now:
            kept[column[place]] = now
            changed = True
    return changed


@device
def select(la, source, out):
    """out = S source; S has many zeros."""
    S = mat(la.S, la.n_most, la.n_d)
    for i in range(la.n_f):
        for j in range(la.n_f):
            out[i, j] = 0.0
        for k in range(la.n_d):
            s = S[i, k]
            if s != 0.0:
                for j in range(la.n_f):
                    out[i, j] += s * source[k, j]


@device
def well_conditioned(la):
    """Whether S E X can be inverted safely: smallest pivot of its equilibrated rows."""
    SEX, real = mat(la.SEX, la.n_most, la.n_most), mat(la.real, la.n_most, la.n_most)
    for i in range(la.n_f):
        largest = 0.0
        for j in range(la.n_f):
            largest = max(largest, abs(SEX[i, j]))
        if largest == 0.0:
            return False
        for j in range(la.n_f):
            real[i, j] = SEX[i, j] / largest
    if lu.factor(real, ivec(la.real_pivots, la.n_most), la.n_f) != 0:
        return False
    smallest = 1.0
    for i in range(la.n_f):
        smallest = min(smallest, abs(real[i, i]))
    return smallest > 1e-3


@device
def choose_selectors(la, state):
    """Selectors for the new decomposition, and S E X."""
    EX, SEX = mat(la.EX, la.n_d, la.n_most), mat(la.SEX, la.n_most, la.n_most)
    if la.strategy != ADAPTIVE:
        if la.strategy == IMAGE:
            image_selectors(la)
        else:
            transposed_selectors(la)
        add(state, Count.SELECTORS, 1)
        select(la, EX, SEX)
        return
    others = False
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        if own.splits == 1 and remember_pivots(block_at(own.block), ivec(own.kept, own.n_unknowns)):
            others = True
        at = own.next
    if la.have_selectors == 0 or state.convergence_failed == 1 or others:
        if not unit_selectors(la):
            transposed_selectors(la)
        add(state, Count.SELECTORS, 1)
        la.have_selectors = 1
    select(la, EX, SEX)
    # free multipliers have no E, so that there the test would mean nothing
    with_multipliers = la.n_free > 0 and ivec(la.multiplier_of_free, la.n_free)[0] >= 0
    if not with_multipliers and not well_conditioned(la):
        transposed_selectors(la)
        add(state, Count.SELECTORS, 1)
        select(la, EX, SEX)
