"""Mechanical systems from bodies, joints and force elements."""

from dalembert.multibody.system import Multibody

__all__ = ["Multibody"]
