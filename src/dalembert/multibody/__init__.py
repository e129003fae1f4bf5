"""Multibody systems: bodies, joints and forces by name; pure description."""
