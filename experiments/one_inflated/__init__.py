"""The paper's second toy figure: held-out scores where most rows have one feature."""
