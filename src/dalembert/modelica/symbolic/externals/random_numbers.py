"""Random numbers, the same for the same state.

References
----------
.. [1] S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2014.
.. [2] S. Vigna, "Further scramblings of Marsaglia's xorshift generators", 2014.
"""

from __future__ import annotations

from typing import Any

from dalembert.modelica.symbolic.externals.registry import Answer, Question, external
from dalembert.modelica.symbolic.externals.words import product, real, signed, total, word
from dalembert.modelica.values import stack


def _words(state: Any) -> list[Any]:
    """Words of 64 bits from pairs of whole numbers."""
    return [word(low, high) for low, high in zip(state.items[::2], state.items[1::2], strict=True)]


def _answer(words: list[Any], result: Any, rest: tuple[Any, ...] = ()) -> Answer:
    """The new state and the number; they are arguments 1 and 2 of all generators."""
    halves = [signed(half) for one in words for half in one.halves()]
    return Answer(args={1: stack([*halves, *rest]), 2: real(result)})


@external("ModelicaRandom_xorshift64star")
def xorshift64star(question: Question) -> Answer:
    """[1]_, shifts 12, 25, 27. As in the standard library, the scrambled number is the new state."""
    (x,) = _words(question.args[0])
    x = x.xor(x.right(12))
    x = x.xor(x.left(25))
    x = x.xor(x.right(27))
    x = product(x, 2685821657736338717)
    return _answer([x], x)


@external("ModelicaRandom_xorshift128plus")
def xorshift128plus(question: Question) -> Answer:
    """[2]_, shifts 23, 17, 26. As in the standard library, the sum is half of the new state."""
    x, y = _words(question.args[0])
    x = x.xor(x.left(23))
    new = total(x.xor(y).xor(x.right(17)).xor(y.right(26)), y)
    return _answer([y, new], new)


@external("ModelicaRandom_xorshift1024star")
def xorshift1024star(question: Question) -> Answer:
    """[1]_, shifts 31, 11, 30; the last number of the state says which of its sixteen words comes next."""
    state = question.args[0]
    place = int(question.body.evaluator.known(state.items[32], "the place in the state", question.body.call))
    words = _words(type(state)((32,), state.items[:32]))
    x = words[place % 16]
    place = (place + 1) % 16
    y = words[place]
    y = y.xor(y.left(31))
    y = y.xor(y.right(11))
    x = x.xor(x.right(30))
    words[place] = x.xor(y)
    return _answer(words, product(words[place], 1181783497276652981), (place,))


@external("ModelicaRandom_automaticGlobalSeed")
def automatic_global_seed(question: Question) -> int:
    """The same number always, so that results can be repeated; whoever wants others gives a seed."""
    return 1134283


@external("ModelicaRandom_setInternalState_xorshift1024star")
def set_internal_state(question: Question) -> None:
    """The state of a generator outside of the model: nothing may be drawn from it (see below)."""
    return None


@external("ModelicaRandom_impureRandom_xorshift1024star")
def impure_random(question: Question) -> None:
    raise ValueError(
        "impureRandom keeps its state outside of the model and is not supported; use a generator with a state, such as "
        "Modelica.Math.Random.Generators.Xorshift128plus.random"
    )
