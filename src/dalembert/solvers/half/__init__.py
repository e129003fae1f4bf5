"""Half-explicit methods on the descriptor form: explicit in the differential equations, linear in the constraints."""
