"""An oracle for the tests of problems: the index-1 form of a model, derived here from the traced expressions.

It shares with the package only the tracing of the user's functions; differentiation of the constraints, elimination and
integration (SciPy's DOP853) are its own. Every auxiliary and contact variable becomes a differential one. Forces may
depend on multipliers linearly.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

KINDS = ("p", "v", "r", "w", "s")


class Index1:
    """y = (p, v, r, w, s); `rhs(t, y)`, `accelerations(t, y)`, `residuals(t, y)`."""

    def __init__(self, problem):
        self.problem, self.model = problem, problem.model
        graph = self.model.graph
        p, v, r, w, s = (graph.symbol[kind] for kind in KINDS)
        t, a = graph.t, ca.SX.sym("acc", v.numel())
        self.sizes = [x.numel() for x in (p, v, r, w, s)]

        def value(role, n=0):
            return graph.value(role) if role in graph.functions else ca.SX(n, 1)

        Z, M, f = value("kinematics"), value("mass"), value("force")
        g, h, c = (value(role) for role in ("holonomic", "nonholonomic", "contact_points"))
        b, d = value("dynamics"), value("auxiliary")
        p_dot = ca.mtimes(Z, v)

        def along(expression, s_dot, *more):
            variables = [p, s, t, graph.u, graph.du]
            directions = [p_dot, s_dot, 1, graph.du, graph.ddu]
            for variable, direction in more:
                variables.append(variable)
                directions.append(direction)
            return ca.jtimes(expression, ca.vertcat(*variables), ca.vertcat(*directions))

        still = ca.SX.zeros(s.numel())
        s_dot = -ca.solve(ca.jacobian(c, s), along(c, still)) if s.numel() else still
        g1 = along(g, s_dot)
        top = ca.vertcat(along(g1, s_dot, (v, a)), along(h, s_dot, (v, a)))
        K = ca.jacobian(top, a)
        gamma = -ca.substitute(top, a, ca.SX.zeros(a.numel()))
        w_dot = -ca.solve(ca.jacobian(d, w), along(d, s_dot, (v, a), (r, b))) if w.numel() else ca.SX(0, 1)
        y = ca.vertcat(p, v, r, w, s)
        multipliers = ca.vertcat(graph.symbol["lam"], graph.symbol["mu"])
        F = ca.jacobian(f, multipliers)
        assert not ca.depends_on(F, multipliers)
        f = ca.substitute(f, multipliers, ca.SX.zeros(multipliers.numel()))
        self._first = ca.Function("first", [t, y, graph.theta], [ca.densify(x) for x in (M, K, f, gamma)])
        self._friction = ca.Function("friction", [t, y, graph.theta], [ca.densify(F)])
        self._rates = ca.Function("rates", [t, y, a, graph.theta], [ca.vertcat(p_dot, a, b, w_dot, s_dot)])
        residuals = [g, ca.vertcat(g1, h), c, d, value("invariant")]
        self._residuals = ca.Function("residuals", [t, y, graph.theta], [ca.densify(x) for x in residuals])

    @property
    def y0(self):
        start = self.problem.start()
        return np.concatenate([start.get(f"{kind}0", np.zeros(0)) for kind in KINDS])

    def split(self, y):
        return dict(zip(KINDS, np.split(y, np.cumsum(self.sizes)[:-1]), strict=True))

    def accelerations(self, t, y):
        """v' and all multipliers (lam, mu)."""
        M, K, f, gamma = (np.array(x) for x in self._first(t, y, self.model.theta(t)))
        n, m = len(M), len(K)
        F = np.array(self._friction(t, y, self.model.theta(t))).reshape(n, m)
        matrix = np.block([[M, K.T - F], [K, np.zeros((m, m))]])
        solution = np.linalg.solve(matrix, np.concatenate([f.ravel(), gamma.ravel()]))
        return solution[:n], solution[n:]

    def rhs(self, t, y):
        a, _ = self.accelerations(t, y)
        return np.array(self._rates(t, y, a, self.model.theta(t))).ravel()

    def residuals(self, t, y):
        """Largest residuals: position, velocity, contact points, auxiliary equations, invariants."""
        names = ("position", "velocity", "contact", "auxiliary", "invariant")
        values = self._residuals(t, y, self.model.theta(t))
        return {name: float(np.max(np.abs(np.array(x)), initial=0.0)) for name, x in zip(names, values, strict=True)}

    def integrate(self, t_end=None, rtol=1e-11, atol=1e-13):
        """End state by DOP853, restarted where an input is not smooth."""
        t_end = self.problem.t_end if t_end is None else t_end
        t, y = 0.0, self.y0
        for stop in [b for b in self.model.breakpoints if 0 < b < t_end] + [t_end]:
            run = solve_ivp(self.rhs, (t, stop), y, method="DOP853", rtol=rtol, atol=atol)
            assert run.success, run.message
            t, y = stop, run.y[:, -1]
        return y


def mixed_error(value, reference):
    return float(np.max(np.abs(np.asarray(value) - reference) / (1 + np.abs(reference))))
