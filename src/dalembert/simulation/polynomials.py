"""Polynomials of a step in s = (t − t_new)/h ∈ [−1, 0], as rows of coefficients."""

from __future__ import annotations

from math import comb

import numpy as np


def polynomial(c: np.ndarray, s: float) -> np.ndarray:
    total = c[-1].copy()
    for row in c[-2::-1]:
        total = total * s + row
    return total


def derivative(c: np.ndarray, s: float) -> np.ndarray:
    total = (len(c) - 1) * c[-1]
    for k in range(len(c) - 2, 0, -1):
        total = total * s + k * c[k]
    return total


def shortened(c: np.ndarray, end: float) -> np.ndarray:
    """The polynomial of the part of a step up to s = end, in its own s ∈ [−1, 0]."""
    width = 1 + end
    out = np.zeros_like(c)
    for k in range(len(c)):
        for j in range(k + 1):
            out[j] += comb(k, j) * end ** (k - j) * width**j * c[k]
    return out
