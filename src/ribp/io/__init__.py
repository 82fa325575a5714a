"""Tables in and out, in five formats."""
