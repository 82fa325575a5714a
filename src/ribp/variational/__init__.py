"""Posterior by optimisation: the structured family, the paper's hybrid, and what they share."""
