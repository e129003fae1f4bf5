"""Options that several commands have, in groups: each is written down here, once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

MODEL, TIME, METHOD, RESULTS, SCREEN = "Model", "Time", "Method", "Results", "Screen"


def option(*names: str, panel: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, show_default=more.pop("show_default", False), **more)


SubjectText = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="A name of the catalogue (dalembert problems lists them); file.py or file.py:name; a Modelica file, "
        "package or class (A.B.C); a robot, file.urdf.",
    ),
]
ClassName = Annotated[
    str | None,
    option("--class", metavar="A.B", panel=MODEL, help="Modelica: which class of the file; default: the last one."),
]
SearchPath = Annotated[
    list[Path] | None,
    option(
        "--path", metavar="FOLDER", panel=MODEL,
        help="Modelica: where packages are, before those of $MODELICAPATH. Repeatable.",
    ),
]  # fmt: skip
Json = Annotated[
    bool, option("--json", panel=SCREEN, help="Print one JSON document on the standard output, and nothing else there.")
]
Output = Annotated[
    Path | None,
    option("--output", "-o", metavar="FILE", panel=RESULTS, help="Where the text goes; default: the screen."),
]


@dataclass(frozen=True, kw_only=True)
class Which:
    """The model, and what is changed of it."""

    model: SubjectText
    class_name: ClassName = None
    path: SearchPath = None
    coordinates: Annotated[
        str | None,
        option(
            "--coordinates",
            metavar="NAME",
            panel=MODEL,
            help="Of robots and bodies: joint (default), absolute or mixed.",
        ),
    ] = None
    urdf: Annotated[
        list[str] | None,
        option(
            "--urdf",
            metavar="NAME=VALUE",
            panel=MODEL,
            help="How a robot is read: fixed_base=false, massless=lock, mimic=false, friction=true, .... Repeatable.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        option(
            "--set",
            metavar="NAME=VALUE",
            panel=MODEL,
            help="Another value of a parameter. Repeatable; @FILE has many, as JSON or in lines.",
        ),
    ] = None
    initial: Annotated[
        list[str] | None,
        option(
            "--initial",
            metavar="NAME=VALUE",
            panel=MODEL,
            help="Another start value of a variable. Repeatable; @FILE as for --set.",
        ),
    ] = None
    inputs: Annotated[
        list[str] | None,
        option(
            "--input", metavar="NAME=VALUE", panel=MODEL,
            help="Another input: a number, or a CSV file with a column of times and one of values. Repeatable.",
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Interval:
    """From when to when."""

    start_time: Annotated[
        float | None, option("--start-time", metavar="T", panel=TIME, help="Default: the model's, or 0.")
    ] = None
    stop_time: Annotated[
        float | None, option("--stop-time", "--t-end", metavar="T", panel=TIME, help="Default: the model's.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Points:
    """At which times results are given."""

    t_eval: Annotated[
        str | None,
        option("--t-eval", metavar="TIMES", panel=TIME, help="Times of the results: 0,0.5,1 or 0:1:11 or @FILE."),
    ] = None
    points: Annotated[
        int | None,
        option("--points", metavar="N", panel=TIME, help="So many times, equidistant, with both ends."),
    ] = None
    every: Annotated[
        float | None, option("--every", metavar="DT", panel=TIME, help="So far apart; the end is added.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Limits on steps."""

    first_step: Annotated[
        float | None, option("--first-step", metavar="H", panel=METHOD, help="Size of the first step.")
    ] = None
    max_step: Annotated[float | None, option("--max-step", metavar="H", panel=METHOD, help="No step is longer.")] = None
    max_steps: Annotated[
        int | None, option("--max-steps", metavar="N", panel=METHOD, help="Give up after so many; default: 1000000.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Tolerances:
    """How exact."""

    rtol: Annotated[
        float | None,
        option("--rtol", metavar="R", panel=METHOD, help="Relative tolerance; default: the model's, or 1e-6."),
    ] = None
    atol: Annotated[
        float | None,
        option("--atol", metavar="A", panel=METHOD, help="Absolute tolerance; default: the model's, or 1e-8."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """By which method."""

    method: Annotated[
        str,
        option(
            "--method",
            "-m",
            metavar="NAME",
            panel=METHOD,
            show_default=True,
            help="radau5, geoms, hem5, …; with options as in radau5:formulation=index2,safety=0.8.",
        ),
    ] = "auto"
    formulation: Annotated[
        str | None,
        option(
            "--formulation",
            metavar="NAME",
            panel=METHOD,
            help="index1, index2, index3, ggl or baumgarte; default: the method's.",
        ),
    ] = None
    options: Annotated[
        list[str] | None,
        option("--option", metavar="NAME=VALUE", panel=METHOD, help="Any option of the method. Repeatable."),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Events:
    """What is watched."""

    event: Annotated[
        list[str] | None,
        option(
            "--event",
            metavar="NAME<VALUE",
            panel=TIME,
            help="Record when a variable or output passes a value (<, > or =), or an Event of file.py by its name. "
            "Repeatable.",
        ),
    ] = None
    stop_when: Annotated[
        list[str] | None,
        option("--stop-when", metavar="NAME<VALUE", panel=TIME, help="The same, and end there. Repeatable."),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Screen:
    """What is shown, and how."""

    progress: Annotated[
        bool | None,
        option(
            "--progress/--no-progress",
            panel=SCREEN,
            help="Show how far it is and the time left; default: on terminals.",
        ),
    ] = None
    json: Json = False  # fmt: skip


Variables = Annotated[
    list[str] | None,
    option(
        "--variables", metavar="NAMES", panel=RESULTS,
        help="Which ones tables, pictures and JSON have, as in 'inertia*.w,J1.phi'. Repeatable; default: all.",
    ),
]  # fmt: skip
