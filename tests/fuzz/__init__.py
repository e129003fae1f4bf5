"""Random models and options, against independent answers."""
