"""Contact: laws of impact, complementarity, active sets. Answers to the driver's events."""
