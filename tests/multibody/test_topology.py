"""Topology: defaults, copies, and faults by name."""

import pickle

import numpy as np
import pytest

from dalembert.errors import ModelError
from dalembert.multibody.topology import AXIS, FREE, POINT, REVOLUTE, SPHERICAL, Topology


def tree(**changes):
    given = dict(
        parent=[-1, 0, 0], kind=[FREE, SPHERICAL, REVOLUTE], rotation=[np.eye(3)] * 3, offset=np.ones((3, 3)),
        mass=[1.0, 2.0, 0.0],
    )  # fmt: skip
    return Topology(**{**given, **changes})


def test_places_follow_from_the_kinds():
    made = tree()
    assert (made.n, made.n_q, made.n_v) == (3, 12, 10)
    assert made.q_at.tolist() == [0, 7, 11]
    assert made.v_at.tolist() == [0, 6, 9]


def test_arrays_are_copies_that_nobody_writes():
    mass = np.ones(3)
    made = tree(mass=mass)
    mass[0] = 7
    assert made.mass[0] == 1
    with pytest.raises(ValueError):
        made.mass[0] = 2


def test_it_travels():
    made = tree(loop_kind=[POINT | AXIS], loop_bodies=[[1, 2]])
    again = pickle.loads(pickle.dumps(made))
    assert again.n_loop_equations == 5
    assert all((getattr(again, name) == value).all() for name, value in vars(made).items())


def test_no_bodies_at_all():
    made = Topology(parent=[], kind=[], rotation=np.zeros((0, 3, 3)), offset=np.zeros((0, 3)), mass=[])
    assert (made.n, made.n_q, made.n_v) == (0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(parent=[-1, 1, 0]), "joint 1: its parent"),
        (dict(parent=[-1, 2, 0]), "joint 1: its parent"),
        (dict(parent=[-2, 0, 0]), "joint 0: its parent"),
        (dict(parent=[0.5, 0, 0]), "'parent' must hold whole numbers"),
        (dict(kind=[0, 1, 5]), "'kind'"),
        (dict(mass=[1, -1, 0]), "joint 1: its body has a negative mass"),
        (dict(mass=[1, 1]), r"'mass' has shape \(2,\), expected \(3,\)"),
        (dict(mass=["heavy", 1, 1]), "'mass' is no array"),
        (dict(com=np.full((3, 3), np.nan)), "'com' has values that are not finite"),
        (dict(rotation=[np.eye(3), -np.eye(3), np.eye(3)]), "joint 1: 'rotation'"),
        (dict(rotation=[np.eye(3), 2 * np.eye(3), np.eye(3)]), "joint 1: 'rotation'"),
        (dict(q_at=[0, 6, 11]), "'q_at' must give every joint places of its own"),
        (dict(v_at=[1, 7, 10]), "'v_at' must give every joint places of its own"),
        (dict(stiffness=np.ones(10)), r"'stiffness'\[0\] belongs to a joint with several"),
        (dict(loop_kind=[POINT], loop_bodies=[[1, 1]]), "loop 0"),
        (dict(loop_kind=[POINT], loop_bodies=[[1, 3]]), "loop 0"),
        (dict(loop_kind=[64], loop_bodies=[[1, 2]]), "loop 0"),
        (dict(loop_kind=[POINT], loop_bodies=[[1, 2]], loop_rotation=np.ones((1, 2, 3, 3))), "loop 0"),
    ],
)
def test_faults_are_named(changes, words):
    with pytest.raises(ModelError, match=words):
        tree(**changes)


def test_every_fault_is_listed_up_to_a_limit():
    n = 1000
    with pytest.raises(ModelError, match="more") as caught:
        Topology(parent=np.arange(n), kind=[0] * n, rotation=np.tile(np.eye(3), (n, 1, 1)), offset=np.zeros((n, 3)),
                 mass=np.zeros(n))  # fmt: skip
    assert len(caught.value.faults) == 21
