"""Strategies for Jacobians on models that are far from linear."""

import numpy as np
import pytest

import dalembert as da
from dalembert.solvers import Dassl
from dalembert.studies import reproduce_corrector
from dalembert.studies.corrector_bites import FORMS, STRATEGIES, compare, reference
from dalembert.studies.corrector_models import swinging_chain, weaving_car


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("N", [4, 24])  # straight machine code, and recursions over flat arrays
def test_the_chain_without_friction_is_the_one_in_absolute_angles(N, form):
    case = swinging_chain(N, t_end=2.0, tilt=0.4, omega=3.0, friction=0.0)
    model = case.model(form)
    ours = da.simulate(model, (0, 2), **case.values(model), method=Dassl(), rtol=1e-9, atol=1e-9)
    known = reproduce_corrector.chain(N, omega=3.0, t_end=2.0)
    theirs = da.simulate(known.model, (0, 2), p0=np.full(N, 0.4), v0=np.zeros(N), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.cumsum(ours.p[-1]), theirs.p[-1], atol=1e-6)
    np.testing.assert_allclose(np.cumsum(ours.v[-1]), theirs.v[-1], atol=1e-5)


def test_the_car_starts_at_rest_in_its_frame():
    case = weaving_car(strips=3, t_end=0.05)
    model = case.model("residual")
    solution = da.simulate(model, (0, 0.05), **case.values(model), rtol=1e-8, atol=1e-8)
    moving = {"body_free.x", "body_free.y", *(name for name in model.names("p") if "spin" in name)}
    for name in set(model.names("p")) - moving:
        values = solution[name]
        assert np.max(np.abs(values - values[0])) < 2e-4, name
    assert solution["body_free.x"][-1] == pytest.approx(25.0 * 0.05, rel=1e-4)


def test_both_forms_of_the_car_agree():
    case, ends = weaving_car(strips=2, t_end=0.6), []
    for form in FORMS:
        model = case.model(form)
        ends.append(da.simulate(model, (0, 0.6), **case.values(model), method=Dassl(), rtol=1e-8, atol=1e-8))
    np.testing.assert_allclose(ends[0].p[-1], ends[1].p[-1], atol=1e-5)
    np.testing.assert_allclose(ends[0].v[-1], ends[1].v[-1], atol=1e-3)
    assert abs(ends[0]["body_free.z"]).max() > 1e-4  # it has met a ridge


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("case", "least"),
    [
        pytest.param(swinging_chain(12, t_end=4.0), 60, id="chain"),
        pytest.param(weaving_car("joints", t_end=1.0), 50, id="car"),
    ],
)
def test_kept_jacobians_save_evaluations(case, form, least):
    """Seen: 90 Jacobians and more of the standard method, a tenth with kept ones, half of the evaluations or less."""
    rows = {row.strategy: row for row in compare(case, form, reference(case), rounds=1)}
    assert list(rows) == list(STRATEGIES)
    standard = rows["standard"]
    assert standard.jacobians >= least
    for name, row in rows.items():
        # the same accuracy: of the size that BDF methods make of the tolerance 1e-4, and not ten times that of another
        assert row.error < 5e-3, name
        assert row.error < 10 * standard.error, name
        assert row.updates == 0 or "ed" in name
        if "ed" in name:  # partitioned, extended
            assert row.jacobians < standard.jacobians / 3, name
            assert row.jacobians + row.updates > standard.jacobians, name  # matrices follow c as before
            assert row.evaluations < 0.7 * standard.evaluations, name
    each = standard.differences / standard.jacobians
    n = sum(len(case.model(form).names(kind)) for kind in ("p", "v", "r"))
    assert each == n + 1
    sparse = rows["sparse"]
    assert sparse.differences / sparse.jacobians <= each + 1


def test_what_is_kept_must_be_renewed_where_stiffnesses_change():
    """On the rough road kept Jacobians are replaced so often that no more than a part of the evaluations is saved."""
    case = weaving_car("rough", t_end=1.5)
    rows = compare(case, "explicit", reference(case), strategies=("standard", "partitioned"), rounds=1)
    standard, kept = rows
    assert standard.jacobians > 100
    assert kept.jacobians > 0.3 * standard.jacobians
    assert kept.error < 10 * standard.error
