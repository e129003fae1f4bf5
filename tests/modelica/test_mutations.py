"""Damaged texts: every one is read, or refused by our error with a place."""

import random

import pytest
from corpus import TEXTS

import dalembert as da
from dalembert.modelica.parser import parse, parse_annotation
from dalembert.modelica.print_classes import file_text
from dalembert.modelica.source import KEYWORDS, Source

PIECES = [
    *sorted(KEYWORDS),
    *";,()[]{}=<>+-*/^.:\"'",
    ":=",
    "==",
    "x",
    "1",
    "1.5e3",
    "/*",
    "*/",
    "//",
    "\n",
    "\0",
    "é",
    "\ud800",
]


def mutated(rng: random.Random) -> str:
    """A text of the corpus with a few faults, or nonsense."""
    text = rng.choice(list(TEXTS.values()))
    kind = rng.randrange(7)
    if kind == 0:
        return text[: rng.randrange(len(text))]
    if kind == 1:
        return "".join(rng.choice(PIECES) + " " * rng.randrange(2) for _ in range(rng.randrange(200)))
    if kind == 2:
        return "".join(map(chr, (rng.randrange(1, 0x250) for _ in range(rng.randrange(300)))))
    if kind == 3:
        tokens = Source(text).tokens()
        rng.shuffle(tokens)
        return " ".join(tokens)
    tokens = Source(text).tokens()
    for _ in range(rng.randrange(1, 4)):
        i = rng.randrange(len(tokens))
        if kind == 4:
            del tokens[i : i + rng.randrange(1, 5)]
        elif kind == 5:
            tokens[i:i] = rng.choices(PIECES, k=rng.randrange(1, 4))
        else:
            j = rng.randrange(len(tokens))
            tokens[i : i + 3] = tokens[j : j + rng.randrange(30)]
        if not tokens:
            break
    return " ".join(tokens)


def refusal(action) -> da.ModelicaError | None:
    try:
        action()
    except da.ModelicaError as error:
        return error
    return None


def check(seed: int) -> bool:
    """Whether the text of this seed is refused."""
    text = mutated(random.Random(seed))
    source = Source(text)
    if (error := refusal(lambda: parse(source))) is not None:
        assert error.line is not None, text
        assert 1 <= error.line <= text.count("\n") + 1
        assert error.column >= 1
        return True
    file = parse(source)
    parse(file_text(file, source))  # what was understood can be said again
    for one in file.classes:
        if one.annotation is not None:
            error = refusal(lambda note=one.annotation: parse_annotation(source, note))
            assert error is None or error.line is not None
    return False


def test_damaged_texts():
    refused = sum(check(seed) for seed in range(300))
    assert 200 < refused < 300


@pytest.mark.slow
def test_many_damaged_texts():
    for seed in range(300, 10_300):
        check(seed)
