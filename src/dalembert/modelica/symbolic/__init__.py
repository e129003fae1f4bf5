"""Modelica's expressions, functions and algorithms on CasADi graphs.

| module | holds |
|---|---|
| `scalars` | operators and functions on numbers and graphs |
| `choices` | whole values, scalar by scalar |
| `context` | what expressions need to know about their place |
| `expressions`, `arrays`, `builtin_calls` | trees to values |
| `text` | numbers as text |
| `execution` | statements: what is known is carried out, what is open is done under conditions |
| `functions`, `calls` | functions of the flat model, constructors of records and external objects |
| `algorithms` | algorithms of models |
| `externals/`, `tables/` | functions that are not written in Modelica; curves and surfaces through points |
"""
