"""What the graph tells of a model, and what users may promise for functions that cannot be traced."""

import numpy as np
import pytest

import dalembert as da

PARTS = dict(
    p=["x", "y"],
    parameters=dict(m=1.0, g=9.81),
    force=lambda s: [0, -s.m * s.g],
    holonomic=lambda s: [s.x**2 + s.y**2 - 1],
)


@pytest.mark.parametrize(
    ("name", "autonomous", "mass", "constant"),
    [
        ("pendulum", True, "diagonal", True),
        ("andrews", True, "full", False),
        ("car_axis", False, "diagonal", True),
        ("slider_crank", False, "full", False),
        ("truck", False, "diagonal", True),
    ],
)
def test_structure_of_traced_models(name, autonomous, mass, constant):
    structure = da.problems.catalogue()[name]().model.structure
    assert (structure.autonomous, structure.mass, structure.constant_mass) == (autonomous, mass, constant)


class Mass:
    """A mass that cannot be traced, and counts its calls."""

    def __init__(self, full=False):
        self.calls, self.full = 0, full

    def __call__(self, s):
        self.calls += 1
        diagonal = np.full(2, float(s.m))
        return np.diag(diagonal) if self.full else diagonal


@pytest.mark.filterwarnings("ignore::dalembert.UntraceableWarning")
@pytest.mark.parametrize("full", [False, True])
def test_a_promised_constant_mass_is_evaluated_once(full):
    counts, ends = {}, {}
    for promise in (None, True):
        mass = Mass(full)
        model = da.EquationsOfMotion(mass=mass, constant_mass=promise, **PARTS)
        assert model.structure.mass == ("full" if full else "diagonal")
        assert model.structure.constant_mass is bool(promise)
        before = mass.calls
        sol = da.simulate(model, (0, 1), p0=[1, 0], method=da.Geoms(), rtol=1e-7, atol=1e-7)
        counts[promise], ends[promise] = mass.calls - before, sol.p[-1]
        assert sol.stats.mass_evaluations == (1 if promise else sol.stats.jacobian_evaluations)
    np.testing.assert_allclose(ends[True], ends[None], atol=1e-9)
    assert counts[True] < 30 < 500 < counts[None]


@pytest.mark.filterwarnings("ignore::dalembert.UntraceableWarning")
def test_a_promised_constant_mass_follows_the_parameters():
    model = da.EquationsOfMotion(mass=Mass(), constant_mass=True, **{**PARTS, "force": lambda s: [0, -9.81]})
    ends = [da.simulate(model, (0, 0.5), p0=[1, 0], parameters=dict(m=m)).p[-1] for m in (1.0, 2.0)]
    direct = [
        da.simulate(
            da.EquationsOfMotion(mass=[m, m], **{**PARTS, "force": lambda s: [0, -9.81]}), (0, 0.5), p0=[1, 0]
        ).p[-1]
        for m in (1.0, 2.0)
    ]
    np.testing.assert_allclose(ends, direct, atol=1e-6)


@pytest.mark.filterwarnings("ignore::dalembert.UntraceableWarning")
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (dict(mass=lambda s: [s.x + 2, 1], constant_mass=True), "mass depends on positions"),
        (dict(mass=lambda s: [float(s.x) + 2, 1.0], constant_mass=True), r"mass \(line .* gives other values at other"),
        (dict(mass=[1, 1], force=lambda s: [s.t, 0], autonomous=True), "force contains the time"),
        (dict(mass=[1, 1], force=lambda s: [float(s.t), 0.0], autonomous=True), "force .*other values at other times"),
    ],
)
def test_broken_promises_are_faults(parts, message):
    with pytest.raises(da.ModelError, match=message):
        da.EquationsOfMotion(**{**PARTS, **parts})
