"""The selectors of GEOMS: which combinations S of the differential equations are integrated.

S is the null space's own transpose, computed anew with every Jacobian ("every"), or the rows of the independent
coordinates, kept while the pivots stay ("adaptive").
"""

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, mat
from dalembert.linalg.factors import lu
from dalembert.linalg.factors.blocks import SVD, block_at
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.status import Count

EVERY, ADAPTIVE = 0, 1


@device
def transposed_selectors(la):
    """S = the null-space bases themselves, transposed; free multipliers select along the constraint forces."""
    b2, b3, n_k = block_at(la.b2), block_at(la.b3), la.n_kinematic
    S, G = mat(la.S, la.n_most, la.n_d), mat(la.G, la.n_2, la.n_V)
    K2, K3, p_of_z = mat(b2.K, la.n_V, la.n_V), mat(b3.K, la.n_Z, la.n_Z), ivec(la.p_of_z, la.n_Z)
    multiplier, element = ivec(la.multiplier_of_free, la.n_free), ivec(la.element_of_free, la.n_free)
    null2 = la.n_V - b2.rank
    for row in range(la.n_f):
        for k in range(la.n_d):
            S[row, k] = 0.0
        if row < la.n_free:
            if element[row] >= 0:
                S[row, element[row]] = 1.0
            else:
                for i in range(la.n_V):
                    S[row, n_k + i] = G[multiplier[row], i]
        elif row < la.n_free + null2:
            for i in range(la.n_V):
                S[row, n_k + i] = K2[i, row - la.n_free]
        else:
            for j in range(la.n_Z):
                if p_of_z[j] >= 0:
                    S[row, p_of_z[j]] = K3[j, row - la.n_free - null2]


@device
def unit_selectors(la):
    """S = rows of the independent coordinates. Returns whether there are such (LU, QR; contact points dependent)."""
    if la.algebraic == SVD:
        return False
    b2, b3 = block_at(la.b2), block_at(la.b3)
    S, element, p_of_z = mat(la.S, la.n_most, la.n_d), ivec(la.element_of_free, la.n_free), ivec(la.p_of_z, la.n_Z)
    column2, column3 = ivec(b2.column, la.n_V), ivec(b3.column, la.n_Z)
    null2 = la.n_V - b2.rank
    for row in range(la.n_f):
        for k in range(la.n_d):
            S[row, k] = 0.0
        if row < la.n_free:
            at = element[row]
        elif row < la.n_free + null2:
            at = la.n_kinematic + column2[b2.rank + row - la.n_free]
        else:
            at = p_of_z[column3[b3.rank + row - la.n_free - null2]]
        if at < 0:
            return False
        S[row, at] = 1.0
    return True


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
    if la.strategy == EVERY:
        transposed_selectors(la)
        add(state, Count.SELECTORS, 1)
        select(la, EX, SEX)
        return
    other_v = remember_pivots(block_at(la.b2), ivec(la.kept_v, la.n_V))
    other_z = remember_pivots(block_at(la.b3), ivec(la.kept_z, la.n_Z))
    if la.have_selectors == 0 or state.convergence_failed == 1 or other_v or other_z:
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
