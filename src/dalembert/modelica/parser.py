"""Text to trees: the front door of the parser."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

from dalembert.modelica.parse_classes import ClassParser
from dalembert.modelica.source import Source
from dalembert.modelica.tree import Annotation, Expression, File, Modifier, Redeclaration

T = TypeVar("T")
_DEEPEST_CALLS = 10_000  # Python's own calls, which need no stack of the processor


def parse(source: Source | str) -> File:
    """The tree of a text or file.

    Raises
    ------
    ModelicaError
        The text is not Modelica; the error has line and column.

    Examples
    --------
    >>> file = parse("within A.B; model C Real x; equation der(x) = -x; end C;")
    >>> file.within, file.classes[0].name, file.classes[0].elements[0].name
    (('A', 'B'), 'C', 'x')
    """
    return _whole(source, ClassParser.file)


def parse_expression(source: Source | str) -> Expression:
    """The tree of a single expression.

    Examples
    --------
    >>> parse_expression("2*x").op
    '*'
    """
    return _whole(source, ClassParser.expression)


def parse_annotation(source: Source, annotation: Annotation) -> tuple[Modifier | Redeclaration, ...]:
    """What an annotation of a source says.

    Examples
    --------
    >>> source = Source("model A annotation(experiment(StopTime=2)); end A;")
    >>> [note] = parse_annotation(source, parse(source).classes[0].annotation)
    >>> note.name, note.args[0].name, note.args[0].value.value
    ('experiment', 'StopTime', 2)
    """
    parser = ClassParser(source)
    parser.i = annotation.at
    return _guarded(parser, ClassParser.class_modification)


def _whole(source: Source | str, rule: Callable[[ClassParser], T]) -> T:
    """Read all of a source by a rule of the grammar."""
    source = Source(source) if isinstance(source, str) else source
    with collector_paused():
        source.check()
        parser = ClassParser(source)
        found = _guarded(parser, rule)
        if parser.t[parser.i]:
            parser.unexpected("the end of the text")
        source.forget()
        return found


def _guarded(parser: ClassParser, rule: Callable[[ClassParser], T]) -> T:
    try:
        return rule(parser)
    except RecursionError:  # whoever called us was deep in the stack already
        raise parser.source.error("the text is nested too deeply here", parser.i, "Divide it into parts") from None


@contextlib.contextmanager
def room_for_depth() -> Iterator[None]:
    """Allow more calls within each other: a sum of a thousand terms is a tree of that depth."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST_CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Let the garbage collector rest: trees have no cycles, and looking through them takes its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
