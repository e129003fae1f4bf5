"""Where the time of a simulation went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Spent(NamedTuple):
    """Calls (of a phase: how often it began) and wall time."""

    calls: int
    seconds: float


class Profile(Mapping[str, Spent]):
    """Calls and seconds by what was at work: model functions, linear algebra, the method itself, the driver.

    As a mapping it gives each share of the time once: `profile["projection"]` is what the method itself spent there,
    without the functions it called. The sum is `seconds`, the time of the integration.

    Attributes
    ----------
    phases : mapping
        Time of each phase together with everything that was called in it.
    preparation : mapping of names to seconds
        Before the integration.

    Examples
    --------
    >>> import dalembert as da
    >>> sol = da.problems.pendulum().simulate(method=da.Hem5(), profile=True)
    >>> sol.profile["rates"].calls == sol.stats.rhs_evaluations
    True
    >>> 0 < sol.profile.share("factorization") < 1
    True
    """

    def __init__(
        self,
        entries: Mapping[str, Any],
        phases: Mapping[str, Any] | None = None,
        preparation: Mapping[str, float] | None = None,
    ):
        self._entries = _spent(entries)
        self.phases = _spent(phases or {})
        self.preparation = {name: float(value) for name, value in (preparation or {}).items()}

    @property
    def seconds(self) -> float:
        """Of the integration."""
        return sum(spent.seconds for spent in self._entries.values())

    def share(self, name: str) -> float:
        """The part of the integration's time that went there."""
        return self[name].seconds / self.seconds if self.seconds else 0.0

    def __getitem__(self, name: str) -> Spent:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        largest = sorted(self, key=lambda name: -self[name].seconds)[:3]
        parts = ", ".join(f"{name} {100 * self.share(name):.0f} %" for name in largest)
        return f"Profile({self.seconds:.3g} s: {parts})"

    def __str__(self) -> str:
        rows = [self._row(name, spent) for name, spent in self.items() if spent.calls]
        rows.append(("total", "", f"{self.seconds:.6f}", ""))
        parts = [("phase, with all it calls", "", "", ""), *(self._row(*item) for item in self.phases.items())]
        rows += parts if self.phases else []
        if self.preparation:
            rows.append(("before the integration", "", "", ""))
            rows += [(f"  {name}", "", f"{value:.6f}", "") for name, value in self.preparation.items()]
        rows = [("", "calls", "seconds", "share"), *rows]
        width = [max(len(row[k]) for row in rows) for k in range(4)]
        return "\n".join(
            f"{a:<{width[0]}}  {b:>{width[1]}}  {c:>{width[2]}}  {d:>{width[3]}}".rstrip() for a, b, c, d in rows
        )

    def _row(self, name: str, spent: Spent) -> tuple[str, str, str, str]:
        share = 100 * spent.seconds / self.seconds if self.seconds else 0.0
        return f"  {name}", str(spent.calls), f"{spent.seconds:.6f}", f"{share:.1f} %"


def _spent(entries: Mapping[str, Any]) -> dict[str, Spent]:
    return {name: Spent(int(calls), float(seconds)) for name, (calls, seconds) in entries.items()}
