"""What all tests share: which files hold tests, and kernels that are compiled while these are collected."""

from __future__ import annotations

from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Modules that tests share hold no tests and no examples: they would be imported a second time for nothing."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if helper and collection_path.is_relative_to(Path(__file__).parent) else None


def pytest_configure(config) -> None:
    """Examples of docstrings import all kernels, and with an empty cache every worker would wait for the same one."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        from dalembert.compile.together import start_helpers

        start_helpers(modules_with_kernels())


def modules_with_kernels() -> list[str]:
    found = (path for path in sorted(SOURCES.rglob("*.py")) if "\n@kernel(" in path.read_text(encoding="utf-8"))
    return [".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in found]
