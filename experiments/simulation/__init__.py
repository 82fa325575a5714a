"""Six ways to draw rows from the prior, compared: `python -m experiments.simulation.run`."""
