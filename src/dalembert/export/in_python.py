"""Models in Python with NumPy."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.export import languages
from dalembert.export.write import Target, Writer, one_line


class PythonWriter(Writer):
    """Writes Python."""

    template = "driver.py.txt"
    language = languages.python
    keywords = (
        "False None True and as assert async await break class continue def del elif else except finally for from "
        "global if import in is lambda nonlocal not or pass raise return try while with yield match case print"
    )

    def index(self, *places: int) -> str:
        return f"[{', '.join(map(str, places))}]"

    def temporary(self, number: int) -> str:
        return f"v{number}"

    def statement(self, target: str, value: str, comment: str) -> str:
        return f"    {target} = {value}" + (f"  # {one_line(comment)}" if comment else "")

    def local(self, name: str, vector: str, place: int) -> str:
        return f"    {name} = {vector}[{place}]"

    def parameter(self, name: str, value: float) -> str:
        own = self.parameters[name]
        return f"{own} = {self.number(value)}" + (f"  # {one_line(name)}" if own != name else "")

    def function(
        self, name: str, arguments: str, out: dict, targets: Sequence[Target], about: str, keeps: bool = False
    ) -> str:
        used, lines, _ = self._statements(arguments, targets)
        made = [f"    {own} = np.zeros({shape if len(shape) > 1 else shape[0]})" for own, shape in out.items()]
        if keeps:
            made = [f"    {own} = d.copy()" for own in out]
        head = f'def {name}({", ".join(arguments.split())}):\n    """{about}."""'
        return "\n".join([head, *used, *made, *lines, f"    return {', '.join(out)}"])

    def comment_block(self, lines: Sequence[str]) -> str:
        return "\n".join(one_line(line).replace('"""', "'''") if not line.startswith(" ") else line for line in lines)

    def names(self, names: Sequence[str]) -> str:
        return "\n".join(f"    {name!r}," for name in names)

    def texts(self, texts: Sequence[str]) -> str:
        return "\n".join(f"    {text!r}," for text in texts)

    def flag(self, value: bool) -> str:
        return "True" if value else "False"
