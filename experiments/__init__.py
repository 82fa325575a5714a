"""Studies that take minutes: the pictures and numbers behind the evaluation pages."""
