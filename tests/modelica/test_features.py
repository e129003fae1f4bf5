"""Every feature of the language in a small model: simulated, and compared with what must come out."""

import pytest
from features import FEATURES, REFUSALS

import dalembert as da


@pytest.mark.parametrize("feature", FEATURES, ids=lambda one: one.title)
def test_feature(feature):
    model = da.modelica.load(feature.text, feature.name)
    sol = da.simulate(model, (0, feature.stop), rtol=1e-8, atol=1e-10, **feature.options)
    for name, value in feature.values.items():
        assert sol[name][-1] == pytest.approx(value, abs=feature.tolerance, rel=feature.tolerance), name


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.title)
def test_refusal(refusal):
    with pytest.raises(da.ModelicaError) as caught:
        da.modelica.load(refusal.text)
    assert refusal.words in str(caught.value)
    assert caught.value.line is not None
