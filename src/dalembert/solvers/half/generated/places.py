"""Which members a kernel works on, and when: one after the other, one for each thread, or from a queue.

Members take different numbers of steps, and threads of a GPU that go through code together wait for the slowest. From a
queue a thread takes another member as soon as its own is done. All threads of a block are at the same place of the code
at every attempt: they go without those instructions that others have waited for already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dalembert.compile.generated.code import Code
from dalembert.compile.generated.group import GroupCode
from dalembert.compile.generated.values import Index, Truth

#: a further argument of kernels with a queue: how many members have been taken
QUEUE = ("taken",)

Place = Callable[[], str]  # the number of the (first) member, where it is asked for


@contextmanager
def each_member(code: Code) -> Iterator[Place]:
    """Members `first` to `last`, in vectors; on a GPU each thread, or group of threads, has the one of its number."""
    width = code.target.width
    if not code.target.gpu:
        if isinstance(code, GroupCode):
            code.begin()
        first, last = (code.write(f"sdiv i64 %{name}, {width}") for name in ("first", "last"))
        with code.count(Index(code, first), Index(code, last)) as group:
            place = (group * width).text
            yield lambda: place
        return
    place = code.begin() if isinstance(code, GroupCode) else _thread(code)
    with code.only_if(code.write(f"icmp slt i64 {place}, %last")):
        yield lambda: place


def _thread(code: Code) -> str:
    """The number of this thread."""
    registers = {}
    for what in ("tid", "ctaid", "ntid"):
        code.declare(f"i32 @llvm.nvvm.read.ptx.sreg.{what}.x()")
        name = code.write(f"call i32 @llvm.nvvm.read.ptx.sreg.{what}.x()")
        registers[what] = code.write(f"zext i32 {name} to i64")
    block = code.write(f"mul i64 {registers['ctaid']}, {registers['ntid']}")
    return code.write(f"add i64 {block}, {registers['tid']}")


class Queue:
    """Members before `last`, of which each thread takes the next one when it has none."""

    def __init__(self, code: Code):
        self.code, self._memory = code, code.scalar("i64")
        code.line(f"store i64 -1, ptr {self._memory}")
        self.running, self.served = code.variable(False), code.variable(True)

    def place(self) -> str:
        return self.code.write(f"load i64, ptr {self._memory}")

    def write(
        self, begin: Callable[[], None], attempt: Callable[[], None], goes_on: Callable[[], Truth],
        finish: Callable[[], None],
    ) -> None:  # fmt: skip
        """Begin, attempts as long as it goes on, finish, member by member, until there are none."""
        code = self.code

        def anyone() -> Truth:
            with code.when(~self.running.get() & self.served.get()):
                with code.only_if(code.write(f"icmp sge i64 {self.place()}, 0")):
                    finish()
                taken = code.write(f"atomicrmw add ptr %{QUEUE[0]}, i64 1 monotonic")
                code.line(f"store i64 {taken}, ptr {self._memory}")
                there = Truth(code, code.write(f"icmp slt i64 {taken}, %last"))
                self.served.put(there)
                self.running.put(there)
                with code.when(there):
                    begin()
            return code.anyone(self.running.get())

        with code.repeat(anyone), code.when(self.running.get()):
            attempt()
            self.running.put(goes_on())
