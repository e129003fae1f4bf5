"""Every public entry with every hostile value: it works, or it says in our words what is wrong; nothing else."""

import dataclasses
import inspect
import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.solvers import METHODS
from fuzz.hostile import HOSTILE

OUR_WARNINGS = (da.UntraceableWarning, da.InitialValuesCorrected, da.StepMissedTolerance)


def pendulum(**changes):
    return da.EquationsOfMotion(
        **{
            "p": ["x", "y"],
            "parameters": {"g": 9.81, "M": np.ones(2)},
            "inputs": {"drive": lambda t: np.sin(t)},
            "discrete": {"mode": 0},
            "mass": lambda s: s.M,
            "force": lambda s: [s.drive, -s.g * (1 + 0 * s.mode)],
            "holonomic": lambda s: [s.x**2 + s.y**2 - 1],
            **changes,
        }
    )


MODEL = pendulum()
DAE = da.QuasiLinearDAE(x=["y", "z"], leading=lambda s: [[1, 0], [0, 0]], rhs=lambda s: [-s.z, s.y - s.z])
SOLUTION = da.simulate(MODEL, (0, 0.01), p0=[1, 0])


def answer(call, value):
    """What an entry does with a value: None if all is well, otherwise what is wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(value)
        except da.DalembertError as error:
            text = str(error)
            wrong = None if text.strip() else "an error without text"
        except Exception as error:
            wrong = f"{type(error).__module__}.{type(error).__name__}"
        else:
            x = getattr(result, "x", None)
            wrong = "NaN in the result" if isinstance(x, np.ndarray) and not np.isfinite(x).all() else None
    foreign = {f"{w.category.__name__}: {w.message}" for w in caught if not issubclass(w.category, OUR_WARNINGS)}
    return wrong or (f"warns {sorted(foreign)}" if foreign else None)


def simulate(**arguments):
    return da.simulate(MODEL, arguments.pop("t_span", (0, 0.01)), **{"p0": [1, 0], "max_steps": 500, **arguments})


def event(**options):
    return simulate(events=da.Event(**{"function": lambda s: s.x - 0.99999, **options}))


ENTRIES = {}
for name in inspect.signature(da.simulate).parameters:
    if name not in ("model", "unknown", "checkpoint"):
        ENTRIES[f"simulate({name}=)"] = lambda value, name=name: simulate(**{name: value})
ENTRIES |= {
    "simulate(model)": lambda value: da.simulate(value, (0, 0.01), p0=[1, 0]),
    "simulate(unknown=)": lambda value: simulate(nonsense=value),
    "simulate of a DAE(x0=)": lambda value: da.simulate(DAE, (0, 0.01), x0=value),
    "simulate of a DAE(fixed=)": lambda value: da.simulate(DAE, (0, 0.01), x0=[1, 1], fixed=value),
    "start of t_span": lambda value: simulate(t_span=(value, 0.01)),
    "end of t_span": lambda value: simulate(t_span=(0, value)) if value is not True else None,
    "entry of p0": lambda value: simulate(p0=[1, value]),
    "p0 by name": lambda value: simulate(p0={"x": 1, "y": value}),
    "v0 by name": lambda value: simulate(v0={"x_dot": value}),
    "rtol by name": lambda value: simulate(rtol={"x": value}),
    "atol by name": lambda value: simulate(atol={"x": value}),
    "entry of t_eval": lambda value: simulate(t_eval=[0, value]),
    "parameter": lambda value: simulate(parameters={"g": value}),
    "vector of parameters": lambda value: simulate(parameters={"M": value}),
    "input": lambda value: simulate(inputs={"drive": value}),
    "discrete variable": lambda value: simulate(discrete={"mode": value}),
    "entry of events": lambda value: simulate(events=[value]),
    "event function's value": lambda value: event(function=lambda s: value),
    "action's value": lambda value: event(action=lambda s: value),
    "value of an action": lambda value: event(action=lambda s: {"x_dot": value}),
    "vector of an action": lambda value: event(action=lambda s: {"v": value}),
    "discrete value of an action": lambda value: event(action=lambda s: {"mode": value}),
    "Transition(values)": lambda value: event(action=lambda s: da.Transition(values=value)),
    "Transition(active)": lambda value: event(action=lambda s: da.Transition(values={}, active=value)),
    "initial condition's value": lambda value: simulate(initial_conditions=lambda s: [value]),
    "initial conditions' value": lambda value: simulate(initial_conditions=lambda s: value),
    "Input()": lambda value: simulate(inputs={"drive": da.Input(value)}),
    "Input(derivatives=)": lambda value: simulate(inputs={"drive": da.Input(np.sin, derivatives=value)}),
    "Input(breakpoints=)": lambda value: simulate(inputs={"drive": da.Input(np.sin, breakpoints=value)}),
    "entry of breakpoints": lambda value: simulate(inputs={"drive": da.Input(np.sin, breakpoints=[value])}),
    "value of an input": lambda value: simulate(inputs={"drive": lambda t: value}),
    "times of Input.table": lambda value: da.Input.table(value, [1.0, 0.0]),
    "values of Input.table": lambda value: da.Input.table([0.0, 1.0], value),
    "consistent_initial_values(model)": lambda value: da.consistent_initial_values(value),
    "consistent_initial_values(p0=)": lambda value: da.consistent_initial_values(MODEL, p0=value),
    "consistent_initial_values(t0)": lambda value: da.consistent_initial_values(MODEL, value, p0=[1, 0]),
    "consistent_initial_values(mode=)": lambda value: da.consistent_initial_values(MODEL, p0=[1, 0], mode=value),
    "consistent_initial_values(rtol=)": lambda value: da.consistent_initial_values(MODEL, p0=[1, 0], rtol=value),
    "consistent_initial_values(atol=)": lambda value: da.consistent_initial_values(MODEL, p0=[1, 0], atol=value),
    "consistent_initial_values(x0=)": lambda value: da.consistent_initial_values(DAE, x0=value),
    "entry of fixed": lambda value: da.consistent_initial_values(DAE, x0=[1, 1], fixed=[value]),
    "initial conditions of a DAE": lambda value: da.consistent_initial_values(
        DAE, x0=[1, 1], initial_conditions=lambda s: value
    ),
    "an initial condition of a DAE": lambda value: da.consistent_initial_values(
        DAE, x0=[1, 1], initial_conditions=lambda s: [value]
    ),
    "hidden_constraints(model)": lambda value: da.hidden_constraints(value),
    "hidden.velocity(p)": lambda value: da.hidden_constraints(MODEL).velocity(value, [0, 0]),
    "hidden.velocity(t)": lambda value: da.hidden_constraints(MODEL).velocity([1, 0], [0, 0], value),
    "hidden.acceleration(v)": lambda value: da.hidden_constraints(MODEL).acceleration([1, 0], value),
    "formulate(model)": lambda value: da.formulate(value),
    "formulate(formulation)": lambda value: da.formulate(MODEL, value),
    "formulate(alpha=)": lambda value: da.formulate(MODEL, "baumgarte", alpha=value),
    "Solution.at": lambda value: SOLUTION.at(value),
    "Solution[]": lambda value: SOLUTION[value],
    "Solution.residual": lambda value: SOLUTION.residual(value),
    "Solution.max_residual": lambda value: SOLUTION.max_residual(value),
    "Solution.events.named": lambda value: SOLUTION.events.named(value),
    "trajectory": lambda value: SOLUTION.trajectory(value),
    "model.replace(parameters)": lambda value: MODEL.replace(value),
    "model.replace(inputs)": lambda value: MODEL.replace(None, value),
    "model.discrete_values": lambda value: MODEL.discrete_values(value),
    "model.names": lambda value: MODEL.names(value),
}
EVENT = ("function", "direction", "terminal", "action", "name", "threshold", "check_points")
ENTRIES |= {f"Event({name}=)": lambda value, name=name: event(**{name: value}) for name in EVENT}
SOLVERS = ("Auto", "Compiled", "Dense", "Symmetric", "RangeSpace", "Block", "Sparse", "Recursive", "NullSpace")
CLASSES = (*METHODS.values(), da.Output, da.Exact, da.Differences, da.GroupedDifferences, da.ConjugateGradient)
for cls in (*CLASSES, *(getattr(da, name) for name in SOLVERS)):
    for field in dataclasses.fields(cls):
        if field.name == "kinds":
            continue

        def construct(value, cls=cls, name=field.name):
            options = cls(**{name: value})
            repr(options)
            if cls in METHODS.values():
                return simulate(method=options)
            return simulate(t_eval=options) if cls is da.Output else None

        ENTRIES[f"{cls.__name__}({field.name}=)"] = construct
for name in da.problems.__all__:
    maker = getattr(da.problems, name)
    if inspect.isfunction(maker):
        for parameter in inspect.signature(maker).parameters:
            needed = {"problem": da.problems.pendulum()} if name == "naive" else {}

            def make_with(value, make=maker, p=parameter, needed=needed):
                return make(**{**needed, p: value})

            ENTRIES[f"problems.{name}({parameter}=)"] = make_with


def faults(entry, names):
    found = ((name, answer(ENTRIES[entry], HOSTILE[name]())) for name in names)
    return [f"{name}: {fault}" for name, fault in found if fault is not None]


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_value_breaks_an_entry(entry):
    choice = np.random.default_rng(list(entry.encode())).choice(list(HOSTILE), 6, replace=False)
    assert not faults(entry, choice)


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
def test_none_of_all_values_breaks_an_entry(entry):
    assert not faults(entry, HOSTILE)
