"""Values that are no values: our errors, or a picture; nothing else."""

from __future__ import annotations

import dataclasses
import warnings

import pytest

import dalembert as da
from dalembert import draw
from fuzz.hostile import HOSTILE

MODEL = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=[0, -1.0], outputs={"tip": lambda s: [s.x, s.y]})
SOLUTION = da.simulate(MODEL, (0, 0.1), p0=[1, 0], v0=[0, 1])
GOOD = {
    "first": (0, 0), "second": ("x", "y"), "at": ("x", "y"), "through": [(0, 0), ("x", "y")], "vector": ("x", "y"),
    "shape": (), "text": "a", "values": ["x"], "body": "x",
}  # fmt: skip
PARTS = [getattr(draw, name) for name in draw.__all__ if name not in ("Drawing", "On", "Part")]


def answer(call, value):
    """None if all is well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(value)
        except da.DalembertError as error:
            return None if str(error).strip() else "an error without text"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


def part(kind, field, value):
    needed = {f.name: GOOD[f.name] for f in dataclasses.fields(kind) if f.name in GOOD}
    made = kind(**{**needed, field: value})
    SOLUTION.animate(drawing=[made], frames=3, plots=[]).html()


ENTRIES = (
    {
        f"{kind.__name__}({field.name}=)": lambda value, kind=kind, name=field.name: part(kind, name, value)
        for kind in PARTS
        for field in dataclasses.fields(kind)
    }
    | {
        "Drawing(parts)": lambda value: SOLUTION.animate(drawing=value, frames=3),
        "Drawing(points)": lambda value: draw.Drawing([draw.Dot("A")], points=value),
        "Drawing(point)": lambda value: SOLUTION.animate(drawing=draw.Drawing([draw.Dot("A")], points={"A": value})),
        "Drawing(up)": lambda value: draw.Drawing([], up=value),
        "Drawing(name)": lambda value: SOLUTION.animate(drawing=draw.Drawing([draw.Dot((0, 0))], name=value), frames=3),
        "Drawing(follow)": lambda value: draw.Drawing([], follow=value),
        "On(body)": lambda value: SOLUTION.animate(drawing=[draw.Dot(draw.On(value))]),
        "On(at)": lambda value: SOLUTION.animate(
            drawing=[draw.Body((0, 0), name="b"), draw.Dot(draw.On("b", value))], frames=3
        ),
        "animate(frames=)": lambda value: SOLUTION.animate(frames=value),
        "animate(plots=)": lambda value: SOLUTION.animate(plots=value, frames=3),
        "animate(title=)": lambda value: SOLUTION.animate("page.html", title=value, frames=3).html(),
        "animate(speed=)": lambda value: SOLUTION.animate(speed=value, frames=3).html(),
        "report(title=)": lambda value: SOLUTION.report("page.html", title=value),
        "plot(name)": lambda value: SOLUTION.plot(value),
    }
    | {
        f"film({name}=)": lambda value, name=name: SOLUTION.animate(frames=3).save("never.avi", **{name: value})
        for name in ("fps", "width")
    }
)


@pytest.mark.parametrize("entry", ENTRIES)
def test_hostile_values(entry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = {shown: why for shown, make in HOSTILE.items() if (why := answer(ENTRIES[entry], make())) is not None}
    assert not wrong


@pytest.mark.parametrize("name", ["fps", "width", "height", "seconds", "dark", "view", "t"])
def test_hostile_options_of_films(name):
    from dalembert.viewer.film import _options

    wrong = {shown: why for shown, make in HOSTILE.items() if (why := answer(lambda v: _options({name: v}), make()))}
    assert not wrong


@pytest.mark.parametrize(
    "call", [lambda value: SOLUTION.animate(value, frames=3), lambda value: SOLUTION.report(value)]
)
def test_hostile_names_of_files(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = {
        shown: why
        for shown, make in HOSTILE.items()
        if make() is not None and (why := answer(call, make())) is not None
    }
    assert not wrong
