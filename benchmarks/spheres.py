"""Spheres falling into a box with MoreauJean: cost per step over contacts, beside Siconos.

    python benchmarks/spheres.py [N ...] [--steps 20] [--fall 2.0] [--no-siconos]

For every N the spheres fall until they lie on each other (not measured). From that state both programs take the same
number of steps of the same size with theta = 1/2, both without impulses to begin with: CPU time, contacts, iterations.
Siconos (Debian's python3-siconos, of /usr/bin/python3) finds contacts with Bullet and solves them by its NSGS. Its
tolerance is on the residual, relative to the free velocities; ours on the change of the impulses, a hundred times
smaller. Goals: at most half of Siconos' time, and a cost that is linear in contacts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import dalembert as da

H = 5e-3
FRICTION, RESTITUTION = 0.3, 0.0
SICONOS_TOLERANCE, OWN_TOLERANCE, ITERATIONS = 1e-4, 1e-6, 1000
GOAL = 0.5

SICONOS = """
import json, sys, time
import numpy as np
import siconos.kernel as sk
import siconos.numerics as sn
from siconos.mechanics.collision import RigidBodyDS, SiconosContactor, SiconosContactorSet, SiconosPlane, SiconosSphere
from siconos.mechanics.collision.bullet import SiconosBulletCollisionManager, SiconosBulletOptions

job = json.loads(sys.argv[1])
state = np.load(job["state"])
h, side = job["h"], job["side"]
system = sk.NonSmoothDynamicalSystem(0, h * (job["steps"] + 1))
bodies = []
for p, v in zip(state["p"], state["v"]):
    body = RigidBodyDS(p.tolist(), v.tolist(), 1.0, 0.4 * np.eye(3))
    body.contactors().append(SiconosContactor(SiconosSphere(1.0)))
    body.setUseContactorInertia(False)
    body.setFExtPtr([0, 0, -9.81])
    system.insertDynamicalSystem(body)
    bodies.append(body)
options = SiconosBulletOptions()
options.perturbationIterations = options.minimumPointsPerturbationThreshold = 0  # one point for each pair
manager = SiconosBulletCollisionManager(options)
s = 0.5**0.5
for place in ([0, 0, 0, 1, 0, 0, 0], [0, 0, 0, s, 0, s, 0], [side, 0, 0, s, 0, -s, 0], [0, 0, 0, s, -s, 0, 0],
              [0, side, 0, s, s, 0, 0]):
    wall = SiconosContactorSet()
    wall.append(SiconosContactor(SiconosPlane()))
    manager.insertStaticContactorSet(wall, [float(x) for x in place])
manager.insertNonSmoothLaw(sk.NewtonImpactFrictionNSL(job["restitution"], 0.0, job["friction"], 3), 0, 0)
problem = sk.FrictionContact(3, sn.SICONOS_FRICTION_3D_NSGS)
solver = problem.numericsSolverOptions()
solver.iparam[sn.SICONOS_IPARAM_MAX_ITER], solver.dparam[sn.SICONOS_DPARAM_TOL] = job["iterations"], job["tolerance"]
problem.setMaxSize(1000000)
problem.setMStorageType(1)
problem.setNumericsVerboseMode(False)
problem.setKeepLambdaAndYState(True)
simulation = sk.TimeStepping(system, sk.TimeDiscretisation(0, h))
simulation.insertIntegrator(sk.MoreauJeanOSI(0.5))
simulation.insertNonSmoothProblem(problem)
simulation.insertInteractionManager(manager)
simulation.setNewtonOptions(sk.SICONOS_TS_LINEAR)
simulation.setNewtonMaxIteration(1)
simulation.initialize()
rows = []
for _ in range(job["steps"]):
    begun = time.process_time()
    simulation.computeOneStep()
    contacts, turns = problem.getSizeOutput() // 3, int(solver.iparam[sn.SICONOS_IPARAM_ITER_DONE])
    simulation.nextStep()
    rows.append((time.process_time() - begun, contacts, turns))
heights = [float(body.q()[2]) for body in bodies]
print(json.dumps({"rows": rows, "lowest": min(heights), "highest": max(heights)}))
"""


def run(model, p0, v0, steps, tolerance):
    """CPU seconds and the solution of some steps."""
    method = da.MoreauJean(h=H, tolerance=tolerance, iterations=ITERATIONS)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ContactsNotSolved)
        sol = da.simulate(model, (0, steps * H), p0=p0, v0=v0, method=method, t_eval=[steps * H], dense_output=False)
    return time.process_time() - begun, sol


def fallen(N, duration):
    """The model, its state after the fall, and the seconds that its preparation took."""
    begun = time.perf_counter()
    problem = da.problems.spheres_in_box(N, friction=FRICTION, restitution=RESTITUTION)
    prepared = time.perf_counter() - begun
    _, sol = run(problem.model, problem.p0, problem.v0, round(duration / H), 1e-3)
    return problem.model, sol.p[-1], sol.v[-1], prepared


def siconos(N, p, v, steps, limit):
    """CPU seconds, contacts and iterations of Siconos' steps, or None with a reason."""
    wide = max(1, int(np.ceil((N / 2) ** (1 / 3))))
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.npz"
        np.savez(state, p=p.reshape(N, 7), v=v.reshape(N, 6))
        job = dict(
            state=str(state), h=H, side=2.2 * wide, steps=steps, friction=FRICTION, restitution=RESTITUTION,
            iterations=ITERATIONS, tolerance=SICONOS_TOLERANCE,
        )  # fmt: skip
        command = ["/usr/bin/python3", "-c", SICONOS, json.dumps(job)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except FileNotFoundError:
            return None, "there is no /usr/bin/python3"
        except subprocess.TimeoutExpired:
            return None, f"not finished after {limit} s"
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("N", type=int, nargs="*", default=[125, 250, 500, 1000])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--fall", type=float, default=2.0, help="seconds of the fall")
    parser.add_argument("--limit", type=int, default=500, help="seconds for one run of Siconos")
    parser.add_argument("--no-siconos", action="store_true")
    given = parser.parse_args()
    print(f"h = {H}, theta = 0.5, friction {FRICTION}, restitution {RESTITUTION}, {given.steps} steps")
    print(f"ours: tolerance {OWN_TOLERANCE:g}, positions corrected; Siconos: tolerance {SICONOS_TOLERANCE:g}")
    print(f"at most {ITERATIONS} iterations in a step; CPU time")
    print("     N  prepare contacts iterations  ms/step ns/contact/it | contacts iterations  ms/step  ratio")
    costs = []
    for N in given.N:
        model, p, v, prepared = fallen(N, given.fall)
        seconds, sol = min((run(model, p, v, given.steps, OWN_TOLERANCE) for _ in range(2)), key=lambda found: found[0])
        none, _ = min((run(model, p, v, 1, OWN_TOLERANCE) for _ in range(2)), key=lambda found: found[0])
        stats, steps = sol.stats, given.steps
        contacts, turns = stats.contacts / steps, stats.contact_iterations / steps
        each = (seconds - none) / max(steps - 1, 1)  # without what a call of simulate takes besides its steps
        costs.append((contacts, each, turns))
        line = f"{N:6d} {prepared:7.1f}s {contacts:8.0f} {turns:10.0f} {1e3 * each:8.2f}"
        line += f" {1e9 * each / contacts / turns:13.0f} |"
        if not given.no_siconos:
            found, reason = siconos(N, p, v, given.steps, given.limit)
            if found is None:
                line += f" {reason}"
                if reason.startswith("not finished"):
                    line += f": ratio below {each * steps / given.limit:.4f}"
            else:
                rows = np.array(found["rows"])
                ratio = each / rows[1:, 0].mean()
                line += (
                    f" {rows[:, 1].mean():8.0f} {rows[:, 2].mean():10.0f} {1e3 * rows[1:, 0].mean():8.1f} {ratio:7.4f}"
                )
                line += f" {'goal' if ratio <= GOAL else 'MISSED'} {GOAL}"
        print(line, flush=True)
    if len(costs) > 2:
        contacts, each, turns = np.array(costs).T
        slope = np.polyfit(np.log(contacts), np.log(each / turns), 1)[0]
        print(f"cost of an iteration grows with contacts to the power {slope:.2f} (goal: 1)")


if __name__ == "__main__":
    main()
