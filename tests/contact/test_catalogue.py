"""The catalogue of problems with contacts: names, consistent starts, references, options."""

import pickle

import numpy as np
import pytest
from index1 import Index1
from trial import Trial

from dalembert import problems
from dalembert.errors import OptionError

CATALOGUE = problems.catalogue_contact()


def test_catalogue_holds_every_function_by_its_name():
    for name, function in CATALOGUE.items():
        assert getattr(problems, name) is function
        assert function().name == name


@pytest.mark.parametrize("name", CATALOGUE)
def test_starts_and_references_do_not_penetrate(name):
    problem = CATALOGUE[name]()
    oracle, first = Index1(problem), problem.model.contacts[0].normal
    assert problem.model.untraceable == {}
    assert problem.reference is not None
    assert problem.reference.t == problem.t_end
    states = [(0.0, problem.p0, problem.v0, 1e-15), *((r.t, r.p, r.v, r.accuracy) for r in problem.references)]
    for t, p, v, accuracy in states:
        rows = np.array(oracle._residuals(t, np.concatenate([p, v]), problem.model.theta(t))[0]).ravel()
        assert (-rows[first:]).min() > -20 * accuracy
        assert np.abs(rows[:first]).max(initial=0) < 20 * accuracy


@pytest.mark.parametrize("name", CATALOGUE)
def test_problems_travel(name):
    there = pickle.loads(pickle.dumps(CATALOGUE[name]()))
    assert [contact.name for contact in there.model.contacts] == [c.name for c in CATALOGUE[name]().model.contacts]


# those that an integration by trial reaches soon; names, options, tolerance
BY_TRIAL = [
    ("bouncing_ball", {"t_end": 1.0}, 1e-12),
    ("ball_chain", {"impact": "newton"}, 1e-12),
    ("sliding_box", {"t_end": 0.5}, 1e-12),
    ("sliding_box", {"incline": 0.2, "t_end": 0.5}, 1e-12),
    ("painleve_rod", {"t_end": 0.1}, 1e-11),
    ("four_bar_stop", {"t_end": 1.5}, 1e-10),
    ("rimless_wheel", {"steps": 1}, 1e-11),
]
SLOWLY = [
    ("bouncing_ball", {"t_end": 3.0, "e": 0.5}, 1e-10),
    ("bouncing_balls", {"N": 2, "spread": 0.1}, 1e-10),
    ("ball_stack", {"N": 3}, 1e-10),
    ("ball_stack", {"N": 3, "e": 0.5, "drop": 0.2}, 1e-10),
    ("falling_block", {}, 1e-9),
    ("four_bar_stop", {}, 1e-9),
    ("painleve_rod", {}, 1e-11),
    ("woodpecker", {"t_end": 0.1}, 1e-9),
    ("woodpecker", {}, 1e-8),
    ("rimless_wheel", {}, 1e-10),
    ("ball_over_edge", {"surface": "one", "t_end": 0.4}, 1e-10),
    ("ball_over_corner", {}, 1e-6),  # the oracle's steps do not know the edge
]


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    BY_TRIAL + [pytest.param(*case, marks=pytest.mark.slow) for case in SLOWLY],
    ids=str,
)
def test_references_by_trial(name, options, tolerance):
    problem = CATALOGUE[name](**options)
    course = Trial(problem).run()
    known = np.concatenate([problem.reference.p, problem.reference.v])
    assert np.max(np.abs(course.y[-1] - known) / (1 + np.abs(known))) < tolerance
    for hit, ours in zip(problem.impacts, course.hits, strict=False):
        assert hit.contact in ours.contacts or problem.name in ("ball_stack", "ball_chain")
        assert abs(hit.t - ours.t) < 1e-9


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, {"t_end": -1.0}) for name in CATALOGUE if name != "rimless_wheel"]
    + [
        ("bouncing_ball", {"e": 1.5}),
        ("bouncing_ball", {"z0": 0.0}),
        ("bouncing_balls", {"N": 0}),
        ("ball_stack", {"drop": -1.0}),
        ("ball_chain", {"N": 1}),
        ("ball_chain", {"impact": "elastic"}),
        ("newtons_cradle", {"lifted": 5}),
        ("newtons_cradle", {"angle": 3.1}),
        ("falling_block", {"friction": -0.1}),
        ("falling_block", {"height": -0.1}),
        ("four_bar_stop", {"stop": 1.0}),
        ("woodpecker", {"e": -0.5}),
        ("sliding_box", {"incline": 2.0}),
        ("painleve_rod", {"half": 0.0}),
        ("rimless_wheel", {"slope": 1e-3}),
        ("rimless_wheel", {"N": 3}),
        ("billiard", {"columns": 20}),
        ("ball_over_edge", {"surface": "three"}),
        ("ball_over_corner", {"speed": 0.0}),
    ],
)
def test_unknown_options_are_refused(name, options):
    with pytest.raises(OptionError, match=name):
        CATALOGUE[name](**options)
