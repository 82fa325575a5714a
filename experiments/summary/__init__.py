"""One table of all studies: a row a data set, a column a method."""
