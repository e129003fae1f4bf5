"""The command line. Heavy modules are imported inside the commands, so that `dalembert --help` is quick."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dalembert.errors import DalembertError, FileError, Interrupted, OptionError, SimulationError, UntraceableWarning

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dalembert.model import Model
    from dalembert.problems import Problem
    from dalembert.solution import Solution
    from dalembert.solvers import MethodOptions

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")


class _Commands(TyperGroup):
    """Our own exceptions become one message and an exit code; everything else stays a traceback, as it is a bug."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default", UntraceableWarning)
            try:
                return super().invoke(ctx)
            except DalembertError as error:
                typer.secho("error: ", fg="red", bold=True, err=True, nl=False)
                typer.echo(str(error), err=True)
                # 130 is what shells use for Ctrl-C
                raise typer.Exit(130 if isinstance(error, Interrupted) else 1) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Simulate constrained mechanical systems and other differential-algebraic equations.",
)


def main() -> None:
    """Entry point."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters is no reason to fail
    app(prog_name="dalembert")


def _version(wanted: bool) -> None:
    if wanted:
        from dalembert import __version__

        typer.echo(f"dalembert {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


# -- commands ------------------------------------------------------------------------------------------------------


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the picture goes.")] = Path(
        "dalembert_demo.png"
    ),
) -> None:
    """Simulate mechanisms of the catalogue, print how they went, and draw them."""
    _check_output(output, PICTURES)
    from dalembert import demo as content

    console = _console()
    with console.status("compiling ...") as status:
        results = content.simulate_all(announce=lambda title: status.update(f"{title} ..."))
        status.update("drawing ...")
        with _writing(output):
            content.picture(results).savefig(output, dpi=130)
    console.print(content.table(results))
    console.print(f"The picture is in {output}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def problems() -> None:
    """List the catalogue of test problems."""
    table = _table("name", ">p", ">v", ">r, w, s, x", ">holonomic", ">nonhol.", ">t_end", "description")
    for name, make in _catalogue().items():
        problem = make()
        size = problem.model.graph.size
        others = sum(size(kind) for kind in "rwsx")
        _row(
            table,
            name,
            *(str(n) for n in (size("p"), size("v"), others, size("lam"), size("mu"))),
            f"{problem.t_end:g}",
            problem.title,
        )
    console = _console()
    console.print(table)
    console.print("Run one with: dalembert simulate NAME", highlight=False)


@app.command()
def simulate(
    problem: Annotated[str, typer.Argument(help="A name of the catalogue, or path/to/file.py:function_or_variable.")],
    method: Annotated[str, typer.Option(help="Name of the method.")] = "auto",
    formulation: Annotated[
        str | None, typer.Option(help="index1, index2, index3, ggl or baumgarte; default: the method's.")
    ] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-6,
    atol: Annotated[float, typer.Option(help="Absolute tolerance.")] = 1e-8,
    t_end: Annotated[float | None, typer.Option(help="End time; default: the problem's. A model needs it.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw all variables to this file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the solution to this HDF5 file.")] = None,
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar.")] = False,
) -> None:
    """Simulate a problem of the catalogue or of your own file, or a model that has start values."""
    _check_output(plot, PICTURES)
    _check_output(save)
    subject = _problem(problem, t_end)
    options = _method(method, formulation)
    from dalembert.simulation import simulate as run

    end = subject.t_end if t_end is None else t_end
    failure = None
    try:
        solution = run(
            subject.model, (0.0, end), **subject.start(), method=options, rtol=rtol, atol=atol, progress=progress
        )
    except SimulationError as error:
        if error.solution is None:
            raise
        failure, solution = error, error.solution  # what was computed is shown and saved all the same
    console = _console()
    console.print(_summary(subject, solution))
    for path, write, what in ((save, _save, "solution"), (plot, _plot, "picture")):
        if path is not None:
            with _writing(path):
                write(solution, path)
            console.print(f"The {what} is in {path}", markup=False, highlight=False, soft_wrap=True)
    if failure is not None:
        raise failure


@app.command()
def check(
    model: Annotated[str, typer.Argument(help="path/to/file.py:model (or a function that returns it), or a problem.")],
) -> None:
    """Build a model and say what it consists of; if there are start values, also make them consistent."""
    from dalembert.model import Model
    from dalembert.model.vocabulary import VOCABULARY
    from dalembert.problems import Problem

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntraceableWarning)  # the table below says it
        subject = _load(model, (Problem, Model))
    built = subject.model if isinstance(subject, Problem) else subject
    console = _console()
    console.print(repr(built), markup=False, highlight=False, soft_wrap=True)
    table = _table("", ">count", "names")
    for kind in built.state_kinds:
        names = [name for name in built.names(kind) if name not in _of_contacts(built)]
        if names:
            _row(table, VOCABULARY[kind].title, str(len(names)), ", ".join(names))
    if built.has_contacts and built.contacts:
        _row(table, "contacts", str(len(built.contacts)), ", ".join(contact.name for contact in built.contacts))
    if built.has_contacts and built.dry:
        _row(table, "dry friction", str(len(built.dry)), ", ".join(element.name for element in built.dry))
    modes = [name for name in built.discrete if name not in _of_contacts(built)]
    others = (("parameters", built.parameters), ("discrete variables", modes), ("inputs", built.inputs))
    for noun, names in (*others, ("outputs", built.outputs.names)):
        if names:
            _row(table, noun, str(len(names)), ", ".join(names))
    if built.mechanical:
        from dalembert.regularize import hidden_constraints

        hidden = hidden_constraints(built)
        _row(table, "hidden constraints", str(hidden.g_I.numel()), "holonomic, on velocity level")
        _row(table, "", str(hidden.g_II.numel()), "holonomic, on acceleration level")
        _row(table, "", str(hidden.h_I.numel()), "nonholonomic, on acceleration level")
    else:
        rows = built.n_differential + built.n_constraints
        _row(table, "equations", str(rows), "")
        _structure_rows(table, built)
    console.print(table)
    if built.untraceable:
        console.print("Functions that cannot be traced; they run as Python code with finite differences:")
        for role, reason in built.untraceable.items():
            console.print(f"  {role}: {reason}", markup=False, highlight=False, soft_wrap=True)
    else:
        console.print("All functions are traced.")
    if isinstance(subject, Problem) or built.start:
        console.print(_start_values(built, subject.start() if isinstance(subject, Problem) else built.start))


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="Whose results: geoms, mexx, hem5, corrector, qualidaes.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the figures into this folder.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter intervals and fewer tolerances.")] = False,
) -> None:
    """Print our results beside the published ones of a paper."""
    if plot is not None and plot.exists() and not plot.is_dir():
        raise OptionError(f"'{plot}' is not a folder")
    from dalembert.studies import reproduce as sections

    for section in sections(paper, quick=quick):
        typer.echo(f"{section}\n")
        if plot is not None:
            with _writing(plot):
                path = section.save(plot)
            if path is not None:
                typer.echo(f"The picture is in {path}\n")


@app.command()
def info() -> None:
    """Print versions, and where compiled code is kept."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from dalembert import __version__
    from dalembert.compile import store

    table = _table("", "")
    table.show_header = False
    _row(table, "dalembert", __version__)
    _row(table, "Python", platform.python_version())
    for package in ("numpy", "scipy", "casadi", "numba", "llvmlite", "matplotlib", "h5py"):
        try:
            _row(table, package, version(package))
        except PackageNotFoundError:
            _row(table, package, "not installed")
    _row(table, "machine", f"{platform.system()} {platform.machine()}")
    places = [f"{place.path}{'' if place.writable else ' (read only)'}" for place in store.places()]
    _row(table, "cache directory", ", ".join(places) or "none that can be used")
    _row(table, "kernels", _kernels())
    _console().print(table)


# -- pieces --------------------------------------------------------------------------------------------------------


def _console() -> Console:
    from rich.console import Console

    # in a file or a pipe nothing needs to fit into 80 columns
    return Console(width=None if sys.stdout.isatty() else 120)


def _table(*headings: str) -> Table:
    """A table; headings that begin with > are those of columns of numbers."""
    from rich.table import Table

    table = Table()
    for heading in headings:
        table.add_column(heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left")
    return table


def _row(table: Table, *cells: str) -> None:
    """Add a row as it stands: a bracket in a name is no markup."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells))


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    typer.secho("warning: ", fg="yellow", bold=True, err=True, nl=False)
    typer.echo(str(message), err=True)


def _check_output(path: Path | None, suffixes: Iterable[str] = ()) -> None:
    """Complain about a place that cannot be written to before, not after, the work."""
    if path is None:
        return
    if suffixes and path.suffix.lower() not in suffixes:
        raise OptionError(f"cannot draw to '{path}': the file name must end with one of {', '.join(suffixes)}")
    if path.is_dir():
        raise OptionError(f"'{path}' is a directory; give the name of a file")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"cannot write '{path}': the directory '{path.parent}' does not exist")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except FileError:  # says it itself
        raise
    except OSError as error:
        raise OptionError(f"cannot write '{path}': {error.strerror or error}") from error


def _method(name: str, formulation: str | None) -> MethodOptions:
    from dalembert.solvers import resolve_method

    options = resolve_method(name)
    if formulation is None:
        return options
    return type(options)(formulation=formulation)


def _problem(text: str, t_end: float | None) -> Problem:
    """A problem, or a model with start values as one."""
    from dalembert.model import Model
    from dalembert.problems import Problem

    subject = _load(text, (Problem, Model), lambda value: isinstance(value, Problem) or bool(value.start))
    if isinstance(subject, Problem):
        return subject
    if not subject.start:
        raise OptionError(
            f"'{text}' is a model without start values (start={{'p0': [...]}} of a model gives them); with others a "
            "dalembert.problems.Problem is needed"
        )
    if t_end is None:
        raise OptionError(f"'{text}' is a model and does not know when to end: add --t-end")
    return Problem(name=subject.name, title=subject.name, model=subject, t_end=t_end)


def _catalogue() -> dict[str, Any]:
    from dalembert import problems

    parts = (problems.catalogue, problems.catalogue_multibody, problems.catalogue_contact, problems.catalogue_large)
    return {name: make for part in (*parts, problems.catalogue_quasi_linear) for name, make in part().items()}


def _load(text: str, kinds: tuple[type, ...], fits: Callable[[Any], bool] = lambda value: True) -> Any:
    """A problem of the catalogue, or what a Python file calls by a name, `file.py:name`.

    Without a name it is the only one of its kind that fits; the first kind goes before the others.
    """
    file, colon, name = text.rpartition(":")
    if not colon and text.endswith(".py"):
        file, name = text, ""
    if not file:
        known = _catalogue()
        if text in known:
            return known[text]()
        from dalembert.model.namespace import explain_unknown

        raise OptionError(f"problems: {explain_unknown(text, known)} (a file of your own is given as file.py:name)")
    module = _import_file(Path(file))
    if not name:
        found = {key: value for key, value in vars(module).items() if isinstance(value, kinds) and fits(value)}
        found = {key: value for key, value in found.items() if isinstance(value, kinds[0])} or found
        if len(found) != 1:
            which = f"more than one: {', '.join(found)}" if found else "none"
            raise OptionError(f"'{file}' has no single {_any_of(kinds)} ({which}); say which one with {file}:name")
        return next(iter(found.values()))
    if not hasattr(module, name):
        from dalembert.model.namespace import explain_unknown

        own = [key for key in vars(module) if not key.startswith("_")]
        raise OptionError(f"'{file}': {explain_unknown(name, own)}")
    value = getattr(module, name)
    if callable(value) and not isinstance(value, kinds):
        with _running_users_code(f"{name}() in '{file}'"):
            value = value()
    if not isinstance(value, kinds):
        raise OptionError(f"'{name}' in '{file}' is a {type(value).__name__}; a {_any_of(kinds)} is needed")
    return value


def _any_of(kinds: tuple[type, ...]) -> str:
    return " or ".join("dalembert.problems.Problem" if k.__name__ == "Problem" else k.__name__ for k in kinds)


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise OptionError(f"there is no file '{path}'")
    if path.suffix != ".py":
        raise OptionError(f"'{path}' is not a Python file")
    spec = importlib.util.spec_from_file_location(f"_user_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as dataclasses and pickle expect
    sys.path.insert(0, str(path.absolute().parent))  # as `python file.py` does
    try:
        with _running_users_code(f"'{path}'"):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


@contextmanager
def _running_users_code(what: str) -> Iterator[None]:
    """Exceptions of the user's own code in one line, with the line it happened in."""
    import traceback

    try:
        yield
    except DalembertError:
        raise
    except SyntaxError as error:
        raise OptionError(f"{what}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise OptionError(
            f"{what} raised {type(error).__name__}: {error} (line {last.lineno} of {last.filename})"
        ) from error


def _summary(problem: Problem, solution: Solution) -> Table:
    stats = solution.stats
    table = _table("", "")
    table.show_header = False
    table.title, table.title_justify = problem.title, "left"
    _row(table, "method", solution.method.partition("(")[0])
    _row(table, "formulation", solution.formulation)
    _row(table, "status", f"{solution.status}: {solution.message}" if solution.success else solution.status)
    _row(table, "interval", "{:g} … {:g}".format(*solution.trajectory.interval))
    _row(table, "steps", f"{stats.accepted} accepted, {stats.rejected} rejected")
    _row(
        table, "evaluations", f"{stats.rhs_evaluations} of the equations, {stats.jacobian_evaluations} of the Jacobian"
    )
    if problem.model.names("p"):
        for level in ("position", "velocity"):
            _row(table, f"max {level} residual", f"{solution.max_residual(level):.2e}")
    reference = problem.reference
    if reference is not None and solution.success and abs(solution.t[-1] - reference.t) <= 1e-12 * abs(reference.t):
        _row(table, "error against reference", f"{problem.error(solution):.2e}")
    _row(table, "time", f"{1e3 * stats.seconds:.1f} ms")
    last = solution.at(solution.trajectory.interval[1])
    for kind in ("p", "v", "x"):
        if names := problem.model.names(kind):
            for name, value in zip(names, getattr(last, kind), strict=True):
                _row(table, f"{name}", f"{value: .10g}")
    return table


def _of_contacts(model: Model) -> set[str]:
    """Names of multipliers and discrete variables that belong to contacts."""
    if not model.has_contacts:
        return set()
    from dalembert.model.contacts import SLACKS

    every = (*model.contacts, *model.dry)
    own = (name for contact in every for name in (contact.name, *contact.stick_names, *contact.discrete))
    return {*own, *SLACKS}


def _structure_rows(table: Table, model: Model) -> None:
    """What structural analysis tells of a DAE; nothing if its functions run as Python code."""
    from dalembert.regularize.structure import listed

    structure = model.structure
    if structure is None:
        return
    _row(table, "index", str(structure.index), "")
    _row(table, "degrees of freedom", str(structure.degrees_of_freedom), "")
    for count, names in structure.differentiated.items():
        times = {1: "once", 2: "twice"}.get(count, f"{count} times")
        _row(table, f"differentiated {times}", str(len(names)), listed(names))
    if structure.eliminated:
        _row(table, "eliminated", str(len(structure.eliminated)), listed([str(own) for own in structure.eliminated]))
    blocks = structure.blocks
    largest = max(blocks, key=lambda block: len(block[0]))[1]
    names = listed([structure.variables[j] for j in sorted(largest)])
    _row(table, "blocks", str(len(blocks)), f"the largest one has {len(largest)}: {names}" if len(largest) > 1 else "")


def _start_values(model: Model, given: Mapping[str, Any]) -> Table:
    from dalembert.regularize import consistent_initial_values

    start = consistent_initial_values(model, 0.0, **given)
    table = _table("start values", ">given", ">consistent")
    for kind in model.state_kinds:
        names, old = model.names(kind), given.get(f"{kind}0", {})
        old = old if isinstance(old, Mapping) else dict(zip(names, old, strict=True))
        for i, name in enumerate(names):
            _row(table, name, f"{old[name]:.10g}" if name in old else "", f"{start.values[kind][i]:.10g}")
    return table


def _save(solution: Solution, path: Path) -> None:
    solution.save(path)


def _plot(solution: Solution, path: Path) -> None:
    """Positions, velocities, multipliers and what else there is, one panel for each kind."""
    from matplotlib.figure import Figure

    from dalembert.model.vocabulary import VOCABULARY

    names = {kind: solution.model.names(kind) for kind in solution.model.state_kinds}
    kinds = [kind for kind, own in names.items() if own]
    figure = Figure(figsize=(8, 1 + 2.3 * len(kinds)), layout="constrained")
    for ax, kind in zip(figure.subplots(len(kinds), sharex=True, squeeze=False).flat, kinds, strict=True):
        solution.plot(*names[kind], ax=ax)
        ax.set(xlabel="", ylabel=VOCABULARY[kind].title.split(",")[0] if len(names[kind]) > 1 else names[kind][0])
        if len(names[kind]) > 1:
            ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    ax.set_xlabel("t")
    figure.suptitle(f"{solution.model.name}: {solution.method.partition('(')[0]}, {solution.formulation}")
    figure.savefig(path, dpi=130)


def _kernels() -> str:
    from dalembert.compile import store

    places = store.places()
    if not places:
        return "compiled anew in every process"
    compiled = [path.stat().st_size for place in places for path in (place.path / "kernels").rglob("*.nbc")]
    if not compiled:
        return "not compiled yet; the first simulation does it"
    return f"{len(compiled)} compiled, {sum(compiled) / 1e6:.0f} MB"
