"""Texts, files and messages."""

from __future__ import annotations

import os
import re
from typing import Any

from dalembert.modelica.symbolic.externals.registry import Answer, Question, external
from dalembert.modelica.values import Arr


@external("ModelicaStrings_length")
def length(question: Question) -> int:
    return len(question.known(0))


@external("ModelicaStrings_substring")
def substring(question: Question) -> str:
    text, first, last = (question.known(i) for i in range(3))
    return text[max(int(first), 1) - 1 : int(last)]


@external("ModelicaStrings_compare")
def compare(question: Question) -> int:
    """The number of a value of Modelica.Utilities.Types.Compare: less, equal, greater."""
    left, right, sensitive = (question.known(i) for i in range(3))
    if not sensitive:
        left, right = left.lower(), right.lower()
    return 1 if left < right else 2 if left == right else 3


@external("ModelicaStrings_skipWhiteSpace")
def skip_white_space(question: Question) -> int:
    text, first = question.known(0), int(question.known(1))
    return first + len(re.match(r"\s*", text[first - 1 :])[0])


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_INTEGER = re.compile(r"[+-]?\d+")
_REAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_STRING = re.compile(r'"((?:[^"\\]|\\[\s\S])*)"')


def _scanned(question: Question, pattern: re.Pattern[str], convert: Any, unsigned: bool = False) -> Answer:
    """What stands at a place of a text: the place behind it (or the place itself, if it does not) and its value.

    The last two arguments are outputs.
    """
    text, first = question.known(0), int(question.known(1))
    start = first - 1 + len(re.match(r"\s*", text[first - 1 :])[0])
    found = pattern.match(text, start)
    if found is None or (unsigned and found[0][0] in "+-"):
        return Answer(args={len(question.args) - 2: first, len(question.args) - 1: convert(None)})
    return Answer(args={len(question.args) - 2: found.end() + 1, len(question.args) - 1: convert(found)})


@external("ModelicaStrings_scanIdentifier")
def scan_identifier(question: Question) -> Answer:
    return _scanned(question, _IDENTIFIER, lambda found: found[0] if found else "")


@external("ModelicaStrings_scanInteger")
def scan_integer(question: Question) -> Answer:
    return _scanned(question, _INTEGER, lambda found: int(found[0]) if found else 0, bool(question.known(2)))


@external("ModelicaStrings_scanReal")
def scan_real(question: Question) -> Answer:
    return _scanned(question, _REAL, lambda found: float(found[0]) if found else 0.0, bool(question.known(2)))


@external("ModelicaStrings_scanString")
def scan_string(question: Question) -> Answer:
    return _scanned(question, _STRING, lambda found: found[1] if found else "")


@external("ModelicaStrings_hashString")
def hash_string(question: Question) -> int:
    """A number of 32 bits from a text: the hash of A. Partow."""
    found = 0xAAAAAAAA
    for i, byte in enumerate(question.known(0).encode()):
        if i % 2 == 0:
            found ^= (found << 7) ^ (byte * (found >> 3))
        else:
            found ^= ~((found << 11) + (byte ^ (found >> 5)))
        found %= 1 << 32
    return found - (1 << 32) if found >= 1 << 31 else found


@external("ModelicaInternal_print", "ModelicaStreams_closeFile")
def nothing(question: Question) -> None:
    """Messages are for whoever runs the model, not for its results."""
    return None


@external("ModelicaInternal_removeFile", "ModelicaInternal_rename", "ModelicaInternal_mkdir", "ModelicaInternal_rmdir",
          "ModelicaInternal_copyFile", "ModelicaIO_writeRealMatrix")  # fmt: skip
def files_are_left_alone(question: Question) -> bool:
    """A translation changes no files, nor does a simulation; what would be written is noted."""
    question.body.calls.notes[f"`{question.name}` is left out: models do not change files"] = None
    return True


@external("ModelicaError", "ModelicaFormatError")
def error(question: Question) -> None:
    raise ValueError(str(question.known(0)))


@external("ModelicaInternal_fullPathName")
def full_path_name(question: Question) -> str:
    return os.path.abspath(question.known(0))


@external("ModelicaInternal_stat")
def stat(question: Question) -> int:
    """The number of a value of Modelica.Utilities.Types.FileType: none, file, directory, special."""
    path = question.known(0)
    return 1 if not os.path.exists(path) else 2 if os.path.isfile(path) else 3 if os.path.isdir(path) else 4


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError) as reason:
        raise ValueError(f"the file {path} cannot be read: {reason}") from None


@external("ModelicaInternal_readLine")
def read_line(question: Question) -> Answer:
    """A line of a file, and whether the file ends before (argument 2)."""
    lines, number = _lines(question.known(0)), int(question.known(1))
    inside = 1 <= number <= len(lines)
    return Answer(lines[number - 1] if inside else "", {2: not inside})


@external("ModelicaInternal_countLines")
def count_lines(question: Question) -> int:
    return len(_lines(question.known(0)))


@external("ModelicaInternal_readFile")
def read_file(question: Question) -> Answer:
    n = int(question.known(2))
    lines = _lines(question.known(0))[:n]
    return Answer(args={1: Arr((n,), lines + [""] * (n - len(lines)))})


@external("ModelicaInternal_getcwd")
def working_directory(question: Question) -> str:
    return os.getcwd()
