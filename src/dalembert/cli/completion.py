"""What could stand at the end of a command line: commands, options, names, files.

Shells call `dalembert __complete SHELL WORDS...`, and get a line for each possibility: a word, a tab, and a few words
about it. Those that end with = or / or : are not finished. Nothing of the user's is run for that.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: characters at which bash breaks words, besides blanks
BREAKS = "=:"
#: characters that mean something to it
NEEDS_QUOTES, BACKSLASHED = r"([^\w@%+=:,./~-])", r"\\\1"
#: possibilities that are offered at most
MOST = 500

Offers = Mapping[str, str]


@dataclass(frozen=True)
class Line:
    """What stands on the command line already: values by the names of parameters."""

    values: Mapping[str, list[str]]

    def last(self, name: str) -> str:
        return (self.values.get(name) or [""])[-1]


def respond(words: Sequence[str]) -> int:
    """Print possibilities for a shell; never an error, which would only disturb."""
    try:
        shell, *words = words
        written: Callable[[str, str], str] = "{}\t{}\n".format
        if shell == "bash":
            words, written = _bash_words(words[0] if words else "")
        current = words[-1] if words else ""
        for word, about in list(offers(list(words[:-1]), current).items())[:MOST]:
            sys.stdout.write(written(word, about))
        sys.stdout.flush()
    except Exception:
        if os.environ.get("DALEMBERT_DEBUG_COMPLETION"):
            raise
        return 1
    return 0


def offers(words: Sequence[str], current: str) -> dict[str, str]:
    """Possibilities for the last word of a command line, with a few words about each.

    >>> list(offers([], "comp"))
    ['compare', 'completion']
    >>> list(offers(["simulate", "andrews"], "--max"))
    ['--max-step', '--max-steps']
    >>> list(offers(["reproduce"], "g"))
    ['geoms']
    """
    import typer

    from dalembert.cli import app

    root: Any = typer.main.get_command(app)
    commands = {name: own for name, own in root.commands.items() if not own.hidden}
    if not words:
        known = {name: _about(own.help) for name, own in commands.items()}
        return _fitting({**known, "--help": "Show the help.", "--version": "Print the version."}, current)
    command = commands.get(words[0])
    if command is None:
        return {}
    options = {text: own for own in command.params for text in (*own.opts, *own.secondary_opts) if text[0] == "-"}
    arguments = [own for own in command.params if own.param_type_name == "argument"]
    line, waiting, place = _read(words[1:], options, arguments)
    if waiting is not None:
        return _fitting(_values(waiting, current, line), current)
    name, sign, value = current.partition("=")
    if sign and name in options:
        return {f"{name}={word}": about for word, about in _fitting(_values(options[name], value, line), value).items()}
    if current.startswith("-"):
        left = {text: own for text, own in options.items() if own.multiple or not line.values.get(own.name)}
        return _fitting({text: _about(own.help) for text, own in left.items()} | {"--help": "Show the help."}, current)
    return _fitting(_values(arguments[place], current, line), current) if place < len(arguments) else {}


def _read(words: Sequence[str], options: Mapping[str, Any], arguments: Sequence[Any]) -> tuple[Line, Any, int]:
    """Values so far, the option that waits for one, and how many arguments there were."""
    values: dict[str, list[str]] = {}
    waiting, place = None, 0
    for word in words:
        name, sign, value = word.partition("=")
        if waiting is not None:
            values.setdefault(waiting.name, []).append(word)
            waiting = None
        elif name in options and word.startswith("-"):
            own = options[name]
            if sign or own.is_flag:
                values.setdefault(own.name, []).append(value)
            else:
                waiting = own
        elif not word.startswith("-"):
            if place < len(arguments):
                values.setdefault(arguments[place].name, []).append(word)
            place += 1
    return Line(values), waiting, place


def _about(text: str | None) -> str:
    """The first sentence of a help."""
    return " ".join((text or "").partition("\n\n")[0].split())


def _fitting(known: Offers, current: str) -> dict[str, str]:
    return {word: about for word, about in known.items() if word.startswith(current)}


# -- values ------------------------------------------------------------------------------------------------------------


def _values(parameter: Any, current: str, line: Line) -> Offers:
    """What may stand for a parameter of a command."""
    if parameter.name in WORDS:
        return dict.fromkeys(WORDS[parameter.name], "")
    if parameter.name in NAMES:
        return NAMES[parameter.name](current, line)
    if parameter.name in ENDINGS:
        return files(current, ENDINGS[parameter.name])
    return {}


def _models(current: str, line: Line) -> Offers:
    from dalembert.cli.names import problems

    found = {} if "/" in current or current.startswith(".") else problems()
    return {**found, **files(current, (".py", ".mo", ".urdf"))}


def _problems(current: str, line: Line) -> Offers:
    from dalembert.cli.names import problems

    return problems()


def _methods(current: str, line: Line) -> Offers:
    from dalembert.cli.names import methods

    known = methods()
    name, colon, rest = current.partition(":")
    if not colon:
        return {"auto": "the method that fits", **dict.fromkeys(known, "")}
    before = current[: len(current) - len(rest.rpartition(",")[2])]
    return {f"{before}{own}=": f"default: {default}" for own, default in known.get(name, {}).items()}


def _options(current: str, line: Line) -> Offers:
    from dalembert.cli.names import methods

    known = methods()
    method = line.last("method").partition(":")[0]
    of = [known[method]] if method in known else known.values()
    return {f"{own}=": f"default: {default}" for options in of for own, default in options.items()}


def _of_problem(part: str, sign: str) -> Callable[[str, Line], Offers]:
    """Names of a part of the problem that is simulated; several between commas where no value follows."""

    def find(current: str, line: Line) -> Offers:
        from dalembert.cli.names import of_problem

        own = of_problem(line.last("model"))
        names = [*own["parameters"], *own["variables"]] if part == "both" else own[part]
        before = "" if sign else current[: len(current) - len(current.rpartition(",")[2])]
        return dict.fromkeys((f"{before}{name}{sign}" for name in names), "")

    return find


#: of parameters by their names: words
WORDS = {
    "formulation": ("index1", "index2", "index3", "ggl", "baumgarte"),
    "coordinates": ("joint", "absolute", "mixed"),
    "engine": ("auto", "threads", "processes"),
    "design": ("random", "latin", "sobol", "halton"),
    "to": ("python", "c", "fortran"),
    "paper": ("geoms", "mexx", "hem5", "corrector", "qualidaes"),
    "shell": ("bash", "zsh", "fish"),
    "urdf": (
        "fixed_base=", "massless=", "mimic=", "loops=", "damping=", "friction=", "check_inertia=", "gravity=",
    ),
}  # fmt: skip
#: names that have to be looked up
NAMES: Mapping[str, Callable[[str, Line], Offers]] = {
    "model": _models,
    "pattern": _problems,
    "method": _methods,
    "options": _options,
    "settings": _of_problem("parameters", "="),
    "initial": _of_problem("variables", "="),
    "vary": _of_problem("both", "="),
    "sample": _of_problem("both", "="),
    "variables": _of_problem("all", ""),
    "keep": _of_problem("all", ""),
    "event": _of_problem("all", "<"),
    "stop_when": _of_problem("all", "<"),
}
#: files whose names end like this
PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "csv": (".csv",),
    "samples": (".csv",),
    "save": (".h5",),
    "store": (".h5",),
    "checkpoint": (".h5",),
    "hdf5": (".h5",),
    "mat": (".mat",),
    "plot": PICTURES,
    "animate": (".html", ".gif", ".mp4", ".png"),
    "report": (".html",),
    "output": ("",),
    "path": (),
}


def files(current: str, endings: Iterable[str]) -> dict[str, str]:
    """Folders, and files whose names end like this, in the folder that a word begins with."""
    endings = tuple(endings)
    folder, name = os.path.split(current)
    found = {}
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder) or "."), key=lambda entry: entry.name)
    except OSError:
        return {}
    for entry in entries:
        if not entry.name.startswith(name) or (entry.name.startswith(".") and not name.startswith(".")):
            continue
        path = os.path.join(folder, entry.name)
        try:
            if entry.is_dir():
                found[f"{path}/"] = ""
            elif endings and entry.name.lower().endswith(endings):
                found[path] = ""
        except OSError:
            continue
    return found


# -- bash --------------------------------------------------------------------------------------------------------------


def _bash_words(text: str) -> tuple[list[str], Callable[[str, str], str]]:
    """Words of a line, and how an offer for the last one is written.

    bash counts what stands before one of the `BREAKS` as words of their own. Inside of quotation marks it quotes.
    """
    quoted = True
    for closing in ("", "'", '"'):
        try:
            words = shlex.split(text + closing)
        except ValueError:  # a quotation mark that is not closed yet
            continue
        quoted = bool(closing)
        break
    if not words or (text[-1:].isspace() and not quoted):
        words.append("")
    cut = 0 if quoted else max(words[-1].rfind(sign) for sign in BREAKS) + 1

    def written(word: str, about: str) -> str:
        return f"{word if quoted else re.sub(NEEDS_QUOTES, BACKSLASHED, word[cut:])}\n"

    return words[1:], written
