"""Models in Fortran 2008."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from dalembert.export import languages
from dalembert.export.write import Target, Writer, one_line

LONGEST = 118  # characters of a line; 132 are allowed


class FortranWriter(Writer):
    """Writes Fortran 2008 that needs no library."""

    template = "driver.f90"
    language = languages.fortran
    first = 1
    between = "\n\n"
    #: of the language and the driver
    keywords = (
        "d nd nx nt nk ni np ncl bits timed_bits closed timed_closed rising clocks_at restarted now_at before_at band "
        "initial_at terminal_at claim_kinds messages relation_names largest wide "
        "v if then else elseif end endif do enddo while cycle exit return stop call function subroutine module "
        "program use only implicit none integer real complex logical character parameter intent in out inout "
        "contains elemental result merge min max abs sqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh "
        "acosh atanh atan2 erf hypot mod sign aint int dp kind sum all any matmul transpose epsilon huge trim "
        "dble cmplx start_time stop_time default_rtol default_atol default_intervals nz nm nq nc nr moving rough "
        "the_model algebra method to_stages from_stages gamma_of_it pair_of_it error_weight eps most_iterations "
        "reason node units row_scale triangle basis selector jacobian order rank_of_it real_part complex_part "
        "real_pivot complex_pivot error_unit translated "
    )

    def index(self, *places: int) -> str:
        return f"({', '.join(str(place + 1) for place in places)})"

    def temporary(self, number: int) -> str:
        return f"v({number})"

    def statement(self, target: str, value: str, comment: str) -> str:
        line = continued(f"    {target} = {value}")
        return f"    ! {one_line(comment)[:100]}\n{line}" if comment else line

    def local(self, name: str, vector: str, place: int) -> str:
        return f"    {name} = {vector}({place + 1})"

    def parameter(self, name: str, value: float) -> str:
        own = self.parameters[name]
        return f"  real(dp) :: {own} = {self.number(value)}" + (f"  ! {one_line(name)[:80]}" if own != name else "")

    def function(
        self, name: str, arguments: str, out: dict, targets: Sequence[Target], about: str, keeps: bool = False
    ) -> str:
        used, lines, temporaries = self._statements(arguments, targets)
        sizes = {"t": "t", "z": f"z({len(self.content.unknowns)})", "w": f"w({len(self.content.moving)})"}
        head = [
            f"  subroutine {name}({', '.join([*arguments.split(), *out])})",
            f"    ! {about}",
        ]
        if arguments:
            head.append(f"    real(dp), intent(in) :: {', '.join(sizes[own] for own in arguments.split())}")
        shapes = [f"{own}({', '.join(map(str, shape))})" for own, shape in out.items()]
        head.append(f"    real(dp), intent(out) :: {', '.join(shapes)}")
        if temporaries:
            head.append(f"    real(dp) :: v({temporaries})")
        names = [line.split("=")[0].strip() for line in used]
        head += [f"    real(dp) :: {', '.join(names[i : i + 2])}" for i in range(0, len(names), 2)]
        cleared = [f"    {own} = {'d' if keeps else '0.0d0'}" for own in out]
        return "\n".join([*head, *used, *cleared, *lines, "  end subroutine"])

    def comment_block(self, lines: Sequence[str]) -> str:
        return "\n".join(f"! {line}"[:130].rstrip() for line in lines)

    def names(self, names: Sequence[str]) -> str:
        found = []
        for name in names:
            parts = [name[i : i + 80].replace("'", "''") for i in range(0, len(name), 80)]
            text = "".join(f"    write (*, '(a)', advance='no') '{part}'\n" for part in parts)
            found.append(f"    write (*, '(a)', advance='no') ','\n{text}".rstrip())
        return "\n".join(found)

    def texts(self, texts: Sequence[str]) -> str:
        cut = [text[:80].replace("'", "''") for text in texts]
        return "".join(f"{', ' if i else ''}&\n    '{text}'" for i, text in enumerate(cut))

    def flag(self, value: bool) -> str:
        return ".true." if value else ".false."

    def wrapped(self, entries: Iterable[str]) -> str:
        return " &\n      ".join(textwrap.wrap(", ".join(entries), 75))

    def matrix(self, values: np.ndarray) -> str:
        return ", &\n".join(f"    {', '.join(map(self.number, row))}" for row in values)


def continued(line: str) -> str:
    """A statement on as many lines as it needs, broken at spaces.

    >>> print(continued("a = " + " + ".join(["quantity"] * 12)))
    a = quantity + quantity + quantity + quantity + quantity + quantity + quantity + quantity + quantity + quantity + &
          quantity + quantity
    """
    lines = []
    while len(line) > LONGEST:
        place = line.rfind(" ", 12, LONGEST)
        if place < 0:
            break
        lines.append(line[:place] + " &")
        line = "      " + line[place + 1 :]
    return "\n".join([*lines, line])
