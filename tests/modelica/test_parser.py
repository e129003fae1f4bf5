"""What text becomes, and what is said about text that is not Modelica."""

import pickle

import pytest
from corpus import TEXTS

import dalembert as da
from dalembert.modelica import tree
from dalembert.modelica.parser import parse, parse_annotation, parse_expression
from dalembert.modelica.print_classes import file_text
from dalembert.modelica.printer import expression_text
from dalembert.modelica.source import LARGEST, Source, decode, read


def bare(node):
    """A tree without places: annotations count as present or absent."""
    if isinstance(node, tree.Annotation):
        return "annotation"
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        return (type(node).__name__, *(bare(getattr(node, name)) for name in node._fields if name != "at"))
    if isinstance(node, tuple):
        skip = len(node) == 3 and isinstance(node[0], int)  # literals of enumerations
        return tuple(map(bare, node[1:] if skip else node))
    return node


@pytest.mark.parametrize("name", TEXTS)
def test_printed_text_means_the_same(name):
    source = Source(TEXTS[name])
    first = parse(source)
    again = file_text(first, source)
    assert bare(parse(again)) == bare(first)
    assert file_text(parse(again), Source(again)) == again


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a + b * c ^ d", "a + (b * (c ^ d))"),
        ("-a ^ 2", "-(a ^ 2)"),
        ("-a * b", "-(a * b)"),
        ("-a + b", "(-a) + b"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("not a == b and c or d", "((not (a == b)) and c) or d"),
        ("a < -b", "a < (-b)"),
        ("a or b and c", "a or (b and c)"),
        ("1 : 2 * n : 3 + m", "1 : (2 * n) : (3 + m)"),
    ],
)
def test_strength_of_operators(text, meaning):
    assert bare(parse_expression(text)) == bare(parse_expression(meaning))


NEEDED = [
    *("a - (b - c)", "a - (b + c)", "(a + b) * c", "(-a) ^ 2", "a * (-b)", "(a ^ b) ^ c", "a / (b * c)", "a ^ (-1)"),
    *("(a == b) == c", "not (a and b)", "-(a + b)", "(if a then b else c) + 1", "(1:3) + b", "x[(if a then 1 else 2)]"),
]


@pytest.mark.parametrize("text", NEEDED)
def test_parentheses_are_kept_where_they_matter(text):
    tree_ = parse_expression(text)
    assert bare(parse_expression(expression_text(tree_))) == bare(tree_)


def test_negative_and_special_values_are_printed_so_that_they_can_be_read():
    product = tree.Binary(0, "*", tree.Ref(0, ("a",)), tree.Literal(0, -2.5))
    assert expression_text(product) == "a * (-2.5)"
    assert expression_text(tree.Binary(0, "^", tree.Literal(0, -2), tree.Literal(0, 1e300))) == "(-2) ^ 1e+300"


def test_numbers_and_strings():
    values = [parse_expression(text).value for text in ("12", "1.", ".5", "2e3", "1.5E-2", '"a\\"\\n\\\\"', "true")]
    assert values == [12, 1.0, 0.5, 2000.0, 0.015, 'a"\n\\', True]
    assert [type(value) for value in values[:2]] == [int, float]


def test_places_are_lines_and_columns():
    source = Source("model A\n  Real x;\nequation\n  x = foo(1);\nend A;")
    model = parse(source).classes[0]
    assert source.place(model.elements[0].at) == (2, 8)
    assert source.place(model.sections[0].items[0].right.at) == (4, 7)


def test_annotations_are_kept_as_tokens_and_read_on_demand():
    source = Source("model A Real x annotation(Evaluate=true, A(b={1,2})); annotation(broken(=)); end A;")
    model = parse(source).classes[0]
    notes = parse_annotation(source, model.elements[0].comment.annotation)
    assert [note.name for note in notes] == ["Evaluate", "A"]
    with pytest.raises(da.ModelicaError, match="a name was expected"):
        parse_annotation(source, model.annotation)


# text, line and column, words of the message, words of the suggestion
FAULTS = [
    ("model A Real x end A;", (1, 15), "`;` is missing", None),
    ("model A Real x; equation x = 1 end A;", (1, 31), "`;` is missing", None),
    ("model A\n  Real x;\neqation\n  der(x) = 1;\nend A;", (4, 3), "a name was expected", None),
    ("model A Real x; equation x := 1; end A;", (1, 28), "for algorithms", "Equations have"),
    ("model A Real x; algorithm x = 1; end A;", (1, 29), "for equations", ":="),
    ("model A Real x; equation x == 1; end A;", (1, 32), "`=` was expected", None),
    ("model A end B;", (1, 13), "`end A` was expected", None),
    ("model A", (1, 7), "`end A;` is missing", None),
    ("model A equation if a then x = 1; end A;", (1, 39), "`end if` was expected", None),
    ('model A "open end A;', (1, 9), "string that begins here does not end", "Close it"),
    ("model A /* open end A;", (1, 9), "comment that begins here does not end", "Close it"),
    ("model A 'open end A;", (1, 9), "quoted name", None),
    ("model A Real x€; end A;", (1, 15), "no meaning", "strings and comments"),
    ("model A Real x = 2 * -1; end A;", (1, 22), "a sign cannot follow", "parentheses"),
    ("model A Boolean b = 1 < x < 3; end A;", (1, 27), "cannot follow each other", "and"),
    ("model A Real x = a ^ b ^ c; end A;", (1, 24), "cannot follow each other", "parentheses"),
    ("model A Real x = if a then 1; end A;", (1, 18), "has no `else`", None),
    ("model A Real model; end A;", (1, 14), "a name was expected", "'model', with the quotes"),
    ("modl A end A;", (1, 1), "a class", "`model`"),
    ("model A equation Real y; end A;", (1, 18), "stands alone", "Declarations belong above"),
    ("model A equation x = f(a = 1, 2); end A;", (1, 31), "without a name", None),
    ("model A Real x(start[1] = 2); end A;", (1, 21), "cannot have subscripts", "array of values"),
    ("model A Real x constrainedby B; end A;", (1, 16), "replaceable", None),
    ("model A parameter flow Real x; end A;", (1, 19), "cannot follow", "The order is"),
    ("model A outer inner Real x; end A;", (1, 15), "wrong order", "The order is"),
    ("model A equation x = end; end A;", (1, 22), "an expression was expected", None),
    ("model A equation x[1 = 2; end A;", (1, 21), "`]` is missing", None),
    ("model A annotation(a(b=1); end A;", (1, 9), "brackets", None),
    ('model A String s = "\\q"; end A;', (1, 20), "escape", None),
    ("type E = enumeration(a, a);", (1, 25), "twice", None),
    ("model A Real x = 1e999; end A;", (1, 18), "too large", None),
    ("model A end A; 1", (1, 16), "a class", None),
    ("pure model A end A;", (1, 1), "for functions", None),
]


@pytest.mark.parametrize(("text", "place", "words", "hint"), FAULTS)
def test_faults_are_named_with_their_place(text, place, words, hint):
    with pytest.raises(da.ModelicaError) as caught:
        parse(Source(text, "A.mo"))
    error = caught.value
    assert (error.line, error.column) == place, str(error)
    assert f"A.mo:{error.line}:{error.column}: " in str(error)
    line, caret = error.excerpt.split("\n")
    assert line.strip() in text
    assert caret.rstrip() == "    " + " " * (error.column - 1) + "^"
    assert words is None or words in str(error)
    assert hint is None or hint in error.suggestion


def test_the_error_is_pickled_with_its_place():
    with pytest.raises(da.ModelicaError) as caught:
        parse("model A end B;")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.line, error.column, str(error)) == (1, 13, str(caught.value))
    assert isinstance(error, da.ModelError)


@pytest.mark.parametrize(
    "text",
    [
        "model A Real x = " + "(" * 100_000,
        "model A Real x = " + "{" * 100_000,
        "model A Real x = " + "f(" * 100_000,
        "model A Real x = " + "a[" * 100_000,
        "model A Real x = " + "if a then " * 100_000,
        "model A " * 100_000,
        "model A equation " + "if a then " * 100_000,
        "model A Real x" + "(a" * 100_000,
        "model A Real x(" + "a." * 100_000 + "a = 1);",
        "model A Real x = 1" + " + 1" * 100_000 + "; end A;",
        "model A annotation" + "(" * 100_000,
        "model A Real x = " + "-" * 100_000,
    ],
)
def test_depth_is_limited(text):
    with pytest.raises(da.ModelicaError) as caught:
        parse(text)
    assert caught.value.line == 1
    assert len(str(caught.value)) < 1000


def test_hundred_parentheses_are_read():
    assert parse_expression("(" * 99 + "x" + ")" * 99).names == ("x",)
    assert len(expression_text(parse_expression("x" + " - x" * 999))) == 3997


def test_size_is_limited(tmp_path):
    with pytest.raises(da.ModelicaError, match=f"at most {LARGEST}"):
        Source(" " * (LARGEST + 1))
    with pytest.raises(da.ModelicaError, match="cannot be read"):
        read(tmp_path / "missing.mo")


def test_only_utf8_is_read(tmp_path):
    (tmp_path / "A.mo").write_bytes('\ufeffmodel A "é" end A;'.encode())
    assert parse(read(tmp_path / "A.mo")).classes[0].comment == "é"
    with pytest.raises(da.ModelicaError, match="0xe9 is not UTF-8") as caught:
        decode(b'model A\n"\xe9" end A;')
    assert (caught.value.line, caught.value.column) == (2, 2)
