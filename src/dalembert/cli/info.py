"""`dalembert info`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.cli.answer import Answer
from dalembert.cli.app import command
from dalembert.cli.options import Json
from dalembert.cli.shown import new_table, row

if TYPE_CHECKING:
    from rich.console import Console

#: needed, and those that extras bring
PACKAGES = ("numpy", "scipy", "casadi", "numba", "llvmlite", "matplotlib", "h5py", "rich", "typer")
EXTRAS = ("pandas", "xarray", "sympy", "dask", "cloudpickle", "imageio-ffmpeg")


@command(examples=("dalembert info", "dalembert info --json"))
def info(json: Json = False) -> Answer:
    """Print versions, and where compiled code is kept."""
    import platform

    from dalembert import __version__
    from dalembert.compile import store

    places = [{"path": str(place.path), "writable": place.writable} for place in store.places()]
    facts: dict[str, Any] = {
        "dalembert": __version__, "python": platform.python_version(),
        "system": platform.system(), "machine": platform.machine(),
        "packages": {name: _version(name) for name in PACKAGES}, "extras": {name: _version(name) for name in EXTRAS},
        "cache": places, "kernels": _kernels(),
    }  # fmt: skip

    def show(console: Console) -> None:
        table = new_table("", "")
        table.show_header = False
        row(table, "dalembert", facts["dalembert"])
        row(table, "Python", facts["python"])
        for name, version in (facts["packages"] | facts["extras"]).items():
            row(table, name, version or "not installed")
        row(table, "machine", f"{facts['system']} {facts['machine']}")
        listed = [f"{place['path']}{'' if place['writable'] else ' (read only)'}" for place in places]
        row(table, "cache directory", ", ".join(listed) or "none that can be used")
        row(table, "kernels", _in_words(facts["kernels"], bool(places)))
        console.print(table)

    return Answer(facts, show)


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _kernels() -> dict[str, int]:
    from dalembert.compile import store

    compiled = [path.stat().st_size for place in store.places() for path in (place.path / "kernels").rglob("*.nbc")]
    return {"count": len(compiled), "bytes": sum(compiled)}


def _in_words(kernels: dict[str, int], kept: bool) -> str:
    if not kept:
        return "compiled anew in every process"
    if not kernels["count"]:
        return "not compiled yet; the first simulation does it"
    return f"{kernels['count']} compiled, {kernels['bytes'] / 1e6:.0f} MB"
