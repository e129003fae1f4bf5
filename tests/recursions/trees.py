"""Random trees of bodies, and kernels of `recursions` called from Python."""

import numpy as np

from dalembert.multibody.topology import COORDINATES, VELOCITIES, Topology


def rotations(rng, n):
    """n random rotations."""
    q, r = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    q = q * np.sign(np.einsum("nii->ni", r))[:, None, :]
    q[np.linalg.det(q) < 0, :, 0] *= -1
    return q


def inertias(rng, n):
    """Inertias of random clouds of points: whatever is possible for a body."""
    points = rng.normal(size=(n, 6, 3)) * rng.uniform(0.1, 1.0, size=(n, 1, 3))
    x, y, z = np.moveaxis(points, 2, 0)
    return np.stack(
        [(y * y + z * z).sum(1), -(x * y).sum(1), -(x * z).sum(1), (x * x + z * z).sum(1), -(y * z).sum(1),
         (x * x + y * y).sum(1)], axis=1,
    )  # fmt: skip


def random_tree(seed, n=None, *, kinds=range(5), shape="tree", loose=True, shuffle=False, **changes):
    """A tree of n bodies; `loose` ones have dampers and springs, `shuffle` puts coordinates into another order."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12)) if n is None else n
    number = np.arange(n)
    parent = {
        "tree": lambda: np.array([int(rng.integers(-1, k)) if rng.random() < 0.5 else k - 1 for k in range(n)]),
        "chain": lambda: number - 1,
        "star": lambda: np.where(number == 0, -1, 0),
        "forest": lambda: np.array([int(rng.integers(-1, k)) for k in range(n)]),
    }[shape]()
    kind = rng.choice(list(kinds), size=n)
    given = dict(
        parent=parent, kind=kind, rotation=rotations(rng, n), offset=rng.normal(size=(n, 3)),
        mass=rng.uniform(0.1, 2.0, n), com=rng.normal(size=(n, 3)) * 0.3, inertia=inertias(rng, n),
        pitch=rng.normal(size=n) * 0.3, gravity=rng.normal(size=3) * 5,
    )  # fmt: skip
    if shuffle:
        order = rng.permutation(n)
        for name, sizes in (("q_at", COORDINATES[kind]), ("v_at", VELOCITIES[kind])):
            given[name] = np.empty(n, np.int64)
            given[name][order] = np.cumsum(sizes[order]) - sizes[order]
    made = Topology(**{**given, **changes})
    if not loose:
        return made
    n_v = made.n_v
    single = np.zeros(n_v, bool)
    single[made.v_at[VELOCITIES[made.kind] == 1]] = True
    extra = {name: np.where(single, rng.uniform(0, 1, n_v), 0.0) for name in ("damping", "stiffness", "rest")}
    return Topology(**{**given, **extra, **changes})


def random_state(topology, seed):
    """p, v and a; Euler parameters have lengths other than one."""
    rng = np.random.default_rng([seed, 1])
    return rng.normal(size=topology.n_q), rng.normal(size=topology.n_v), rng.normal(size=topology.n_v)


def evaluate(entry, tree, n_out, *x):
    """The status of a kernel and what it has written."""
    x, out = np.concatenate([np.ravel(part) for part in x]).astype(float), np.full(n_out + 1, np.nan)
    status = entry(0.0, x.ctypes.data, 0, out.ctypes.data, tree.address)
    assert np.isnan(out[n_out])  # nothing behind the end
    return status, out[:n_out]


def by_differences(function, x, h=2e-3):
    """Derivative by central differences of order 6; its error is about 1e-11 for what turns like sine and cosine."""
    columns = []
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = h
        near, middle, far = ((function(x + s * e) - function(x - s * e)) / (2 * s * h) for s in (1, 2, 3))
        columns.append(1.5 * near - 0.6 * middle + 0.1 * far)
    return np.array(columns).T


def assert_close(found, expected, tolerance):
    assert np.abs(found - expected).max(initial=0) <= tolerance * max(np.abs(expected).max(initial=0), 1.0)
