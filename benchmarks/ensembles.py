"""Ensembles: trajectories a second of generated integrators, on cores of this processor and on a GPU if there is one.

    python benchmarks/ensembles.py                       everything on this processor
    python benchmarks/ensembles.py --gpu                 and on the GPU
    python benchmarks/ensembles.py --only agreement      one section

Members of Andrews' mechanism: masses and inertias ±20 %, torque and spring ±30 %, lengths ±0.1 %, positions ±0.01,
velocities ±1, made consistent by each program itself. CPU times are the best of several, ratios are of one run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import dalembert as da
from dalembert.errors import InitialValuesCorrected, NoDevice

TOLERANCE = 1e-6


def spread(problem: da.problems.Problem, n: int, seed: int = 0) -> dict:
    """Arguments of `ensemble`: a model and n different members."""
    rng = np.random.default_rng(seed)

    def around(value: float, part: float) -> np.ndarray:
        return value * (1 + part * rng.uniform(-1, 1, n))

    model, start = problem.model, problem.start()
    names = list(model.parameters)
    if "torque" in names:  # Andrews' mechanism
        parts = {name: 0.2 for name in names if name[0] in "mI" and name[1:].isdigit()}
        parts |= {"torque": 0.3, "c0": 0.3}
        parts |= dict.fromkeys(("d", "da", "e", "ea", "rr", "ra", "ss", "sa", "sb", "sc", "sd"), 0.001)
        moved = (0.01, 1.0)
    elif "M" in names:  # car axis
        parts, moved = {"M": 0.1}, (0.0, 0.0)
    else:
        parts, moved = {name: 0.05 for name in names if name in ("m", "g")}, (0.0, 0.1)
    values = {name: around(float(model.parameters[name]), part) for name, part in parts.items()}
    given = {"model": model, "t_span": (0.0, problem.t_end), "parameters": values, "n": n}
    given |= {"rtol": TOLERANCE, "atol": TOLERANCE}
    for key, width in zip(("p0", "v0"), moved, strict=True):
        size = len(model.names(key[0]))
        base = np.zeros(size) if start.get(key) is None else np.asarray(start[key], float)
        given[key] = base + width * rng.uniform(-1, 1, (n, size)) if width else base
    return given


def best_of(count: int, work, clock=time.process_time) -> tuple[float, object]:
    best, result = np.inf, None
    for _ in range(count):
        begun = clock()
        result = work()
        best = min(best, clock() - begun)
    return best, result


def alone(given: dict, i: int, method: str = "hem5") -> da.Solution:
    """One member, by `simulate`."""
    own = {k: v for k, v in given.items() if k not in ("model", "n", "parameters")}
    own |= {k: own[k][i] if own[k].ndim == 2 else own[k] for k in ("p0", "v0")}
    parameters = {name: values[i] for name, values in given["parameters"].items()}
    end = np.array([given["t_span"][1]])
    return da.simulate(given["model"], **own, parameters=parameters, method=method, t_eval=end, dense_output=False)


def speed() -> None:
    """Trajectories a second, on one core and on all."""
    print("\nTrajectories a second, tolerance 1e-6 (CPU time: one core; wall time: all cores)")
    print(f"{'model':28} {'Hem5 loop':>10} {'generated':>10} {'ratio':>6} {'all cores':>10}")
    for name, problem, n in (
        ("Andrews", da.problems.andrews(), 2048),
        ("pendulum", da.problems.pendulum(), 16384),
        ("car axis", da.problems.car_axis(), 512),
        ("chain of 20, absolute", da.problems.pendulum_chain(20), 128),
        ("chain of 20, joint", da.problems.pendulum_chain(20, "joint"), 128),
    ):
        given = spread(problem, n)
        few = min(n, 60)
        alone(given, 0)
        with ThreadPoolExecutor(1) as pool:
            loop, _ = best_of(2, lambda g=given, f=few, p=pool: list(p.map(lambda i: alone(g, i), range(f))))
        da.ensemble(**given, device="cpu", workers=1)
        one, found = best_of(3, lambda g=given: da.ensemble(**g, device="cpu", workers=1))
        every, _ = best_of(3, lambda g=given: da.ensemble(**g, device="cpu"), time.perf_counter)
        assert found.success.all()
        ratio = few and (loop / few) / (one / n)
        print(f"{name:28} {few / loop:10.0f} {n / one:10.0f} {ratio:6.1f} {n / every:10.0f}")


def agreement(n: int = 4096) -> None:
    """The largest difference to Hem5, and whether status and counters are the same."""
    print(f"\nAgreement with Hem5, {n} random members")
    for name, problem, count in (
        ("Andrews", da.problems.andrews(), n),
        ("pendulum", da.problems.pendulum(), n // 4),
        ("car axis", da.problems.car_axis(), n // 16),
        ("heavy top", da.problems.heavy_top(), n // 64),
        ("chain of 20, absolute", da.problems.pendulum_chain(20), n // 64),
    ):
        given = spread(problem, count, seed=1)
        found = da.ensemble(**given, device="cpu")
        worst, unequal = 0.0, 0
        for i in range(count):
            sol = alone(given, i)
            values = np.concatenate([sol.p[-1], sol.v[-1]])
            mine = np.concatenate([found.end.p[i], found.end.v[i]])
            worst = max(worst, float(np.abs(values - mine).max()))
            counts = (sol.stats.accepted, sol.stats.error_rejections, sol.stats.convergence_rejections)
            unequal += counts != (found.accepted[i], found.rejected[i], found.failed[i]) or not found.success[i]
        print(f"{name:28} largest difference {worst:.1e}, members with other counters or status: {unequal}")


def single() -> None:
    """Runs of `simulate` by the kernel of all models and by steps that are generated around this one."""
    kernel, generated = da.Hem5(), da.Hem5(steps="generated")
    print("\nMilliseconds of a run of `simulate`, tolerance 1e-6, one core, the best of 40; and to make the code once")
    print(f"{'model':28} {'kernel':>8} {'generated':>10} {'ratio':>6} {'made in':>8}  difference")
    for name, problem in (
        ("Andrews", da.problems.andrews()),
        ("pendulum", da.problems.pendulum()),
        ("car axis", da.problems.car_axis()),
        ("heavy top", da.problems.heavy_top()),
        ("chain of 20, absolute", da.problems.pendulum_chain(20)),
    ):

        def run(method: da.Hem5, problem: da.problems.Problem = problem) -> da.Solution:
            return problem.simulate(method=method, rtol=TOLERANCE, atol=TOLERANCE)

        plain = run(kernel)
        made, other = best_of(1, lambda r=run: r(generated))
        slow = fast = np.inf
        for _ in range(40):
            slow = min(slow, best_of(1, lambda r=run: r(kernel))[0])
            fast = min(fast, best_of(1, lambda r=run: r(generated))[0])
        far = np.abs(plain.x[-1] - other.x[-1]).max()
        words = f"{far:.1e}, steps {'equal' if len(plain.t) == len(other.t) else 'DIFFER'}"
        print(f"{name:28} {1e3 * slow:8.2f} {1e3 * fast:10.2f} {slow / fast:6.2f} {made:6.2f} s  {words}", flush=True)


_FIRST = """
import sys, time
begun = time.perf_counter()
import warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {folder!r})
import ensembles, dalembert as da
given = ensembles.spread(da.problems.andrews(), 1000)
ready = time.perf_counter()
da.ensemble(**given, device={device!r})
print(f"{{ready - begun:.2f}} {{time.perf_counter() - ready:.2f}}")
"""


def first(device: str = "cpu") -> None:
    """From a model to the first result, in a process of its own, without and with the cache."""
    import os
    import pathlib
    import tempfile

    text = _FIRST.format(folder=str(pathlib.Path(__file__).parent), device=device)
    print(f"\nFrom a model to the first result of 1000 members of Andrews' mechanism, on the {device}, in seconds")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DALEMBERT_CACHE_DIR": folder, "CUDA_CACHE_PATH": folder + "/cuda"}
        for what in ("kernels of dalembert compiled, too", "nothing but kernels known"):
            if what.startswith("nothing"):  # what ensembles compile goes, what everything else needs stays
                _forget_generated(folder)
            print(f"  {what}: {_timed(text, environment)}")
        print(f"  everything known: {_timed(text, environment)}")


def _forget_generated(folder: str) -> None:
    """Leave the kernels in a cache, which are no part of an ensemble."""
    import pathlib

    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file() and "kernel" not in str(path):
            path.unlink()


def _timed(text: str, environment: dict) -> str:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    loading, result = done.stdout.split()[-2:]
    return f"{result} (loading Python's modules and the model before: {loading})"


def memory(n: int = 1_000_000) -> None:
    """A million members, of which only the ends are wanted."""
    import resource

    given = spread(da.problems.pendulum(), n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, found = best_of(1, lambda: da.ensemble(**given, device="cpu"), time.perf_counter)
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    print(f"\n{n} pendulums on this processor: {seconds:.1f} s, {n / seconds:.3g} a second, {used:.2f} GB besides")
    assert found.success.all()


class Nothing:
    """Functions of a driver without a device: memory of the host is real, and everything else is done at once."""

    def __init__(self):
        self.memory: list[np.ndarray] = []

    def __getattr__(self, name):
        return {"cuModuleLoadDataEx": lambda out, *rest: _answer(out, 1)}.get(name, lambda *arguments: 0)

    def cuDriverGetVersion(self, out):
        return _answer(out, 13000)

    def cuDeviceGetCount(self, out):
        return _answer(out, 1)

    def cuDeviceGetAttribute(self, out, which, device):
        return _answer(out, {16: 132, 75: 9, 76: 0, 97: 227 * 1024}[which])  # of an H200

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, out, function, group, fast):
        return _answer(out, 1)

    def cuMemGetInfo_v2(self, free, total):
        return _answer(free, 1 << 37)

    def cuMemAlloc_v2(self, out, size):
        return _answer(out, 4096)

    def cuMemHostAlloc(self, out, size, flags):
        self.memory.append(np.zeros(size.value // 8 + 8))
        self.memory[-1][:] = 0.0  # pages are there
        return _answer(out, self.memory[-1].ctypes.data)


def _answer(out, value) -> int:
    out._obj.value = value
    return 0


def around() -> None:
    """What is left of a call on a GPU when the device takes no time at all: reading, filling and taking arrays."""
    from dalembert.compile.generated import cuda

    usual, device = cuda.find_device, cuda.Device(cuda.Driver(Nothing()))
    cuda.find_device = lambda: device
    print("\nA call on a GPU, without the device: milliseconds, the best of five, and members a second")
    try:
        for name, problem, n in (
            ("Andrews", da.problems.andrews(), 100_000),
            ("Andrews", da.problems.andrews(), 1_000_000),
            ("pendulum", da.problems.pendulum(), 1_000_000),
            ("chain of 20, absolute", da.problems.pendulum_chain(20), 100_000),
        ):
            given = spread(problem, n)
            seconds, _ = best_of(5, lambda g=given: da.ensemble(**g, device="gpu"), time.perf_counter)
            print(f"{name:28} {n:9d} {1e3 * seconds:8.1f} {n / seconds:10.3g}", flush=True)
    finally:
        cuda.find_device = usual


def on_gpu() -> None:
    """Trajectories a second on the GPU: of the kernels, and of the whole call."""
    from dalembert.compile.generated.cuda import find_device

    device = find_device()
    print(f"\n{device.name}, compute capability {device.capability}, CUDA {device.version / 1000:.1f}")
    print(f"{'model':28} {'members':>9} {'kernels/s':>10} {'whole call/s':>12}  difference to the processor")
    for name, problem, sizes in (
        ("Andrews", da.problems.andrews(), (100_000, 1_000_000)),
        ("pendulum", da.problems.pendulum(), (1_000_000, 10_000_000)),
        ("car axis", da.problems.car_axis(), (100_000,)),
        ("chain of 20, absolute", da.problems.pendulum_chain(20), (100_000,)),
        ("chain of 20, joint", da.problems.pendulum_chain(20, "joint"), (100_000,)),
    ):
        check = spread(problem, 512, seed=1)
        here, there = (da.ensemble(**check, device=device_) for device_ in ("cpu", "gpu"))
        far = max(np.abs(here.end.p - there.end.p).max(), np.abs(here.end.v - there.end.v).max())
        same = all((getattr(here, c) == getattr(there, c)).all() for c in ("accepted", "rejected", "failed"))
        words = f"{far:.1e}, counters {'equal' if same else 'DIFFER'}"
        for n in sizes:
            given = spread(problem, n)
            seconds, found = best_of(4, lambda g=given: da.ensemble(**g, device="gpu"), time.perf_counter)
            rate = n / found.kernel_seconds
            print(f"{name:28} {n:9d} {rate:10.3g} {n / seconds:12.3g}  {words}", flush=True)
            words = "" if found.success.all() else f"{int((~found.success).sum())} FAILED"


def kernels() -> None:
    """The kernel `integrate` alone, several times on the same members, by who has a member."""
    import dalembert.ensembles.carry as carry
    import dalembert.ensembles.gpu as gpu
    from dalembert.compile.generated.cuda import Moment, find_device
    from dalembert.compile.generated.nvptx import GROUPS, SLOW_THREADS, THREADS

    class Repeated(gpu.GpuWork):
        """One block, integrated again and again."""

        def run(self, results, tell):
            device, n, everything = self.device, self.job.members.n, self.job.common().arrays()
            device.enter()
            if self.written.tapes is not None:
                everything |= dict(zip(gpu.TAPES, self.written.tapes.arrays(), strict=True))
            common = {name: gpu._sent(device, array) for name, array in everything.items()}
            slot = gpu.Slot(self, -(-n // gpu.WARP) * gpu.WARP, common)
            for buffer in common.values():
                buffer.send(slot.stream)
            self.begun = Moment(device)
            self.begun.mark(slot.stream)
            slot.begin(0, n, results)
            slot.stream.wait()
            before, after, seconds = Moment(device), Moment(device), []
            for pause in (0.1, 0.0, 0.0, 0.0, 0.0):
                time.sleep(pause)
                before.mark(slot.stream)
                slot._launch("integrate", n)
                after.mark(slot.stream)
                seconds.append(after.since(before))
            slot.collect(results)
            slot.close()
            self.spans = [(0.0, min(seconds))]
            rested[:] = seconds[:1]

    rested: list[float] = []
    print(f"\n{find_device().name}: trajectories a second of the kernel `integrate` alone: the best of several, and")
    print("the first one after the device has rested for a tenth of a second")
    chosen, usual = gpu.gpu_target, carry.GpuWork
    for name, problem, n, targets in (
        ("Andrews", da.problems.andrews(), 100_000, (THREADS,)),
        ("Andrews", da.problems.andrews(), 1_000_000, (THREADS,)),
        ("pendulum", da.problems.pendulum(), 1_000_000, (THREADS,)),
        ("chain of 20, absolute", da.problems.pendulum_chain(20), 50_000, (SLOW_THREADS, GROUPS[-1])),
        ("chain of 20, joint", da.problems.pendulum_chain(20, "joint"), 50_000, (SLOW_THREADS, GROUPS[-1])),
    ):
        given = spread(problem, n)
        for target in targets:
            gpu.gpu_target, carry.GpuWork = lambda program, device, target=target: target, Repeated
            try:
                found = da.ensemble(**given, device="gpu")
            finally:
                gpu.gpu_target, carry.GpuWork = chosen, usual
            who = f"{target.group} threads" if target.group else "a thread"
            print(f"{name:28} {n:9d} {who:12} {n / found.kernel_seconds:10.3g} {n / rested[0]:10.3g}", flush=True)


SECTIONS = {
    "speed": speed, "agreement": agreement, "single": single, "first": first, "memory": memory, "around": around,
    "gpu": on_gpu, "kernels": kernels,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="also on the GPU")
    parser.add_argument("--only", choices=[*SECTIONS, "first-gpu"], help="one section")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", InitialValuesCorrected)
    if wanted.only == "first-gpu":
        first("gpu")
        return
    chosen = [wanted.only] if wanted.only else [s for s in SECTIONS if wanted.gpu or s not in ("gpu", "kernels")]
    for section in chosen:
        try:
            SECTIONS[section]()
        except NoDevice as reason:
            print(reason)
    if wanted.gpu and not wanted.only:
        first("gpu")


if __name__ == "__main__":
    main()
