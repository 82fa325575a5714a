"""Simulation from the prior: `ribp.simulate`, and one file for each sampler behind it."""
