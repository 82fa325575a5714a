"""Posterior sampling by Markov chains: one file for each transition."""
