"""Tables of the standard library: curves and surfaces through points, on numbers and CasADi graphs.

| module | holds |
|---|---|
| `slopes` | slopes of smooth curves through points |
| `curve` | piecewise polynomials of one variable, and what they are outside of the table |
| `time_table` | curves over time, with time events |
| `surface` | functions of two variables |
| `files` | tables in text files |
"""
