"""The script that installs a browser for these tests: it never fails, whatever the system is like."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "install_browser.sh"
INSTALLS = "case \"$*\" in *install*) printf '#!/bin/sh\\n' > \"$0.d/chromium\"; chmod +x \"$0.d/chromium\";; esac"


def is_debian_for_root() -> bool:
    about = Path("/etc/os-release")
    named = about.read_text(encoding="utf-8") if about.exists() else "ID=ubuntu"
    return os.name == "posix" and os.getuid() == 0 and "ID=ubuntu" not in named


pytestmark = pytest.mark.skipif(not is_debian_for_root(), reason="plays apt-get for root")


@pytest.mark.parametrize(
    ("apt", "settings", "said"),
    [
        (INSTALLS, {}, "installing chromium for the tests of pages ...\n"),
        ("echo 'E: no network' >&2; exit 100", {}, "chromium could not be installed"),
        (INSTALLS, {"DALEMBERT_NO_INSTALL": "1"}, "DALEMBERT_NO_INSTALL is set"),
        (None, {}, "install chromium, or name a browser"),
        (INSTALLS, {"DALEMBERT_BROWSER": "sh"}, ""),  # there is one
    ],
)
def test_it_never_fails(tmp_path, apt, settings, said):
    for name in ("sh", "id", "grep", "timeout", "mktemp", "tail", "rm", "env", "chmod"):
        (tmp_path / name).symlink_to(shutil.which(name))
    if apt is not None:
        (tmp_path / "apt-get").write_text(f"#!/bin/sh\n{apt.replace('$0.d', str(tmp_path))}\n")
        (tmp_path / "apt-get").chmod(0o755)
    run = subprocess.run(
        ["sh", SCRIPT], env={"PATH": str(tmp_path), **settings}, capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout == said or (said and said in run.stdout)
    assert (tmp_path / "chromium").exists() == (said.startswith("installing"))
