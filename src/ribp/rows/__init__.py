"""Data and whatever belongs to rows, wherever they are: in memory, in a file, on a cluster."""
