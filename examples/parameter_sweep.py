"""A driver's seat: how hard should it be damped? One model, many parameter values, all cores.

A model is compiled once; other parameters are other numbers. The kernels release the GIL, so threads are enough.

    python examples/parameter_sweep.py [picture.png]
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import matplotlib
import numpy as np

import dalembert as da

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt

truck = da.problems.truck11(road="fourier")  # a rough road for 12 s
dampings = np.geomspace(50, 5000, 16)  # N s/m
TIMES = np.linspace(0, 20, 2001)


def comfort(damping: float) -> float:
    """Root mean square of the seat's vertical acceleration in m/s², from its velocity every 10 ms."""
    sol = truck.simulate(parameters={"d_seat": damping}, t_eval=TIMES, rtol=1e-6, atol=1e-8)
    return float(np.sqrt(np.mean((np.diff(sol["seat_dot"]) / np.diff(sol.t)) ** 2)))


def sweep(threads: int | None = None) -> np.ndarray:
    with ThreadPoolExecutor(threads) as pool:
        return np.array(list(pool.map(comfort, dampings)))


def draw(path, values: np.ndarray) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
        ax.semilogx(dampings, values, "o-")
        ax.set(xlabel="damping of the seat [N s/m]", ylabel="rms acceleration [m/s²]", title="Seat on a rough road")
        ax.grid(alpha=0.25, which="both")
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    start = time.perf_counter()
    values = sweep()
    print(f"{len(dampings)} simulations in {time.perf_counter() - start:.2f} s")
    for damping, value in zip(dampings, values, strict=True):
        print(f"d = {damping:7.1f}   rms {value:.4f} m/s²")
    print(f"best: d = {dampings[np.argmin(values)]:.0f} N s/m")
    if len(sys.argv) > 1:
        draw(sys.argv[1], values)
