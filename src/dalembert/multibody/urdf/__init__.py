"""Robots from URDF files: `read_urdf` reads one into a `Robot`, `build` makes bodies and joints of it."""

from dalembert.multibody.urdf.build import Built, build
from dalembert.multibody.urdf.read import load, read_urdf

__all__ = ["Built", "build", "load", "read_urdf"]
