"""The problems that consistent initial values of equations of motion solve, as expressions and as functions of a point.

Each part is made when it is first asked for: start values that are trusted need accelerations only, and a model of
thousands of bodies takes a good part of a second for each.
"""

from __future__ import annotations

import casadi as ca

from dalembert.kept import Slot, computed
from dalembert.model import Model
from dalembert.model.evaluate import PointFunction, is_large
from dalembert.model.kinematics import jacobian
from dalembert.model.vocabulary import equation_names
from dalembert.regularize.hidden import HiddenConstraints, derive, hidden_constraints

PROBLEMS: Slot[StartProblems] = Slot("problems of start values", most=1)
#: unknowns of the last problem besides a
OTHERS = ("w", "lam", "mu")


class StartProblems:
    """Residuals and Jacobians (pairs of expressions), and the same as functions of a point.

    | problem | equations | unknowns |
    |---|---|---|
    | position | c, g | s, p |
    | velocity | g^I, h | v |
    | acceleration | equations of motion, d, g^II, h^I | a, w, λ, μ |

    `rates` are p' and r', `mass` is M.
    """

    def __init__(self, model: Model):
        self.model = model
        self._n = {kind: model.graph.size(kind) for kind in model.state_kinds}

    @computed
    def equations(self) -> dict[str, list[str]]:
        """Names of the equations of each problem."""
        orders = {
            "position": (("s", None), ("lam", None)),
            "velocity": (("lam", "velocity"), ("mu", None)),
            "acceleration": (("v", None), ("w", None), ("lam", "acceleration"), ("mu", "acceleration")),
        }
        names = self.model.names
        return {
            problem: [name for kind, level in order for name in equation_names(kind, names(kind), level)]
            for problem, order in orders.items()
        }

    # -- expressions -----------------------------------------------------------------------------------------------

    @computed
    def _hidden(self) -> HiddenConstraints:
        return hidden_constraints(self.model)

    @property
    def position_expressions(self) -> tuple[ca.SX, ca.SX]:
        hidden, n = self._hidden, self._n
        if not n["s"]:
            return hidden.g, hidden.G
        by = [
            ca.vertcat(self._by("contact_points", kind, n["s"]), self._by("holonomic", kind, n["lam"]))
            for kind in ("s", "p")
        ]
        return ca.vertcat(hidden.c, hidden.g), ca.horzcat(*by)

    @property
    def velocity_expressions(self) -> tuple[ca.SX, ca.SX]:
        hidden = self._hidden
        return ca.vertcat(hidden.g_I, hidden.h), ca.vertcat(hidden.GZ, hidden.HZ)

    @computed
    def acceleration_expressions(self) -> tuple[ca.SX, ca.SX]:
        graph, hidden, n = self.model.graph, self._hidden, self._n
        # the derived g^II and h^I are linear in a; a user's own form would need derivatives of its own
        levels = derive(self.model) if "acceleration_constraints" in graph.functions else hidden
        M = graph.value("mass")
        d = graph.value("auxiliary") if n["w"] else ca.SX(0, 1)
        motion = graph.value("force") - hidden.constraint_force - ca.mtimes(M, graph.a)
        force_by = {kind: self._by("force", kind, n["v"]) for kind in OTHERS}
        force_by["lam"] = force_by["lam"] - hidden.GZ.T
        force_by["mu"] = force_by["mu"] - hidden.HZ.T
        by_a = ca.vertcat(-M, ca.SX(n["w"], n["v"]), hidden.GZ, hidden.HZ)
        by_others = ca.vertcat(
            ca.horzcat(*force_by.values()),
            ca.horzcat(*(self._by("auxiliary", kind, n["w"]) for kind in OTHERS)),
            ca.SX(n["lam"] + n["mu"], n["w"] + n["lam"] + n["mu"]),
        )
        return ca.vertcat(motion, d, levels.g_II, levels.h_I), ca.horzcat(by_a, by_others)

    @property
    def rate_expressions(self) -> tuple[ca.SX, ca.SX]:
        graph = self.model.graph
        return self._hidden.p_dot, graph.value("dynamics") if self._n["r"] else ca.SX(0, 1)

    def _by(self, role: str, kind: str, rows: int) -> ca.SX:
        graph = self.model.graph
        return jacobian(graph, role, kind) if role in graph.functions else ca.SX(rows, self._n[kind])

    # -- functions of a point --------------------------------------------------------------------------------------

    @computed
    def position(self) -> PointFunction:
        return self._function(self.position_expressions)

    @computed
    def velocity(self) -> PointFunction:
        return self._function(self.velocity_expressions)

    @computed
    def acceleration(self) -> PointFunction:
        return self._function(self.acceleration_expressions)

    @computed
    def mass(self) -> PointFunction:
        return self._function((self.model.graph.value("mass"),))

    @computed
    def rates(self) -> PointFunction:
        return PointFunction(self.model, self.rate_expressions)

    def _function(self, expressions: tuple[ca.SX, ...]) -> PointFunction:
        # all matrices are of one kind, as the largest of them is
        return PointFunction(self.model, expressions, sparse=is_large(self.acceleration_expressions[1]))


def start_problems(model: Model) -> StartProblems:
    """Those of a model, set up once."""
    return model.kept.get(PROBLEMS, None, lambda: StartProblems(model))
