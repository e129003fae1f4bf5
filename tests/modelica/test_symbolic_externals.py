"""External functions: tables of a model, texts, LAPACK, random numbers."""

import casadi as ca
import numpy as np
import pytest
from symbolic_places import Functions, number

from dalembert.errors import ModelicaError
from dalembert.modelica.values import Arr, stack

U, W = ca.SX.sym("u"), ca.SX.sym("w")

TABLES = """package P
  class Curves extends ExternalObject;
    function constructor input String name; input String file; input Real table[:, :]; input Integer columns[:];
      input Integer smoothness; input Integer extrapolation = 2; output Curves table1D;
      external "C" table1D = ModelicaStandardTables_CombiTable1D_init3(file, name, table, size(table, 1),
        size(table, 2), columns, size(columns, 1), smoothness, extrapolation, false, ",", 0);
    end constructor;
    function destructor input Curves one; external "C" ModelicaStandardTables_CombiTable1D_close(one); end destructor;
  end Curves;
  function value input Curves table; input Integer column; input Real u; output Real y;
    external "C" y = ModelicaStandardTables_CombiTable1D_getValue(table, column, u);
  end value;
  function rate input Curves table; input Integer column; input Real u; input Real der_u; output Real der_y;
    external "C" der_y = ModelicaStandardTables_CombiTable1D_getDerValue(table, column, u, der_u);
  end rate;
  function second input Curves table; input Integer column; input Real u; input Real v; input Real a; output Real der_y;
    external "C" der_y = ModelicaStandardTables_CombiTable1D_getDer2Value(table, column, u, v, a);
  end second;
  function least input Curves table; output Real y;
    external "C" y = ModelicaStandardTables_CombiTable1D_minimumAbscissa(table);
  end least;
  model M
    parameter Curves one = Curves("NoName", "NoName", [0, 0; 1, 1; 2, 4], {2}, 1);
    Real u = time; Real y[5];
  equation
    y = {value(one, 1, u), rate(one, 1, u, 1), second(one, 1, u, 1, 0), least(one), 0};
  end M;
end P;"""


@pytest.fixture(scope="module")
def tables():
    return Functions(TABLES)


def make(tables, extrapolation=2, smoothness=1, data=(0, 0, 1, 1, 2, 4), columns=(2,), file="NoName", name="NoName"):
    table = Arr((len(data) // 2, 2), list(map(float, data)))
    return tables("P.Curves", name, file, table, stack(list(columns)), smoothness, extrapolation)[0]


def test_tables_are_made_once_and_looked_up_in(tables):
    assert make(tables) is make(tables)
    one = make(tables)
    found = tables("P.value", one, 1, U)[0]
    assert [number(found, u=u) for u in (0.5, 1.5, 3.0)] == [0.5, 2.5, 7.0]
    assert tables("P.value", one, 1, 1.5) == [2.5]
    assert tables("P.least", one) == [0.0]


def test_derivatives_of_tables(tables):
    one = make(tables, smoothness=2, data=(0, 0, 1, 1, 2, 4, 3, 5, 4, 4))
    y = tables("P.value", one, 1, U)[0]
    first, second = ca.jacobian(y, U), ca.jacobian(ca.jacobian(y, U), U)
    for u in (0.3, 1.7, 3.9, 5.0):
        assert number(tables("P.rate", one, 1, U, 2.0)[0], u=u) == pytest.approx(2 * number(first, u=u))
        expected = 4 * number(second, u=u) + 3 * number(first, u=u)
        assert number(tables("P.second", one, 1, U, 2.0, 3.0)[0], u=u) == pytest.approx(expected)


def test_no_extrapolation_is_a_claim(tables):
    one = make(tables, extrapolation=4)
    tables.context.claims.clear()
    tables("P.value", one, 1, U)
    ((condition, message),) = tables.context.claims
    assert "leaves its range from 0 to 2" in "".join(map(str, message))
    assert [number(condition, u=u) for u in (-1.0, 1.0, 3.0)] == [0, 1, 0]
    with pytest.raises(ModelicaError, match="no extrapolation"):
        tables("P.value", one, 1, 5.0)


def test_tables_from_files(tables, tmp_path):
    file = tmp_path / "t.txt"
    file.write_text("#1\ndouble t(2,3)\n0 1 2\n1 3 5\n")
    one = make(tables, file=str(file), name="t", columns=(3,))
    assert tables("P.value", one, 1, 0.5) == [3.5]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"columns": (3,)}, "2 columns; number 3"), ({"data": (0, 0, 0, 1)}, "increase strictly"),
        ({"data": ()}, "empty"), ({"name": "t"}, "usertab"), ({"file": "/nowhere.txt", "name": "t"}, "cannot be read"),
        ({"smoothness": 9}, "9 is not a valid"),
    ],
)  # fmt: skip
def test_faulty_tables(tables, given, reason):
    with pytest.raises(ModelicaError, match=reason):
        make(tables, **given)


def functions(external, inputs, outputs, call):
    """A Modelica function `P.f` with an external one behind it."""
    return Functions(f"""package P function f {inputs} {outputs} external "C" {external}; end f;
      model M Real u = time; Real z[1]; equation z[1] = {call}; end M; end P;""")


def test_unknown_external_functions_are_named():
    f = functions("y = somebodys_function(x)", "input Real x;", "output Real y;", "P.f(u)")
    with pytest.raises(ModelicaError, match=r"function P\.f: the external function `somebodys_function` \(C\)"):
        f("P.f", U)


def test_texts():
    text = """package P
      function length input String s; output Integer n; external "C" n = ModelicaStrings_length(s); end length;
      function part input String s; input Integer a; input Integer b; output String t;
        external "C" t = ModelicaStrings_substring(s, a, b); end part;
      function compared input String s; input String t; input Boolean c = true; output Integer n;
        external "C" n = ModelicaStrings_compare(s, t, c); end compared;
      function real input String s; input Integer i; output Integer next; output Real x;
        external "C" ModelicaStrings_scanReal(s, i, false, next, x); end real;
      function f input String s; output Real y; protected Integer n; Real x; algorithm
        y := length(s) + length(part(s, 1, 2)) + compared(s, "b") + compared(s, "B", false);
        (n, x) := real(s, 3); y := y + 100*n + 1000*x; end f;
      model M parameter String s = "ab 12.5e1x"; Real u = time; Real z; equation z = P.f(s)*u; end M; end P;"""
    f = Functions(text)
    assert f("P.length", "abc") == [3]
    assert f("P.part", "abcdef", 2, 4) == ["bcd"]
    assert [f("P.compared", a, b)[0] for a, b in (("a", "b"), ("b", "b"), ("c", "b"), ("a", "A"))] == [1, 2, 3, 3]
    assert f("P.compared", "a", "A", False) == [2]
    assert f("P.real", "ab 12.5e1x", 3) == [10, 125.0]
    assert f("P.real", "ab 12.5e1x", 1) == [1, 0.0]


def test_lines_of_files(tmp_path):
    text = """package P
      function line input String file; input Integer n; output String s; output Boolean ended;
        external "C" s = ModelicaInternal_readLine(file, n, ended); end line;
      function count input String file; output Integer n; external "C" n = ModelicaInternal_countLines(file); end count;
      function all input String file; input Integer n; output String s[n];
        external "C" ModelicaInternal_readFile(file, s, n); end all;
      function f input Real u; input String file; output Real y; protected String s; String t[1]; Boolean e; algorithm
        y := u + count(file); (s, e) := line(file, 1); t := all(file, 1); end f;
      model M parameter String file = "a"; Real u = time; Real z; equation z = P.f(u, file); end M; end P;"""
    f = Functions(text)
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    assert f("P.line", str(file), 2) == ["two", False]
    assert f("P.line", str(file), 3) == ["", True]
    assert f("P.count", str(file)) == [2]
    assert f("P.all", str(file), 2)[0].items == ["one", "two"]
    assert number(f("P.f", U, str(file))[0], u=1.0) == 3
    with pytest.raises(ModelicaError, match="cannot be read"):
        f("P.count", str(tmp_path / "none"))


def test_agreement_with_interp(tables):
    rng = np.random.default_rng(0)
    x, y = np.cumsum(rng.uniform(0.1, 1, 30)), rng.normal(size=30)
    one = make(tables, data=np.stack([x, y], axis=1).ravel())
    found = ca.Function("f", [U], [tables("P.value", one, 1, U)[0]])
    at = np.linspace(x[0], x[-1], 200)
    assert np.array(found(at.reshape(1, -1))).ravel() == pytest.approx(np.interp(at, x, y), abs=1e-12)


# -- random numbers --------------------------------------------------------------------------------------------------

GENERATORS = """package P
  function small input Integer s[2]; output Real r; output Integer t[2];
    external "C" ModelicaRandom_xorshift64star(s, t, r); end small;
  function plus input Integer s[4]; output Real r; output Integer t[4];
    external "C" ModelicaRandom_xorshift128plus(s, t, r); end plus;
  function large input Integer s[33]; output Real r; output Integer t[33];
    external "C" ModelicaRandom_xorshift1024star(s, t, r); end large;
  function hash input String s; output Integer n; external "C" n = ModelicaStrings_hashString(s); end hash;
  function all input Real u; output Real r; algorithm
    r := small({1, 2}) + plus({1, 2, 3, 4}) + large(1:33) + hash("a") + u; end all;
  model M Real u = time; Real z = P.all(u); end M; end P;"""


@pytest.fixture(scope="module")
def generators():
    return Functions(GENERATORS)


@pytest.mark.parametrize(("name", "size"), [("P.small", 2), ("P.plus", 4)])
def test_random_numbers_of_the_simulation_are_exact(generators, name, size):
    """Words of 64 bits on graphs of numbers with 53 bits: the same as with whole numbers."""
    symbols = [ca.SX.sym(f"s{k}") for k in range(size)]
    r, t = generators(name, stack(symbols))
    graph = ca.Function("f", symbols, [r, ca.vertcat(*t.items)])
    assert graph.n_nodes() < 4000
    state = np.random.default_rng(3).integers(-(2**31), 2**31, size).tolist()
    for _ in range(50):
        expected, after = generators(name, stack(state))
        number_found, found = graph(*state)
        assert float(number_found) == expected
        assert 0 < expected <= 1
        state = [int(one) for one in np.array(found).ravel()]
        assert state == after.items
        assert all(-(2**31) <= one < 2**31 for one in state)


def test_random_numbers_look_uniform(generators):
    for name, size in (("P.small", 2), ("P.plus", 4), ("P.large", 33)):
        state, found = stack(list(range(7, 7 + size))), []
        for _ in range(2000):
            r, state = generators(name, state)
            found.append(r)
        found = np.array(found[50:])
        assert abs(found.mean() - 0.5) < 0.03
        assert abs(found.std() - 12**-0.5) < 0.02
        assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 0.08


def test_xorshift64star_by_hand(generators):
    """State 1: shifts give 1 + 2^25, times the factor; its upper half becomes the number."""
    x = (1 + (1 << 25)) * 2685821657736338717 % (1 << 64)
    r, t = generators("P.small", stack([1, 0]))
    assert [one % (1 << 32) for one in t.items] == [x % (1 << 32), x >> 32]
    assert r == (x - (x >> 63) * (1 << 64)) / 2**64 + 0.5


def test_hashes_are_those_of_the_documentation(generators):
    assert generators("P.hash", "this is a test") == [1827717433]
    assert generators("P.hash", "Controller.noise1") == [-1025762750]


# -- Fourier and LAPACK ----------------------------------------------------------------------------------------------


def test_fourier_transform():
    f = functions(
        "info = ModelicaFFT_kiss_fftr(u, size(u, 1), work, 1, a, p)",
        "input Real u[:];",
        "output Integer info; output Real a[div(size(u, 1), 2) + 1]; output Real p[div(size(u, 1), 2) + 1]; "
        "protected Real work[3];",
        "P.f({u, 1})",
    )
    for n in (2, 12, 30, 14):
        signal = np.random.default_rng(n).normal(size=n)
        expected = np.fft.rfft(signal)
        symbols = [ca.SX.sym(f"u{k}") for k in range(n)]
        for values, names in ((list(signal), {}), (symbols, {f"u{k}": one for k, one in enumerate(signal)})):
            info, a, p = f("P.f", stack(values))
            assert info == 0
            assert number(a, **names) == pytest.approx(2 / n * np.abs(expected), abs=1e-12)
            turned = np.array(number(a, **names)) * np.exp(1j * np.array(number(p, **names)))
            assert turned == pytest.approx(2 / n * expected, abs=1e-12)
    assert f("P.f", stack([1.0, 2.0, 3.0]))[0] == 1
    with pytest.raises(ModelicaError, match="too large"):
        f("P.f", stack([U] * 600))


def test_linear_systems():
    f = functions(
        "dgesv(size(A, 1), 1, work, size(A, 1), pivots, x, size(A, 1), info)",
        "input Real A[:, size(A, 1)]; input Real b[size(A, 1)];",
        "output Real x[size(A, 1)] = b; output Integer info; "
        "protected Real work[size(A, 1), size(A, 1)] = A; Integer pivots[size(A, 1)];",
        "sum(P.f({{u, 1}, {2, 3}}, {1, 2}))",
    )
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    a[0, 0] = 0  # needs pivots
    x, info = f("P.f", Arr((3, 3), a.ravel().tolist()), stack(b.tolist()))
    assert x.items == pytest.approx(np.linalg.solve(a, b))
    assert info == 0
    entries = a.ravel().tolist()
    x, _ = f("P.f", Arr((3, 3), [U, *entries[1:]]), stack([W, *b[1:].tolist()]))
    assert number(x, u=0.0, w=b[0]) == pytest.approx(np.linalg.solve(a, b))
    slope = ca.jacobian(ca.vertcat(*x.items), U)
    exact = -np.linalg.solve(a, np.eye(3)[:, 0]) * np.linalg.solve(a, b)[0]
    assert number(array_of(slope), u=0.0, w=b[0]) == pytest.approx(exact)
    assert f("P.f", Arr((2, 2), [1.0, 1.0, 1.0, 1.0]), stack([1.0, 2.0]))[1] == 2  # singular


def array_of(column):
    return stack([column[i] for i in range(column.shape[0])])


def test_eigenvalues():
    f = functions(
        'dgeev("N", "V", size(A, 1), work, size(A, 1), re, im, left, size(A, 1), V, size(A, 1), w, 4, info)',
        "input Real A[:, size(A, 1)];",
        "output Real re[size(A, 1)]; output Real im[size(A, 1)]; output Real V[size(A, 1), size(A, 1)]; "
        "output Integer info; protected Real work[size(A, 1), size(A, 1)] = A; Real left[1, 1]; Real w[4];",
        "sum(P.f({{u, 1}, {2, 3}}))",
    )
    re, im, v, _ = f("P.f", Arr((2, 2), [2.0, 1.0, 1.0, 2.0]))
    assert sorted(re.items) == pytest.approx([1, 3])
    assert im.items == [0, 0]
    v = np.array(v.items).reshape(2, 2)
    assert np.array([[2.0, 1.0], [1.0, 2.0]]) @ v == pytest.approx(v * np.array(re.items))
    with pytest.raises(ModelicaError, match="has to be known"):
        f("P.f", Arr((2, 2), [U, 1.0, 1.0, 2.0]))
