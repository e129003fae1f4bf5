"""Mechanical systems from bodies, joints and force elements."""

from dalembert.multibody.boundaries import HollowSphere, Plane, Point
from dalembert.multibody.shapes import Box, Capsule, Cylinder, Line, Mesh, Plate, Sphere
from dalembert.multibody.system import Multibody

__all__ = [
    "Box", "Capsule", "Cylinder", "HollowSphere", "Line", "Mesh", "Multibody", "Plane", "Plate", "Point", "Sphere",
]  # fmt: skip
