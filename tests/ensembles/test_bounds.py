"""Generated code touches its arrays and nothing else: a GPU would stop there, and a processor go on with any number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages without access are asked for as on Linux")
@pytest.mark.parametrize("where", ["behind", "before"])
def test_arrays_between_pages_that_nobody_may_touch(where):
    script = Path(__file__).with_name("guarded.py")
    done = subprocess.run([sys.executable, script, where], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "nothing was touched\n"
