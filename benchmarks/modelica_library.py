"""The Modelica Standard Library: how long its files take to parse, and which of its examples can be flattened.

    MODELICAPATH=/path/to/library python benchmarks/modelica_library.py [package ...]

Packages are full names, by default Modelica.Blocks, .Electrical.Analog, .Mechanics.Rotational,
.Mechanics.Translational and .Thermal.HeatTransfer. Times are those of the processor.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter

from dalembert.errors import ModelicaError
from dalembert.modelica.cache import load_file
from dalembert.modelica.flattener import flatten_class
from dalembert.modelica.library import Definition, Library
from dalembert.modelica.parser import parse
from dalembert.modelica.source import read

PACKAGES = (
    "Modelica.Blocks",
    "Modelica.Electrical.Analog",
    "Modelica.Mechanics.Rotational",
    "Modelica.Mechanics.Translational",
    "Modelica.Thermal.HeatTransfer",
)


def parsing(package: Definition) -> None:
    """Print how long the files take, parsed and from the cache."""
    files = sorted(package.directory.rglob("*.mo"))
    size = sum(path.stat().st_size for path in files)
    start = time.process_time()
    for path in files:
        parse(read(path))
    cold = time.process_time() - start
    for path in files:
        load_file(path)
    start = time.process_time()
    for path in files:
        load_file(path)
    warm = time.process_time() - start
    print(f"{len(files)} files, {size / 1e6:.1f} MB: {cold:.1f} s parsed, {warm:.1f} s from the cache")


def examples(library: Library, package: str) -> list[Definition]:
    """Models below a package that say how they are simulated."""
    return [
        one for one in library.walk(library.find(package))
        if ".Examples." in one.name and one.node.kind in ("model", "block", "class")
        and "partial" not in one.node.prefixes and any(note.name == "experiment" for note in one.notes())
    ]  # fmt: skip


def reason(error: ModelicaError) -> str:
    """The message without its place and without names."""
    text = re.sub(r"^\S+:\d+:\d+: ", "", str(error).split("\n")[0])
    return re.sub(r"`[^`]*`|\([^)]*\)|\d+", "…", text)


def main() -> None:
    library = Library()
    parsing(library.find("Modelica"))
    reasons: Counter[str] = Counter()
    print(f"{'package':40} {'examples':>9} {'flattened':>10} {'equations':>10} {'s':>7}")
    for package in sys.argv[1:] or PACKAGES:
        models = examples(library, package)
        done = equations = 0
        start = time.process_time()
        for one in models:
            try:
                equations += flatten_class(library, one.name).equation_count()
                done += 1
            except ModelicaError as error:
                reasons[reason(error)] += 1
        print(f"{package:40} {len(models):9} {done:10} {equations:10} {time.process_time() - start:7.1f}")
    for text, count in reasons.most_common():
        print(f"{count:5}  {text}")


if __name__ == "__main__":
    main()
