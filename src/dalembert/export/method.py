"""Numbers of the method that drivers use: Radau IIA of order 5, with the error estimate of Hairer and Wanner [1]_.

They are computed from their definitions: nodes are zeros of the Radau polynomial, the matrix integrates Lagrange's
polynomials on them, and its inverse is transformed to one real and one complex number.

References
----------
.. [1] E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., 1996, section IV.8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial


@dataclass(frozen=True, eq=False)
class Radau:
    """A⁻¹ T = T Λ with Λ = γ and (α, −β; β, α); `e` weighs the stages in the estimate of the error."""

    c: np.ndarray
    A: np.ndarray
    T: np.ndarray
    T_inverse: np.ndarray
    gamma: float
    alpha: float
    beta: float
    e: np.ndarray


def radau() -> Radau:
    """The numbers.

    Examples
    --------
    >>> numbers = radau()
    >>> numbers.c
    array([0.15505103, 0.64494897, 1.        ])
    >>> float(round(numbers.gamma, 6)), float(round(numbers.alpha, 6))
    (3.637834, 2.681083)
    """
    root = np.sqrt(6.0)
    c = np.array([(4 - root) / 10, (4 + root) / 10, 1.0])
    A = np.array([[_lagrange(c, j).integ()(end) for j in range(3)] for end in c])
    inverse = np.linalg.inv(A)
    values, vectors = np.linalg.eig(inverse)
    real, pair = int(np.argmin(abs(values.imag))), int(np.argmax(values.imag))
    v = vectors[:, pair]
    v = v / v[np.argmax(abs(v))]
    gamma, alpha, beta = values[real].real, values[pair].real, -values[pair].imag
    T = np.stack([vectors[:, real].real, v.real, v.imag], axis=1)
    # A quadrature with the further node 0, whose weight is 1/γ, of order 3; differences of weights, by stage increments
    powers = np.arange(3)
    moments = 1 / (powers + 1.0)
    moments[0] -= 1 / gamma
    weights = np.linalg.solve(c[None, :] ** powers[:, None], moments)
    e = gamma * (weights - A[2]) @ inverse
    return Radau(c, A, T, np.linalg.inv(T), float(gamma), float(alpha), float(beta), e)


def _lagrange(nodes: np.ndarray, j: int) -> Polynomial:
    """The polynomial that is 1 at node j and 0 at the others."""
    others = np.delete(nodes, j)
    return Polynomial.fromroots(others) / np.prod(nodes[j] - others)
