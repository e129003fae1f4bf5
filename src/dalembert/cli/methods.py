"""Methods and events as they are written on a command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import Events, Interval, Method, Points, Steps, Tolerances
from dalembert.cli.subjects import Subject
from dalembert.cli.values import Difference, condition, named, numbers, option_value, parts
from dalembert.errors import OptionError

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.model.event import Event
    from dalembert.solvers import MethodOptions


def method_of(given: Method, model: Model) -> MethodOptions | str:
    """A method with options by name; "auto" without any stays what it is."""
    own = {} if given.formulation is None else {"formulation": given.formulation}
    for text in given.options or ():
        name, value = named(text, "--option")
        own[name] = option_value(value)
    return with_options(given.method, own, model)


def with_options(text: str, options: Mapping[str, Any], model: Model) -> MethodOptions | str:
    """radau5, or radau5:formulation=index2,safety=0.8; further options go before those."""
    from dalembert.simulation.layout import integrated
    from dalembert.solvers import METHODS, resolve_method

    name, _, rest = (part.strip() for part in text.partition(":"))
    own = dict(options)
    for part in _options_in(rest):
        key, value = named(part, f"--method {text}", "METHOD:NAME=VALUE,NAME=VALUE")
        own[key] = option_value(value)
    if not own:
        resolve_method(name, integrated(model))  # or what is wrong with it
        return name
    kind = METHODS.get(name.lower()) or type(resolve_method(name, integrated(model)))
    from dalembert.model.namespace import explain_unknown

    known = [field.name for field in dataclasses.fields(kind) if field.init]
    for key in own:
        if key not in known:
            raise OptionError(f"{kind.__name__}: {explain_unknown(key, known)}")
    return kind(**own)


def _options_in(text: str) -> list[str]:
    """NAME=VALUE between commas; a part without = belongs to the value before it, as in keep_step=(1,1.2)."""
    found: list[str] = []
    for part in parts(text):
        if "=" not in part.partition("(")[0] and found:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def limits(steps: Steps, tolerances: Tolerances) -> dict[str, Any]:
    """Arguments of `simulate` that were given."""
    given = {**dataclasses.asdict(steps), **dataclasses.asdict(tolerances)}
    return {name: value for name, value in given.items() if value is not None}


def output_times(points: Points, subject: Subject, interval: Interval) -> list[float] | None:
    """What t_eval= takes."""
    asked = {"--t-eval": points.t_eval, "--points": points.points, "--every": points.every}
    chosen = [name for name, value in asked.items() if value is not None]
    if not chosen:
        return None
    if len(chosen) > 1:
        raise OptionError(f"{' and '.join(chosen)} both say at which times results are given; one of them is enough")
    if points.t_eval is not None:
        return numbers(points.t_eval, "--t-eval")
    import numpy as np

    t0, t1 = subject.interval(interval)
    if points.points is not None:
        if not 2 <= points.points <= 10_000_000:
            raise OptionError(f"--points {points.points}: a number from 2 to 10000000 is needed")
        return np.linspace(t0, t1, points.points).tolist()
    every = points.every
    if every is None or not every > 0 or abs(t1 - t0) / every > 1e7:
        raise OptionError(f"--every {every}: a positive number is needed, at least 1e-7 of the interval")
    count = int(abs(t1 - t0) / every * (1 + 1e-12))
    times = t0 + np.sign(t1 - t0) * every * np.arange(count + 1)
    near = abs(times[-1] - t1) < 1e-9 * every
    return [*(times[:-1] if near else times).tolist(), t1]


def events_of(given: Events, subject: Subject) -> list[Event]:
    """Events from conditions, or from the user's file by their names."""
    from dalembert.model.event import Event

    found: list[Event] = []
    for option, texts, ends in (("--event", given.event, False), ("--stop-when", given.stop_when, True)):
        for text in texts or ():
            known = getattr(subject.module, text, None) if subject.module is not None else None
            if isinstance(known, Event):
                event = known if known.name else dataclasses.replace(known, name=text)
                found.append(dataclasses.replace(event, terminal=True) if ends else event)
                continue
            name, direction, value = condition(text, option)
            _must_be_known(name, subject.model, option)
            found.append(
                Event(Difference(name, value), direction=direction, terminal=ends, name=" ".join(text.split()))
            )
    return found


def _must_be_known(name: str, model: Model, option: str) -> None:
    from dalembert.model.namespace import explain_unknown

    known = [own for kind in model.state_kinds for own in model.names(kind)]
    known += [own for own in model.outputs.names if own not in known]
    if name not in known:
        raise OptionError(f"{option}: {explain_unknown(name, known)}")
