"""How three programming languages write numbers, operations and statements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

# precedence of the outermost operation of an expression
CONDITION, SUM, PRODUCT, POWER, ATOM = range(5)


@dataclass(frozen=True)
class Piece:
    """A piece of an expression; `truth`: a condition of the language, not a number."""

    text: str
    level: int = ATOM
    truth: bool = False


#: operations of tapes that are functions of the same name in C
_FUNCTIONS = [
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "floor",
    "ceil",
    "fabs",
    "erf",
    "log1p",
    "expm1",
    "atan2",
    "fmod",
    "remainder",
    "hypot",
    "copysign",
    "fmin",
    "fmax",
    "pow",
]
_BINARY = {"ADD": ("+", SUM), "SUB": ("-", SUM), "MUL": ("*", PRODUCT), "DIV": ("/", PRODUCT)}
_COMPARED = {"LT": "<", "LE": "<=", "EQ": "==", "NE": "!="}


@dataclass(frozen=True)
class Language:
    """A dialect of expressions. What differs is overridden."""

    functions: Mapping[str, str] = field(default_factory=dict)
    compared: Mapping[str, str] = field(default_factory=lambda: _COMPARED)
    logic: tuple[str, str, str] = ("!", " && ", " || ")
    repeats_squares: bool = False

    def literal(self, value: float) -> str:
        """A number, exactly."""
        if math.isnan(value) or math.isinf(value):
            return self.unusual(value)
        if value == int(value) and abs(value) < 1e15:
            return f"{int(value)}.0" if math.copysign(1, value) > 0 or value else "-0.0"
        return repr(float(value))

    def unusual(self, value: float) -> str:
        raise NotImplementedError

    def number(self, value: float) -> Piece:
        text = self.literal(value)
        return Piece(text, SUM if text.startswith("-") else ATOM)

    def value_of(self, condition: str) -> Piece:
        """1 where a condition holds, else 0."""
        return Piece(f"({condition} ? 1.0 : 0.0)")

    def chosen(self, condition: str, value: str) -> Piece:
        """A value where a condition holds, else 0."""
        return Piece(f"({condition} ? {value} : 0.0)")

    def power(self, a: Piece, b: Piece, exponent: float | None) -> Piece:
        """`exponent` is set where it is a constant."""
        return Piece(f"{self.functions['pow']}({a.text}, {b.text})")

    # -- expressions of pieces -------------------------------------------------------------------------------------

    def apply(self, operation: str, a: Piece, b: Piece, exponent: float | None = None) -> Piece | None:
        """The operation of a tape, None if there is no such operation here."""
        if operation in ("AND", "OR"):
            sign = self.logic[1 if operation == "AND" else 2]
            return Piece(f"({self.truth(a)}{sign}{self.truth(b)})", ATOM, truth=True)
        if operation == "NOT":
            return Piece(f"{self.logic[0]}({self.truth(a)})", ATOM, truth=True)
        if operation == "IF_ELSE_ZERO":
            return self.chosen(self.truth(a), self.plain(b).text)
        a, b = self.plain(a), self.plain(b)
        if operation in _BINARY:
            sign, level = _BINARY[operation]
            return Piece(f"{inside(a, level)} {sign} {inside(b, level + 1)}", level)
        if operation in self.compared:
            return Piece(f"({a.text} {self.compared[operation]} {b.text})", ATOM, truth=True)
        match operation:
            case "NEG":
                return Piece(f"-{inside(a, PRODUCT)}", SUM)
            case "SQ":
                return self.square(a)
            case "TWICE":
                return Piece(f"{self.literal(2.0)} * {inside(a, POWER)}", PRODUCT)
            case "INV":
                return Piece(f"{self.literal(1.0)} / {inside(a, POWER)}", PRODUCT)
            case "POW" | "CONSTPOW":
                return self.power(a, b, exponent)
        name = operation.lower()
        if name not in self.functions:
            return None
        arguments = f"{a.text}, {b.text}" if operation in TWO_ARGUMENTS else a.text
        return Piece(f"{self.functions[name]}({arguments})")

    def square(self, a: Piece) -> Piece:
        return Piece(f"{inside(a, POWER)} * {inside(a, POWER)}", PRODUCT)

    def plain(self, piece: Piece) -> Piece:
        """As a number."""
        return self.value_of(piece.text) if piece.truth else piece

    def truth(self, piece: Piece) -> str:
        """As a condition."""
        return piece.text if piece.truth else f"({piece.text} {self.compared['NE']} {self.literal(0.0)})"


TWO_ARGUMENTS = frozenset(["ATAN2", "FMOD", "REMAINDER", "HYPOT", "COPYSIGN", "FMIN", "FMAX"])


def inside(piece: Piece, level: int) -> str:
    """With parentheses where an operation of this precedence needs them."""
    return piece.text if piece.level >= level else f"({piece.text})"


class C(Language):
    """C99."""

    def unusual(self, value: float) -> str:
        return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"


class PythonText(Language):
    """Python with NumPy as np."""

    def unusual(self, value: float) -> str:
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"

    def value_of(self, condition: str) -> Piece:
        return Piece(f"(1.0 if {condition} else 0.0)")

    def chosen(self, condition: str, value: str) -> Piece:
        return Piece(f"({value} if {condition} else 0.0)")

    def square(self, a: Piece) -> Piece:
        return Piece(f"{inside(a, ATOM)}**2", POWER)


class Fortran(Language):
    """Fortran 2008 with real(dp)."""

    def literal(self, value: float) -> str:
        text = super().literal(value)
        if "unusual" in text:
            return text
        return text.replace("e", "d") if "e" in text else f"{text}d0"

    def unusual(self, value: float) -> str:
        return f"unusual({'0' if math.isnan(value) else '1' if value > 0 else '-1'})"

    def value_of(self, condition: str) -> Piece:
        return Piece(f"merge(1.0d0, 0.0d0, {condition})")

    def chosen(self, condition: str, value: str) -> Piece:
        return Piece(f"merge({value}, 0.0d0, {condition})")

    def square(self, a: Piece) -> Piece:
        return Piece(f"{inside(a, ATOM)}**2", POWER)

    def power(self, a: Piece, b: Piece, exponent: float | None) -> Piece:
        if exponent is not None and exponent == int(exponent) and 0 < exponent < 100:
            return Piece(f"{inside(a, ATOM)}**{int(exponent)}", POWER)
        return super().power(a, b, exponent)


_SIGN = {"sign": "sign_of"}  # defined in the drivers: 0 at 0
c = C(functions={name: name for name in _FUNCTIONS} | _SIGN, repeats_squares=True)
python = PythonText(
    functions={name: f"np.{name}" for name in _FUNCTIONS}
    | {"asin": "np.arcsin", "acos": "np.arccos", "atan": "np.arctan", "asinh": "np.arcsinh", "acosh": "np.arccosh"}
    | {
        "atanh": "np.arctanh",
        "atan2": "np.arctan2",
        "erf": "math.erf",
        "remainder": "math.remainder",
        "pow": "np.power",
    }
    | {"sign": "np.sign"},
    compared=_COMPARED,
    logic=("not ", " and ", " or "),
)
fortran = Fortran(
    functions={name: name for name in _FUNCTIONS}
    | _SIGN
    | {"floor": "floor_of", "ceil": "ceiling_of", "fabs": "abs", "fmin": "min", "fmax": "max", "copysign": "sign"}
    | {"fmod": "mod", "remainder": "remainder_of", "pow": "power", "log1p": "log1p_of", "expm1": "expm1_of"},
    compared={"LT": "<", "LE": "<=", "EQ": "==", "NE": "/="},
    logic=(".not. ", " .and. ", " .or. "),
)
