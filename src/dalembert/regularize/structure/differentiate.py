"""Time derivatives of equations along the solution, in the graph."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.model import Model


@dataclass(frozen=True)
class Motion:
    """How what an expression contains moves with time: symbols and their derivatives, column by column.

    Unknowns and derivatives that no row contains which is still to be differentiated are not among them.
    """

    symbols: ca.SX
    rates: ca.SX

    @classmethod
    def of(cls, model: Model, unknowns: ca.SX, rates: ca.SX) -> Motion:
        """Unknowns with these derivatives, and besides them the time and inputs."""
        graph = model.graph
        symbols = ca.vertcat(unknowns, graph.t, graph.u, graph.du)
        return cls(symbols, ca.densify(ca.vertcat(rates, 1, graph.du, graph.ddu)))

    def derivative(self, rows: ca.SX) -> ca.SX:
        """d/dt of a column.

        >>> import dalembert as da
        >>> decay = da.QuasiLinearDAE(x=["z"], rhs=lambda s: [-3 * s.z])
        >>> z, t = decay.graph.symbol["x"], decay.graph.t
        >>> Motion.of(decay, z, -3 * z).derivative(z + t)
        SX(((-3*x)+1))
        """
        return ca.densify(ca.jtimes(rows, self.symbols, self.rates))


def check_inputs(model: Model, rows: ca.SX, names: list[str], counts: np.ndarray) -> None:
    """Inputs come with two derivatives: rows that contain the second cannot be differentiated any more.

    `counts` says how often each equation has to be differentiated in all.
    """
    graph = model.graph
    if not graph.u.numel() or not ca.depends_on(rows, graph.ddu):
        return
    faults = []
    for i, j in sorted(zip(*ca.jacobian_sparsity(rows, graph.ddu).get_triplet(), strict=True)):
        faults.append(
            f"{names[i]} has to be differentiated {counts[i]} times, which needs the third derivative of input "
            f"'{graph.inputs[j]}'; write this function of time into the equation in place of the input, or give its "
            "derivative as an unknown or input of its own"
        )
    raise ModelError(f"model '{model.name}': inputs have two derivatives only", faults)
