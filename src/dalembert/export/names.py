"""Names of variables as identifiers of a programming language."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 40  # Fortran allows 63


class Identifiers:
    """Gives every name an identifier of its own, whatever characters it has.

    Names that differ in upper and lower case only get different ones, as Fortran needs it.

    Examples
    --------
    >>> own = Identifiers(reserved=["for", "sin"])
    >>> own["inertia1.w"], own["R[1].i"], own["R_1_i"], own["for"], own["W"], own["w"]
    ('inertia1_w', 'R_1_i', 'R_1_i_2', 'for_', 'W', 'w_2')
    >>> own["inertia1.w"]
    'inertia1_w'
    """

    def __init__(self, reserved: Iterable[str] = ()):
        self._taken = {word.lower() for word in reserved}
        self._reserved = frozenset(self._taken)
        self._of: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._of:
            self._of[name] = self._new(name)
        return self._of[name]

    def _new(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:LONGEST].rstrip("_") or "quantity"
        if not plain[0].isalpha() or re.fullmatch(r"v\d+", plain):  # v1, v2, … are intermediate results
            plain = f"q_{plain}"
        if plain.lower() in self._reserved:
            plain += "_"
        found, count = plain, 1
        while found.lower() in self._taken:
            count += 1
            found = f"{plain}_{count}"
        self._taken.add(found.lower())
        return found
