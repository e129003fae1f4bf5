"""A chain of many links in joint coordinates, beside Exudyn and MuJoCo in the same run.

The chain is straight and horizontal, hangs at one end, and falls for one second under its weight. Every package has the
same chain; what differs is the position of its last link against a run of ours with tolerance 1e-10.

    python benchmarks/chain_peers.py [--links 1000]

Needs `pip install exudyn mujoco`; what is missing is left out. CPU seconds, without preparation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import dalembert as da

G, LENGTH, MASS = 9.81, 1.0, 1.0
INERTIA = MASS * LENGTH**2 / 12


def chain(links: int) -> da.Multibody:
    """Rods along x, hinged at their ends."""
    mb = da.Multibody(planar=True, gravity=(0, -G), name="chain")
    last = mb.ground
    for k in range(links):
        rod = mb.body(f"rod{k}", mass=MASS, inertia=INERTIA, com=(LENGTH / 2, 0))
        mb.revolute(f"hinge{k}", last, rod, at=(LENGTH, 0) if k else (0, 0), q0=0.0, v0=0.0)
        last = rod
    mb.marker("end", last, at=(LENGTH, 0))
    return mb


def ours(links: int, method, tolerance: float, t_end: float = 1.0) -> tuple[float, np.ndarray, str]:
    """CPU seconds of a run of the prepared model, the end of the chain, and counters."""
    model = chain(links).equations("joint")
    options = {
        "p0": np.zeros(links),
        "method": method,
        "rtol": tolerance,
        "atol": tolerance,
        "t_eval": [t_end],
        "dense_output": False,
    }
    da.simulate(model, (0, 1e-4), **options | {"t_eval": [1e-4]})  # compiles
    start = time.process_time()
    sol = da.simulate(model, (0, t_end), **options)
    seconds = time.process_time() - start
    return seconds, end_of(sol.p[-1]), f"{sol.stats.accepted} steps"


def end_of(angles: np.ndarray) -> np.ndarray:
    """Where the chain ends."""
    whole = np.cumsum(angles)
    return LENGTH * np.array([np.cos(whole).sum(), np.sin(whole).sum()])


def exudyn(links: int, h: float) -> tuple[float, np.ndarray, str]:
    """Implicit (generalized alpha) with constant steps, sparse matrices, as Exudyn's manual advises for chains."""
    import exudyn as exu
    import exudyn.itemInterface as items

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    before = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=[0, 0, 0]))
    for k in range(links):
        node = mbs.AddNode(items.Rigid2D(referenceCoordinates=[(k + 0.5) * LENGTH, 0, 0]))
        body = mbs.AddObject(items.RigidBody2D(mass=MASS, inertia=INERTIA, nodeNumber=node))
        at = [
            mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[x * LENGTH / 2, 0, 0]))
            for x in (-1, 1)
        ]
        centre = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(items.Gravity(markerNumber=centre, loadVector=[0, -G, 0]))
        mbs.AddObject(items.RevoluteJoint2D(markerNumbers=[before, at[0]]))
        before = at[1]
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(1.0 / h)
    settings.timeIntegration.endTime = 1.0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.solution.file.write = False
    settings.timeIntegration.verboseMode = 0
    start = time.process_time()
    mbs.SolveDynamic(settings)
    seconds = time.process_time() - start
    q = mbs.systemData.GetODE2Coordinates()
    x, y, phi = q[-3] + (links - 0.5) * LENGTH, q[-2], q[-1]
    end = np.array([x + LENGTH / 2 * np.cos(phi), y + LENGTH / 2 * np.sin(phi)])
    return seconds, end, f"h = {h:g}"


def mujoco(links: int, h: float) -> tuple[float, np.ndarray, str]:
    """Hinges in generalized coordinates, the integrator of Runge and Kutta, all contacts off."""
    import mujoco as mj

    spec = mj.MjSpec()
    spec.option.timestep = h
    spec.option.gravity = [0, -G, 0]
    spec.option.integrator = mj.mjtIntegrator.mjINT_RK4
    spec.option.disableflags = int(mj.mjtDisableBit.mjDSBL_CONTACT) | int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    spec.memory = 4 << 30
    body = spec.worldbody
    for k in range(links):
        body = body.add_body(pos=[LENGTH if k else 0.0, 0, 0])
        body.add_joint(type=mj.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
        body.mass, body.ipos, body.explicitinertial = MASS, [LENGTH / 2, 0, 0], True
        body.inertia = [INERTIA * 1e-3, INERTIA, INERTIA]
    model = spec.compile()
    data = mj.MjData(model)
    start = time.process_time()
    for _ in range(round(1.0 / h)):
        mj.mj_step(model, data)
    return time.process_time() - start, end_of(data.qpos.copy()), f"h = {h:g}"


def line(name: str, run: Callable[[], tuple[float, np.ndarray, str]], reference: np.ndarray) -> tuple[float, float]:
    """Run, print, and return seconds and error."""
    seconds, end, how = run()
    error = float(np.abs(end - reference).max())
    print(f"{name:34} {seconds:10.3f} s   error {error:8.1e}   {how}", flush=True)
    return seconds, error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=1000)
    parser.add_argument("--mujoco-steps", type=float, nargs="*", default=[4e-3, 2e-3, 1e-3, 5e-4])
    options = parser.parse_args()
    links = options.links
    _, reference, how = ours(links, da.Hem5(), 1e-10)
    print(f"{links} links, one second; reference: Hem5, tolerance 1e-10, {how}")
    mine = [
        line(f"dalembert {type(method).__name__}, 1e-6", lambda method=method: ours(links, method, 1e-6), reference)
        for method in (da.Rkf45(), da.Hem5(), da.Mexx())
    ]
    seconds, error = min(mine)
    try:
        theirs, _ = line("Exudyn, implicit", lambda: exudyn(links, 1e-3), reference)
        print(f"  Exudyn / dalembert: {theirs / seconds:.1f}")
    except ImportError:
        print("  Exudyn is not installed")
    try:
        for h in options.mujoco_steps:
            theirs, reached = line("MuJoCo, Runge-Kutta 4", lambda h=h: mujoco(links, h), reference)
            if reached <= max(error, 1e-12):
                print(f"  MuJoCo / dalembert at our error: {theirs / seconds:.1f}")
                break
    except ImportError:
        print("  MuJoCo is not installed")


if __name__ == "__main__":
    main()
