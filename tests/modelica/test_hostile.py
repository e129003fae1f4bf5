"""Damaged and hostile texts through the whole way to a model: our error with a place, or a model."""
# ruff: noqa: E501

import os
import random
import re

import pytest
from corpus import TEXTS
from features import FEATURES
from test_flatten_errors import REPLACEMENTS
from test_mutations import PIECES

import dalembert as da
from dalembert.modelica.source import Source

NUMBERS, NAMES = re.compile(r"\d.*"), re.compile(r"[a-zA-Z_']\w*'?")
OPERATORS = re.compile(r"[-+*/^=<>]+|and|or")
ALIKE = [NUMBERS, NAMES, OPERATORS]
STRANGE = {
    NUMBERS: ["0", "1e308", "1e-320", "2147483648", "1000000", "0.1", "(-1)"],
    NAMES: ["time", "der", "pre", "sin", "Real", "Boolean", "x", "M", "parameter", "discrete"],
    OPERATORS: ["-", "/", "^", "==", "<", "and", ".*"],
}
SOURCES = [*(one.text for one in FEATURES), *TEXTS.values()]


def damaged(rng: random.Random) -> str:
    """A text with faults: cut off, with other tokens, or nonsense."""
    text = rng.choice(SOURCES)
    kind = rng.randrange(10)
    if kind == 0:
        return text[: rng.randrange(len(text) + 1)]
    if kind == 1:
        return "".join(rng.choice(PIECES) + " " * rng.randrange(2) for _ in range(rng.randrange(120)))
    tokens = [token for token in Source(text).tokens() if token]
    if kind == 2:
        other = [token for token in Source(rng.choice(SOURCES)).tokens() if token]
        i, j = rng.randrange(len(tokens)), rng.randrange(len(other))
        return " ".join(tokens[:i] + other[j:])
    if kind < 7:  # what can still be read: other numbers, names and operators
        for _ in range(rng.randrange(1, 3)):
            alike = rng.choice(ALIKE)
            places = [i for i, token in enumerate(tokens) if alike.fullmatch(token)]
            if places:
                i = rng.choice(places)
                tokens[i] = rng.choice([*(tokens[j] for j in places), *STRANGE[alike]])
        return " ".join(tokens)
    for _ in range(rng.randrange(1, 4)):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        change = rng.randrange(5)
        if change == 0 and len(tokens) > 1:
            del tokens[i]
        elif change == 1:
            tokens[i] = tokens[j]
        elif change == 2:
            tokens.insert(i, tokens[j])
        elif change == 3:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        else:
            tokens[i] = rng.choice(REPLACEMENTS)
    return " ".join(tokens)


def refusal(text: str) -> da.ModelicaError | None:
    try:
        da.modelica.load(text)
    except da.ModelicaError as error:
        return error
    return None


def check(seed: int) -> bool:
    """Load the text of this seed; whether it is refused."""
    text = damaged(random.Random(seed))
    error = refusal(text)
    # a single name is one of a class on the search path, and // is the root of the file system
    if error is not None and not NAMES.fullmatch(text) and not os.path.isdir(text):
        assert error.line is not None, text
        assert error.column is not None, text
    return error is not None


def test_damaged_models_are_refused_or_loaded():
    refused = sum(check(seed) for seed in range(300))
    assert 150 < refused < 294


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_damaged_models(part):
    for seed in range(1000 + 500 * part, 1500 + 500 * part):
        check(seed)


HOSTILE = {
    "an array without end": ("model M Real x[1000000000]; equation x = zeros(1000000000); end M;", "1000000000"),
    "more than enough scalars": ("model M Real x[1000, 1000]; equation x = zeros(1000, 1000); end M;", "scalars"),
    "components in components": (
        "package P " + "".join(f"model A{i} A{i + 1} a[10]; end A{i}; " for i in range(9)) + "model A9 Real x = 1; end A9; "
        "model M A0 a; end M; end P;", "components",
    ),
    "brackets": ("model M Real x = " + "(" * 100_000 + "1" + ")" * 100_000 + "; end M;", "levels are nested"),
    "a long sum": ("model M Real x = " + "+".join(["time"] * 300_000) + "; end M;", ""),
    "cyclic parameters": ("model M parameter Real a = b; parameter Real b = c; parameter Real c = a; Real x = a; end M;", "itself"),
    "cyclic classes": ("package P model A B b; end A; model B A a; end B; model M A a; end M; end P;", "itself"),
    "cyclic base classes": ("package P model A extends B; end A; model B extends A; end B; model M A a; end M; end P;", "itself"),
    "cyclic imports": ("package P package A import P.B.x; end A; package B import P.A.x; end B; model M Real y = A.x; end M; end P;", "x"),
    "functions that call each other": (
        "package P function f input Real x; output Real y; algorithm y := g(x); end f; function g input Real x; output Real y; "
        "algorithm y := f(x); end g; model M Real x = f(time); end M; end P;", "",
    ),
    "a long loop": ("model M Real x; algorithm x := 0; for i in 1:100000000 loop x := x + i; end for; end M;", "100000000"),
    "a range of steps that are too small": ("model M Real x = sum(0:1e-300:1); end M;", ""),
    "a huge power": ("model M parameter Integer n = 10^(10^10); Real x = n*time; end M;", ""),
    "a sample without time": ("model M Integer n(start = 0); equation when sample(0, 0) then n = pre(n) + 1; end when; end M;", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models(name):
    text, words = HOSTILE[name]
    with pytest.raises(da.DalembertError) as caught:
        da.simulate(da.modelica.load(text), (0, 1))
    assert words in str(caught.value)
