"""Writes docs/modelica_support.md: `python tests/modelica/support_page.py`."""

from __future__ import annotations

from pathlib import Path

from features import FEATURES, REFUSALS

from dalembert.modelica.parser import parse
from dalembert.modelica.print_classes import file_text
from dalembert.modelica.source import Source

PAGE = Path(__file__).resolve().parents[2] / "docs" / "modelica_support.md"

_HEAD = """# What of Modelica is supported

Written from the tests (`python tests/modelica/support_page.py`). For each line there is a small model in
`tests/modelica/features.py`, which is simulated and compared with exact values. [modelica.md](modelica.md) tells how
models are used.
"""

_REFUSED = """
## Not supported

Each of these is an error that names the construct and its place:

"""

#: one model is shown for each of these groups: the first of the group is too plain
_SHOWN = {"Classes": 9, "Functions": 2, "Connections": 5, "Events": 7, "Equations": 4}


def laid_out(text: str) -> str:
    """A model in lines."""
    source = Source(text)
    return file_text(parse(source), source).strip()


def page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    for group in dict.fromkeys(one.group for one in FEATURES):
        features = [one for one in FEATURES if one.group == group]
        parts.append(f"\n## {group}\n\n")
        parts += [f"- {one.title}\n" for one in features]
        if group in _SHOWN:
            one = features[_SHOWN[group]]
            values = ", ".join(f"`{name}` = {value:.6g}" for name, value in one.values.items())
            parts.append(f"\nAs an example *{one.title}*; at t = {one.stop:g}, {values}:\n")
            parts.append(f"\n```modelica\n{laid_out(one.text)}\n```\n")
    parts.append(_REFUSED + "".join(f"- {one.title}\n" for one in REFUSALS))
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
