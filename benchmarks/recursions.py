"""Recursions along trees: nanoseconds for each joint, growth with the number of joints, and Pinocchio beside them.

    python benchmarks/recursions.py

Every time is the best of many, in CPU time, of chains with random hinges. Pinocchio, if it is installed, is called from
Python with prepared data, as its users do; so are ours in the column "from Python". The other columns are calls from
machine code, as integrators make them. Both take turns in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numba as nb
import numpy as np

from dalembert.multibody.topology import Topology
from dalembert.recursions import derivatives, entries
from dalembert.recursions.tree import Tree

try:
    import pinocchio as pin
except ImportError:
    pin = None

SIZES = (7, 30, 300)
LONG = (10, 100, 1000, 10_000, 100_000)
#: seconds for each measurement
PATIENCE = 0.4


def chain(n: int, seed: int = 0) -> Topology:
    """Links of one metre and one kilogramme with hinges in random directions."""
    rng = np.random.default_rng(seed)
    rotation, upper = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    rotation *= np.sign(np.einsum("nii->ni", upper))[:, None, :]
    rotation[np.linalg.det(rotation) < 0, :, 0] *= -1
    return Topology(
        parent=np.arange(n) - 1, kind=np.zeros(n), rotation=rotation, offset=rng.normal(size=(n, 3)) / np.sqrt(3),
        mass=np.ones(n), com=rng.normal(size=(n, 3)) / 4, inertia=np.tile([0.2, 0.01, 0, 0.3, 0.02, 0.4], (n, 1)),
        gravity=[0, 0, -9.81],
    )  # fmt: skip


def pinocchio_model(topology: Topology):
    """The same chain as a model of Pinocchio."""
    model, joint = pin.Model(), 0
    i, j = np.triu_indices(3)
    for k in range(topology.n):
        place = pin.SE3(topology.rotation[k], topology.offset[k])
        joint = model.addJoint(joint, pin.JointModelRZ(), place, f"joint {k}")
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = topology.inertia[k]
        model.appendBodyToJoint(joint, pin.Inertia(topology.mass[k], topology.com[k], inertia), pin.SE3.Identity())
    return model


def repeated(entry) -> Callable[[int, int, int, int], None]:
    """A function that calls a kernel many times."""

    @nb.njit
    def many(times, x, out, record):
        for _ in range(times):
            entry(0.0, x, np.uint64(0), out, record)

    return many


def best(*calls: Callable[[int], None]) -> list[float]:
    """Seconds of one call of each, all taking turns."""
    counts = []
    for call in calls:
        call(1)
        count = 1
        while True:
            start = time.process_time()
            call(count)
            if (spent := time.process_time() - start) > 0.01 or count > 1_000_000:
                break
            count *= 2 if spent < 0.001 else int(0.012 / spent) + 1
        counts.append(count)
    found = [np.inf] * len(calls)
    end = time.process_time() + PATIENCE * len(calls)
    while time.process_time() < end:
        for k, (call, count) in enumerate(zip(calls, counts, strict=True)):
            start = time.process_time()
            call(count)
            found[k] = min(found[k], (time.process_time() - start) / count)
    return found


class Ours:
    """Kernels on one tree and one state."""

    def __init__(self, topology: Topology, **options):
        self.tree = Tree(topology, **options)
        rng = np.random.default_rng(1)
        self.q, self.v, self.a = (rng.normal(size=topology.n_v) for _ in range(3))
        self.x = np.concatenate([self.q, self.v, self.a])
        size = topology.n_v if self.tree.pattern is None else 3 * len(self.tree.pattern.rows_v)
        self.out = np.zeros(size)

    def addresses(self) -> tuple[int, int, int]:
        return tuple(np.uint64(a) for a in (self.x.ctypes.data, self.out.ctypes.data, self.tree.address))

    def calls(self, many: Callable) -> Callable[[int], None]:
        x, out, record = self.addresses()
        return lambda times: many(times, x, out, record)

    def from_python(self, entry: Callable) -> Callable[[int], None]:
        x, out, record = (int(a) for a in self.addresses())

        def call(times: int) -> None:
            for _ in range(times):
                entry(0.0, x, 0, out, record)

        return call


def theirs(function: Callable, *arguments) -> Callable[[int], None]:
    def call(times: int) -> None:
        for _ in range(times):
            function(*arguments)

    return call


def main() -> None:
    explicit, residual = repeated(entries.explicit), repeated(entries.residual)
    mass, all_three = repeated(entries.mass), repeated(derivatives.residual_derivatives)
    print("explicit form (articulated bodies), microseconds")
    print(f"{'joints':>8} {'ours':>9} {'from Python':>12} {'pin.aba':>9} {'ratio':>7}")
    for n in SIZES:
        topology = chain(n)
        ours = Ours(topology, applied_velocities=range(n))
        calls = [ours.calls(explicit), ours.from_python(entries.explicit)]
        if pin is not None:
            model = pinocchio_model(topology)
            data = model.createData()
            calls.append(theirs(pin.aba, model, data, ours.q, ours.v, ours.a))
        times = best(*calls)
        if pin is None:
            print(f"{n:8d} {1e6 * times[0]:9.2f} {1e6 * times[1]:12.2f} {'-':>9} {'-':>7}")
            continue
        mine = entries_explicit(ours)
        assert np.abs(mine - pin.aba(model, data, ours.q, ours.v, ours.a)).max() <= 1e-8 * np.abs(mine).max()
        print(f"{n:8d} {1e6 * times[0]:9.2f} {1e6 * times[1]:12.2f} {1e6 * times[2]:9.2f} {times[1] / times[2]:7.2f}")

    print("\nnanoseconds for each joint")
    print(f"{'joints':>8} {'explicit':>9} {'residual':>9}")
    table = []
    for n in LONG:
        ours = Ours(chain(n))
        table.append(best(ours.calls(explicit), ours.calls(residual)))
        print(f"{n:8d} {1e9 * table[-1][0] / n:9.1f} {1e9 * table[-1][1] / n:9.1f}")
    slopes = np.polyfit(np.log(LONG), np.log(table), 1)[0]
    print(f"log-log slope from {LONG[0]} to {LONG[-1]}: explicit {slopes[0]:.3f}, residual {slopes[1]:.3f}")

    print("\nmatrices, microseconds")
    print(f"{'joints':>8} {'mass':>9} {'pin.crba':>9} {'derivatives':>12} {'pin':>9}")
    for n in SIZES:
        topology = chain(n)
        ours = Ours(topology, matrices=True)
        calls = [ours.calls(mass), ours.calls(all_three)]
        if pin is not None:
            model = pinocchio_model(topology)
            data = model.createData()
            calls.append(theirs(pin.crba, model, data, ours.q))
            calls.append(theirs(pin.computeRNEADerivatives, model, data, ours.q, ours.v, ours.a))
        times = [1e6 * t for t in best(*calls)] + [np.nan] * (2 if pin is None else 0)
        print(f"{n:8d} {times[0]:9.2f} {times[2]:9.2f} {times[1]:12.2f} {times[3]:9.2f}")


def entries_explicit(ours: Ours) -> np.ndarray:
    """v' of ours, with the torques that stand where a does."""
    x, out, record = (int(a) for a in ours.addresses())
    status = entries.explicit(0.0, x, 0, out, record)
    assert status == 0
    return ours.out[: ours.tree.topology.n_v].copy()


if __name__ == "__main__":
    main()
