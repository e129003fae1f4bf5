"""Half-explicit Runge-Kutta methods as code that is generated around one model: for ensembles of trajectories."""
