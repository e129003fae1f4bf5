"""Studies and comparisons with values that are no values: they work, or say in our words what is wrong."""

import warnings

import pytest

import dalembert as da
from fuzz.hostile import HOSTILE

PENDULUM = da.problems.pendulum()


def sweep(**arguments):
    return da.sweep(**{"model": PENDULUM, "samples": {"g": [9.81]}, "t_span": (0, 0.01), "workers": 1, **arguments})


def compare(**arguments):
    return da.compare(
        **{
            "problem": PENDULUM, "methods": ["hem5"], "tolerances": [1e-3], "t_span": (0, 0.01), "repeat": 1,
            **arguments,
        }
    )  # fmt: skip


ENTRIES = {
    "samples": lambda v: sweep(samples=v), "sample values": lambda v: sweep(samples={"g": v}),
    "grid": lambda v: sweep(samples=da.Grid(v)), "distributions": lambda v: sweep(samples=da.MonteCarlo({"g": v}, 2)),
    "draws": lambda v: sweep(samples=da.MonteCarlo(v, 2)),
    "design": lambda v: da.MonteCarlo({"g": (1, 2)}, 2, v).draw(0),
    "keep": lambda v: sweep(keep=v), "summary": lambda v: sweep(summary=v), "engine": lambda v: sweep(engine=v),
    "seed": lambda v: sweep(seed=v), "retries": lambda v: sweep(retries=v), "t_eval": lambda v: sweep(t_eval=v),
    "problem": lambda v: compare(problem=v), "methods": lambda v: compare(methods=v),
    "tolerances": lambda v: compare(tolerances=v), "every": lambda v: da.Checkpoint("run.h5", v),
    "sympy": lambda v: da.from_sympy(v),
}  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
def test_hostile_values(entry):
    wrong = {}
    for name, value in HOSTILE.items() if hasattr(HOSTILE, "items") else enumerate(HOSTILE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ENTRIES[entry](value)
            except da.DalembertError as error:
                if not str(error).strip():
                    wrong[name] = "an error without text"
            except Exception as error:
                wrong[name] = f"{type(error).__name__}: {error}"
    assert not wrong
