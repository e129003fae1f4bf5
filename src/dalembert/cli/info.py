"""`dalembert info`."""

from __future__ import annotations

from dalembert.cli.app import app
from dalembert.cli.shown import new_console, new_table, row


@app.command()
def info() -> None:
    """Print versions, and where compiled code is kept."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from dalembert import __version__
    from dalembert.compile import store

    table = new_table("", "")
    table.show_header = False
    row(table, "dalembert", __version__)
    row(table, "Python", platform.python_version())
    for package in ("numpy", "scipy", "casadi", "numba", "llvmlite", "matplotlib", "h5py"):
        try:
            row(table, package, version(package))
        except PackageNotFoundError:
            row(table, package, "not installed")
    row(table, "machine", f"{platform.system()} {platform.machine()}")
    places = [f"{place.path}{'' if place.writable else ' (read only)'}" for place in store.places()]
    row(table, "cache directory", ", ".join(places) or "none that can be used")
    row(table, "kernels", _kernels())
    new_console().print(table)


def _kernels() -> str:
    from dalembert.compile import store

    places = store.places()
    if not places:
        return "compiled anew in every process"
    compiled = [path.stat().st_size for place in places for path in (place.path / "kernels").rglob("*.nbc")]
    if not compiled:
        return "not compiled yet; the first simulation does it"
    return f"{len(compiled)} compiled, {sum(compiled) / 1e6:.0f} MB"
