"""Members of the ensembles of these tests: mechanisms of the catalogue with other parameters and start values."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da

TOLERANCE = 1e-6


def family(name: str, n: int, seed: int = 0) -> dict[str, Any]:
    """Arguments of `da.ensemble`."""
    rng = np.random.default_rng(seed)
    problem = da.problems.catalogue()[name]()
    model, start = problem.model, problem.start()
    parameters = {
        key: float(value) * (1 + VARIED[name][key] * rng.uniform(-1, 1, n))
        for key, value in model.parameters.items()
        if key in VARIED[name]
    }
    given = dict(model=model, t_span=(0.0, SPAN.get(name, problem.t_end)), parameters=parameters, n=n)
    for key in ("p0", "v0", "r0"):
        if start.get(key) is not None:
            given[key] = np.asarray(start[key], float)
    width = MOVED.get(name, 0.0)
    if width:
        given["p0"] = given["p0"] + width * rng.uniform(-1, 1, (n, len(given["p0"])))
    return given | {"rtol": TOLERANCE, "atol": TOLERANCE}


#: relative spread of parameters, and absolute one of positions
VARIED: dict[str, dict[str, float]] = {
    "pendulum": {"m": 0.5, "g": 0.2, "L": 0.1},
    "andrews": {"m1": 0.2, "m3": 0.2, "I2": 0.2, "torque": 0.3, "rr": 0.001, "c0": 0.3},
    "car_axis": {"M": 0.1},
    "heavy_top": {},
    "rolling_disc": {},
    "four_bar_linkage": {},
    "pendulum_chain": {"m": 0.1, "L": 0.01},
    "truck11": {},
}
MOVED = {"pendulum": 0.05, "andrews": 0.01}
SPAN = {"car_axis": 0.4, "heavy_top": 0.3, "truck11": 0.5}


def alone(given: dict[str, Any], i: int, **more: Any) -> da.Solution:
    """One member, by `simulate`, with Hem5 unless another method is given."""
    own = {key: value for key, value in given.items() if key not in ("n", "parameters")}
    for key in ("p0", "v0", "r0"):
        if key in own and own[key].ndim == 2:
            own[key] = own[key][i]
    parameters = {key: values[i] for key, values in given["parameters"].items()}
    return da.simulate(**own, parameters=parameters or None, **{"method": "hem5", **more})
