"""Simulations that end as if they had been killed."""

import pytest

import dalembert as da
from dalembert.simulation import checkpoint as room


class Killed(BaseException):
    """As far as a process can survive being killed."""


@pytest.fixture
def until(monkeypatch):
    """`until(call, path, n)`: a checkpoint after each call of the kernel, and the end after the n-th of them."""
    monkeypatch.setattr(room, "SHARE", 0.0)
    save, seen = room.Saving.save, []

    def dying(most):
        def saved(self, *arguments, last=False):
            written = save(self, *arguments, last=last)
            seen.append(last)
            if not last and len(seen) == most:
                raise Killed
            return written

        return saved

    def run(call, path, most=None, **options):
        seen.clear()
        monkeypatch.setattr(room.Saving, "save", dying(most))
        try:
            return call(checkpoint=da.Checkpoint(path, every=0, **options))
        except Killed:
            return None
        finally:
            monkeypatch.setattr(room.Saving, "save", save)

    run.count = lambda: sum(not last for last in seen)
    return run
