"""Modelica text: from files to equations.

| module | holds |
|---|---|
| `source` | text, tokens, places, errors with a caret |
| `tree` | the nodes of syntax trees |
| `parse_expressions`, `parse_behaviour`, `parse_classes`, `parser` | recursive descent, Modelica 3.6 |
| `printer`, `print_classes` | trees back to text |
| `cache` | trees on disk |
"""
