"""Memory of the members of an ensemble: structure of arrays, one row for each number, one column for each member."""

from __future__ import annotations

from collections.abc import Callable

from dalembert.compile.generated.code import Code
from dalembert.compile.generated.values import Index, Place, Real, Truth, Whole
from dalembert.solvers.half.generated.layout import Counter, Option


def gathered(code: Code, pointer: str, place: Whole) -> Real:
    """A number of an array that all members share, each from its own place."""
    if code.target.width == 1:
        address = code.write(f"getelementptr inbounds double, ptr {pointer}, i64 {code.as_index(place).text}")
        return Real(code, code.write(f"load double, ptr {address}"))
    result = "poison"
    for lane in range(code.target.width):
        one = code.write(f"extractelement {code.target.of('i32')} {place.text}, i64 {lane}")
        wide = code.write(f"sext i32 {one} to i64")
        address = code.write(f"getelementptr inbounds double, ptr {pointer}, i64 {wide}")
        value = code.write(f"load double, ptr {address}")
        result = code.write(f"insertelement {code.target.real} {result}, double {value}, i64 {lane}")
    return Real(code, result)


class Member:
    """Where the numbers of some members come from and go to. Rows of arrays are `stride` numbers apart."""

    def __init__(self, code: Code, place: Callable[[], str], stride: str, unknowns: int):
        self.code, self._where, self._stride, self._unknowns = code, place, stride, unknowns

    @property
    def _place(self) -> str:
        """The number of the first of these members."""
        return self._where()

    # -- what all members share ------------------------------------------------------------------------------------

    def option(self, which: Option) -> Real:
        return self.code.shared("%options", int(which))

    def stopped(self) -> Truth:
        """Whether nobody waits for results any more."""
        code = self.code
        if code.target.gpu:
            return code.truth(False)
        address = code.write(f"getelementptr inbounds double, ptr %options, i64 {int(Option.STOP)}")
        return Real(code, code.spread(code.write(f"load volatile double, ptr {address}"))).differs(0.0)

    def _limit(self, which: Option) -> Whole:
        code = self.code
        kind, real = code.target.of("i32"), code.target.real
        return Whole(code, code.write(f"fptosi {real} {self.option(which).text} to {kind}"))

    def most_steps(self) -> Whole:
        return self._limit(Option.MAX_STEPS)

    def stretches(self) -> Whole:
        return self._limit(Option.STRETCHES)

    def outputs(self) -> Whole:
        return self._limit(Option.OUTPUTS)

    def rtol(self, k: Place) -> Real:
        return self.code.shared("%tolerances", k * 2)

    def atol(self, k: Place) -> Real:
        return self.code.shared("%tolerances", k * 2 + 1)

    def stretch(self, number: Whole, what: int) -> Real:
        """Begin (0), end (1) or shown end (2) of a stretch."""
        return self._gathered("%stretches", number, 3, what)

    def time(self, number: Whole) -> Real:
        """Of t_eval."""
        return self._gathered("%times", number, 1, 0)

    def _gathered(self, pointer: str, number: Whole, width: int, what: int) -> Real:
        """A number of an array that all members share, each from its own place."""
        number = self._inside(number)
        return gathered(self.code, pointer, number._with("mul", width) + what if width > 1 else number)

    def _inside(self, number: Whole) -> Whole:
        """A place that exists also for members that the code around does not concern."""
        code = self.code
        return number if code.mask is None or code.target.width == 1 else code.select(code.mask, number, code.whole(0))

    # -- what is each one's own ------------------------------------------------------------------------------------

    def _row(self, pointer: str, k: Place, kind: str = "double") -> str:
        code = self.code
        start = code.write(f"mul i64 {self._stride}, {k.text if isinstance(k, Index) else k}")
        place = code.write(f"add i64 {start}, {self._place}")
        return code.write(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {place}")

    def read(self, pointer: str, k: Place) -> Real:
        code = self.code
        return Real(code, code.write(f"load {code.target.real}, ptr {self._row(pointer, k)}, align 8"))

    def x0(self, k: Place) -> Real:
        return self.read("%x0", k)

    def own(self, k: Place) -> Real:
        return self.read("%member", k)

    def keep(self, name: str, k: Place, value: Real) -> None:
        self.code.line(f"store {self.code.target.real} {value.text}, ptr {self._row(f'%{name}', k)}, align 8")

    def note(self, counter: Counter, value: Whole) -> None:
        row = self._row("%counts", int(counter), "i32")
        self.code.line(f"store {self.code.target.of('i32')} {value.text}, ptr {row}, align 4")

    def keep_output(self, number: Whole, k: Place, value: Real) -> None:
        """Unknown k at an output time, of the members that the code around concerns."""
        self._scatter("%dense", self._inside(number), self._unknowns, k, value)

    def _scatter(self, pointer: str, number: Whole, width: int, k: Place, value: Real) -> None:
        code = self.code
        if code.target.width == 1:
            row = code.as_index(number) * width + k
            place = code.write(f"mul i64 {row.text}, {self._stride}")
            place = code.write(f"add i64 {place}, {self._place}")
            address = code.write(f"getelementptr inbounds double, ptr {pointer}, i64 {place}")
            code.line(f"store double {value.text}, ptr {address}")
            return
        for lane in range(code.target.width):
            concerned = code.write(f"extractelement {code.target.of('i1')} {code.mask.text}, i64 {lane}")
            one = code.write(f"extractelement {code.target.of('i32')} {number.text}, i64 {lane}")
            row = code.write(f"sext i32 {one} to i64")
            row = code.write(f"mul i64 {row}, {width}")
            row = code.write(f"add i64 {row}, {k.text if isinstance(k, Index) else k}")
            place = code.write(f"mul i64 {row}, {self._stride}")
            place = code.write(f"add i64 {place}, {self._place}")
            place = code.write(f"add i64 {place}, {lane}")
            address = code.write(f"getelementptr inbounds double, ptr {pointer}, i64 {place}")
            number_ = code.write(f"extractelement {code.target.real} {value.text}, i64 {lane}")
            old = code.write(f"load double, ptr {address}, align 8")
            chosen = code.write(f"select i1 {concerned}, double {number_}, double {old}")
            code.line(f"store double {chosen}, ptr {address}, align 8")

    def keep_root(self, number: Whole, first: int, t: Real) -> None:
        """The time of a root, in the row `first` + number."""
        self._scatter("%roots", self._inside(number), 1, first, t)

    def keep_found(self, e: int, count: Whole) -> None:
        row = self._row("%found", e, "i32")
        self.code.line(f"store {self.code.target.of('i32')} {count.text}, ptr {row}, align 4")
