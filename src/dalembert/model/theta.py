"""θ, the one vector through which everything but time and state reaches compiled functions.

    parameters | discrete variables | u | u' | u''

Other values in it never recompile anything. Parameters stay as they are during a simulation, discrete variables change
at events only, inputs move with time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.kept import computed


@dataclass(frozen=True)
class ThetaLayout:
    """Where the parts of θ stand. Nobody else counts its entries.

    Examples
    --------
    >>> layout = ThetaLayout(n_parameters=2, n_discrete=1, n_inputs=1)
    >>> theta = layout.assemble([9.81, 1.0], [0.0], [[5.0], [6.0], [7.0]])
    >>> theta[layout.discrete] = 1.0
    >>> theta
    array([9.81, 1.  , 1.  , 5.  , 6.  , 7.  ])
    >>> layout.input_rows(theta)[1]                     # u'
    array([6.])
    """

    n_parameters: int
    n_discrete: int
    n_inputs: int

    def __reduce__(self) -> tuple:
        return ThetaLayout, (self.n_parameters, self.n_discrete, self.n_inputs)

    @computed
    def n_fixed(self) -> int:
        """Entries that do not move with time; the inputs stand behind them."""
        return self.n_parameters + self.n_discrete

    @computed
    def n_moving(self) -> int:
        """Entries that move with time: inputs and their two derivatives."""
        return 3 * self.n_inputs

    @computed
    def size(self) -> int:
        return self.n_fixed + self.n_moving

    @computed
    def parameters(self) -> slice:
        return slice(0, self.n_parameters)

    @computed
    def discrete(self) -> slice:
        return slice(self.n_parameters, self.n_fixed)

    @computed
    def fixed(self) -> slice:
        """What does not move with time: parameters and discrete variables."""
        return slice(0, self.n_fixed)

    @computed
    def u(self) -> slice:
        return self._level(0)

    @computed
    def du(self) -> slice:
        return self._level(1)

    @computed
    def ddu(self) -> slice:
        return self._level(2)

    @computed
    def inputs(self) -> slice:
        """u, u' and u''."""
        return slice(self.n_fixed, self.size)

    def _level(self, order: int) -> slice:
        first = self.n_fixed + order * self.n_inputs
        return slice(first, first + self.n_inputs)

    def input_rows(self, theta: np.ndarray) -> np.ndarray:
        """u, u', u'' of one θ as three rows, or of many (columns) as an array (3, n_inputs, N)."""
        return theta[self.inputs].reshape(3, self.n_inputs, *theta.shape[1:])

    def assemble(self, parameters, discrete, inputs=None) -> np.ndarray:
        """A new θ of its parts; `inputs` holds u, u', u'' in this order, in any shape, or None for zeros."""
        theta = np.zeros(self.size)
        theta[self.parameters], theta[self.discrete] = parameters, discrete
        if inputs is not None:
            theta[self.inputs] = np.ravel(inputs)
        return theta

    def assemble_many(self, parameters, discrete, inputs, count: int) -> np.ndarray:
        """`count` θ as columns; `discrete` and `inputs` have one column for each, or `discrete` one for all."""
        theta = np.zeros((self.size, count))
        theta[self.parameters] = np.reshape(parameters, (-1, 1))
        discrete = np.asarray(discrete, float)
        theta[self.discrete] = discrete if discrete.ndim == 2 else discrete[:, None]
        if inputs is not None:
            theta[self.inputs] = np.reshape(inputs, (self.n_moving, count))
        return theta


class NamedValues(Mapping[str, float]):
    """Numbers by name, in one array that nobody changes: discrete variables change thousands of times in a run.

    >>> gears = NamedValues(("gear", "pressed"), np.array([3.0, 0.0]))
    >>> dict(gears), gears["gear"]
    ({'gear': 3.0, 'pressed': 0.0}, 3.0)
    """

    __slots__ = ("_names", "_places", "array")

    def __init__(self, names: Sequence[str], array: np.ndarray, places: Mapping[str, int] | None = None):
        self.array = np.array(array, float)
        self.array.flags.writeable = False
        self._names = names
        self._places = {name: i for i, name in enumerate(names)} if places is None else places

    def other(self, array: np.ndarray) -> NamedValues:
        """Other values under the same names."""
        return NamedValues(self._names, array, self._places)

    def __getitem__(self, name: str) -> float:
        return float(self.array[self._places[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedValues, (self._names, self.array)

    def __repr__(self) -> str:
        return repr(dict(self))


def values_of(named: Mapping[str, float]) -> np.ndarray:
    """The values of a mapping in its order, as an array of the caller's own."""
    return named.array.copy() if isinstance(named, NamedValues) else np.array(list(named.values()), float)
