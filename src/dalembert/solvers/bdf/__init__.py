"""Backward differentiation formulas of variable order and step size, on F(t, x, x') = 0."""
