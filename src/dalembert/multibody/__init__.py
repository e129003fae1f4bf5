"""Bodies and joints: what is between a drawing of a machine and its equations of motion."""
