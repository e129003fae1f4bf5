"""Whole integrators as machine code around one model: graphs split by binding time, code for processors and GPUs."""
