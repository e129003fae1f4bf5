"""Modelica's expressions, functions and algorithms on CasADi graphs.

| module | holds |
|---|---|
| `scalars` | operators and functions on numbers and graphs |
| `context`, `expressions` | trees to values, and what they need to know about their place |
| `text` | numbers as text |
| `calls` | functions, constructors of records |
"""
