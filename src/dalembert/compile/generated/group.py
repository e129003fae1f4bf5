"""Code for some threads that have one member together; see `tape`.

Numbers of a vector stand in memory that the threads share, and each looks after every so-many-th of them. Everything
else, time, step size, conditions, each thread has for itself, the same as the others: sums over a vector go through
the threads in an order that gives all of them the same bits.

On a processor a group is a loop over its threads, which is slow, and serves tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dalembert.compile.generated.code import Code, Module
from dalembert.compile.generated.straight import arguments_of, written
from dalembert.compile.generated.tape import LINEAR, Memory, Tapes
from dalembert.compile.generated.values import Array, Index, Number, Place, Real, Rows, Truth, Variable

#: memory that some threads of a GPU share, as LLVM calls it
FAST = " addrspace(3)"
#: memory of the whole GPU
FAR = " addrspace(1)"
#: further arguments of kernels: the tapes
TAPES = ("words", "segments")


class GroupCode(Code):
    """A kernel for a group."""

    def __init__(self, module: Module, name: str, parameters: Sequence[tuple[str, str]], tapes: Tapes):
        super().__init__(module, name, parameters)
        self.memory, self.tapes = Memory(), tapes
        self.space = FAST if self.target.gpu else ""
        self._begun = 0

    # -- the member's memory ---------------------------------------------------------------------------------------

    def begin(self) -> str:
        """Which thread, member and memory this is; returns the member's number on a GPU."""
        if not self.target.gpu:
            self._allocations.append(" %memory = alloca [MEMORY x double], align 64")
            self.lane, self.threads, self.sync_mask = Index(self, "0"), 1, ""
            self._begun = len(self._lines)
            return ""
        group, ids = self.target.group, {}
        for what in ("tid", "ctaid", "ntid"):
            self.declare(f"i32 @llvm.nvvm.read.ptx.sreg.{what}.x()")
            ids[what] = self.write(f"call i32 @llvm.nvvm.read.ptx.sreg.{what}.x()")
        lane = self.write(f"urem i32 {ids['tid']}, {group}")
        self.lane = Index(self, self.write(f"zext i32 {lane} to i64"))
        own = self.write(f"udiv i32 {ids['tid']}, {group}")
        each = self.write(f"udiv i32 {ids['ntid']}, {group}")
        first = self.write(f"mul i32 {ids['ctaid']}, {each}")
        member = self.write(f"add i32 {first}, {own}")
        self.threads = group
        # the threads of this group within their warp
        place = self.write(f"urem i32 {own}, {32 // group}")
        shift = self.write(f"mul i32 {place}, {group}")
        self.sync_mask = self.write(f"shl i32 {(1 << group) - 1}, {shift}") if group < 32 else "-1"
        wide = self.write(f"zext i32 {own} to i64")
        offset = self.write(f"mul i64 {wide}, MEMORY")
        self.line(f"%memory = getelementptr double, ptr{FAST} @fast, i64 {offset}")
        self._begun = len(self._lines)
        return self.write(f"zext i32 {member} to i64")

    def finish(self) -> None:
        lines = self._with_constants()
        size = str(self.memory.size + self.memory.size % 2)
        self._allocations = [line.replace("MEMORY", size) for line in self._allocations]
        self._lines = [line.replace("MEMORY", size) for line in lines]
        super().finish()

    def _with_constants(self) -> list[str]:
        """Constants are known at the end, and put into the memory at the beginning."""
        lines, self._lines = self._lines, []
        for value, place in self.memory.constants.items():
            Array(self, "%memory", offset=place, space=self.space).put(0, self.real(value))
        self.sync()
        return [*lines[: self._begun], *self._lines, *lines[self._begun :]]

    def array(self, count: int, kind: type[Number] = Real) -> Array:
        if kind is not Real:
            return super().array(count, kind)
        return Array(self, "%memory", offset=self.memory.allocate(max(count, 1)), space=self.space)

    def rows(self, count: int, width: int) -> Rows:
        """Each thread has its own columns, and nobody else asks for them."""
        own = -(-width // self.threads)
        return OwnRows(super().array(count * own), own, self.threads)

    def variable(self, value: Any, kind: type[Number] | None = None) -> Any:
        """Each thread has its own, which is the same."""
        kind = kind or (type(value) if isinstance(value, Number) else Truth if isinstance(value, bool) else Real)
        variable = Variable(super().array(1, kind))
        variable.put(value)
        return variable

    # -- together --------------------------------------------------------------------------------------------------

    def sync(self) -> None:
        """What one thread has written, others can read from here on."""
        if self.target.gpu:
            self.declare("void @llvm.nvvm.bar.warp.sync(i32)")
            self.line(f"call void @llvm.nvvm.bar.warp.sync(i32 {self.sync_mask})")

    def each(self, count: int, body: Callable[[Any], None]) -> None:
        """Every thread has every so-many-th index."""
        if not count:
            return
        self.sync()
        with self._strided(count) as k:
            body(k)
        self.sync()

    def _strided(self, count: int) -> Any:
        return self.count(self.lane, count, step=self.threads)

    def _combined(
        self, count: int, terms: Callable[[Any], Sequence[Real]], several: int, combine: Callable[[Real, Real], Real]
    ) -> list[Real]:
        parts = [self.variable(0.0) for _ in range(several)]
        if count:
            self.sync()
            with self._strided(count) as k:
                for part, term in zip(parts, terms(k), strict=True):
                    part.put(combine(part.get(), term))
        values, distance = [part.get() for part in parts], 1
        while distance < self.threads:
            values = [combine(value, self._from_neighbour(value, distance)) for value in values]
            distance *= 2
        return values

    def _from_neighbour(self, value: Real, distance: int) -> Real:
        """The number of the thread whose place differs in one bit."""
        self.declare("i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)")
        bits = self.write(f"bitcast double {value.text} to i64")
        low = self.write(f"trunc i64 {bits} to i32")
        high = self.write(f"trunc i64 {self.write(f'lshr i64 {bits}, 32')} to i32")
        words = [
            self.write(
                f"call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 {self.sync_mask}, i32 {word}, i32 {distance}, i32 31)"
            )
            for word in (low, high)
        ]
        wide = [self.write(f"zext i32 {word} to i64") for word in words]
        both = self.write(f"or i64 {wide[0]}, {self.write(f'shl i64 {wide[1]}, 32')}")
        return Real(self, self.write(f"bitcast i64 {both} to double"))

    def carry(self, segments: tuple[int, int]) -> None:
        """Carry out a tape."""
        if segments[0] == segments[1]:
            return
        self.sync()
        far = FAR if self.target.gpu else ""
        tapes = [f"ptr{far} {self._tape(name)}" for name in TAPES]
        ends = [f"i64 {end}" for end in segments]
        given = [f"ptr{self.space} %memory", *tapes, *ends, f"i64 {self.lane.text}", f"i32 {self.sync_mask or 0}"]
        self.line(f"call void @carry({', '.join(given)})")

    def _tape(self, name: str) -> str:
        if not self.target.gpu:
            return f"%{name}"
        return self.write(f"addrspacecast ptr %{name} to ptr{FAR}")


class OwnRows(Rows):
    """The columns of one thread."""

    def __init__(self, array: Array, width: int, threads: int):
        super().__init__(array, width)
        self._threads = threads

    def _place(self, i: Place, k: Place) -> Place:
        code = self._array.code
        if isinstance(k, int):
            return i * self._width + k // self._threads
        return i * self._width + Index(code, code.write(f"udiv i64 {k.text}, {self._threads}"))


def write_carry(module: Module, tapes: Tapes) -> None:
    """The function that carries out tapes: a loop over their segments, and one over the bundles of each."""
    target = module.target
    space, far = (FAST, FAR) if target.gpu else ("", "")
    code = Code(
        module,
        "carry",
        [(f"ptr{space}", "memory"), (f"ptr{far}", "words"), (f"ptr{far}", "segments"), ("i64", "from"), ("i64", "to"),
         ("i64", "lane"), ("i32", "mask")],
    )  # fmt: skip
    if target.gpu:
        code.declare("void @llvm.nvvm.bar.warp.sync(i32)")
        module.tables["fast"] = f"@fast = external{FAST} global [0 x double], align 16"

    def number(place: Index) -> str:
        address = code.write(f"getelementptr i32, ptr{far} %segments, i64 {place.text}")
        return code.write(f"load i32, ptr{far} {address}, !invariant.load !0")

    with code.count(Index(code, "%from"), Index(code, "%to")) as segment:
        kind, *ends = (number(segment * 3 + k) for k in range(3))
        first, last = (Index(code, code.write(f"sext i32 {end} to i64")) for end in ends)
        for which, name in enumerate(tapes.kinds):
            with code.only_if(code.write(f"icmp eq i32 {kind}, {which}")):
                _bundles(code, name, first, last, space)
    code.finish()


def _bundles(code: Code, name: str, first: Index, last: Index, space: str) -> None:
    """One operation of each thread a bundle; one thread alone does those of all, one after the other."""
    group = code.target.group
    if not code.target.gpu:
        with code.count(first, last) as bundle, code.count(0, group) as thread:
            _operation(code, name, _word(code, bundle * group + thread), space)
        return
    lane = Index(code, "%lane")
    following = code.scalar("i64")
    code.line(f"store i64 {_word(code, first * group + lane)}, ptr {following}")
    with code.count(first, last) as bundle:
        word = code.write(f"load i64, ptr {following}")
        # that of the next one is on its way meanwhile; behind the last tape stands one more
        code.line(f"store i64 {_word(code, (bundle + 1) * group + lane)}, ptr {following}")
        _operation(code, name, word, space)
        code.line("call void @llvm.nvvm.bar.warp.sync(i32 %mask)")


def _word(code: Code, place: Index) -> str:
    far = FAR if code.target.gpu else ""
    address = code.write(f"getelementptr i64, ptr{far} %words, i64 {place.text}")
    return code.write(f"load i64, ptr{far} {address}, align 8, !invariant.load !0")


def _operation(code: Code, name: str, word: str, space: str) -> None:
    parts = [code.write(f"trunc i64 {code.write(f'lshr i64 {word}, {16 * k}')} to i32") for k in range(4)]

    def pointer(k: int) -> str:
        offset = code.write(f"and i32 {parts[k]}, 65528")
        if not space:
            return code.write(f"getelementptr i8, ptr %memory, i64 {code.write(f'zext i32 {offset} to i64')}")
        # addresses of fast memory have 32 bits
        base = code.write(f"ptrtoint ptr{space} %memory to i32")
        return code.write(f"inttoptr i32 {code.write(f'add i32 {base}, {offset}')} to ptr{space}")

    def operand(k: int, *, signed: bool = False) -> Real:
        value = code.write(f"load double, ptr{space} {pointer(k)}, align 8")
        if not signed:
            return Real(code, value)
        sign = code.write(f"shl i64 {code.write(f'zext i32 {parts[k]} to i64')}, 63")
        bits = code.write(f"bitcast double {value} to i64")
        return Real(code, code.write(f"bitcast i64 {code.write(f'xor i64 {bits}, {sign}')} to double"))

    if name == LINEAR:
        result = code.fma(operand(0, signed=True), operand(1), operand(2, signed=True))
    else:
        result = written(code, name, [operand(k) for k in range(arguments_of(name))])
    code.line(f"store double {result.text}, ptr{space} {pointer(3)}, align 8")
