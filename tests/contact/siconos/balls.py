"""Balls on a line by Siconos' time-stepping, frictionless; run by the system's Python, prints JSON.

Reads {"step", "t_end", "q", "v", "mass", "force", "rows", "offsets", "restitution"} from stdin: constant masses and
forces, gaps rows q + offsets, with restitution each. Prints rows of t, q, v, impulses.
"""

import json
import sys

import numpy as np


def main():
    import siconos.kernel as sk

    data = json.load(sys.stdin)
    model = sk.NonSmoothDynamicalSystem(0.0, data["t_end"])
    system = sk.LagrangianLinearTIDS(np.array(data["q"]), np.array(data["v"]), np.diag(data["mass"]))
    system.setFExtPtr(np.array(data["force"]))
    model.insertDynamicalSystem(system)
    interactions = []
    for row, offset, e in zip(data["rows"], data["offsets"], data["restitution"], strict=True):
        relation = sk.LagrangianLinearTIR(np.array([row]), np.array([offset]))
        interactions.append(sk.Interaction(sk.NewtonImpactNSL(e), relation))
        model.link(interactions[-1], system)
    simulation = sk.TimeStepping(model, sk.TimeDiscretisation(0.0, data["step"]), sk.MoreauJeanOSI(0.5), sk.LCP())
    rows = []
    while simulation.hasNextEvent():
        simulation.computeOneStep()
        impulses = [float(i.lambda_(1)[0]) for i in interactions]
        rows.append([simulation.nextTime(), *system.q(), *system.velocity(), *impulses])
        simulation.nextStep()
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()
