"""Modelica's expressions, functions and algorithms on CasADi graphs.

| module | holds |
|---|---|
| `scalars` | operators and functions on numbers and graphs |
| `context`, `expressions` | trees to values, and what they need to know about their place |
| `text` | numbers as text |
| `execution` | statements: what is known is carried out, what is open is done under conditions |
| `functions`, `calls` | functions of the flat model, constructors of records and external objects |
| `algorithms` | algorithms of models |
| `externals/`, `tables/` | functions that are not written in Modelica; curves and surfaces through points |
"""
