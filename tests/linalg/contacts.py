"""Random contact problems that tests share."""

import numpy as np

from dalembert.linalg.complementarity import ContactProblem


def starts_of(dims):
    return np.concatenate([[0], np.cumsum(dims)[:-1]]).astype(int)


def random_rows(seed, dims, freedoms, *, whole=False, twins=0):
    """Rows W of contacts and velocities; `whole` numbers make ties, `twins` of the contacts are there twice."""
    rng = np.random.default_rng(seed)
    n = int(np.sum(dims))
    draw = (
        (lambda *shape: rng.integers(-2, 3, shape).astype(float)) if whole else (lambda *shape: rng.normal(size=shape))
    )
    W, v = draw(n, freedoms), draw(freedoms)
    starts = starts_of(dims)
    for k in range(twins):
        i, j = k, len(dims) - 1 - k
        if i < j and dims[i] == dims[j]:
            rows = np.arange(dims[i])
            W[starts[j] + rows] = W[starts[i] + rows]
    return W, v


def random_problem(seed, dims, freedoms, friction, restitution=0.0, **options):
    """Impact without (or with the same) restitution: there is always a solution without."""
    W, v = random_rows(seed, dims, freedoms, **options)
    b = W @ v
    b[starts_of(dims)] *= 1 + restitution
    return ContactProblem(W @ W.T, b, dims, friction)
