"""What DAEs have in common besides what every model has: their structure, which `regularize/structure` finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.model.base import Model
from dalembert.model.vocabulary import numbered

if TYPE_CHECKING:
    from dalembert.regularize.structure import HiddenLevels, Structure

#: what may become of constraints that the equations of a DAE hide
HIDDEN = ("auto", "given")


class DAE(Model):
    """Base of `QuasiLinearDAE` and `ImplicitDAE`."""

    state_kinds = ("x",)
    residual_levels = ("constraints", "hidden")
    #: of a model from which equations were taken: what those that are left are called
    _equation_names: tuple[str, ...] | None = None

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
