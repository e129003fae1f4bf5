"""Energy as an invariant of models from bodies: kept over long times, and refused where it is not conserved."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.errors import OptionError

TOLERANCE = 1e-6


def drift(problem, t_end):
    """Largest change of the energy, in units of what it varies between its two kinds."""
    solution = da.simulate(
        problem.model, (0, t_end), **problem.start(), method=da.Geoms(), rtol=TOLERANCE, atol=TOLERANCE
    )
    total, kinetic = solution["energy.total"], solution["energy.kinetic"]
    return np.abs(total - total[0]).max() / np.ptp(kinetic)


# a period of each motion, about
CASES = [
    ("pendulum_from_bodies", {}, 2.3678419475762374),
    ("chain_of_bodies", {"N": 2, "angle": 0.8}, 2.4),
    ("spatial_slider_crank", {"drive": "none"}, 0.58),
    ("stewart_platform", {"drive": "springs"}, 0.4),
]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("name", "options", "period"), CASES)
def test_energy_is_kept(name, options, period, coordinates):
    if name == "stewart_platform" and coordinates == "absolute":
        period /= 4  # 91 coordinates
    problem = getattr(problems, name)(coordinates=coordinates, energy=True, **options)
    assert drift(problem, 10 * period) < TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("name", "options", "period"), CASES[:3])
def test_energy_is_kept_over_a_thousand_periods(name, options, period, coordinates):
    problem = getattr(problems, name)(coordinates=coordinates, energy=True, **options)
    assert drift(problem, 1000 * period) < TOLERANCE


def test_without_the_invariant_energy_drifts():
    """The test above can fail."""
    assert drift(problems.pendulum_from_bodies("absolute"), 100 * 2.37) > 10 * TOLERANCE


def test_energy_of_the_start_is_a_parameter():
    problem = problems.chain_of_bodies(3, "absolute", energy=True, angle=0.4)
    weights = -9.81 * np.cos(0.4) * sum(0.5 + k for k in range(3))
    assert problem.model.parameters["energy.start"] == pytest.approx(weights, rel=1e-14)
    model = problem.multibody.equations("joint", invariant="energy")
    energy = model.replace({"energy.start": weights}).graph.value("invariant")
    assert energy.shape == (1, 1)


def planar():
    mb = da.Multibody(planar=True)
    body = mb.body("body", 1.0, 1.0)
    return mb, body, mb.revolute("hinge", mb.ground, body, at=(0, 0), to=(0, 1), q0=0.3)


def spoiled():
    """What is wrong, and what makes it so."""
    return {
        "joint 'slide' is driven": lambda mb, body, hinge: mb.prismatic(
            "slide", body, mb.body("other", 1.0, 1.0), drive=np.sin
        ),
        "joint 'slide' has damping": lambda mb, body, hinge: mb.prismatic(
            "slide", body, mb.body("other", 1.0, 1.0), damping=1.0
        ),
        "spring 'spring' has damping": lambda mb, body, hinge: mb.spring("spring", body, mb.ground, 1.0, 1.0),
        "spring 'spring' has a stiffness": lambda mb, body, hinge: mb.spring("spring", body, mb.ground, lambda x: x**3),
        "torsion 'spring' has damping": lambda mb, body, hinge: mb.torsion("spring", hinge, 1.0, lambda x: x),
        "actuator 'motor' does work": lambda mb, body, hinge: mb.actuator("motor", hinge, 1.0),
        "friction 'rub' does work": lambda mb, body, hinge: mb.friction("rub", hinge, 0.1),
        "drag 'air' does work": lambda mb, body, hinge: mb.drag("air", body, 0.1),
        "force 'push' does work": lambda mb, body, hinge: mb.force("push", body, (1.0, 0.0)),
        "bushing 'rubber' has damping": lambda mb, body, hinge: mb.bushing("rubber", body, mb.ground, 1.0, 1.0, 1.0),
        "bushing 'rubber' has no potential": lambda mb, body, hinge: mb.bushing(
            "rubber", body, mb.ground, 1.0, (1.0, 2.0, 3.0)
        ),
    }


@pytest.mark.parametrize("what", spoiled())
def test_systems_that_do_not_keep_it_are_refused(what):
    mb, body, hinge = planar()
    assert mb.equations("joint", invariant="energy").names("p") == ("hinge.angle",)
    spoiled()[what](mb, body, hinge)
    with pytest.raises(OptionError, match=what):
        mb.equations("joint", invariant="energy")


@pytest.mark.parametrize("given", ["momentum", "", 1, True, ["energy"]])
def test_other_invariants_are_refused(given):
    mb, *_ = planar()
    with pytest.raises(OptionError, match=r"invariant=.* must be 'energy' or None"):
        mb.equations("joint", invariant=given)
