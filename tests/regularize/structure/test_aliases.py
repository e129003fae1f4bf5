"""Unknowns that are others, or constants: found, taken out of the equations, and nothing but them."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import reduced
from dalembert.regularize.structure.aliases import reduction_of


def eliminated(model):
    reduction = reduction_of(model)
    return [] if reduction is None else [str(alias) for alias in reduction.aliases]


def implicit(x, residual, **options):
    return da.ImplicitDAE(x=x, residual=residual, **options)


def test_signs_along_chains():
    model = implicit(
        ["a", "b", "c", "d"], lambda s: [s.a_dot + s.d**3, s.a + s.b, 2 * s.b - 2 * s.c, -s.d - s.c], name="chain"
    )
    assert eliminated(model) == ["b = -a", "c = -a", "d = a"]
    own = reduced(model)
    assert own.names("x") == ("a",)
    assert own.equation_names == ("equation 1",)
    assert model.structure.eliminated == reduction_of(model).aliases
    assert reduced(own) is own


def test_the_unknown_with_a_derivative_is_kept():
    model = implicit(["a", "b"], lambda s: [s.a - s.b, s.b_dot + s.a])
    assert eliminated(model) == ["a = b"]


def test_constants_of_numbers_and_parameters():
    model = implicit(
        ["a", "b", "c", "d"],
        lambda s: [s.a_dot + s.b * s.a - s.d, 4 * s.b - 2, s.c + s.b + s.k[1], s.d - s.c],
        parameters={"k": [1.0, 3.0]},
    )
    assert eliminated(model) == ["b = 0.5", "c = -(0.5+k[1])", "d = -(0.5+k[1])"]


@pytest.mark.parametrize(
    "row",
    [
        lambda s: s.b - 2 * s.a,
        lambda s: s.b - s.k * s.a,
        lambda s: s.b - s.a - 1,
        lambda s: s.b - s.a**2,
        lambda s: s.b - abs(s.a),
        lambda s: s.b - s.a - np.sign(s.a),
        lambda s: s.b - np.where(s.a > 0, s.a, -s.a),
        lambda s: s.b - s.a_dot,
        lambda s: s.b - np.sin(s.t),
        lambda s: s.b - s.mode,
        lambda s: s.b - s.push,
        lambda s: s.b * s.a - 1,
        lambda s: s.k * s.b - 1,
    ],
)
def test_what_is_no_alias(row):
    model = implicit(
        ["a", "b"],
        lambda s: [s.a_dot + s.b + s.a, row(s)],
        parameters={"k": 2.0},
        inputs={"push": np.sin},
        discrete={"mode": 1},
    )
    assert eliminated(model) == []
    assert reduced(model) is model


def test_hidden_as_given_eliminates_nothing():
    model = implicit(["a", "b"], lambda s: [s.a_dot + s.b, s.a - s.b], hidden="given")
    assert eliminated(model) == []


def test_functions_in_python():
    with pytest.warns(da.UntraceableWarning):
        model = implicit(["a", "b"], lambda s: [s.a_dot + float(s.b), s.a - s.b])
    assert reduced(model) is model


def test_models_that_would_be_empty_stay():
    model = implicit(["a", "b"], lambda s: [s.a - 1, s.a - s.b])
    assert eliminated(model) == []


def test_equations_that_say_the_same_twice_stay():
    """The analysis of the whole model, or its start values, tell what is wrong."""
    twice = implicit(["a", "b", "c"], lambda s: [s.a_dot - s.c, s.a - s.b, s.b - s.a])
    assert eliminated(twice) == []
    contrary = implicit(["a", "b", "c"], lambda s: [s.a - 1, s.a - 2, s.b_dot + s.c])
    assert eliminated(contrary) == []
    with pytest.raises(da.StructurallySingular, match="equation 1, equation 2 contain only 'a'"):
        _ = contrary.index


def test_opposite_signs_mean_zero():
    model = implicit(["a", "b", "c"], lambda s: [s.c_dot + s.c - s.a, s.a - s.b, s.a + s.b])
    assert eliminated(model) == ["a = 0", "b = 0"]


def test_leading_matrix_of_unknowns_that_are_one():
    """2 a' + 3 b' with a = −b is −b'."""
    model = da.QuasiLinearDAE(
        x=["a", "b", "c"],
        leading=lambda s: [[2, 3, 0], [0, 0, s.a]],
        rhs=lambda s: [s.c, s.b],
        constraints=lambda s: [s.a + s.b],
    )
    own = reduced(model)
    assert own.names("x") == ("a", "c")
    graph = own.graph
    E = ca.Function("E", [graph.symbol["x"]], [graph.functions["leading"].sx, graph.functions["rhs"].sx])
    leading, rhs = E([5.0, 7.0])
    assert np.array(leading).tolist() == [[-1, 0], [0, 5]]
    assert np.array(rhs).ravel().tolist() == [7, -5]
    assert own.n_constraints == 0
    assert own.equation_names == ("equation 1", "equation 2")


@pytest.mark.parametrize("rows", [1, 2])
def test_overdetermined_models(rows):
    """Rows that say nothing are lost; differential equations that would be too many are not made so."""
    model = da.QuasiLinearDAE(
        x=["a", "b", "z"],
        leading=np.eye(3)[:rows],
        rhs=lambda s: [s.z, -s.b][:rows],
        constraints=lambda s: [s.a - s.b, 2 * s.a - 2 * s.b, s.z + s.b],
    )
    if rows == 2:
        assert eliminated(model) == []
    else:
        assert eliminated(model) == ["b = a", "z = -a"]
        assert reduced(model).equation_names == ("equation 1",)


def random_model(rng, aliases):
    """x' = A x + b in a few unknowns, and others that are theirs or constants, by equations in any order."""
    n = 3
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    names = [f"x{i}" for i in range(n)]
    meaning = {name: (name, 1, 0.0) for name in names}
    rows = []
    for k in range(aliases):
        known = list(meaning)
        other, sign, scale = known[rng.integers(len(known))], int(rng.choice([-1, 1])), float(rng.choice([1, 2, -3]))
        new = f"y{k}"
        if rng.random() < 0.2:
            value = float(rng.integers(-3, 4))
            rows.append(lambda s, new=new, value=value, scale=scale: scale * (getattr(s, new) - value))
            meaning[new] = (None, 0, value)
        else:
            rows.append(
                lambda s, new=new, other=other, sign=sign, scale=scale: (
                    scale * getattr(s, new) - sign * scale * getattr(s, other)
                )
            )
            root, before, value = meaning[other]
            meaning[new] = (root, sign * before, sign * value)
    order = rng.permutation(len(meaning)).tolist()
    x = [list(meaning)[i] for i in order]
    stands = {name: [m for m, (root, _, _) in meaning.items() if root == name] for name in names}
    used = {name: str(rng.choice(own)) for name, own in stands.items()}  # equations use any of those that are the same
    equations = [
        lambda s, i=i: (
            getattr(s, f"{names[i]}_dot")
            - sum(A[i, j] * meaning[used[m]][1] * getattr(s, used[m]) for j, m in enumerate(names))
            - b[i]
        )
        for i in range(n)
    ] + rows
    mixed = [equations[i] for i in rng.permutation(len(equations))]
    build = lambda **options: implicit(x, lambda s: [row(s) for row in mixed], **options)  # noqa: E731
    return build, meaning, names


@pytest.mark.parametrize("seed", range(12))
def test_random_aliases(seed):
    rng = np.random.default_rng(seed)
    build, meaning, names = random_model(rng, int(rng.integers(1, 12)))
    model = build()
    assert sorted(reduced(model).names("x")) == names
    values = dict(zip(names, rng.normal(size=3), strict=True))
    run = dict(x0=values, method="dassl", rtol=1e-9, atol=1e-11)
    sol = da.simulate(model, (0, 1), **run)
    for name, (root, sign, value) in meaning.items():
        expected = np.full(len(sol.t), value) if root is None else sign * sol[root]
        assert np.array_equal(sol[name], expected)
    as_given = da.simulate(build(hidden="given"), (0, 1), **run)
    assert np.abs(sol.at(1.0).x - as_given.at(1.0).x).max() < 1e-6 * np.abs(sol.x).max()
    assert sol.max_residual("constraints") < 1e-12 * (1 + np.abs(sol.x).max())
