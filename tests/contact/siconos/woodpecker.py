"""The woodpecker toy by Siconos' time-stepping; run by the system's Python, prints JSON.

Usage: woodpecker.py STEP T_END
"""

import json
import sys

import numpy as np


def main():
    import siconos.kernel as sk

    step, t_end = float(sys.argv[1]), float(sys.argv[2])
    rO, rM, hM, lM, lG, hS, lS = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    mM, mS, JM, JS, c, g = 0.0003, 0.0045, 5e-9, 7e-7, 0.0056, 9.81
    M = np.array(
        [
            [mS + mM, mS * lM, mS * lG],
            [mS * lM, JM + mS * lM**2, mS * lM * lG],
            [mS * lG, mS * lM * lG, JS + mS * lG**2],
        ]
    )
    K = np.array([[0.0, 0.0, 0.0], [0.0, c, -c], [0.0, -c, c]])
    toy = sk.LagrangianLinearTIDS(
        np.array([0.0, -0.1036, -0.2788]), np.array([-0.3411, 0.0, -7.4583]), M, K, np.zeros((3, 3))
    )
    toy.setFExtPtr(-g * np.array([mS + mM, mS * lM, mS * lG]))
    model = sk.NonSmoothDynamicalSystem(0.0, t_end)
    model.insertDynamicalSystem(toy)
    relations = (
        ([0.0, 0.0, -hS], [1.0, lM, lG - lS], lM + lG - lS - rO, 0.5),
        ([0.0, hM, 0.0], [1.0, rM, 0.0], rM - rO, 0.0),
        ([0.0, -hM, 0.0], [1.0, rM, 0.0], rM - rO, 0.0),
    )
    interactions = []
    for normal, tangent, offset, e in relations:
        law = sk.NewtonImpactFrictionNSL(e, 0.0, 0.3, 2)
        relation = sk.LagrangianLinearTIR(np.array([normal, tangent]), np.array([offset, 0.0]))
        interaction = sk.Interaction(law, relation)
        model.link(interaction, toy)
        interactions.append(interaction)
    problem = sk.FrictionContact(2)
    simulation = sk.TimeStepping(model, sk.TimeDiscretisation(0.0, step), sk.MoreauJeanOSI(0.5), problem)
    rows = []
    while simulation.hasNextEvent():
        simulation.computeOneStep()
        impulses = [float(i.lambda_(1)[0]) for i in interactions]
        rows.append([simulation.nextTime(), *toy.q(), *toy.velocity(), *impulses])
        simulation.nextStep()

    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()
