"""What methods integrate in place of a DAE: chains of constraints, stabilized and overdetermined forms."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.problems import naive
from dalembert.regularize.projected import Blocks
from dalembert.regularize.structure.chain import Chain
from dalembert.regularize.structure.samples import Samples, full_rank, positive_definite
from dalembert.regularize.structure.system import is_regularized, overdetermined, projected_form, stabilized


def sizes(form):
    return [(len(link.rows), len(link.unknowns), link.splits) for link in form.blocks.constraints]


def numbers(form, x, x_dot, t=0.3):
    graph = form.model.graph
    function = ca.Function(
        "F", [graph.t, form.x, form.x_dot, graph.theta], [form.residual, form.jacobian, form.leading]
    )
    return [np.array(part) for part in function(t, x, x_dot, form.model.theta(t))]


def test_who_is_regularized():
    plain = da.QuasiLinearDAE(x=["a", "b"], leading=[1, 0], rhs=lambda s: [s.b, s.a - s.b])
    pendulum = naive(da.problems.pendulum())
    assert not is_regularized(plain)
    assert is_regularized(pendulum.model)
    assert not is_regularized(naive(da.problems.pendulum(), hidden="given").model)
    assert not is_regularized(da.problems.pendulum().model)


@pytest.mark.parametrize("name", sorted(da.problems.catalogue()))
def test_chains_of_mechanics(name):
    """Positions, velocities and what is left, as `Geoms` has them; E X is regular on what constraints leave."""
    problem = da.problems.catalogue()[name]()
    form = projected_form(naive(problem).model)
    own = da.Geoms(invariants="ignore").formulate(problem.model)
    free = sum(len(link.unknowns) - len(link.rows) for link in form.blocks.constraints if link.splits)
    whole = own.n - sum(len(block.rows) for block in own.blocks.constraints)
    assert free + len(form.blocks.free) == whole
    # only what Geoms would partition is partitioned, where accelerations are eliminated there as well
    if own.n == form.n and "a" not in own.slices:
        assert form.blocks.partitioned == own.blocks.partitioned
    rows = np.concatenate([link.rows for link in form.blocks.constraints])
    assert len(np.unique(rows)) == len(rows)
    unknowns = np.concatenate([*(link.unknowns for link in form.blocks.constraints), form.blocks.free])
    assert sorted(unknowns) == list(range(form.n))


def test_blocks_are_triangular():
    """No constraint contains unknowns of later stages; each block has full rank in its own."""
    form = projected_form(da.problems.elastic_robot().model)
    assert len(sizes(form)) == 5
    i, j = (np.array(part) for part in form.jacobian.sparsity().get_triplet())
    stage = np.empty(form.n)
    for k, link in enumerate(form.blocks.constraints):
        stage[link.unknowns] = k
    samples = Samples(form)
    for k, link in enumerate(form.blocks.constraints):
        assert (stage[j[np.isin(i, link.rows)]] <= k).all()
        assert all(full_rank(block) for block in samples.jacobians(link.rows, link.unknowns))


def test_stabilized_form_is_the_dae_where_multipliers_vanish():
    model = naive(da.problems.car_axis()).model
    form = stabilized(model)
    assert len(form.equations) == form.n == 14
    rng = np.random.default_rng(0)
    x, x_dot = rng.uniform(0.2, 1, form.n), rng.uniform(0.2, 1, form.n)
    x[10:] = 0
    F, J, E = numbers(form, x, x_dot)
    own = overdetermined(model)
    assert len(own.equations) == own.n == 10
    F0, _, E0 = numbers(own, x[:10], x_dot[:10])
    h = ca.Function("h", [model.graph.t, own.x, model.graph.theta], [own.constraints])
    everything = np.concatenate([F0.ravel(), np.array(h(0.3, x[:10], model.theta(0.3))).ravel()])
    np.testing.assert_allclose(np.sort(F.ravel()), np.sort(everything), atol=1e-12)
    # index 2: what multipliers do to the constraints that determine them is regular
    assert np.linalg.cond(E / 1e-4 - J) < 1e12
    assert np.linalg.matrix_rank(E0[:8, :8]) == 8


def test_index_1_of_overdetermined_forms():
    """The first equations determine unknowns without derivatives; the pencil is regular."""
    for problem in (naive(da.problems.andrews()), da.problems.elastic_robot(), da.problems.batch_reactor()):
        form = overdetermined(problem.model)
        samples = Samples(form)
        resting = np.flatnonzero(~form.differential)
        algebraic = np.flatnonzero(~form.differential_equations)
        assert len(resting) == len(algebraic)
        assert all(full_rank(block) for block in samples.jacobians(algebraic, resting))


def test_what_is_no_equation_of_motion():
    """Forces that multipliers change, other kinematics, and further unknowns: chains, but no partition."""
    for name in ("cable_drum", "heavy_top", "sleigh", "motor_pendulum"):
        form = projected_form(naive(da.problems.catalogue()[name]()).model)
        assert isinstance(form.blocks, Chain)
    for name in ("andrews", "truck", "passenger_car"):
        form = projected_form(naive(da.problems.catalogue()[name]()).model)
        assert type(form.blocks) is Blocks


def test_positive_definite():
    from scipy.sparse import csr_array

    assert positive_definite(csr_array(np.array([[2.0, 1.0], [1.0, 2.0]])))
    assert not positive_definite(csr_array(np.array([[1.0, 2.0], [2.0, 1.0]])))
    assert not positive_definite(csr_array(np.array([[2.0, 1.0], [0.0, 2.0]])))
    assert not positive_definite(csr_array(-np.eye(2)))


def test_python_functions_have_one_block():
    def constraints(s):
        float(s.a)
        return [s.a**2 + s.b**2 - 1]

    with pytest.warns(da.UntraceableWarning):
        model = da.QuasiLinearDAE(x=["a", "b"], rhs=lambda s: [s.b, -s.a], constraints=constraints)
    assert sizes(projected_form(model)) == [(1, 2, True)]
    sol = da.simulate(model, (0, 3), x0=[0, 1], method=da.Qualidaes(), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sol.x[-1], [np.sin(3), np.cos(3)], atol=1e-6)
