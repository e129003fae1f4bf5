"""What a method integrates: the questions that every form answers to the driver, and to whoever compiles it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.kept import Kept, computed
from dalembert.model.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.regularize.initial import InitialValues


class Form:
    """Base of `System` (implicit methods) and `DescriptorForm` (half-explicit methods), frozen dataclasses.

    The unknowns x consist of vectors of the model (p, v, …) and of those of the form itself (η, v'). Forms are compared
    by identity: two of them are never taken for each other, and what is compiled for one is kept with it.
    """

    model: Model
    formulation: str  # its name, for messages
    slices: Mapping[str, slice]  # where each vector stands in x
    variables: tuple[str, ...]  # names of the components of x
    x: ca.SX
    kept: Kept  # compiled code and records of methods

    def __post_init__(self) -> None:
        # one lock for a model and all that is made of it: its graph grows while forms are made
        object.__setattr__(self, "kept", Kept(self.model.kept.lock))

    @computed
    def n(self) -> int:
        """How many unknowns there are."""
        return self.x.numel()

    def start(self, initial: InitialValues) -> tuple[np.ndarray, np.ndarray]:
        """x and x' from consistent values of the model."""
        x, x_dot, values = np.zeros(self.n), np.zeros(self.n), initial.values
        for kind, part in self.slices.items():
            rate = VOCABULARY[kind].rate
            if kind in values:
                x[part] = values[kind]
            if rate is not None:
                x_dot[part] = values[rate]
        return x, x_dot

    def vectors(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The model's own vectors in x, as copies."""
        return {kind: x[part].copy() for kind, part in self.slices.items() if VOCABULARY[kind].visible}

    def places_in(self, other: Form) -> np.ndarray | None:
        """For every unknown its number in another form, −1 where that has none; None if they agree."""
        if self is other or self.variables == other.variables:
            return None
        numbers = {name: k for k, name in enumerate(other.variables)}
        return np.array([numbers.get(name, -1) for name in self.variables], np.int64)
