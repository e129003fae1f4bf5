"""Models of the Modelica Standard Library, where MODELICAPATH names it: scalar equations as another tool counts."""

import os

import pytest

from dalembert.modelica import flatten
from dalembert.modelica.library import Library

FOUND = Library().top("Modelica") if os.environ.get("MODELICAPATH") else None
pytestmark = pytest.mark.skipif(FOUND is None, reason="MODELICAPATH names no directory with the Modelica library")

# Dymola's counts for version 4.0.0; those that differ in later versions are given as pairs
COUNTS = {
    "Blocks.Examples.CompareSincExpSine": 4,
    "Blocks.Examples.Modulation": 32,
    "Blocks.Examples.PID_Controller": 89,
    "Blocks.Examples.InverseModel": 15,
    "Blocks.Examples.Filter": 34,
    "Blocks.Examples.BooleanNetwork1": 88,
    "Thermal.HeatTransfer.Examples.TwoMasses": 20,
    "Electrical.Analog.Examples.SeriesResonance": 79,
    "Electrical.Analog.Examples.CauerLowPassAnalog": 69,
    "Electrical.Analog.Examples.OvervoltageProtection": 49,
    "Electrical.Analog.Examples.HeatingMOSInverter": 92,
    "Mechanics.Translational.Examples.Accelerate": 15,
    "Mechanics.Translational.Examples.ElastoGap": (70, 72),
    "Mechanics.Rotational.Examples.First": 54,
    "Mechanics.Rotational.Examples.RollingWheel": 41,
    "Mechanics.Rotational.Examples.CoupledClutches": (106, 112),
    "Mechanics.Rotational.Examples.SimpleGearShift": (84, 88),
}


@pytest.mark.parametrize("name", COUNTS)
def test_equations_are_counted_as_by_another_tool(name):
    flat = flatten(f"Modelica.{name}")
    wanted = COUNTS[name]
    assert flat.equation_count() in (wanted if isinstance(wanted, tuple) else (wanted,))
    assert flat.equation_count() == len(flat.unknowns())
    assert flat.experiment["StopTime"] > 0
    again = flatten(flat.to_modelica())
    assert again.equation_count() == flat.equation_count()


@pytest.mark.slow
def test_the_whole_library_is_read_and_printed():
    """What is printed of each file means the same as the file."""
    from test_parser import bare

    from dalembert.modelica.parser import parse
    from dalembert.modelica.print_classes import file_text
    from dalembert.modelica.source import read

    for path in sorted(FOUND.directory.rglob("*.mo")):
        source = read(path)
        tree = parse(source)
        assert bare(parse(file_text(tree, source))) == bare(tree), path
