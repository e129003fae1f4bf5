"""Ports of the descriptor form for half-explicit methods. All take x = (p, v, r, λ, μ)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.compile.ports import Port
from dalembert.compile.system import expression_port, nonzeros, triplets
from dalembert.kept import Slot
from dalembert.regularize.half_explicit import DescriptorForm

Pattern = tuple[np.ndarray, np.ndarray]  # rows, columns
#: entries of matrices of which constants are of use: elimination as machine code is for small systems
MOST_NONZEROS = 5000
COMPILED: Slot[CompiledDescriptor] = Slot("compiled descriptor form", most=1)


@dataclass(frozen=True)
class CompiledDescriptor:
    """Ports by what they give; None where there is nothing to give."""

    form: DescriptorForm
    rates: Port  # p', f, r'
    kinematics: Port | None  # p' alone; None if p' = v
    matrices: Port  # nonzeros of M, then of C, then (g_t, h)
    position: Port | None  # g
    acceleration: Port | None  # γ
    friction: Port | None  # nonzeros of F
    mass_pattern: Pattern
    constraint_pattern: Pattern
    friction_pattern: Pattern

    @property
    def ports(self) -> tuple[Port, ...]:
        every = (self.rates, self.kinematics, self.matrices, self.position, self.acceleration, self.friction)
        return tuple(port for port in every if port is not None)


def constant_nonzeros(expression: ca.SX) -> np.ndarray:
    """Values of the nonzeros, NaN where they depend on anything, or where there are so many that nobody asks."""
    if expression.nnz() > MOST_NONZEROS:
        return np.full(expression.nnz(), np.nan)
    return np.array([float(x) if x.is_constant() else np.nan for x in nonzeros(expression).elements()])


def compile_descriptor(form: DescriptorForm) -> CompiledDescriptor:
    """Compile, once."""
    return form.kept.get(COMPILED, None, lambda: _compile(form))


def _compile(form: DescriptorForm) -> CompiledDescriptor:
    def port(expression: ca.SX) -> Port | None:
        return expression_port(form, expression) if expression.numel() else None

    # functions that could not be traced give g_t and h as what is left of g^I and of H Z v + h at v = 0
    matrices = ca.vertcat(nonzeros(form.mass), nonzeros(form.constraint), form.constraint_rate)
    return CompiledDescriptor(
        form=form,
        rates=expression_port(form, ca.vertcat(form.p_dot, form.force, form.r_dot)),
        kinematics=None if form.plain_kinematics else port(form.p_dot),
        matrices=expression_port(form, matrices, at_zero=("v",)),
        position=port(form.position),
        acceleration=port(form.acceleration),
        friction=port(nonzeros(form.friction)),
        mass_pattern=triplets(form.mass.sparsity()),
        constraint_pattern=triplets(form.constraint.sparsity()),
        friction_pattern=triplets(form.friction.sparsity()),
    )
