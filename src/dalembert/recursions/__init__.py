"""Recursive formalisms for trees of rigid bodies: kernels over flat arrays, compiled once for all models."""
