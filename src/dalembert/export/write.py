"""Source files: templates of drivers, filled with the functions of a model."""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib.resources import files

import casadi as ca
import numpy as np

from dalembert.export.content import Content
from dalembert.export.languages import Language, Piece
from dalembert.export.method import radau
from dalembert.export.names import Identifiers
from dalembert.export.statements import Statements

Target = tuple[str, "ca.SX", str]  # what is assigned, the value, a comment


#: names in the functions of a model
OWN = "t z w d E k h K H r by_z by_w out g G new condition value"


class Writer(ABC):
    """Writes a model in one language; what differs between languages is in the methods that are abstract."""

    template: str
    language: Language
    first = 0  # number of the first entry of an array
    keywords = ""

    def __init__(self, content: Content):
        self.content = content
        self.text = files("dalembert.export").joinpath("templates", self.template).read_text(encoding="utf-8")
        # what the driver calls, and what it defines outside of functions
        words = {*re.findall(r"\b([A-Za-z_]\w*)(?=\()", self.text), *re.findall(r"(?m)^[A-Za-z_]\w*", self.text)}
        self.identifier = Identifiers(words | set(f"{OWN} {self.keywords}".split()))
        self.parameters = {name: self.identifier[name] for name in content.parameters}
        self.unknowns = {name: self.identifier[name] for name in content.unknowns}
        self.discrete = {name: self.identifier[f"{name}"] for name in content.events.names}

    def source(self) -> str:
        """The whole file."""
        content, numbers = self.content, radau()
        n, q = len(content.unknowns), content.h.numel()
        values = dict(
            NAME=one_line(content.name).replace('"""', "'''"),
            COMMENTS=self.comment_block(self._comments()),
            T0=self.number(content.t_span[0]),
            T1=self.number(content.t_span[1]),
            RTOL=self.number(content.rtol),
            ATOL=self.number(content.atol),
            PARAMETERS="\n".join(self.parameter(name, value) for name, value in content.parameters.items()),
            N=str(n),
            M=str(len(content.moving)),
            Q=str(q),
            NC=str(content.conditions.numel()),
            NR=str(len(content.result_names)),
            MOVING=self.wrapped(str(j + self.first) for j in content.moving),
            ROUGH=self.wrapped(self.flag(flag) for flag in content.rough),
            RESULT_NAMES=self.names([_quoted_for_csv(name) for name in content.result_names]),
            FUNCTIONS=self.between.join(self._functions()),
            C=self.wrapped(map(self.number, numbers.c)),
            T=self.matrix(numbers.T),
            TI=self.matrix(numbers.T_inverse),
            GAMMA=self.number(numbers.gamma),
            ALPHA=self.number(numbers.alpha),
            BETA=self.number(numbers.beta),
            ERROR=self.wrapped(map(self.number, numbers.e)),
            **self._tables(),
        )
        return re.sub(r"@@(\w+)@@", lambda match: values[match[1]], self._parts(bool(content.events)))

    def _parts(self, events: bool) -> str:
        """The template with the parts that are for models with events, or with those for models without."""
        text = re.sub(r"(?ms)^[^\n]*@@if " + ("smooth" if events else "events") + r".*?@@end[^\n]*\n", "", self.text)
        return re.sub(r"(?m)^[^\n]*@@(if|end)\b[^\n]*\n", "", text)

    between = "\n\n\n"

    def _tables(self) -> dict[str, str]:
        """Sizes and places of what changes at events."""
        events = self.content.events
        integers = {
            "BITS": events.bits,
            "TIMED_BITS": events.timed_bits,
            "CLOCKS": events.clock_places,
            "RESTARTED": events.reinit_places,
            "NOW": events.now,
            "BEFORE": events.before,
        }
        found = {name: self.wrapped(str(j + self.first) for j in places) for name, places in integers.items()}
        flags = {"CLOSED": events.closed, "TIMED_CLOSED": events.timed_closed, "RISING": events.rising}
        found |= {name: self.wrapped(map(self.flag, values)) for name, values in flags.items()}
        sizes = {
            "ND": events.names,
            "NX": events.bits,
            "NT": events.timed_bits,
            "NK": events.clock_places,
            "NI": events.reinit_places,
            "NP": events.now,
            "NCL": events.claim_kinds,
        }
        found |= {name: str(len(values)) for name, values in sizes.items()}
        # 1 has to hold, 2 warns, 3 ends
        found["CLAIM_KINDS"] = self.wrapped(map(str, events.claim_kinds))
        found["DISCRETE"] = self.wrapped(map(self.number, events.start))
        found["MESSAGES"] = self.texts([one_line(message) for message in events.messages])
        found["RELATION_NAMES"] = self.texts([one_line(name) for name in events.crossing_names])
        found["INITIAL"] = str(events.initial + self.first if events.initial >= 0 else -1)
        found["TERMINAL"] = str(events.terminal + self.first if events.terminal >= 0 else -1)
        return found

    def _comments(self) -> list[str]:
        moving = set(self.content.moving.tolist())
        lines = [*self.content.comments]
        if self.content.events:
            events = self.content.events
            lines.append(f"{len(events.bits) + len(events.timed_bits)} relations that make events")
        lines += ["", "Unknowns:"]
        for j, name in enumerate(self.content.unknowns):
            rests = "" if j in moving else ", without derivative"
            lines.append(f"  z{self.index(j)} = {name}{rests}")
        return lines

    # -- functions -------------------------------------------------------------------------------------------------

    def _functions(self) -> list[str]:
        own = self.content
        E, k, h = own.E, own.k, own.h
        about = list(own.differential_names)
        constraint = list(own.constraint_names)
        leading = self._matrix("E", E, about) + self._column("k", k, about)
        derivatives = self._matrix("K", own.K, about) + self._matrix("H", own.H, constraint)
        conditions = self._column("r", own.conditions, own.condition_names)
        conditions += self._matrix("by_z", ca.sparsify(ca.jacobian(own.conditions, own.z)), own.condition_names)
        conditions += self._matrix("by_w", ca.sparsify(ca.jacobian(own.conditions, own.w)), own.condition_names)
        m, n, q, c = len(own.moving), own.z.numel(), h.numel(), own.conditions.numel()
        return [
            self.function("leading_and_rhs", "t z", {"E": (m, m), "k": (m,)}, leading,
                          "E and k of the differential equations E w = k"),
            self.function("constraints", "t z", {"h": (q,)}, self._column("h", h, constraint),
                          "Constraints 0 = h"),
            self.function("jacobians", "t z w", {"K": (m, n), "H": (q, n)}, derivatives,
                          "Derivatives of k - E w and of h by the unknowns"),
            self.function("results", "t z", {"out": (len(own.result_names),)},
                          self._column("out", own.results, own.result_names), "What is written"),
            self.function("start_values", "", {"z": (n,)}, self._column("z", own.start, own.unknowns), "Start values"),
            self.function("start_conditions", "t z w", {"r": (c,), "by_z": (c, n), "by_w": (c, m)}, conditions,
                          "Conditions 0 = r that hold at the start, and their derivatives"),
            *(self._event_functions() if own.events else ()),
        ]  # fmt: skip

    def _event_functions(self) -> list[str]:
        own, n = self.content.events, len(self.content.unknowns)
        slopes = ca.sparsify(ca.jacobian(own.crossing, self.content.z))
        assigned = [
            (f"new{self.index(place)}", own.assigned[i], own.assigned_names[i])
            for i, place in enumerate(own.assigned_places.tolist())
        ]
        restarts = self._column("condition", own.conditions, own.reinit_names)
        restarts += self._column("value", own.values, own.reinit_names)
        x, t, k, i, c = (column.numel() for column in (own.crossing, own.timed, own.clocks, own.values, own.claims))
        return [
            self.function("relations", "t z", {"g": (x,)}, self._column("g", own.crossing, own.crossing_names),
                          "Relations hold where these are positive"),
            self.function("relation_slopes", "t z", {"G": (x, n)}, self._matrix("G", slopes, own.crossing_names),
                          "Their derivatives by the unknowns"),
            self.function("times", "t z", {"out": (t,)}, self._column("out", own.timed, own.timed_names),
                          "When relations of time change"),
            self.function("assignments", "t z", {"new": (len(own.names),)}, assigned,
                          "Discrete variables after an event", keeps=True),
            self.function("clocks", "t z", {"out": (k,)}, self._column("out", own.clocks, own.clock_names),
                          "Start and interval of clocks"),
            self.function("restarts", "t z", {"condition": (i,), "value": (i,)}, restarts,
                          "Unknowns that start again, if conditions are not zero"),
            self.function("claims", "t z", {"out": (c,)}, self._column("out", own.claims, own.messages),
                          "Conditions of assertions and of the end"),
        ]  # fmt: skip

    def _column(self, name: str, column: ca.SX, about: Sequence[str]) -> list[Target]:
        """Assignments to the entries of a vector that are not zero."""
        column = ca.densify(column)
        return [
            (f"{name}{self.index(i)}", column[i], about[i]) for i in range(column.numel()) if not column[i].is_zero()
        ]

    def _matrix(self, name: str, matrix: ca.SX, about: Sequence[str]) -> list[Target]:
        """Assignments to the entries of a matrix that are not zero, row by row."""
        rows, columns = matrix.sparsity().get_triplet()
        order = sorted(range(matrix.nnz()), key=lambda place: (rows[place], columns[place]))
        found, before = [], None
        for place in order:
            i, j = rows[place], columns[place]
            found.append((f"{name}{self.index(i, j)}", matrix.nz[place], about[i] if i != before else ""))
            before = i
        return found

    def _statements(self, arguments: str, targets: Sequence[Target]) -> tuple[list[str], list[str], int]:
        """Unknowns that are read, statements, and the number of intermediate results."""
        own = self.content
        names = [self.unknowns[name] for name in own.unknowns]
        columns = [
            (own.t, [Piece("t")]),
            (own.z, [Piece(name) for name in names]),
            (own.w, [Piece(f"w{self.index(i)}") for i in range(own.w.numel())]),
            (own.p, [Piece(self.parameters[name]) for name in own.parameters]),
            (own.events.discrete, [Piece(self.discrete[name]) for name in own.events.names]),
        ]
        work = Statements(self.language, columns, self.temporary)
        assigned = work.assign([(target, value) for target, value, _ in targets])
        about = {target: comment for target, _, comment in targets}
        lines = []
        for target, value in assigned:
            comment = about.get(target, "")
            lines.append(self.statement(target, value, comment))
        used = [self.local(name, "z", j) for j, name in enumerate(names) if name in work.used]
        discrete = enumerate(self.discrete.values())
        used += [self.local(name, "d", j) for j, name in discrete if name in work.used]
        return used, lines, work.temporaries

    # -- what languages decide -------------------------------------------------------------------------------------

    @abstractmethod
    def index(self, *places: int) -> str: ...

    @abstractmethod
    def temporary(self, number: int) -> str: ...

    @abstractmethod
    def statement(self, target: str, value: str, comment: str) -> str: ...

    @abstractmethod
    def local(self, name: str, vector: str, place: int) -> str: ...

    @abstractmethod
    def parameter(self, name: str, value: float) -> str: ...

    @abstractmethod
    def function(
        self, name: str, arguments: str, out: dict, targets: Sequence[Target], about: str, keeps: bool = False
    ) -> str:
        """`keeps`: what is not assigned stays what it is, and is not set to zero."""

    @abstractmethod
    def comment_block(self, lines: Sequence[str]) -> str: ...

    @abstractmethod
    def names(self, names: Sequence[str]) -> str: ...

    @abstractmethod
    def texts(self, texts: Sequence[str]) -> str: ...

    @abstractmethod
    def flag(self, value: bool) -> str: ...

    def number(self, value: float) -> str:
        return self.language.literal(float(value))

    def wrapped(self, entries: Iterable[str]) -> str:
        return "\n    ".join(textwrap.wrap(", ".join(entries), 100))

    def matrix(self, values: np.ndarray) -> str:
        return ",\n".join(f"    [{', '.join(map(self.number, row))}]" for row in values)


def _quoted_for_csv(name: str) -> str:
    """A name as a field of CSV."""
    return '"' + name.replace('"', '""') + '"' if re.search(r'[",\n\r]', name) else name


def one_line(text: str) -> str:
    """A comment that cannot end early. Of files there are names, no folders.

    >>> one_line("der(x) = v (/home/me/models/Spring.mo:9 of spring1)")
    'der(x) = v (Spring.mo:9 of spring1)'
    """
    text = re.sub(r"\((?:[^()]*[/\\])?([^/\\()]+\.mo:\d+)", r"(\1", text)
    return " ".join(text.replace("*/", "* /").replace("\\", "/").split())[:150]
