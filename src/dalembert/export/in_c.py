"""Models in C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.export import languages
from dalembert.export.write import Target, Writer, one_line


class CWriter(Writer):
    """Writes C99 that needs the mathematical library alone."""

    template = "driver.c"
    language = languages.c
    between = "\n\n"
    #: of the language, its headers and the driver
    keywords = (
        "d BITS TIMED_BITS CLOCKS CLOSED TIMED_CLOSED RISING RESTARTED NOW BEFORE CLAIM_KINDS MESSAGES RELATIONS band "
        "largest ND NX NT NK NI NP NCL NX1 NT1 NK1 NI1 NCL1 INITIAL TERMINAL "
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile "
        "while bool complex imaginary asm main NZ NM NQ NC NR NM1 NQ1 NC1 NA1 NODE TO_STAGES FROM_STAGES GAMMA "
        "ALPHA BETA ERROR units triangle selector scale basis order jacobian rank reason real_part complex_part "
        "real_pivot complex_pivot MOVING ROUGH RESULTS ITERATIONS EOF NULL stdin stdout stderr j0 j1 jn y0 y1 yn "
        "gamma lgamma tgamma signgam erfc exp2 log2 log10 logb ilogb cbrt rint round trunc div abs significand "
        "drem scalb ldexp frexp modf nan nearbyint fdim fma index time rand random errno isnan isinf exp log sin "
        "cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil erf log1p expm1 atan2 fmod remainder "
        "hypot linux unix NAN INFINITY remove rename abort exit system cexp clog csin ccos ctan conj carg "
    )

    def index(self, *places: int) -> str:
        return "".join(f"[{place}]" for place in places)

    def temporary(self, number: int) -> str:
        return f"v{number}"

    def statement(self, target: str, value: str, comment: str) -> str:
        kind = "const double " if target.isalnum() else ""
        return f"    {kind}{target} = {value};" + (f" /* {one_line(comment)} */" if comment else "")

    def local(self, name: str, vector: str, place: int) -> str:
        return f"    const double {name} = {vector}[{place}];"

    def parameter(self, name: str, value: float) -> str:
        own = self.parameters[name]
        comment = f" /* {one_line(name)} */" if own != name else ""
        return f"static const double {own} = {self.number(value)};{comment}"

    def function(
        self, name: str, arguments: str, out: dict, targets: Sequence[Target], about: str, keeps: bool = False
    ) -> str:
        used, lines, _ = self._statements(arguments, targets)
        given = [f"const double *{own}" if own != "t" else "double t" for own in arguments.split()]
        given += [
            f"double *{own}" if len(shape) == 1 else f"double {own}[{max(shape[0], 1)}][{max(shape[1], 1)}]"
            for own, shape in out.items()
        ]
        sizes = {own: int(np.prod(shape)) for own, shape in out.items() if 0 not in shape}
        cleared = [f"    memset({own}, 0, {size} * sizeof(double));" for own, size in sizes.items()]
        if keeps:
            cleared = [f"    memcpy({own}, d, {size} * sizeof(double));" for own, size in sizes.items()]
        ignored = [f"    (void){own};" for own in (*arguments.split(), *(o for o, s in out.items() if 0 in s))]
        head = f"/* {about}. */\nstatic void {name}({', '.join(given)})\n{{"
        return "\n".join([head, *ignored, *used, *cleared, *lines, "}"])

    def comment_block(self, lines: Sequence[str]) -> str:
        return "\n".join(f"   {line}".replace("*/", "* /").rstrip() for line in lines)

    def names(self, names: Sequence[str]) -> str:
        return self.texts(names)

    def texts(self, texts: Sequence[str]) -> str:
        quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts or ("",))
        return "\n".join(f'    "{text}",' for text in quoted)

    def flag(self, value: bool) -> str:
        return "1" if value else "0"

    def wrapped(self, entries) -> str:
        return super().wrapped(entries) or "0"

    def matrix(self, values: np.ndarray) -> str:
        return super().matrix(values).replace("[", "{").replace("]", "}")
