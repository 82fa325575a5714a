"""Where chains begin: starts, the number of features, rows that are searched."""
