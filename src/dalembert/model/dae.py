"""What DAEs have in common besides what every model has: their structure, which `regularize/structure` finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.kept import Kept
from dalembert.model.base import Model
from dalembert.model.travel import ARRIVED
from dalembert.model.vocabulary import numbered

if TYPE_CHECKING:
    from dalembert.model.belongings import Belongings
    from dalembert.model.hybrid import Beginning, Hybrid, Symbols
    from dalembert.regularize.structure import HiddenLevels, Structure

#: what may become of constraints that the equations of a DAE hide
HIDDEN = ("auto", "given")


class DAE(Model):
    """Base of `QuasiLinearDAE` and `ImplicitDAE`."""

    state_kinds = ("x",)
    residual_levels = ("constraints", "hidden")
    #: of a model from which equations were taken: what those that are left are called
    _equation_names: tuple[str, ...] | None = None
    #: of a model that was translated: what it was made from, which makes it anew where parameters change equations
    recipe: Any = None
    #: what a translator found worth saying
    notes: tuple[str, ...] = ()
    #: of a model that was built from symbols: start values, events, the experiment
    _own: Belongings | None = None

    def _begin_dae(self, name: str, x: Any, parameters: Any, inputs: Any, discrete: Any, hidden: Any) -> list[str]:
        """`_begin` with the only vector x, which must not be empty; returns the list for further faults."""
        faults: list[str] = []
        if not isinstance(hidden, str) or hidden not in HIDDEN:
            faults.append(f"hidden={shown(hidden)} must be one of {', '.join(map(repr, HIDDEN))}")
        else:
            self.hidden = str.__str__(hidden)
        self._begin(name, {"x": x}, parameters, inputs, discrete, faults)
        if not self.graph.size("x"):
            raise ModelError(f"model '{name}' has faults", ["x=: a DAE needs at least one unknown"])
        return faults

    # -- of models that were built from symbols ------------------------------------------------------------------------

    @classmethod
    def _of_symbols(cls, name: str, symbols: Symbols) -> Self:
        """A model without functions yet, whose symbols are these. Its variables may have any names."""
        from dalembert.model.symbolic import graph_of

        model, faults = object.__new__(cls), []
        model.name, model.hidden, model._inputs = name, "auto", {}
        for input_name, given in symbols.inputs.items():
            model._set_input(input_name, given, faults)
        if faults:
            raise ModelError(f"model '{name}' has faults", faults)
        model.graph, model.kept = graph_of(symbols), Kept()
        return model

    @property
    def reserved(self) -> frozenset[str]:
        return frozenset() if self._own is not None else super().reserved

    @property
    def hybrid(self) -> Hybrid | None:
        """What changes at events, in symbols."""
        return None if self._own is None else self._own.hybrid

    @property
    def beginning(self) -> Beginning | None:
        """Start values and conditions in symbols."""
        return None if self._own is None else self._own.beginning

    @property
    def fixed_at_start(self) -> tuple[str, ...]:
        """Unknowns whose start values stay: those for which the model says so."""
        names = self._whole_names
        return () if self._own is None else tuple(names[i] for i in sorted(self._own.beginning.fixed))

    @property
    def t_span(self) -> tuple[float, float] | None:
        """Of the model's experiment, if it has one."""
        return None if self._own is None else self._own.t_span

    @property
    def tolerance(self) -> float | None:
        """Relative tolerance of the model's experiment, if it has one."""
        return None if self._own is None else self._own.tolerance

    @property
    def least_steps(self) -> int:
        """How many steps are made at least where nobody says how long one may be."""
        return 0 if self._own is None else self._own.least_steps

    @property
    def nominal(self) -> Mapping[str, float]:
        """Sizes of unknowns, as far as somebody has told."""
        return {} if self._own is None else self._own.nominal

    @property
    def _whole_names(self) -> tuple[str, ...]:
        """Names of all unknowns, also of those that were eliminated."""
        return tuple(getattr(self.graph, "whole", self.graph).vectors["x"])

    def guesses(self, kind: str) -> np.ndarray:
        """Where to look for start values that nobody gives."""
        if self._own is None or kind != "x":
            return super().guesses(kind)
        values = self._own.guesses(self.graph.parameter_values)
        expansion = getattr(self.graph, "expansion", None)
        return values if expansion is None else expansion.factor[expansion.kept] * values[expansion.kept]

    def replace(self, parameters: Mapping[str, Any] | None = None, inputs: Mapping[str, Any] | None = None) -> Self:
        if self.recipe is not None and isinstance(parameters, Mapping) and self.recipe.needs(parameters):
            return self.recipe.other(self, parameters).replace(None, inputs)
        variant = super().replace(parameters, inputs)
        if parameters and self._own is not None and not hasattr(self.graph, "whole"):
            variant._start = self._own.start(variant.graph, self.name)
        return variant

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._own is not None:
            known = ARRIVED.get(self.graph.digest)
            same = known is not None and known is not self and known.graph.t is self.graph.t
            self._own = self._own.bound(self.graph, known._own if same else None)

    # -- equations -----------------------------------------------------------------------------------------------------

    @property
    def equation_names(self) -> tuple[str, ...]:
        """What messages call the equations: first those of `rhs=` or `residual=`, then those of `constraints=`."""
        if self._equation_names is not None:
            return self._equation_names
        return (*numbered("equation", self.n_differential), *numbered("constraint", self.n_constraints))

    @property
    def structure(self) -> Structure | None:
        """What structural analysis tells: index, differentiations, blocks. None if functions run as Python code.

        Raises
        ------
        StructurallySingular
            If equations are too many for the unknowns in them, or too few.
        """
        from dalembert.regularize.structure import analyse  # at the first call: models know nothing of this room

        if any(not function.traced for function in self.graph.functions.values()):
            return None
        return analyse(self)

    @property
    def index(self) -> int | None:
        """The structural index: 0 for ordinary differential equations; None if functions run as Python code.

        It is so many derivatives of the equations that are needed to get x\' as a function of x and t.

        Examples
        --------
        >>> import dalembert as da
        >>> motor = da.QuasiLinearDAE(
        ...     x=["angle", "speed", "torque"], leading=[1, 1, 0],
        ...     rhs=lambda s: [s.speed, s.torque, s.angle - s.t**2])       # which torque makes it turn like this?
        >>> motor.index
        3
        """
        structure = self.structure
        return None if structure is None else structure.index

    def hidden_constraints(self) -> HiddenLevels:
        """The constraints of every level, also those which the equations hide, whether `hidden` is "auto" or "given".

        Raises
        ------
        ModelError
            If functions run as Python code, equations determine nothing, contradict each other, or cannot be
            differentiated; by name.

        Examples
        --------
        >>> import dalembert as da
        >>> motor = da.QuasiLinearDAE(
        ...     x=["angle", "speed", "torque"], leading=[1, 1, 0],
        ...     rhs=lambda s: [s.speed, s.torque, s.angle - s.t**2])
        >>> hidden = motor.hidden_constraints()
        >>> hidden
        HiddenConstraints(of model 'model': 2 hidden, by level
          0: 1, 0 of them hidden
          1: 1, 1 of them hidden
          2: 1, 1 of them hidden)
        >>> hidden.levels[1].names
        ('derivative 1 of equation 3',)
        >>> hidden.values([9.0, 7.0, 2.0], t=3.0)          # the speed should be 2 t
        [array([0.]), array([1.]), array([0.])]
        """
        from dalembert.regularize.structure import hidden_levels  # at the first call, as above

        return hidden_levels(self)
